package main

import (
	_ "embed"
	"flag"
	"fmt"
	"strings"
)

//go:embed completion/floe.bash
var bashCompletion string

//go:embed completion/floe.zsh
var zshCompletion string

//go:embed completion/floe.fish
var fishCompletion string

func completionCommand() *command {
	return &command{
		name:    "completion",
		summary: "print what makes a shell complete commands, flags and configurations",
		usage:   "completion bash|zsh|fish",
		help: `
Prints a script for the shell. With it the tab key completes commands, flags, their values where there are few, and *.yaml files where a
configuration belongs. The script asks the floe that is called, so that it need not be made anew with the next version.

  bash  source <(floe completion bash), in ~/.bashrc
  zsh   source <(floe completion zsh), in ~/.zshrc behind compinit; or in a file _floe in a folder of $fpath
  fish  floe completion fish > ~/.config/fish/completions/floe.fish
`,
		examples: `
floe completion bash > /etc/bash_completion.d/floe
`,
		run: runCompletion,
	}
}

func runCompletion(c *cli, cmd *command, args []string) error {
	rest, err := c.parse(cmd, flag.NewFlagSet(cmd.name, flag.ContinueOnError), args)
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef(cmd, "bash, zsh or fish is missing")
	case len(rest) > 1:
		return usagef(cmd, "%q is one argument too many", rest[1])
	case scripts[rest[0]] == "":
		return usagef(cmd, "%q is none of bash, zsh and fish", rest[0])
	}
	_, err = fmt.Fprint(c.stdout, scripts[rest[0]])
	return err
}

// choice is the value of a flag that takes one of a few words. What else it is given is for its command to refuse.
type choice struct {
	value *string
	of    []string
}

// choiceVar declares a flag that takes one of a few words, which end its usage.
func choiceVar(fs *flag.FlagSet, p *string, name, value string, of []string, usage string) {
	*p = value
	last := len(of) - 1
	fs.Var(&choice{p, of}, name, usage+": "+strings.Join(of[:last], ", ")+" or "+of[last])
}

// String is flag.Value's.
func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set is flag.Value's.
func (c *choice) Set(s string) error {
	*c.value = s
	return nil
}
