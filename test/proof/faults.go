package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/stormfloe/floe/internal/child"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/internal/services"
)

// away is how long a service is away, hangs, is slow or loses answers; stopped how long a zombie sleeps.
const (
	away    = 20 * time.Second
	stopped = 15 * time.Second
)

// outages are what a turn of a fault run does. Replica 1 lives from the first turn to the last, so that its memory can be
// judged; what ends or stops a process is for replica 0.
var outages = []outage{
	{"floe is killed", (*faultRun).killFloe},
	{"the broker is killed, and is away for 5 s", (*faultRun).killBroker},
	{"the catalog is killed, and is away for 20 s", (*faultRun).killCatalog},
	{"the store is away for 20 s", func(f *faultRun, ctx context.Context) error { return f.store(ctx, Away) }},
	{"the store hangs for 20 s", func(f *faultRun, ctx context.Context) error { return f.store(ctx, Hanging) }},
	{"the store is slow for 20 s", func(f *faultRun, ctx context.Context) error { return f.store(ctx, Slow) }},
	{"the store's answers are cut for 20 s", func(f *faultRun, ctx context.Context) error { return f.store(ctx, Cutting) }},
	{"the catalog's answers are lost for 20 s", (*faultRun).loseAnswers},
	{"floe is stopped for 15 s", (*faultRun).stopFloe},
}

type outage struct {
	what string
	do   func(*faultRun, context.Context) error
}

// Turn is what came of a fault.
type Turn struct {
	Fault string `json:"fault"`
	// Recovered is how many seconds after the fault's end the next commit was seen.
	Recovered float64 `json:"recovered_seconds"`
	// RSS are the largest resident sets of the two replicas in this turn, in bytes.
	RSS [replicas]int64 `json:"rss_bytes"`
	// Produced are the records so far.
	Produced int64 `json:"produced"`
}

func (t Turn) String() string {
	return fmt.Sprintf("%-44s commits again after %4.1f s, %7d records so far, RSS at most %s and %s", t.Fault, t.Recovered, t.Produced,
		megabytes(t.RSS[0]), megabytes(t.RSS[1]))
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// faultRun is a round on real services with a fault in each turn.
type faultRun struct {
	*round
	// peaks are the largest resident sets in this turn.
	peaks [replicas]int64
	turns []Turn
}

// faultsCommand is `proof faults`.
func faultsCommand(ctx context.Context, c *call) (err error) {
	o := soakOptions{session: 6 * time.Second, hang: 2 * time.Minute}
	fs := c.flags("faults", "runs floe on real services, which it starts, with a fault in each turn, and checks the table with all its history")
	total := fs.Duration("for", 10*time.Minute, "how long; nine turns are each fault once")
	length := fs.Duration("turn", time.Minute, "from one fault to the next")
	fs.StringVar(&o.dir, "dir", "", "folder for everything that is written; default: a temporary one, removed where nothing was found")
	fs.StringVar(&o.floe, "floe", "", "the binary; default: it is built with the tags that this program was built with")
	patternFlags(fs, &o.pattern)
	fs.DurationVar(&o.pause, "pause", 250*time.Millisecond, "between two transactions of the producer")
	fs.BoolVar(&o.json, "json", false, "print the figures as one JSON object at the end")
	rest, err := c.parse(fs)
	o.seed = o.pattern.Seed
	switch {
	case err != nil:
	case len(rest) > 0:
		err = usage("faults: %q is one argument too many", rest[0])
	case *length < 30*time.Second || *total < *length:
		err = usage("faults: --turn must be at least 30s, and --for at least one turn")
	case signals == nil:
		err = usage("faults: this system has no signals to stop a process with")
	}
	if err != nil {
		return err
	}
	return c.soak(ctx, o, func(s *soak) (func(bool), error) { return s.onServices(ctx) }, func(s *soak) error {
		return s.faults(ctx, *total, *length)
	})
}

// onServices starts Kafka, a REST catalog and an S3 server, and leads the ways there through what can break them: that of floe
// and of the catalog to the store through a valve, that of floe to the catalog through a proxy.
func (s *soak) onServices(ctx context.Context) (undo func(bool), err error) {
	dir := filepath.Join(s.o.dir, "services")
	if err := mkdir(dir); err != nil {
		return nil, err
	}
	s.services = services.New(dir, s.c.stderr)
	undo = func(bool) { s.services.Stop() }
	defer func() {
		if err != nil {
			undo(false)
		}
	}()
	k, err := s.services.Kafka(ctx)
	if err != nil {
		return nil, err
	}
	s.o.brokers = []string{k.Plain}
	s3, err := s.services.S3(ctx)
	if err != nil {
		return nil, err
	}
	direct := s3.Properties()
	if s.valve, err = newValve(strings.TrimPrefix(s3.URL, "http://")); err != nil {
		return nil, err
	}
	undo = func(bool) { s.valve.stop(); s.services.Stop() }
	s3.URL = "http://" + s.valve.addr() // for the catalog as well
	uri, err := s.services.REST(ctx)
	if err != nil {
		return nil, err
	}
	s.o.catalog = pairs{"type": "rest", "uri": uri}
	maps.Copy(s.o.catalog, direct)
	stop, err := s.throughProxy() // direct is the checker's from here
	if err != nil {
		return nil, err
	}
	s.o.catalog["s3.endpoint"] = s3.URL
	undo = func(bool) { stop(); s.valve.stop(); s.services.Stop() }
	return undo, nil
}

// faults is the run: it checks the whole history at its end, in which no snapshot has expired.
func (s *soak) faults(ctx context.Context, total, length time.Duration) error {
	// Few files: the S3 server is slow, and reading them all takes longer than writing them.
	shape := Shape{Tasks: 1, Seal: 2 * time.Second, Commit: time.Second}
	return s.play(ctx, 1, newSchedule(s.o.seed, 1, s.o.session), shape, func(ctx context.Context, r *round) error {
		f := &faultRun{round: r}
		end := time.Now().Add(total)
		for n, o := range order(s.o.seed) {
			if time.Until(end) < length/2 {
				break
			}
			if err := f.turn(ctx, n, o, length); err != nil {
				return err
			}
		}
		return f.judge()
	})
}

// order draws the faults without an end: all of them before one comes again.
func order(seed uint64) iter.Seq2[int, outage] {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return func(yield func(int, outage) bool) {
		for n := 0; ; {
			for _, i := range rnd.Perm(len(outages)) {
				if !yield(n, outages[i]) {
					return
				}
				n++
			}
		}
	}
}

// turn makes one fault, waits until commits come again, and until its time is over.
func (f *faultRun) turn(ctx context.Context, n int, o outage, length time.Duration) error {
	end := time.Now().Add(length)
	f.peaks = [replicas]int64{}
	if err := f.commits(ctx); err != nil { // what is broken must have worked
		return err
	}
	f.c.logf("turn %d: %s", n+1, o.what)
	f.count.add(func(fig *Figures) { fig.Faults[Kind(o.what)]++ })
	if err := o.do(f, ctx); err != nil {
		return fmt.Errorf("%s: %w", o.what, err)
	}
	over := time.Now()
	if err := f.commits(ctx); err != nil {
		return err
	}
	recovered := time.Since(over)
	if err := f.calm(ctx, time.Until(end)); err != nil {
		return err
	}
	p := f.producer.produced()
	t := Turn{Fault: o.what, Recovered: recovered.Seconds(), RSS: f.peaks, Produced: p.Transactions * p.Records * int64(p.Partitions)}
	f.turns = append(f.turns, t)
	f.count.add(func(fig *Figures) { fig.Turns = append(fig.Turns, t) })
	f.c.logf("turn %d: %s", n+1, t)
	return nil
}

// calm lets time pass and looks at the memory of both replicas.
func (f *faultRun) calm(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := retry.Sleep(ctx, min(time.Second, time.Until(end))); err != nil {
			return context.Cause(ctx)
		}
		f.look()
	}
	return nil
}

func (f *faultRun) look() {
	for i, p := range f.lives {
		if now, _, err := child.RSS(p.cmd.Process.Pid); err == nil { // it may just have ended
			f.peaks[i] = max(f.peaks[i], now)
		}
	}
}

// commits waits until each replica that runs has made one commit more: the partitions of both go on.
func (f *faultRun) commits(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.o.hang, errHang)
	defer cancel()
	for _, p := range f.lives {
		have := p.commits(ctx)
		for p.commits(ctx) <= have && !p.hasEnded(0) {
			err := f.calm(ctx, look)
			if errors.Is(err, errHang) {
				f.found("hang", fmt.Sprintf("no commit for %s\n%s\n%s", f.o.hang, lastLines(f.log(0), tail), lastLines(f.log(1), tail)))
				return errFound
			}
			if err != nil {
				return err
			}
		}
	}
	f.committed()
	return nil
}

var errHang = errors.New("no commit")

// flatWithin is how much the memory of a replica may grow from the second third of a run to the last, and overhead what it may
// have above the bound of the configuration: 64 MiB of pages of the binary itself, as floe counts them, and half of that for what
// Go's runtime gives back late.
const (
	flatWithin = 1.10
	overhead   = 96 << 20
)

// judge looks at the memory of the replica that has lived all the time.
func (f *faultRun) judge() error {
	wrong := memoryOf(f.turns)
	if wrong == "" {
		return nil
	}
	f.found("memory", wrong)
	return errFound
}

// memoryOf says what is wrong with the memory of replica 1, or nothing. Fewer than nine turns say nothing of growth.
func memoryOf(turns []Turn) string {
	n := len(turns)
	peak := func(turns []Turn) (most int64) {
		for _, t := range turns {
			most = max(most, t.RSS[1])
		}
		return most
	}
	if most := peak(turns); most > memory+overhead {
		return fmt.Sprintf("the resident set was %s, above %s", megabytes(most), megabytes(memory+overhead))
	}
	middle, last := peak(turns[n/3:n*2/3]), peak(turns[n*2/3:])
	if n >= 9 && float64(last) > flatWithin*float64(middle) {
		return fmt.Sprintf("the resident set grows: at most %s in the second third, %s in the last", megabytes(middle), megabytes(last))
	}
	return ""
}

func (f *faultRun) killFloe(ctx context.Context) error {
	f.killed.Add(1)
	return f.endAndRestart(ctx, Fault{Kind: Kill, Victims: []int{0}, Rest: time.Second})
}

// stopFloe makes a zombie: the group gives its partitions away meanwhile.
func (f *faultRun) stopFloe(ctx context.Context) error {
	f.zombie(f.lives[0], stopped)
	return f.calm(ctx, stopped)
}

// killBroker keeps the producer still, which could not tell otherwise what has become of its transaction.
func (f *faultRun) killBroker(ctx context.Context) error {
	f.producer.turn.Lock()
	defer f.producer.turn.Unlock()
	if err := f.producer.settled(ctx); err != nil {
		return err
	}
	return f.killService(ctx, "kafka", 5*time.Second)
}

func (f *faultRun) killCatalog(ctx context.Context) error { return f.killService(ctx, "rest", away) }

func (f *faultRun) killService(ctx context.Context, name string, d time.Duration) error {
	if err := f.soak.services.Kill(name); err != nil {
		return err
	}
	if err := f.calm(ctx, d); err != nil {
		return err
	}
	return f.soak.services.Again(ctx, name)
}

func (f *faultRun) store(ctx context.Context, flow Flow) error {
	f.valve.set(flow)
	defer f.valve.set(Open)
	return f.calm(ctx, away)
}

func (f *faultRun) loseAnswers(ctx context.Context) error {
	rules, err := parseFaults("all")
	if err != nil {
		return err
	}
	for i := range rules {
		rules[i].Chance *= 2
	}
	f.proxy.handler.SetRules(rules...)
	defer f.proxy.handler.SetRules()
	return f.calm(ctx, away)
}
