package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/bench"
	"github.com/stormfloe/floe/internal/child"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/target"
)

// steadyRun is what a steady run is made of.
type steadyRun struct {
	bench.Settings
	duration time.Duration
	rate     float64
	overhead config.Size
	// behind is how much of the stream may be missing in the table at the end.
	behind time.Duration
	dir    string
}

func (c *call) steady(ctx context.Context, args []string) (err error) {
	s := steadyRun{Settings: bench.Settings{Seed: 1, Codec: "lz4", Records: 1 << 60, SealBytes: "128MiB"}}
	fs := flag.NewFlagSet("steady", flag.ContinueOnError)
	fs.DurationVar(&s.duration, "for", 30*time.Minute, "how long")
	fs.Float64Var(&s.rate, "rate", 100_000, "records a second")
	fs.StringVar(&s.Workload, "workload", "a", "a, b or avro-a")
	fs.IntVar(&s.Partitions, "partitions", 8, "partitions of the topic")
	fs.IntVar(&s.Writers, "writers", 2, "writer tasks")
	fs.IntVar(&s.IcebergPartitions, "iceberg-partitions", 0, "buckets of the table")
	fs.StringVar(&s.Memory, "memory", "256MiB", "memory of the configuration")
	overhead := fs.String("overhead", "32MiB", "what the resident set may have above it")
	fs.DurationVar(&s.Interval, "interval", 5*time.Second, "between commits")
	fs.DurationVar(&s.SealInterval, "seal-interval", 30*time.Second, "age that closes a batch")
	fs.DurationVar(&s.behind, "behind", time.Minute, "how much of the stream may be missing in the table at the end")
	floe := fs.String("floe", "", "the floe to run; built where it is not given")
	if _, err := c.parse(fs, args, 0); err != nil {
		return err
	}
	if s.duration <= 0 || s.rate <= 0 {
		return &usageError{"--for and --rate must be above 0"}
	}
	if err := s.Validate(); err != nil {
		return &usageError{err.Error()}
	}
	if s.overhead, err = sizeOf(*overhead); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "floe-steady-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	bin, err := binary(ctx, *floe, s.dir)
	if err != nil {
		return err
	}
	return c.hold(ctx, bin, &s)
}

// sizeOf reads a size as a configuration has it.
func sizeOf(text string) (config.Size, error) {
	cfg, err := config.Parse("floe.yaml", []byte(
		"name: s\nsource: {kafka: {brokers: [\"h:1\"], topics: [t]}}\ncatalog: {type: sqlite, uri: c, warehouse: w}\ntable: {name: a.b}\n"+
			"writer: {seal: {bytes: "+strconv.Quote(text)+"}}\n"), func(string) (string, bool) { return "", false })
	if err != nil {
		return 0, &usageError{fmt.Sprintf("%q is not a size; write a size such as 32MiB", text)}
	}
	return cfg.Writer.Seal.Bytes, nil
}

// hold runs floe under the load and judges its memory.
func (c *call) hold(ctx context.Context, floe string, s *steadyRun) error {
	stream, err := bench.StartStream([]string{floe, "bench-broker"}, bench.Job{
		Topic: "steady", Workload: s.Workload, Seed: s.Seed, Records: s.Records, Partitions: s.Partitions, Codec: s.Codec,
		Rate: s.rate, Keep: 2 * s.behind,
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	path := filepath.Join(s.dir, "floe.yaml")
	text := s.ConfigText(bench.Place{Brokers: stream.Brokers(), Topic: "steady", Group: "steady", Table: "bench.steady",
		Catalog: filepath.Join(s.dir, "catalog.db"), Warehouse: filepath.Join(s.dir, "warehouse"), Registry: stream.Registry()})
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	cfg, err := config.Load(path, os.LookupEnv)
	if err != nil {
		return err
	}
	samples, peak, err := c.watch(ctx, exec.Command(floe, "run", path), s)
	if err != nil {
		return err
	}
	produced, err := stream.Produced()
	if err != nil {
		return err
	}
	rows, err := rowsOf(ctx, cfg)
	if err != nil {
		return err
	}
	v := judge(samples, peak, int64(cfg.Memory)+int64(s.overhead))
	v.rows, v.produced, v.fewest = rows, produced, produced-int64(s.rate*s.behind.Seconds())
	_, err = fmt.Fprintln(c.stdout, v)
	return errors.Join(err, v.err())
}

// watch runs floe for the duration, reads its resident set, and ends it gracefully.
func (c *call) watch(ctx context.Context, cmd *exec.Cmd, s *steadyRun) (samples []float64, peak int64, err error) {
	cmd.Stdout, cmd.Stderr = c.stderr, c.stderr
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// A hundred samples at least, however short it is.
	tick := time.NewTicker(min(time.Second, s.duration/100))
	defer tick.Stop()
	end := time.NewTimer(s.duration)
	defer end.Stop()
	said := time.Now()
	for {
		select {
		case err := <-ended:
			return nil, 0, fmt.Errorf("floe has ended before its time: %w", orNil(err))
		case <-ctx.Done():
			err = ctx.Err()
		case <-end.C:
		case <-tick.C:
			var now, most int64
			if now, most, err = child.RSS(cmd.Process.Pid); err == nil {
				// The kernel's two counters lag behind each other by some pages.
				samples, peak = append(samples, float64(now)), max(peak, now, most)
				if time.Since(said) > 10*time.Second {
					said = time.Now()
					_, _ = fmt.Fprintf(c.stderr, "RSS %.0f MB, peak %.0f MB\n", float64(now)/1e6, float64(peak)/1e6)
				}
				continue
			}
		}
		return samples, peak, errors.Join(err, endGracefully(cmd, ended))
	}
}

func orNil(err error) error {
	if err == nil {
		return errors.New("exit code 0")
	}
	return err
}

// endGracefully ends floe as an operator does.
func endGracefully(cmd *exec.Cmd, ended <-chan error) error {
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		<-ended
		return errors.New("floe did not end within a minute")
	}
}

// rowsOf is how many rows the table has.
func rowsOf(ctx context.Context, cfg *config.Config) (int64, error) {
	t, err := target.New(target.Config{Catalog: cfg.Catalog.Properties, Table: cfg.Table.Name})
	if err != nil {
		return 0, err
	}
	tbl, err := t.Look(ctx)
	if err != nil {
		return 0, err
	}
	return totalRecords(tbl)
}

func totalRecords(tbl *table.Table) (int64, error) {
	s := tbl.CurrentSnapshot()
	if s == nil || s.Summary == nil {
		return 0, errors.New("the table has no snapshot")
	}
	return strconv.ParseInt(s.Summary.Properties["total-records"], 10, 64)
}
