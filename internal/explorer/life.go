package explorer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
)

// shape is how a process is set up.
type shape struct {
	tasks    int
	oneStage bool
	byFields bool
	// interval of the committer; negative is as soon as possible.
	interval time.Duration
	// batch is how many records the source gives at once, seal how many make a file.
	batch int
	seal  int64
}

var shapes = []shape{
	{tasks: 1, interval: -1, batch: 5, seal: 4},
	{tasks: 2, interval: -1, batch: 3, seal: 5},
	{tasks: 3, interval: 40 * time.Millisecond, batch: 4, seal: 3},
	{tasks: 1, interval: 80 * time.Millisecond, batch: 2, seal: 6},
	{tasks: 1, oneStage: true, batch: 3, seal: 5},
	{tasks: 3, oneStage: true, batch: 4, seal: 4},
	{tasks: 2, byFields: true, interval: -1, batch: 4, seal: 6},
	{tasks: 3, byFields: true, interval: 50 * time.Millisecond, batch: 5, seal: 9},
	{tasks: 2, byFields: true, oneStage: true, batch: 3, seal: 6},
}

// life is one process.
type life struct {
	x    *explorer
	slot int
	// no counts all processes of the run.
	no   int
	topo string
	top  *topology.Topology
	src  *memory.Source
	plan *fault.Plan
	// owns are the partitions it was given. It belongs to the explorer's goroutine.
	owns map[int32]bool
	done chan struct{}
	stop context.CancelFunc

	mu struct {
		sync.Mutex
		err    error
		ended  bool
		rand   *rand.Rand
		frozen chan struct{}
		// heldUp is since when it is frozen, or one of its requests is held back.
		heldUp, slowUntil time.Time
		arms              []*arm
		calm              bool
		// attempt says that files were looked at or noted, and that no commit has come of it yet.
		attempt bool
	}
}

// arm is a fault that waits for its point.
type arm struct {
	op   Op
	left int
	on   func(fault.Point) bool
	do   func() fault.Action
}

// start starts a process in slot i.
func (x *explorer) start(i, n int) *life {
	topo := "orders"
	if i == 2 && x.s.Copy {
		topo = "copy"
	}
	l := x.newLife(i, topo, shapes[n%len(shapes)])
	x.lives[i] = l
	for _, p := range x.partitions() {
		if x.owner(topo, p) == nil {
			l.give(p)
		}
	}
	go l.run()
	return l
}

func (x *explorer) newLife(i int, topo string, s shape) *life {
	l := &life{x: x, slot: i, no: len(x.all), topo: topo, owns: map[int32]bool{}, done: make(chan struct{})}
	l.mu.rand = rand.New(rand.NewPCG(x.s.Seed, uint64(len(x.all))))
	l.plan = fault.New(l.decide)
	l.src = x.w.Log.Source(memory.Options{Manual: true, BatchRecords: s.batch, Poison: true})
	x.all = append(x.all, l)
	x.stats.Lives++
	cfg := x.w.ConfigOn(l.plan, acks{l.src, l})
	cfg.Name = topo
	cfg.Table = tableio.New(fault.WrapCatalog(hooked{x.w.Catalog, x}, l.plan), ident, tableio.WithIO(l.plan.IO))
	cfg.OneStage, cfg.Writer.Tasks, cfg.Writer.SealRecords = s.oneStage, s.tasks, s.seal
	if s.byFields {
		cfg.Writer.GroupBy = []string{"region"}
	}
	cfg.Committer = topology.CommitterConfig{
		Interval: s.interval, EmptyInterval: 300 * time.Millisecond, Grace: grace, AttemptTimeout: 5 * time.Second,
		MaxBackoff: 200 * time.Millisecond, CheckInterval: 2 * time.Second,
	}
	if x.s.Expiring {
		cfg.Committer.ExpireEvery = 1
	}
	cfg.ShutdownTimeout = 10 * time.Second
	cfg.Instance = fmt.Sprintf("%d-%d", i, len(x.all))
	cfg.UntilCaughtUp = i == slots
	cfg.Logger = slog.New(slog.NewTextHandler(noted{x, l}, &slog.HandlerOptions{Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "topology" || a.Key == "branch" {
				return slog.Attr{}
			}
			return a
		}}))
	var err error
	if l.top, err = topology.New(cfg); err != nil {
		panic(err) // a shape that makes no sense
	}
	return l
}

// noted takes what a process logs.
type noted struct {
	x *explorer
	l *life
}

func (n noted) Write(b []byte) (int, error) {
	n.x.note("%s says %s", n.l, strings.TrimSpace(string(b)))
	return len(b), nil
}

func (l *life) String() string { return fmt.Sprintf("life %d (%s)", l.slot, l.topo) }

func (l *life) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.mu.Lock()
	l.stop = cancel
	l.mu.Unlock()
	over := make(chan struct{})
	go func() {
		select {
		case <-l.plan.Died():
			l.top.Kill()
		case <-over:
		}
	}()
	err := l.top.Run(ctx)
	close(over)
	l.ended(err)
	close(l.done)
}

func (l *life) ended(err error) {
	l.mu.Lock()
	l.mu.err, l.mu.ended = err, true
	l.mu.Unlock()
	l.x.note("%s ended: %v", l, err)
	l.x.judgeEnd(l, err)
}

// alive says that it runs, frozen or not.
func (l *life) alive() bool {
	if l == nil || l.plan.Crashed() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.mu.ended
}

// end tells it to end gracefully.
func (l *life) end() {
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (l *life) give(p int32) {
	l.owns[p] = true
	l.src.Assign(l.x.partition(p))
}

func (l *life) take(p int32) {
	delete(l.owns, p)
	l.src.Revoke(l.x.partition(p))
}

// arm sets a fault up.
func (l *life) arm(a *arm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.arms = append(l.mu.arms, a)
}

func (l *life) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.frozen == nil {
		l.mu.frozen, l.mu.heldUp = make(chan struct{}), time.Now()
	}
}

func (l *life) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.frozen != nil {
		close(l.mu.frozen)
		l.mu.frozen = nil
	}
}

// quiet takes all faults and latencies away.
func (l *life) quiet() {
	l.thaw()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.arms, l.mu.calm = nil, true
}

// decide is the plan's Decider.
func (l *life) decide(p fault.Point) fault.Action {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.x.saw(p)
	switch inTable := strings.Contains(p.Target, "/metadata/"); p.Op {
	case fault.OpPut, fault.OpCreate:
		l.mu.attempt = l.mu.attempt || inTable
	case fault.OpGet, fault.OpStat:
		l.mu.attempt = l.mu.attempt || !inTable
	case fault.OpCommit:
		l.mu.attempt = p.Phase == fault.Before
	}
	if l.mu.frozen != nil {
		return fault.Wait(l.mu.frozen)
	}
	for i, a := range l.mu.arms {
		if !a.on(p) {
			continue
		}
		if a.left--; a.left > 0 {
			continue
		}
		l.mu.arms = slices.Delete(l.mu.arms, i, i+1)
		l.x.note("%s: %v at %v", l, a.op, p)
		switch a.op {
		case Delay:
			l.mu.heldUp = time.Now()
			l.x.heldBack()
		case Slow:
			l.mu.slowUntil = time.Now().Add(slow)
		}
		return a.do()
	}
	if l.mu.calm {
		return fault.Continue
	}
	return latency(l.mu.rand)
}

// latency is some milliseconds, or nothing, or seldom a long time.
func latency(r *rand.Rand) fault.Action {
	var d time.Duration
	switch n := r.IntN(100); {
	case n < 40:
		return fault.Continue
	case n < 97:
		d = time.Duration(r.IntN(8000)) * time.Microsecond
	default:
		d = time.Duration(50+r.IntN(400)) * time.Millisecond
	}
	return fault.Slow(d)
}

// acks looks at each acknowledgement before it is made.
type acks struct {
	source.Source
	l *life
}

func (a acks) Ack(ctx context.Context, ranges []source.Range) {
	a.l.x.acked(a.l, ranges)
	a.Source.Ack(ctx, ranges)
}

// acked: only what a head of the branch has held may be acknowledged.
func (x *explorer) acked(l *life, ranges []source.Range) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stats.Acks++
	for _, r := range ranges {
		if held := x.mu.held[l.topo][r.Partition.ID]; r.To > held {
			x.findLocked("ack", "%s acknowledged %s, and the table has never been beyond %d", l, r, held)
		}
	}
}

// saw notes when files are completed.
func (x *explorer) saw(p fault.Point) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stats.Effects++
	if p.Phase == fault.After && (p.Op == fault.OpClose || p.Op == fault.OpPut) {
		x.mu.born[p.Target] = time.Now()
	}
}

// slow is longer than a request's deadline, and short of half the grace time: nothing else takes that long by itself.
const slow = 12 * time.Second

// lie is where storage may say that something is done that isn't, and nobody has to be asked: a data file that is gone after
// it was closed, an entry that was never written, anything that is still there after it was deleted.
func lie(p fault.Point) bool {
	switch {
	case p.Phase != fault.Before:
	case p.Op == fault.OpDelete:
		return true
	case p.Op == fault.OpClose:
		return strings.Contains(p.Target, "/data/")
	case p.Op == fault.OpPut:
		return strings.Contains(p.Target, "/_storm_wal/")
	}
	return false
}

var errLost = errors.New("502 bad gateway")

// armFor builds the fault that an event asks for.
func armFor(e Event) *arm {
	a := &arm{op: e.Op, left: max(1, e.N)}
	at := func(phase fault.Phase, ops ...fault.Op) {
		a.on = func(p fault.Point) bool { return p.Phase == phase && slices.Contains(ops, p.Op) }
	}
	act := func(x fault.Action) { a.do = func() fault.Action { return x } }
	storage := []fault.Op{fault.OpCreate, fault.OpWrite, fault.OpClose, fault.OpPut, fault.OpGet, fault.OpStat, fault.OpList, fault.OpDelete}
	switch e.Op {
	case LoseAnswer:
		at(fault.After, fault.OpCommit)
		act(fault.Fail(errLost))
	case Conflict:
		at(fault.After, fault.OpCommit)
		act(fault.Fail(table.ErrCommitFailed))
	case NotApplied:
		at(fault.Before, fault.OpCommit)
		act(fault.Fail(errLost))
	case Delay:
		at(fault.Before, fault.OpCommit)
		act(fault.Late(errors.New("504 gateway timeout")))
	case FailIO:
		at(fault.Before, storage...)
		act(fault.Fail(fault.ErrInjected))
	case FailedIO:
		at(fault.After, storage...)
		act(fault.Fail(fault.ErrInjected))
	case Tear:
		at(fault.Before, fault.OpWrite, fault.OpPut)
		act(fault.Tear)
	case Crash:
		a.on = func(fault.Point) bool { return true }
		act(fault.Crash)
	case Slow:
		a.on = func(fault.Point) bool { return true }
		act(fault.Slow(slow))
	case Lie:
		a.on = lie
		act(fault.Pretend)
	case Cut:
		a.on = func(p fault.Point) bool {
			return p.Phase == fault.Before && p.Op == fault.OpWrite && strings.Contains(p.Target, "/data/")
		}
		act(fault.Torn(nil))
	}
	return a
}
