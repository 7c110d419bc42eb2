package fault

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	iceio "github.com/apache/iceberg-go/io"
)

// ErrCrashed is what every effect gives after the crash.
var ErrCrashed = errors.New("the process has crashed")

// ErrInjected is a failure without a meaning, for tests that need none.
var ErrInjected = errors.New("injected failure")

// Op is a kind of external effect.
type Op string

// The effects that this package decorates. Step adds others by name.
const (
	// OpCreate makes a file; OpWrite is the first write to it, OpClose its closing, which makes it durable.
	OpCreate Op = "create"
	OpWrite  Op = "write"
	OpClose  Op = "close"
	// OpPut writes a whole file, OpGet opens or reads one, OpStat looks at one.
	OpPut  Op = "put"
	OpGet  Op = "get"
	OpStat Op = "stat"
	// OpList walks a folder, OpDelete removes one file or several.
	OpList   Op = "list"
	OpDelete Op = "delete"
	// OpLoad loads a table, OpCommit is one commit request, OpCreateTable, OpDropTable and OpNamespace change the catalog
	// otherwise.
	OpLoad        Op = "load"
	OpCommit      Op = "commit"
	OpCreateTable Op = "create table"
	OpDropTable   Op = "drop table"
	OpNamespace   Op = "namespace"
)

// Phase is the side of the effect.
type Phase int

const (
	// Before the effect is asked for.
	Before Phase = iota
	// After it was applied, before the caller learns of it.
	After
)

func (p Phase) String() string {
	if p == After {
		return "after"
	}
	return "before"
}

// Point is a place at which something can go wrong.
type Point struct {
	// N counts from 1.
	N     int
	Op    Op
	Phase Phase
	// Target is the file's path or the table's name.
	Target string
}

// String gives "7 before commit db.orders".
func (p Point) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s %s", p.N, p.Phase, p.Op, p.Target))
}

// Action is what happens at a point. The zero value is Continue.
type Action struct {
	kind actionKind
	err  error
	wait <-chan struct{}
	slow time.Duration
}

type actionKind int

const (
	goOn actionKind = iota
	fail
	crash
	late
	tear
	torn
	pretend
)

var (
	// Continue lets the effect happen.
	Continue = Action{}
	// Crash ends everything here: before the effect it is not applied, after it it is.
	Crash = Action{kind: crash, err: ErrCrashed}
	// Tear writes, before OpPut or OpWrite, the first half of the bytes and then crashes. Elsewhere it is Crash.
	Tear = Action{kind: tear, err: ErrCrashed}
	// Pretend tells the caller, before OpClose, OpPut or OpDelete, that it was done, and nothing was: a file that is gone
	// after it was closed, an entry that was never written, a file that is still there after it was deleted. Elsewhere it is
	// Continue.
	Pretend = Action{kind: pretend}
)

// Fail gives err to the caller: before the effect it is not applied, after it it is (the answer is lost). The process goes
// on.
func Fail(err error) Action { return Action{kind: fail, err: err} }

// Late gives, before OpCommit, err to the caller, and applies the request when Plan.Release is called: a request that was
// on its way for a long time. Elsewhere it is Fail.
func Late(err error) Action { return Action{kind: late, err: err} }

// Torn writes, before OpPut or OpWrite, the first half of the bytes and gives err to the caller, who goes on; with nil it
// is told that all of them were written. Elsewhere it is Fail, or Continue with nil.
func Torn(err error) Action { return Action{kind: torn, err: err} }

// Slow takes d, by the clock of the test, and then lets the effect happen. It ends early at the crash.
func Slow(d time.Duration) Action { return Action{slow: d} }

// Wait holds the process up at the point until c is closed, or until it is killed there, and then goes on: a process that
// was stopped for a while. Other goroutines go on meanwhile.
func Wait(c <-chan struct{}) Action { return Action{wait: c} }

// Decider chooses what happens at a point. It is called for one point at a time, and
// must neither make effects nor call the plan.
type Decider func(Point) Action

// At acts at the k-th point, and nowhere else.
func At(k int, a Action) Decider {
	return func(p Point) Action {
		if p.N == k {
			return a
		}
		return Continue
	}
}

// On acts at the nth time (from 1) that the effect reaches the phase.
func On(op Op, phase Phase, nth int, a Action) Decider {
	seen := 0
	return func(p Point) Action {
		if p.Op == op && p.Phase == phase {
			if seen++; seen == nth {
				return a
			}
		}
		return Continue
	}
}

// All asks each in turn; the first that does not continue decides.
func All(ds ...Decider) Decider {
	return func(p Point) Action {
		out := Continue
		for _, d := range ds {
			if a := d(p); out == Continue {
				out = a
			}
		}
		return out
	}
}

// Rate acts at one in n of the points of an effect at a phase, from the first on that number offset, at most limit times.
func Rate(op Op, phase Phase, n, offset, limit int, a Action) Decider {
	seen, done := 0, 0
	return func(p Point) Action {
		if p.Op != op || p.Phase != phase {
			return Continue
		}
		if seen++; seen < offset || (seen-offset)%n != 0 || done >= limit {
			return Continue
		}
		done++
		return a
	}
}

// Plan decides for one life of a process what goes wrong, and keeps what happened. All methods may be called from any
// goroutine.
type Plan struct {
	decide Decider
	died   chan struct{}

	mu struct {
		sync.Mutex
		trace   []Point
		crashed bool
		held    []func() error
	}
}

// New makes a plan. A nil decider lets everything happen and only counts.
func New(d Decider) *Plan {
	if d == nil {
		d = func(Point) Action { return Continue }
	}
	return &Plan{decide: d, died: make(chan struct{})}
}

// N is how many points were reached.
func (p *Plan) N() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.trace)
}

// Trace is the points that were reached, in order.
func (p *Plan) Trace() []Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Point(nil), p.mu.trace...)
}

// Died is closed at the crash.
func (p *Plan) Died() <-chan struct{} { return p.died }

// Crashed says whether it has happened.
func (p *Plan) Crashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.crashed
}

// Kill crashes now, between two points.
func (p *Plan) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killLocked()
}

func (p *Plan) killLocked() {
	if !p.mu.crashed {
		p.mu.crashed = true
		close(p.died)
	}
}

// Release applies the requests that Late holds back, in order, also after the crash, and gives their errors. They reach
// the catalog as they were.
func (p *Plan) Release() error {
	p.mu.Lock()
	held := p.mu.held
	p.mu.held = nil
	p.mu.Unlock()
	var errs []error
	for _, f := range held {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Held is how many requests Late holds back.
func (p *Plan) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.held)
}

// Step announces an effect that this package does not decorate, such as an ack. There is one point, before it; an error
// says that it must not happen.
func (p *Plan) Step(name string) error { return p.reach(Op(name), Before, "").err }

// IO is WrapIO in the form that tableio.WithIO takes.
func (p *Plan) IO(fio iceio.IO) iceio.IO { return WrapIO(fio, p) }

// reach passes a point and says what happens there.
func (p *Plan) reach(op Op, phase Phase, target string) Action {
	a := p.decideAt(op, phase, target)
	if a.wait == nil && a.slow == 0 {
		return a
	}
	var passed <-chan time.Time
	if a.slow > 0 {
		timer := time.NewTimer(a.slow)
		defer timer.Stop()
		passed = timer.C
	}
	select {
	case <-a.wait:
	case <-passed:
	case <-p.died:
	}
	if p.Crashed() {
		return Crash
	}
	return Continue
}

func (p *Plan) decideAt(op Op, phase Phase, target string) Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.crashed {
		return Crash
	}
	pt := Point{N: len(p.mu.trace) + 1, Op: op, Phase: phase, Target: target}
	p.mu.trace = append(p.mu.trace, pt)
	a := p.decide(pt)
	if a.kind == crash || a.kind == tear {
		p.killLocked()
	}
	if a.err != nil {
		a.err = fmt.Errorf("%s: %w", pt, a.err)
	}
	return a
}

// around makes the effect with its two points.
func (p *Plan) around(op Op, target string, effect func() error) error {
	a := p.reach(op, Before, target)
	if a.kind == pretend && op == OpDelete {
		return nil
	}
	if a.stops() {
		return a.err
	}
	return p.after(op, target, effect())
}

// after passes the point behind an effect. An effect that failed by itself, without having been applied, has none.
func (p *Plan) after(op Op, target string, err error) error {
	if err != nil {
		return err
	}
	return p.reach(op, After, target).err
}

// stops says that the effect is not to be made. What has no meaning at a point lets it happen.
func (a Action) stops() bool { return a.kind != goOn && a.err != nil }

// hold keeps a request for Release.
func (p *Plan) hold(f func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.held = append(p.mu.held, f)
}
