package writer

import (
	"context"
	"fmt"

	icebergio "github.com/apache/iceberg-go/io"
)

// spillBytes is how much of a file waits in memory before the file is made. Most files of a table with many partitions
// never get there: they are made, written and closed in one go at the seal, and cost no open file before.
const spillBytes = 256 << 10

// sink is the file below a Parquet encoder. It is made when there is something worth writing, or at close.
type sink struct {
	fs   icebergio.WriteFileIO
	path string
	buf  []byte
	w    icebergio.FileWriter
	// n is the number of bytes so far, in memory and in the file.
	n int64
	// made says that the file exists, or may: it must be removed if the batch is dropped.
	made   bool
	closed bool
	err    error
}

// Write implements io.Writer. An error stays.
func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(s.buf)+len(p) > spillBytes {
		if err := s.flush(); err != nil {
			return 0, err
		}
		if len(p) >= spillBytes {
			if err := s.put(p); err != nil {
				return 0, err
			}
			s.n += int64(len(p))
			return len(p), nil
		}
	}
	s.buf = append(s.buf, p...)
	s.n += int64(len(p))
	return len(p), nil
}

func (s *sink) flush() error {
	if err := s.create(); err != nil {
		return err
	}
	if len(s.buf) == 0 {
		return nil
	}
	err := s.put(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *sink) create() error {
	if s.err != nil || s.w != nil {
		return s.err
	}
	s.made = true
	w, err := s.fs.Create(s.path)
	if err != nil {
		s.err = fmt.Errorf("create data file %s: %w", s.path, err)
		return s.err
	}
	s.w = w
	return nil
}

func (s *sink) put(p []byte) error {
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = fmt.Errorf("only %d of %d bytes were taken", n, len(p))
	}
	if err != nil {
		s.err = fmt.Errorf("write data file %s: %w", s.path, err)
	}
	return s.err
}

// finish writes what is left and closes the file; it is durable when finish returns nil. It may run in a goroutine of
// its own, once nothing else uses the sink.
func (s *sink) finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil && s.err == nil {
		s.err = fmt.Errorf("write data file %s: %w", s.path, context.Cause(ctx))
	}
	if s.err == nil {
		if err := s.flush(); err != nil {
			s.abort()
			return err
		}
		s.closed = true
		if err := s.w.Close(); err != nil {
			s.err = fmt.Errorf("close data file %s: %w", s.path, err)
		}
		s.buf, s.w = nil, nil
		return s.err
	}
	s.abort()
	return s.err
}

// abort lets go of the file; whoever calls it removes the path.
func (s *sink) abort() {
	s.buf = nil
	if s.w != nil && !s.closed {
		s.closed = true
		_ = s.w.Close() // the file is not used
	}
	if s.err == nil {
		s.err = fmt.Errorf("data file %s was given up", s.path)
	}
}

// memory is what the sink holds.
func (s *sink) memory() int64 { return int64(cap(s.buf)) }
