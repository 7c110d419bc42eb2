package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	icebergio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/tableio"
)

// spillBytes is how much of a file waits in memory before the file is made. Most files of a table with many partitions
// never get there: they are made, written and closed in one go at the seal, and cost no open file before.
const spillBytes = 256 << 10

// firstBuffer is about a file of a few hundred rows.
const firstBuffer = 8 << 10

// storage is what a file costs while it is open, beside what the sink knows of.
type storage struct {
	// spill is how much of a file waits in memory before the file is made.
	spill int
	// open is what the FileIO holds for an open file: nothing on a disk, the parts of an upload on an object store.
	open int64
}

func storageOf(location string) storage {
	if tableio.Uploads(location) {
		return storage{spill: tableio.UploadPart, open: tableio.UploadMemory}
	}
	return storage{spill: spillBytes}
}

// closers is how many files are closed, or removed, at a time: on an object store a seal of a thousand partitions is a
// thousand requests, and each holds a part while it runs.
func (s storage) closers(budget int64) int {
	if s.open == 0 {
		return parallelIO
	}
	return int(max(2, min(parallelIO, budget/(2*tableio.UploadPart))))
}

// sink is the file below a Parquet encoder. It is made when there is something worth writing, or at close.
type sink struct {
	fs   icebergio.WriteFileIO
	path string
	on   storage
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
	if len(s.buf)+len(p) > s.on.spill {
		if err := s.flush(); err != nil {
			return 0, err
		}
		if s.on.open > 0 {
			s.on.spill, s.buf = 0, nil // the upload has buffers of its own
		}
		if len(p) >= s.on.spill {
			if err := s.put(p); err != nil {
				return 0, err
			}
			s.n += int64(len(p))
			return len(p), nil
		}
	}
	if s.buf == nil {
		s.buf = make([]byte, 0, min(s.on.spill, max(len(p), firstBuffer)))
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
		var named *fs.PathError
		if errors.As(err, &named) && named.Path == s.path {
			err = named.Err // the path is said once
		}
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
		_ = tableio.Abort(s.w) // the file is not used: it need not be made durable
	}
	if s.err == nil {
		s.err = fmt.Errorf("data file %s was given up", s.path)
	}
}

// memory is what the sink holds.
func (s *sink) memory() int64 {
	n := int64(cap(s.buf))
	if s.w != nil {
		n += s.on.open
	}
	return n
}
