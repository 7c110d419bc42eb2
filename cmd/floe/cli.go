package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stormfloe/floe/internal/config"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// cli is one call of the binary.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            config.Env
	// signals gives SIGINT and SIGTERM until stop is called.
	signals func() (c <-chan os.Signal, stop func())
	// sameSignal is how soon after the first signal a second one is taken for the same.
	sameSignal time.Duration
	// declared is given the flags of a command where these alone are asked for: the command then ends with errHelp.
	declared func(*flag.FlagSet)
}

// command is one subcommand. It parses its own arguments.
type command struct {
	name string
	// summary is its line in the list of commands.
	summary string
	// usage is the line after "Usage:", help the text below it.
	usage, help string
	// examples are calls that a newcomer may want, one a line.
	examples string
	run      func(c *cli, cmd *command, args []string) error
}

func commands() []*command {
	return []*command{demoCommand(), runCommand(), validateCommand(), statusCommand(), doctorCommand(), positionsCommand(), walCommand(), rejectsCommand(), configCommand(), benchCommand(),
		completionCommand(), versionCommand()}
}

// run is the whole binary with everything it touches given to it. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env config.Env) int {
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, env: env, signals: osSignals, sameSignal: sameSignal}
	return c.main(args)
}

func osSignals() (<-chan os.Signal, func()) {
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	return ch, func() { signal.Stop(ch) }
}

func (c *cli) main(args []string) int {
	if len(args) == 0 {
		c.usage(c.stderr)
		return exitUsage
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help", "help":
		return c.help(args[1:])
	case "-version", "--version":
		name = "version"
	case completeWord:
		return c.complete(args[1:])
	case benchBroker:
		return c.exit(c.serveBench())
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return c.exit(cmd.run(c, cmd, args[1:]))
		}
	}
	c.errorf("floe: there is no command %q; the commands are %s", name, strings.Join(commandNames(), ", "))
	return exitUsage
}

func commandNames() []string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return names
}

func (c *cli) help(args []string) int {
	if len(args) > 0 {
		for _, cmd := range commands() {
			if cmd.name == args[0] {
				return c.exit(cmd.run(c, cmd, []string{"--help"}))
			}
		}
	}
	c.usage(c.stdout)
	return exitDone
}

func (c *cli) usage(w io.Writer) {
	_, _ = fmt.Fprint(w, "floe writes Kafka topics into Apache Iceberg tables, exactly once.\n\nUsage: floe COMMAND [flags] [arguments]\n\nCommands:\n")
	for _, cmd := range commands() {
		_, _ = fmt.Fprintf(w, "  %-10s  %s\n", cmd.name, cmd.summary)
	}
	_, _ = fmt.Fprint(w, "\n`floe COMMAND --help` says more. `floe demo` needs nothing but this binary.\n")
}

// errHelp says that help was asked for and given.
var errHelp = errors.New("help")

// usageError is a wrong call: exit code 2.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(cmd *command, format string, args ...any) error {
	return &usageError{fmt.Sprintf("floe %s: %s; see floe %s --help", cmd.name, fmt.Sprintf(format, args...), cmd.name)}
}

// silentError carries an exit code for what was said already.
type silentError struct{ code int }

func (e *silentError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exit prints err and gives the exit code.
func (c *cli) exit(err error) int {
	var usage *usageError
	var silent *silentError
	switch {
	case err == nil, errors.Is(err, errHelp):
		return exitDone
	case errors.As(err, &silent):
		return silent.code
	case errors.As(err, &usage):
		c.errorf("%s", usage.msg)
		return exitUsage
	}
	c.errorf("%s", explain(err))
	if isConfigError(err) {
		return exitUsage
	}
	return exitFailed
}

func (c *cli) errorf(format string, args ...any) {
	_, _ = fmt.Fprintln(c.stderr, visibleLines(fmt.Sprintf(format, args...)))
}

// printJSON writes v as one indented object to stdout.
func (c *cli) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if err == nil {
		_, err = c.stdout.Write(visibleJSON(b.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// parse parses flags and arguments in any order; flags are those of fs. It prints the help where that is asked for.
func (c *cli) parse(cmd *command, fs *flag.FlagSet, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	if c.declared != nil {
		c.declared(fs)
		return nil, errHelp
	}
	var rest []string
	for {
		err := fs.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			c.commandHelp(cmd, fs)
			return nil, errHelp
		case err != nil:
			return nil, usagef(cmd, "%s", flagError(err))
		}
		left := fs.Args()
		// Behind -- everything is an argument.
		if ended := len(args) - len(left); ended > 0 && args[ended-1] == "--" {
			return append(rest, left...), nil
		}
		if len(left) == 0 {
			return rest, nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// flagError says in floe's words what package flag found.
func flagError(err error) string {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		return "there is no flag --" + name
	}
	if name, ok := strings.CutPrefix(msg, "flag needs an argument: -"); ok {
		return "the flag --" + name + " needs a value"
	}
	if m := badFlagValue.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("the value %s of --%s can't be read", m[1], m[2])
	}
	return msg
}

var badFlagValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): `)

func (c *cli) commandHelp(cmd *command, fs *flag.FlagSet) {
	_, _ = fmt.Fprintf(c.stdout, "Usage: floe %s\n\n%s", cmd.usage, strings.TrimLeft(cmd.help, "\n"))
	var flags []*flag.Flag
	width := 0
	fs.VisitAll(func(f *flag.Flag) {
		flags = append(flags, f)
		width = max(width, len(flagName(f)))
	})
	defer func() {
		_, _ = fmt.Fprintf(c.stdout, "\nExamples:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(cmd.examples), "\n", "\n  "))
	}()
	if len(flags) == 0 {
		return
	}
	slices.SortFunc(flags, func(a, b *flag.Flag) int { return strings.Compare(a.Name, b.Name) })
	_, _ = fmt.Fprint(c.stdout, "\nFlags:\n")
	for _, f := range flags {
		_, usage := flag.UnquoteUsage(f)
		_, _ = fmt.Fprintf(c.stdout, "  %-*s  %s\n", width, flagName(f), usage)
	}
}

func flagName(f *flag.Flag) string {
	if value, _ := flag.UnquoteUsage(f); value != "" {
		return "--" + f.Name + " " + value
	}
	return "--" + f.Name
}

// configArgs loads several configurations that are to run in one process.
func (c *cli) configArgs(cmd *command, args []string) ([]*config.Config, error) {
	if len(args) == 0 {
		return nil, usagef(cmd, "the path of a configuration is missing")
	}
	var cfgs []*config.Config
	var errs []error
	for _, path := range args {
		cfg, err := config.Load(path, c.env)
		cfgs, errs = append(cfgs, cfg), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return config.Together(cfgs)
}

// configArg loads the configuration that is the first argument.
func (c *cli) configArg(cmd *command, args []string) (*config.Config, []string, error) {
	if len(args) == 0 {
		return nil, nil, usagef(cmd, "the path of a configuration is missing")
	}
	cfg, err := config.Load(args[0], c.env)
	return cfg, args[1:], err
}

// sameSignal is how soon after the first a second signal still counts as the same: timeout(1) and some supervisors send
// each to the process and to its group, which makes two.
const sameSignal = 300 * time.Millisecond

// untilSignal gives a context that ends with the first SIGINT or SIGTERM, after first was called; a second one calls
// again. stop ends the waiting and must be called.
func (c *cli) untilSignal(first, again func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, stopSignals := c.signals()
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var at time.Time
		for {
			select {
			case <-stopped:
				return
			case <-signals:
			}
			switch {
			case at.IsZero():
				at = time.Now()
				first()
				cancel()
			case time.Since(at) >= c.sameSignal:
				again()
				return
			}
		}
	}()
	return ctx, func() { stopSignals(); cancel(); close(stopped); <-ended }
}
