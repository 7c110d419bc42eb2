package writer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/stormfloe/floe/mapper"
)

// lanes are several encoders, each with a goroutine of its own that lives until close. The task's goroutine is the
// router: it copies the rows of each lane into a chunk and sends it. A lane has two chunks, so that it can encode one
// while the other is filled; when both are on their way the router waits, which holds the source back.
//
// seal and drop are barriers: they return when every lane has done it. A lane that fails goes on taking chunks and
// throws them away until the drop, so that the router never waits for it in vain.
type lanes struct {
	all []*lane
	wg  sync.WaitGroup
	// failed is the first error of any lane since the last drop.
	failed atomic.Pointer[error]
	rows   [][]int32 // scratch: the row numbers of each lane
}

type lane struct {
	enc  *encoder
	in   chan any // *chunk, laneBegin, laneSeal or laneDrop
	free chan *chunk
	// what load gives, published after each chunk
	held, bytes, open, files, done, chunk atomic.Int64
}

// chunk is rows on their way to a lane.
type chunk struct {
	cols   *mapper.Columns
	at     []int32
	tuples []*tuple
}

type laneBegin struct {
	p  *plan
	fs writeIO
	id uuid.UUID
}

type laneSeal struct {
	ctx   context.Context
	reply chan<- laneSealed
}

type laneSealed struct {
	sealed
	err error
}

type laneDrop struct {
	ctx  context.Context
	done chan<- struct{}
}

const chunksPerLane = 2

var errLaneFailed = errors.New("another encoder of the task has failed")

func newLanes(cfg Config, budget int64) *lanes {
	ls := &lanes{rows: make([][]int32, cfg.Parallel)}
	share := max(minBuffered/2, budget/int64(cfg.Parallel)-chunksPerLane*stageBytes/int64(cfg.Parallel))
	for i := range cfg.Parallel {
		l := &lane{
			enc: newEncoder(i, share, cfg.MaxOpenFiles/cfg.Parallel),
			in:  make(chan any, chunksPerLane), free: make(chan *chunk, chunksPerLane),
		}
		for range chunksPerLane {
			l.free <- &chunk{}
		}
		ls.all = append(ls.all, l)
		ls.wg.Go(func() { l.run(ls) })
	}
	return ls
}

func (l *lane) run(ls *lanes) {
	failed := false
	for msg := range l.in {
		switch m := msg.(type) {
		case laneBegin:
			l.enc.begin(m.p, m.fs, m.id)
			failed = false
		case *chunk:
			if !failed && ls.err() == nil {
				if err := l.enc.add(m.cols, m.at, m.tuples); err != nil {
					failed = true
					ls.failed.CompareAndSwap(nil, &err)
				}
				l.publish()
			}
			l.chunk.Store(m.cols.Cap())
			m.cols.Reset()
			m.tuples = nil
			l.free <- m
		case laneSeal:
			r := laneSealed{err: errLaneFailed}
			if !failed {
				r.sealed, r.err = l.enc.seal(m.ctx)
				failed = r.err != nil
			}
			l.publish()
			m.reply <- r
		case laneDrop:
			l.enc.drop(m.ctx)
			l.publish()
			m.done <- struct{}{}
		}
	}
}

func (l *lane) publish() {
	l.held.Store(l.enc.last.held + l.enc.pages.Memory())
	l.bytes.Store(l.enc.last.bytes)
	l.open.Store(int64(l.enc.last.open))
	l.files.Store(int64(l.enc.last.files))
	l.done.Store(l.enc.last.done)
}

func (ls *lanes) err() error {
	if p := ls.failed.Load(); p != nil {
		return *p
	}
	return nil
}

func (ls *lanes) begin(p *plan, fs writeIO, id uuid.UUID) {
	ls.failed.Store(nil)
	for _, l := range ls.all {
		l.in <- laneBegin{p, fs, id}
	}
}

func (ls *lanes) add(rows rowsTo) error {
	for i := range ls.rows {
		ls.rows[i] = ls.rows[i][:0]
	}
	for row, n := range rows.lane {
		ls.rows[n] = append(ls.rows[n], int32(row))
	}
	for i, l := range ls.all {
		if len(ls.rows[i]) == 0 {
			continue
		}
		c := <-l.free
		if err := c.fill(rows, ls.rows[i]); err != nil {
			c.cols = nil
			l.free <- c
			return err
		}
		l.in <- c
	}
	return ls.err()
}

func (c *chunk) fill(rows rowsTo, pick []int32) error {
	if c.cols == nil || c.cols.Schema != rows.cols.Schema {
		cols, err := mapper.NewColumns(rows.cols.Schema)
		if err != nil {
			return err
		}
		c.cols = cols
	}
	c.at = c.at[:0]
	if rows.at != nil {
		c.tuples = rows.tuples
		for _, row := range pick {
			c.at = append(c.at, rows.at[row])
		}
	} else {
		c.at = nil
	}
	return c.cols.AppendRows(rows.cols, pick)
}

func (ls *lanes) seal(ctx context.Context) (sealed, error) {
	replies := make([]chan laneSealed, len(ls.all))
	for i, l := range ls.all {
		replies[i] = make(chan laneSealed, 1)
		l.in <- laneSeal{ctx, replies[i]}
	}
	var out sealed
	err := error(nil)
	for _, reply := range replies {
		r := <-reply
		if r.err != nil && (err == nil || errors.Is(err, errLaneFailed)) {
			err = r.err
		}
		out.files = append(out.files, r.files...)
		out.rows += r.rows
		out.bytes += r.bytes
	}
	if cause := ls.err(); cause != nil {
		err = cause
	}
	return out, err
}

func (ls *lanes) drop(ctx context.Context) {
	done := make(chan struct{}, len(ls.all))
	for _, l := range ls.all {
		l.in <- laneDrop{ctx, done}
	}
	for range ls.all {
		<-done
	}
	ls.failed.Store(nil)
}

func (ls *lanes) load() load {
	var out load
	for _, l := range ls.all {
		out.held += l.held.Load() + chunksPerLane*l.chunk.Load()
		out.done += l.done.Load()
		out.bytes += l.bytes.Load()
		out.open += int(l.open.Load())
		out.files += int(l.files.Load())
	}
	return out
}

func (ls *lanes) close() {
	for _, l := range ls.all {
		close(l.in)
	}
	ls.wg.Wait()
}
