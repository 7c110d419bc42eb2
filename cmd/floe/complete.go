package main

import (
	"bytes"
	"flag"
	"io"
	"regexp"
	"slices"
	"strings"
)

// completeWord is the command that the scripts of completions call: floe __complete WORD ..., the last word being the one to complete.
// It prints a candidate a line, and behind a tab what it means. A line that begins with a colon asks the shell for files.
const completeWord = "__complete"

// What the shell is asked for.
const (
	askConfigs = ":configs" // *.yaml and *.yml
	askFiles   = ":files"
	askFolders = ":folders"
)

// candidate is what a word may become, or a question to the shell.
type candidate struct{ word, about string }

// complete prints what the last word may become.
func (c *cli) complete(words []string) int {
	words, bare := joinEquals(words)
	last := ""
	if n := len(words); n > 0 {
		words, last = words[:n-1], words[n-1]
	}
	var b bytes.Buffer
	for _, x := range candidates(words, last) {
		if !strings.HasPrefix(x.word, last) && !strings.HasPrefix(x.word, ":") {
			continue
		}
		if bare {
			x.word = x.word[strings.Index(x.word, "=")+1:]
		}
		b.WriteString(x.word)
		if x.about != "" {
			b.WriteString("\t" + x.about)
		}
		b.WriteString("\n")
	}
	if _, err := c.stdout.Write(b.Bytes()); err != nil {
		return exitFailed
	}
	return exitDone
}

// joinEquals puts together what bash takes apart: --flag = value. bare says that the last word was one of these, so that bash wants
// what is behind the equals sign alone.
func joinEquals(words []string) (joined []string, bare bool) {
	for i := 0; i < len(words); i++ {
		if words[i] != "=" || len(joined) == 0 {
			joined, bare = append(joined, words[i]), false
			continue
		}
		joined[len(joined)-1] += "="
		if bare = true; i+1 < len(words) {
			i++
			joined[len(joined)-1] += words[i]
		}
	}
	return joined, bare
}

// candidates are what may stand behind words, where last has been written of it.
func candidates(words []string, last string) []candidate {
	var all []candidate
	for _, cmd := range commands() {
		all = append(all, candidate{cmd.name, cmd.summary})
	}
	if len(words) == 0 {
		return append(all, candidate{"help", "what a command does, and its flags"})
	}
	if words[0] == "help" && len(words) == 1 {
		return all
	}
	for _, cmd := range commands() {
		if cmd.name == words[0] {
			return cmd.candidates(words[1:], last)
		}
	}
	return nil
}

func (cmd *command) candidates(words []string, last string) []candidate {
	fs := cmd.flags()
	var args []string
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "-")
		switch f := fs.Lookup(strings.TrimPrefix(name, "-")); {
		case words[i] == "--":
			return cmd.arguments(append(args, words[i+1:]...))
		case !isFlag || name == "":
			args = append(args, words[i])
		case f == nil || isSwitch(f):
		case i == len(words)-1:
			return valuesOf(f, "")
		default:
			i++ // its value
		}
	}
	if !strings.HasPrefix(last, "-") {
		return cmd.arguments(args)
	}
	if name, _, given := strings.Cut(last, "="); given {
		if f := fs.Lookup(strings.TrimLeft(name, "-")); f != nil {
			return valuesOf(f, name+"=")
		}
		return nil
	}
	return cmd.flagNames(fs, args)
}

// flags are the flags that the command declares: it is called as always, and leaves off where it would parse.
func (cmd *command) flags() (fs *flag.FlagSet) {
	c := &cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, declared: func(f *flag.FlagSet) { fs = f }}
	_ = cmd.run(c, cmd, nil) // errHelp
	return fs
}

func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// valuesOf are the values of a flag: its words, or what its help names.
func valuesOf(f *flag.Flag, prefix string) []candidate {
	if c, ok := f.Value.(*choice); ok {
		var out []candidate
		for _, word := range c.of {
			out = append(out, candidate{word: prefix + word})
		}
		return out
	}
	switch what, _ := flag.UnquoteUsage(f); what {
	case "FILE":
		return []candidate{{word: askFiles}}
	case "DIR":
		return []candidate{{word: askFolders}}
	}
	return nil
}

// flagNames are the flags that the lines of usage name which args fit; a line with [flags] has all.
func (cmd *command) flagNames(fs *flag.FlagSet, args []string) []candidate {
	out := []candidate{}
	fs.VisitAll(func(f *flag.Flag) {
		if slices.ContainsFunc(cmd.calls(), func(l usageLine) bool { return l.fits(args) && (l.flags["[flags]"] || l.flags["--"+f.Name]) }) {
			_, about := flag.UnquoteUsage(f)
			out = append(out, candidate{"--" + f.Name, about})
		}
	})
	return append(out, candidate{"--help", "what the command does, and its flags"})
}

// arguments are what may stand behind args by the lines of usage.
func (cmd *command) arguments(args []string) []candidate {
	var out []candidate
	add := func(word string) {
		if !slices.Contains(out, candidate{word: word}) {
			out = append(out, candidate{word: word})
		}
	}
	for _, l := range cmd.calls() {
		switch next := l.at(len(args)); {
		case !l.fits(args):
		case next == "CONFIG":
			add(askConfigs)
		case isWords(next):
			for _, word := range strings.Split(next, "|") {
				add(word)
			}
		}
	}
	return out
}

// usageLine is a line of a command's usage.
type usageLine struct {
	// flags are those that it names, slots its arguments in order: words|to|choose, or what stands for something else in upper case.
	flags map[string]bool
	slots []string
	// repeats says that the last slot may be there again and again.
	repeats bool
}

var usageToken = regexp.MustCompile(`\[--[^\]]*\]|\[[^\]]*\]|\S+`)

func (cmd *command) calls() []usageLine {
	var out []usageLine
	for line := range strings.Lines(cmd.usage) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "floe ")
		l := usageLine{flags: map[string]bool{}}
		for _, token := range usageToken.FindAllString(strings.TrimPrefix(line, cmd.name), -1) {
			switch words := strings.Fields(strings.Trim(token, "[]")); {
			case token == "[flags]":
				l.flags[token] = true
			case strings.HasPrefix(words[0], "--"):
				l.flags[words[0]] = true
			case words[0] == "...":
				l.repeats = true
			default:
				l.slots = append(l.slots, words[0])
				l.repeats = len(words) > 1 && words[1] == "..."
			}
		}
		out = append(out, l)
	}
	return out
}

// at is the i-th slot, empty where there is none.
func (l usageLine) at(i int) string {
	switch {
	case i < len(l.slots):
		return l.slots[i]
	case l.repeats:
		return l.slots[len(l.slots)-1]
	}
	return ""
}

// fits says whether a call with args may be one of this line.
func (l usageLine) fits(args []string) bool {
	for i, arg := range args {
		slot := l.at(i)
		if slot == "" || isWords(slot) && !slices.Contains(strings.Split(slot, "|"), arg) {
			return false
		}
	}
	return true
}

// isWords says that a slot is words to choose from, written as they stand.
func isWords(slot string) bool { return slot != "" && slot == strings.ToLower(slot) }
