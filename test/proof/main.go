package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	// iceberg-go tells the standard log of each old metadata file that the catalog was faster to delete.
	log.SetOutput(io.Discard)
	// The second signal ends the process at once, by the system's own means.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const help = `proof shows that floe writes each record into the table once, whatever happens to its processes.

Usage: proof COMMAND [flags] [arguments]

Commands:
  soak     kills floe while it works, and checks the table; without flags it needs nothing but Go
  faults   breaks floe, the broker, the catalog and the store in turn, real ones which it starts, and checks the table
  produce  produces records that can be computed, and writes down by which pattern
  check    compares the table of a configuration, and all its history, with a pattern
  proxy    stands in front of a REST catalog and loses its answers

proof COMMAND --help says more. Exit codes: 0 done and nothing found, 1 failed or something found, 2 wrong usage.
`

// call is one call of the program.
type call struct {
	stdout, stderr io.Writer
	args           []string
}

// usageError is a wrong call.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	commands := map[string]func(context.Context, *call) error{
		"soak": soakCommand, "faults": faultsCommand, "produce": produceCommand, "check": checkCommand, "proxy": proxyCommand,
	}
	c := &call{stdout: stdout, stderr: stderr}
	if len(args) == 0 || commands[args[0]] == nil {
		_, _ = fmt.Fprint(stderr, help)
		return 2
	}
	c.args = args[1:]
	err := commands[args[0]](ctx, c)
	var wrong *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintf(stderr, "proof %s; see --help\n", wrong.msg)
		return 2
	}
	_, _ = fmt.Fprintf(stderr, "proof %s: %v\n", args[0], err)
	return 1
}

// flags makes the flags of a command, with its help.
func (c *call) flags(name, does string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(c.stderr)
	fs.Usage = func() {
		_, _ = fmt.Fprintf(c.stderr, "proof %s: %s.\n\nFlags:\n", name, does)
		fs.PrintDefaults()
	}
	return fs
}

// parse gives the arguments behind the flags.
func (c *call) parse(fs *flag.FlagSet) ([]string, error) {
	err := fs.Parse(c.args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = usage("%s: %v", fs.Name(), err)
	}
	return fs.Args(), err
}

func (c *call) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.stdout, format, args...) }

// patternFlags are the flags that describe what is produced.
func patternFlags(fs *flag.FlagSet, p *Pattern) {
	fs.Func("partitions", "how many partitions the topic has (default 4)", func(s string) error {
		_, err := fmt.Sscan(s, &p.Partitions)
		return err
	})
	p.Partitions = 4
	fs.Int64Var(&p.Records, "records", 25, "records of a transaction in each partition")
	fs.Int64Var(&p.AbortEvery, "abort-every", 5, "how many transactions there are for an aborted one; 0 for none")
	fs.Uint64Var(&p.TombstoneEvery, "tombstone-every", 20, "about how many records there are for one without a value; 0 for none")
	fs.Uint64Var(&p.BadEvery, "bad-every", 100, "about how many records there are for one that can't become a row; 0 for none")
	fs.Uint64Var(&p.Seed, "seed", 1, "of payloads, and in a soak of the faults")
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// pairs is a flag that may be given several times, KEY=VALUE each time.
type pairs map[string]string

func (p pairs) String() string { return "" }

// Set takes one pair.
func (p pairs) Set(s string) error {
	k, v, ok := strings.Cut(s, "=")
	if !ok || k == "" {
		return errors.New("write KEY=VALUE")
	}
	p[k] = v
	return nil
}
