package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/internal/target"
)

// round is one table's part of a soak. Its fields are for the goroutine that runs it.
type round struct {
	*soak
	n        int
	dir      string
	config   string
	name     string
	schedule *schedule
	producer *producer
	lives    [replicas]*process
	// fail ends the round: with the first finding, or with an error that is not floe's.
	fail context.CancelCauseFunc
	// waking counts zombies that are still to go on.
	waking sync.WaitGroup
	// progress is when a commit was last seen.
	progress time.Time
	// killed is written by that goroutine alone.
	killed atomic.Int64
	// foreign says that another engine works on the table, too; hands is its work under way.
	foreign bool
	hands   sync.WaitGroup
	// cache keeps what the files hold that an earlier check has read.
	cache proof.Cache
}

// errFound ends a round in which something was found.
var errFound = errors.New("something was found")

// round runs one. It gives an error where the round could not be run; findings are counted.
func (s *soak) round(ctx context.Context, n, kills int) error {
	sch := newSchedule(s.o.seed, n, s.o.session)
	return s.play(ctx, n, sch, sch.shape(), func(ctx context.Context, r *round) error { return r.strike(ctx, kills) })
}

// play is a round of any kind: strike does what is to be done while floe works and the producer produces.
func (s *soak) play(ctx context.Context, n int, sch *schedule, shape Shape, strike func(context.Context, *round) error) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r := &round{soak: s, n: n, name: fmt.Sprintf("soak-%d-%d", s.o.seed, n), fail: fail, schedule: sch, progress: time.Now()}
	r.dir = filepath.Join(s.o.dir, fmt.Sprintf("round-%03d", n))
	if err := r.begin(ctx, shape); err != nil {
		return err
	}
	defer r.producer.close()
	stop, produced := make(chan struct{}), make(chan error, 1)
	go func() {
		err := r.producer.run(ctx, stop, 0)
		if err != nil {
			fail(err)
		}
		produced <- err
	}()
	defer r.killAll()
	err = strike(ctx, r)
	close(stop)
	if perr := <-produced; err == nil {
		err = perr
	}
	err = errors.Join(err, r.producer.produced().save(filepath.Join(r.dir, "truth.json")))
	if err == nil {
		err = r.finish(ctx)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// begin makes the topic and the configuration, and starts the replicas.
func (r *round) begin(ctx context.Context, shape Shape) error {
	p := r.o.pattern
	p.Topic, p.Seed = r.name, r.o.seed+uint64(r.n)
	prod, err := newProducer(ctx, r.o.brokers, p, r.o.pause)
	if err != nil {
		return err
	}
	r.producer = prod
	r.foreign = shape.Foreign
	set := setup{name: r.name, topic: p.Topic, table: "soak." + strings.ReplaceAll(r.name, "-", "_"), brokers: r.o.brokers,
		catalog: r.o.catalog, session: r.o.session, shape: shape}
	r.config = filepath.Join(r.dir, "floe.json")
	direct := set
	direct.catalog = r.soak.direct
	if err = mkdir(r.dir); err == nil {
		err = errors.Join(writeConfig(r.config, set), writeConfig(filepath.Join(r.dir, "direct.json"), direct))
	}
	if err != nil {
		prod.close()
		return err
	}
	r.c.logf("round %d: %+v", r.n, set.shape)
	r.count.add(func(f *Figures) { f.Rounds++ })
	for i := range replicas {
		if err := r.launch(i, false); err != nil {
			prod.close()
			r.killAll()
			return err
		}
	}
	return nil
}

func (r *round) log(i int) string { return filepath.Join(r.dir, fmt.Sprintf("replica-%d.log", i)) }

// launch starts a life of replica i. How one that is to end by itself has ended is for the caller to judge.
func (r *round) launch(i int, untilCaughtUp bool) error {
	args := []string{"run", r.config}
	if untilCaughtUp {
		args = append(args, "--until-caught-up")
	}
	p, err := launch(r.start, r.log(i), r.o.floe, args, r.count.event, func(p *process) {
		early := p.askedFor() == Term && !p.listens()
		if wrong := wrongEnd(p.askedFor(), p.state, early); wrong != "" && !untilCaughtUp {
			r.found("exit", fmt.Sprintf("replica %d (pid %d) %s\n%s", i, p.cmd.Process.Pid, wrong, lastLines(r.log(i), tail)))
		}
	})
	if err != nil {
		return err
	}
	r.lives[i] = p
	r.count.add(func(f *Figures) { f.Starts++ })
	return nil
}

// found counts a finding, says it and ends the round. A kind of "" was counted already.
func (r *round) found(kind, text string) {
	text = strings.TrimSpace(fmt.Sprintf("round %d after %d kills, %s", r.n, r.killed.Load(), kind)) + ": " + text
	r.count.find(kind, text)
	r.c.logf("FOUND %s", text)
	r.fail(errFound)
}

// strike sends faults until there were enough kills.
func (r *round) strike(ctx context.Context, kills int) error {
	for checked := int64(0); r.left(kills) > 0; {
		if err := r.fault(ctx, r.schedule.next(), kills); err != nil {
			return err
		}
		if err := r.watch(ctx); err != nil {
			return err
		}
		if every := int64(r.o.between); every > 0 && r.killed.Load()/every > checked && r.left(kills) > 0 {
			checked = r.killed.Load() / every
			if err := r.between(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// left is how many of the kills are still to come.
func (r *round) left(kills int) int { return kills - int(r.killed.Load()) }

// between checks the table, and then lets another engine work on it while the faults go on.
func (r *round) between(ctx context.Context) error {
	r.hands.Wait() // an expiry takes files that the check is to read
	cfg, err := r.directConfig()
	if err != nil {
		return err
	}
	if err := r.check(ctx, cfg, r.producer.atMost, false); err != nil {
		return err
	}
	if r.foreign {
		r.hands.Go(func() { r.foreignHand(ctx, cfg) })
	}
	return nil
}

// directConfig is the configuration that leads to the catalog without the proxy.
func (r *round) directConfig() (*config.Config, error) {
	return config.Load(filepath.Join(r.dir, "direct.json"), func(string) (string, bool) { return "", false })
}

// patience is how long a fault waits for its sign of life.
const patience = 6 * time.Second

// fault carries one out. Of a kill of both, when one kill is left, only the first is killed.
func (r *round) fault(ctx context.Context, f Fault, kills int) error {
	if f.Kind == Kill {
		f.Victims = f.Victims[:min(len(f.Victims), r.left(kills))]
	}
	first := r.lives[f.Victims[0]]
	if f.Kind == Stop && first.isStopped() {
		return retry.Sleep(ctx, f.Delay)
	}
	seen := !first.isStopped() && first.await(ctx, f.After, patience)
	if err := retry.Sleep(ctx, f.Delay); err != nil {
		return err
	}
	if seen && f.After == Committed {
		r.committed()
	}
	r.count.add(func(fig *Figures) {
		fig.Faults[f.Kind] += len(f.Victims)
		if len(f.Victims) > 1 {
			fig.Twin++
		}
		if seen {
			fig.Signs[f.After]++
		} else {
			fig.Missed++
		}
	})
	if f.Kind == Stop {
		r.zombie(first, f.Stopped)
		return nil
	}
	if f.Kind == Kill {
		r.killed.Add(int64(len(f.Victims)))
	}
	return r.endAndRestart(ctx, f)
}

// zombie stops a process, and lets it go on when the group has given its partitions away.
func (r *round) zombie(p *process, d time.Duration) {
	p.stop()
	r.waking.Go(func() {
		if !p.hasEnded(d) {
			p.goOn()
		}
	})
}

func (r *round) endAndRestart(ctx context.Context, f Fault) error {
	for _, i := range f.Victims {
		r.lives[i].end(f.Kind)
	}
	for _, i := range f.Victims {
		// A graceful end may take shutdown_timeout, and that of a zombie begins when it goes on.
		if !r.lives[i].hasEnded(shutdownTimeout + 3*r.o.session + 10*time.Second) {
			r.found("hang", fmt.Sprintf("replica %d does not end after %s\n%s", i, f.Kind, lastLines(r.log(i), tail)))
			return errFound
		}
	}
	if err := retry.Sleep(ctx, f.Rest); err != nil {
		return err
	}
	for _, i := range f.Victims {
		if err := r.launch(i, false); err != nil {
			return err
		}
	}
	return nil
}

// committed notes that a commit was seen.
func (r *round) committed() {
	gap := time.Since(r.progress).Seconds()
	r.progress = time.Now()
	r.count.add(func(f *Figures) { f.Slowest = max(f.Slowest, gap) })
}

// watch makes a pause between faults when there was no commit for long: it must come then.
func (r *round) watch(ctx context.Context) error {
	if time.Since(r.progress) < r.o.hang/4 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.hang)
	defer cancel()
	for {
		for _, p := range r.lives {
			if p.await(ctx, Committed, patience/10) {
				r.committed()
				return nil
			}
		}
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			r.found("hang", fmt.Sprintf("no commit for %s\n%s\n%s", time.Since(r.progress).Round(time.Second),
				lastLines(r.log(0), tail), lastLines(r.log(1), tail)))
			return errFound
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// check compares the tables with what was produced; both are loaded before produced is asked.
func (r *round) check(ctx context.Context, cfg *config.Config, produced func() Pattern, whole bool) error {
	began := time.Now()
	ts, err := lookAtBoth(ctx, cfg)
	if err != nil && !whole && target.IsMissing(err) {
		return nil // nobody has lived long enough to make it
	}
	if err != nil {
		return err
	}
	p := produced()
	o := proof.Options{Whole: whole, Cache: &r.cache}
	if whole {
		o.Cache = nil // everything is read once more
	}
	report, err := checkTables(ctx, ts, cfg, p, o)
	if err != nil {
		return err
	}
	r.c.logf("round %d after %d kills: %s (checked in %s)", r.n, r.killed.Load(), report, time.Since(began).Round(10*time.Millisecond))
	r.progress = r.progress.Add(time.Since(began)) // no fault and no look in this time
	r.count.add(func(f *Figures) { f.Checks++ })
	if whole {
		r.sum(ts.main, p, report)
	}
	if report.Err() == nil {
		return nil
	}
	for kind, n := range report.Count {
		r.count.add(func(f *Figures) { f.Found[string(kind)] += n })
	}
	text := report.String()
	for _, f := range report.Findings[:min(len(report.Findings), 20)] {
		text += "\n" + f.String()
	}
	r.found("", text)
	return errFound
}

var _ proof.Truth = Pattern{}
