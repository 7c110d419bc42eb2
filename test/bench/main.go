package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const help = `bench makes tables and plots of what floe bench measures, and holds floe's memory under a steady load.

Usage: bench COMMAND [flags] [FILE]

Commands:
  table   runs floe bench for each row of the scaling table and prints it
  print   prints the table of the runs in FILE
  plot    draws the runs in FILE as SVG
  steady  runs floe under a steady load and looks at its memory

bench COMMAND --help says more. Exit codes: 0 done, 1 failed, 2 wrong usage.
`

// call is one call of the program.
type call struct {
	stdout, stderr io.Writer
}

// usageError is a wrong call.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &call{stdout, stderr}
	commands := map[string]func(context.Context, []string) error{
		"table": c.table, "print": c.print, "plot": c.plot, "steady": c.steady,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		_, _ = fmt.Fprint(stderr, help)
		return 2
	}
	err := commands[args[0]](ctx, args[1:])
	var wrong *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintf(stderr, "bench %s: %s; see --help\n", args[0], wrong.msg)
		return 2
	}
	_, _ = fmt.Fprintf(stderr, "bench %s: %v\n", args[0], err)
	return 1
}

// parse parses a command's flags and gives its arguments, of which there must be n.
func (c *call) parse(fs *flag.FlagSet, args []string, n int) ([]string, error) {
	fs.SetOutput(c.stderr)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, &usageError{err.Error()}
	}
	if fs.NArg() != n {
		return nil, &usageError{fmt.Sprintf("%d arguments, want %d", fs.NArg(), n)}
	}
	return fs.Args(), nil
}

// binary gives the floe to run: the one that is named, or one that is built from what is there.
func binary(ctx context.Context, named, dir string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	path := filepath.Join(dir, "floe")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/stormfloe/floe/cmd/floe").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build floe: %w: %s", err, out)
	}
	return path, nil
}
