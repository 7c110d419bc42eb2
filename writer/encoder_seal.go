package writer

import (
	"context"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/internal/parquetfile"
)

// parallelIO is how many files are closed, or removed, at a time at most.
const parallelIO = 8

// sealed is an encoder's share of a batch.
type sealed struct {
	files       []iceberg.DataFile
	rows, bytes int64
}

// seal closes all files; they are durable when it returns. The next batch begins with begin.
func (e *encoder) seal(ctx context.Context) (sealed, error) {
	type ended struct {
		pt    *part
		stats *parquetfile.FileStats
	}
	var all []ended
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.p.loc.on.closers(e.budget))
	err := func() error {
		for _, pt := range e.live {
			if err := gctx.Err(); err != nil {
				return context.Cause(gctx)
			}
			if err := e.encodeRest(pt); err != nil {
				return err
			}
			if pt.file == nil {
				continue
			}
			st, err := pt.file.finish()
			if err != nil {
				return err
			}
			s := pt.file.sink
			g.Go(func() error { return s.finish(gctx) })
			all = append(all, ended{pt, st})
		}
		return nil
	}()
	// The files' own errors come first: they are the cause, what the loop has seen may be the cancellation.
	if gerr := g.Wait(); gerr != nil {
		err = gerr
	}
	if err != nil {
		return sealed{}, err
	}
	for _, end := range all {
		df, err := end.pt.file.dataFile(end.stats, end.pt.tuple)
		if err != nil {
			return sealed{}, err
		}
		end.pt.file = nil
		e.finished(df)
	}
	out := sealed{files: e.done, rows: e.rows, bytes: e.bytes}
	for _, pt := range e.live {
		e.keep(pt)
	}
	e.clear()
	return out, nil
}

// keep puts a partition's columns by for the next batch, with their buffers as far as the reserve may hold them.
func (e *encoder) keep(pt *part) {
	if pt.cols == nil {
		return
	}
	pt.cols.Reset()
	if n := pt.cols.Cap(); e.spareHeld+n <= e.budget/4 {
		e.spare = append(e.spare, pt.cols)
		e.spareHeld += n
	}
	pt.cols = nil
}

func (e *encoder) clear() {
	e.parts, e.live, e.sinks, e.done = nil, nil, nil, nil
	e.rows, e.bytes, e.last = 0, 0, load{}
}

// drop gives the batch up and removes what it has written, as far as that works.
func (e *encoder) drop(ctx context.Context) {
	for _, pt := range e.live {
		if pt.file != nil {
			pt.file.close()
			pt.file = nil
		}
		e.keep(pt)
	}
	var g errgroup.Group
	g.SetLimit(parallelIO)
	for _, s := range e.sinks {
		s.abort()
		if !s.made || ctx.Err() != nil {
			continue
		}
		g.Go(func() error { return s.fs.Remove(s.path) })
	}
	_ = g.Wait() // what can't be removed now is an orphan, which no descriptor names
	e.clear()
}
