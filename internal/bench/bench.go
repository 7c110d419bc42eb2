package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/topology"
)

// Runner runs floe itself, by a configuration file.
type Runner interface {
	// Run runs the topology of the configuration until ctx ends, or until it has caught up. started is told the topology
	// right before it runs.
	Run(ctx context.Context, config string, untilCaughtUp bool, started func(*topology.Topology)) error
	// Table is the table of the configuration. Its Load makes the table where it is missing.
	Table(config string) (Table, error)
}

// Table is a table that Load loads; Close is called when it is not used any more.
type Table interface {
	Load(ctx context.Context) (*table.Table, error)
	Close() error
}

// Options of a run.
type Options struct {
	Settings
	// Brokers and Topic are a real cluster's. Produced says that the records are in the topic.
	Brokers  []string
	Topic    string
	Produced bool
	// Child is the command line of a process that calls Serve. Required.
	Child []string
	// Dir is the folder that everything is kept in, in a new folder of its own; empty is a temporary one that is removed.
	Dir string
	// Runner is required.
	Runner Runner
	// Progress is told what the run is doing, from one goroutine at a time. It may be nil.
	Progress func(Progress)
	// Measuring is called when the clock is about to start, and what it returns when it has stopped. It may be nil.
	Measuring func() (done func() error, err error)
}

// Progress is a step of the run and how far it has come.
type Progress struct {
	// Step is "preload", "history", "warm", "measure" or "verify".
	Step string
	// Done of Total records, or snapshots.
	Done, Total int64
}

// bench is one run.
type bench struct {
	Options
	dir   string
	child *child
}

// Run makes one run. Where the table does not hold each record once it gives the Result as well.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Measuring == nil {
		o.Measuring = func() (func() error, error) { return func() error { return nil }, nil }
	}
	o.Broker = "in-process"
	if len(o.Brokers) > 0 {
		o.Broker = "given"
	} else {
		o.Topic = "bench"
	}
	b := &bench{Options: o}
	dir, err := os.MkdirTemp(o.Dir, "floe-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if b.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	res, err := b.run(ctx)
	if o.Dir == "" {
		err = errors.Join(err, os.RemoveAll(dir))
	} else if res != nil {
		res.Dir = dir
	}
	if err == nil && ctx.Err() != nil {
		err = errors.New("the bench was ended before it was done")
	}
	return res, err
}

func (b *bench) run(ctx context.Context) (*Result, error) {
	job := Job{Brokers: b.Brokers, Topic: b.Topic, Produced: b.Produced, Workload: b.Workload, Seed: b.Seed, Records: b.Records,
		RecordBytes: b.RecordBytes, Partitions: b.Partitions, Codec: b.Codec}
	b.progress("preload", 0)
	var err error
	b.child, err = startChild(b.Child, job, ctx.Done(), func(done int64) { b.progress("preload", done) })
	if err != nil {
		return nil, err
	}
	defer b.child.stop()
	b.progress("preload", b.Records)
	config, err := b.config("events")
	if err != nil {
		return nil, err
	}
	before, err := b.prepare(ctx, config)
	if err != nil {
		return nil, err
	}
	if b.WarmUp > 0 {
		if err := b.warmUp(ctx); err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
	res, err := b.measure(ctx, config)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	return res, b.verify(ctx, config, before, res)
}

func (b *bench) progress(step string, done int64) {
	b.Progress(Progress{Step: step, Done: min(done, b.Records), Total: b.Records})
}

// config writes the configuration for a table.
func (b *bench) config(name string) (path string, err error) {
	text := b.ConfigText(Place{
		Brokers: b.child.brokers, Topic: b.Topic, Group: "floe-bench-" + uuid.NewString(), Table: "bench." + name,
		Catalog: filepath.Join(b.dir, "catalog.db"), Warehouse: filepath.Join(b.dir, "warehouse"), Registry: b.child.registry,
	})
	path = filepath.Join(b.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return path, nil
}

// prepare makes the table and its history, and gives how many rows it has then.
func (b *bench) prepare(ctx context.Context, config string) (rows int64, err error) {
	t, err := b.Runner.Table(config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	tbl, err := t.Load(ctx)
	if err != nil {
		return 0, err
	}
	for i := range b.History {
		b.Progress(Progress{Step: "history", Done: int64(i), Total: int64(b.History)})
		if tbl, err = addSnapshot(ctx, tbl, i); err != nil {
			return 0, fmt.Errorf("make snapshot %d before the run: %w", i+1, err)
		}
	}
	if b.History > 0 {
		forgetPeak() // the making of the history is not what is measured
	}
	return int64(b.History), nil
}

// warmUp reads the first records into a table of their own and ends then, as by a signal.
func (b *bench) warmUp(ctx context.Context) error {
	config, err := b.config("warm_up")
	if err != nil {
		return err
	}
	warm, enough := context.WithCancel(ctx)
	defer enough()
	w := watch(func(s sample) {
		b.Progress(Progress{Step: "warm", Done: min(s.read, b.WarmUp), Total: b.WarmUp})
		if s.read >= b.WarmUp {
			enough()
		}
	})
	// A topology that is ended does not say when there is nothing more; this one does.
	err = b.Runner.Run(warm, config, true, w.start)
	w.stop()
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	// What is garbage now is not the measured run's.
	runtime.GC()
	return nil
}

// measure runs the topology with the clock on.
func (b *bench) measure(ctx context.Context, config string) (*Result, error) {
	done, err := b.Measuring()
	if err != nil {
		return nil, err
	}
	res := &Result{Settings: b.Settings, Machine: thisMachine(), ValueBytes: b.child.bytes}
	w := watch(func(s sample) { b.progress("measure", s.rows) })
	brokerBefore, err := b.child.cpuOf(b.Broker)
	if err != nil {
		return nil, err
	}
	before := usageNow()
	var began time.Time
	err = b.Runner.Run(ctx, config, true, func(t *topology.Topology) {
		began = time.Now()
		w.start(t)
	})
	w.stop()
	after := usageNow()
	res.PeakRSSBytes = peakRSS()
	if err = errors.Join(err, done()); err != nil {
		return nil, fmt.Errorf("run %s: %w", config, err)
	}
	brokerAfter, err := b.child.cpuOf(b.Broker)
	if err != nil {
		return nil, err
	}
	res.account(w, began, after.since(before))
	if b.Broker == "in-process" {
		perRecord := float64(brokerAfter-brokerBefore) / float64(b.Records)
		res.BrokerCPUNsPerRecord = &perRecord
	}
	return res, nil
}
