package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/stormfloe/floe/internal/child"
	"github.com/stormfloe/floe/internal/services"
)

// replicas of floe in a round.
const replicas = 2

// soakOptions are the flags of soak.
type soakOptions struct {
	brokers                  []string
	catalog                  pairs
	dir, floe, buildFlags    string
	kills, perRound, between int
	seed                     uint64
	pattern                  Pattern
	pause, session, hang     time.Duration
	faults                   string
	json, keep               bool
}

func soakFlags(c *call) (soakOptions, error) {
	o := soakOptions{catalog: pairs{}}
	fs := c.flags("soak", "kills floe while it works, and checks the table with all its history")
	brokers := fs.String("brokers", "", "addresses of Kafka's brokers, with commas between them; default: a broker in this process")
	fs.Var(o.catalog, "catalog", "a key of the catalog, KEY=VALUE, as often as there are keys; default: SQLite and a local warehouse")
	fs.StringVar(&o.dir, "dir", "", "folder for configurations, logs and what else is written; default: a temporary one, removed where nothing was found")
	fs.StringVar(&o.floe, "floe", "", "the binary; default: it is built with the tags that this program was built with")
	fs.StringVar(&o.buildFlags, "build-flags", "", "more flags for building it, such as -race")
	fs.IntVar(&o.kills, "kills", 30, "how many SIGKILLs; other faults come on top")
	fs.IntVar(&o.perRound, "round", 25, "SIGKILLs on one table, before the next round begins with another")
	fs.IntVar(&o.between, "check-every", 10, "SIGKILLs between two checks of the table, and two works of another engine on it, while everything runs; 0 for none")
	patternFlags(fs, &o.pattern)
	fs.DurationVar(&o.pause, "pause", 150*time.Millisecond, "between two transactions of the producer")
	fs.DurationVar(&o.session, "session", 1200*time.Millisecond, "session timeout of the consumer group; the broker must allow it")
	fs.DurationVar(&o.hang, "hang", 90*time.Second, "how long without a commit, and without a fault, is a finding")
	fs.StringVar(&o.faults, "proxy", "", "faults of a proxy in front of a REST catalog, as in proof proxy --help; default: no proxy")
	fs.BoolVar(&o.json, "json", false, "print the figures as one JSON object at the end")
	fs.BoolVar(&o.keep, "keep", false, "keep the temporary folder")
	rest, err := c.parse(fs)
	o.brokers, o.seed = splitList(*brokers), o.pattern.Seed
	switch {
	case err != nil:
	case len(rest) > 0:
		err = usage("soak: %q is one argument too many", rest[0])
	case o.kills < 1 || o.perRound < 1:
		err = usage("soak: --kills and --round must be at least 1")
	case o.session < 200*time.Millisecond:
		err = usage("soak: --session %s is too short; write at least 200ms", o.session)
	case signals == nil:
		err = usage("soak: this system has no signals to stop a process with")
	}
	return o, err
}

// soak is a soak on its way.
type soak struct {
	o     soakOptions
	c     *call
	count *counters
	start func(*exec.Cmd) error
	// direct is the catalog as the checker reaches it, without the proxy.
	direct map[string]string
	// proxy is nil where there is none.
	proxy *proxy
	// services and valve are those of a fault run.
	services *services.Services
	valve    *valve
	began    time.Time
}

// figures are those of now.
func (s *soak) figures() Figures {
	s.count.add(func(f *Figures) {
		f.Seconds = time.Since(s.began).Seconds()
		if s.proxy != nil {
			f.Proxied = s.proxy.counts()
		}
	})
	return s.count.now()
}

// soakCommand is `proof soak`.
func soakCommand(ctx context.Context, c *call) error {
	o, err := soakFlags(c)
	if err != nil {
		return err
	}
	return c.soak(ctx, o, (*soak).onWhatIsThere, func(s *soak) error { return s.run(ctx) })
}

// soak prepares one, with what it works on made by place, runs it and prints its figures.
func (c *call) soak(ctx context.Context, o soakOptions, place func(*soak) (undo func(clean bool), err error), run func(*soak) error) (err error) {
	start, stopAll := child.Starter()
	defer stopAll()
	s := &soak{o: o, c: c, count: newCounters(o.seed), start: start}
	tidy, err := s.prepare(ctx, place)
	if err != nil {
		return err
	}
	s.began = time.Now()
	err = run(s)
	f := s.figures()
	clean := err == nil && len(f.Findings) == 0
	tidy(clean)
	if o.json {
		enc := json.NewEncoder(c.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = errors.Join(err, enc.Encode(f))
	} else {
		c.printf("%s\n", f)
	}
	if !clean {
		c.logf("logs and configurations are in %s", s.o.dir)
	}
	if err == nil && !clean {
		err = errFindings
	}
	return err
}

// logf tells how far it is.
func (c *call) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// prepare makes what a soak needs that was not given to it. tidy takes it away again; the folder only where clean.
func (s *soak) prepare(ctx context.Context, place func(*soak) (undo func(clean bool), err error)) (tidy func(clean bool), err error) {
	var undo []func(clean bool)
	tidy = func(clean bool) {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i](clean)
		}
	}
	if s.o.dir == "" {
		if s.o.dir, err = os.MkdirTemp("", "floe-soak-"); err != nil {
			return nil, err
		}
		undo = append(undo, func(clean bool) {
			if clean && !s.o.keep {
				_ = os.RemoveAll(s.o.dir)
			}
		})
	}
	if s.o.dir, err = filepath.Abs(s.o.dir); err == nil {
		err = os.MkdirAll(s.o.dir, 0o755)
	}
	if err == nil && s.o.floe == "" {
		s.c.logf("building floe")
		s.o.floe, err = buildFloe(ctx, s.o.dir, s.o.buildFlags)
	}
	if err == nil {
		var more func(bool)
		if more, err = place(s); err == nil {
			undo = append(undo, more)
		}
	}
	if err != nil {
		tidy(true)
	}
	return tidy, err
}

// onWhatIsThere takes the broker and the catalog that were given, or those that need nothing but Go.
func (s *soak) onWhatIsThere() (undo func(clean bool), err error) {
	stopBroker, stopProxy := func() {}, func() {}
	if len(s.o.brokers) == 0 {
		addr, stop, err := startBroker()
		if err != nil {
			return nil, err
		}
		s.o.brokers, stopBroker = []string{addr}, stop
	}
	if len(s.o.catalog) == 0 {
		s.o.catalog = pairs{"type": "sqlite", "uri": filepath.Join(s.o.dir, "catalog.db"), "warehouse": filepath.Join(s.o.dir, "warehouse")}
	}
	s.direct = s.o.catalog
	if s.o.faults != "" {
		if stopProxy, err = s.throughProxy(); err != nil {
			stopBroker()
			return nil, err
		}
	}
	return func(bool) { stopProxy(); stopBroker() }, nil
}

// buildFloe builds floe with the tags of this program.
func buildFloe(ctx context.Context, dir, flags string) (string, error) {
	out := filepath.Join(dir, "floe")
	args := append([]string{"build", "-o", out}, strings.Fields(flags)...)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" && s.Value != "" {
				args = append(args, "-tags", s.Value)
			}
		}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/stormfloe/floe/cmd/floe")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build floe: %w\n%s", err, text)
	}
	return out, nil
}

// run runs the rounds until there were enough kills or something was found.
func (s *soak) run(ctx context.Context) error {
	s.c.logf("seed %d, in %s", s.o.seed, s.o.dir)
	for n, done := 1, 0; done < s.o.kills; n++ {
		kills := min(s.o.perRound, s.o.kills-done)
		err := s.round(ctx, n, kills)
		if ctx.Err() != nil {
			return fmt.Errorf("ended by a signal in round %d", n)
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		done += kills
		f := s.figures()
		if err := f.save(filepath.Join(s.o.dir, "figures.json")); err != nil {
			return err
		}
		if len(f.Findings) > 0 {
			return nil
		}
	}
	return nil
}
