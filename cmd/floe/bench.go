package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stormfloe/floe/internal/bench"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/demo"
	"github.com/stormfloe/floe/topology"
)

func benchCommand() *command {
	return &command{
		name:    "bench",
		summary: "measure floe from end to end on this machine: Kafka to visible rows",
		usage:   "bench [flags]",
		help: `
Measures floe from a broker that holds the records to the last visible row, commits included, by the code of floe run.

The broker is a process of its own beside this one, which makes the records from a seed and holds them before the clock
starts: CPU time, memory and allocations are floe's alone. With --brokers it is a real one, and the records are produced
into --topic first. The catalog is SQLite and the warehouse a local folder, removed at the end unless --dir is given.

A warm-up reads the first records into a table of its own. Then all records are read with the clock on, from the start of
the topology to the last commit. At the end the ids in the table are compared with those that were produced: a lost or
doubled record is exit code 1.

Workloads: a, JSON of 143 bytes with 6 columns; b, JSON of 1.2 kB with 40 columns, a struct and a list among them; avro-a,
the records of a as Avro of 67 bytes, with a schema registry beside the broker.

CPU time per record is the figure to compare. Wall time depends on what else the machine does.
`,
		examples: `
floe bench
floe bench --workload b --partitions 8 --writers 4
`,
		run: runBench,
	}
}

// benchFlags are the flags of bench.
type benchFlags struct {
	bench.Options
	brokers                string
	json                   bool
	compare                string
	cpuProfile, memProfile string
}

func (f *benchFlags) add(fs *flag.FlagSet) {
	s := &f.Settings
	choiceVar(fs, &s.Workload, "workload", "a", bench.Workloads(), "`NAME` of the kind of records")
	fs.Uint64Var(&s.Seed, "seed", 1, "`N` that the records are made from")
	fs.Int64Var(&s.Records, "records", 0, "`N` records; default 5000000 of a and avro-a, 500000 of b, and 2 GB at most where they are widened")
	fs.IntVar(&s.RecordBytes, "record-bytes", 0, "`N` bytes a record of a, up to 1048576; default 143")
	fs.IntVar(&s.Partitions, "partitions", 8, "`N` partitions of the topic")
	choiceVar(fs, &s.Codec, "codec", "lz4", bench.Codecs(), "`CODEC` of the record batches")
	fs.IntVar(&s.Writers, "writers", 2, "`N` writer tasks")
	fs.IntVar(&s.IcebergPartitions, "iceberg-partitions", 0, "`N` buckets of the id that the table is partitioned by; 0 and 1 for none")
	fs.IntVar(&s.History, "history", 0, "`N` snapshots that the table has before")
	fs.StringVar(&s.Memory, "memory", "", "`SIZE` of the configuration's memory; default as there")
	fs.DurationVar(&s.Interval, "interval", time.Second, "`DURATION` between commits")
	fs.Int64Var(&s.SealRecords, "seal-records", 0, "`N` records that close a batch; 0 for no such bound")
	fs.StringVar(&s.SealBytes, "seal-bytes", "", "`SIZE` that closes a batch; default as in a configuration")
	fs.DurationVar(&s.SealInterval, "seal-interval", 2*time.Second, "`DURATION` that closes a batch")
	fs.Int64Var(&s.WarmUp, "warm-up", -1, "`N` records read before, without a clock; default a tenth, 500000 at most; 0 for a cold start")
	fs.StringVar(&f.brokers, "brokers", "", "`HOST:PORT` of a real Kafka, or several with commas; default a broker beside this process")
	fs.StringVar(&f.Topic, "topic", "", "`TOPIC` to make there and fill")
	fs.BoolVar(&f.Produced, "produced", false, "the topic was filled by an earlier bench with the same flags")
	fs.StringVar(&f.Dir, "dir", "", "keep everything in a new folder in `DIR`")
	fs.BoolVar(&f.json, "json", false, "print the outcome as one JSON object")
	fs.StringVar(&f.compare, "compare", "", "`FILE` of an earlier --json to print ratios against")
	fs.StringVar(&f.cpuProfile, "cpuprofile", "", "`FILE` for a CPU profile of the measured part")
	fs.StringVar(&f.memProfile, "memprofile", "", "`FILE` for a profile of allocations, the warm-up included")
}

// check fills in what depends on other flags and refuses what can't be.
func (f *benchFlags) check(cmd *command, set map[string]bool) error {
	s := &f.Settings
	if f.brokers != "" {
		f.Brokers = strings.Split(f.brokers, ",")
	}
	if !set["records"] {
		s.Records = defaultRecords(s.Workload, s.RecordBytes)
	}
	if !set["warm-up"] {
		s.WarmUp = min(500_000, s.Records/10)
	}
	switch {
	case (f.brokers == "") != (f.Topic == ""):
		return usagef(cmd, "--brokers and --topic belong together")
	case f.Produced && f.brokers == "":
		return usagef(cmd, "--produced is for a broker of one's own: it needs --brokers and --topic")
	}
	if err := f.Validate(); err != nil {
		return usagef(cmd, "%s", err)
	}
	// The rest are words of a configuration.
	sample := f.ConfigText(bench.Place{Brokers: []string{"localhost:9092"}, Topic: "t", Group: "g", Catalog: "c", Warehouse: "w", Table: "bench.t",
		Registry: "http://localhost:8081"})
	_, err := config.Parse("floe.yaml", []byte(sample), func(string) (string, bool) { return "", false })
	var wrong *config.Error
	if errors.As(err, &wrong) {
		return usagef(cmd, "%s: %s", wrong.Key, wrong.Msg)
	}
	return err
}

func defaultRecords(workload string, recordBytes int) int64 {
	const mostBytes = 2_000_000_000
	switch {
	case workload == "b":
		return 500_000
	case recordBytes > 0:
		return min(5_000_000, mostBytes/int64(recordBytes))
	}
	return 5_000_000
}

func runBench(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	var f benchFlags
	f.add(fs)
	rest, err := c.parse(cmd, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	}
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if err := f.check(cmd, set); err != nil {
		return err
	}
	var before *bench.Result
	if f.compare != "" {
		if before, err = bench.Load(f.compare); err != nil {
			return err
		}
	}
	res, err := c.bench(&f)
	if res == nil {
		return err
	}
	return errors.Join(c.printBench(res, before, f.json, err), err)
}

func (c *cli) bench(f *benchFlags) (*bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find floe's own file: %w", err)
	}
	killed := make(chan struct{})
	ctx, stop := c.untilSignal(
		func() { c.errorf("\nending; a second signal ends at once") },
		func() { close(killed) })
	defer stop()
	show := newProgress(c.stderr)
	show.unit = "records"
	f.Child = []string{self, benchBroker}
	f.Runner = &benchRunner{fileRunner{c, killed}}
	f.Measuring = f.profiles
	f.Progress = func(p bench.Progress) { show.update(demo.Progress(p)) }
	res, err := bench.Run(ctx, f.Options)
	show.end()
	return res, err
}

// benchBroker is what the child's command line says. It is no command for people.
const benchBroker = "bench-broker"

// serveBench is the child of bench. Signals of a terminal reach it too; it ends when its parent is through.
func (c *cli) serveBench() error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	return bench.Serve(c.stdin, c.stdout)
}

// benchRunner is the bench's fileRunner.
type benchRunner struct{ fileRunner }

// Run implements bench.Runner.
func (b *benchRunner) Run(ctx context.Context, path string, untilCaughtUp bool, started func(*topology.Topology)) error {
	return b.runFile(ctx, path, untilCaughtUp, started)
}

// Table implements bench.Runner.
func (b *benchRunner) Table(path string) (bench.Table, error) {
	cfg, err := config.Load(path, b.cli.env)
	if err != nil {
		return nil, err
	}
	return newTable(cfg)
}
