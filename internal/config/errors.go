package config

import (
	"fmt"
	"strings"
)

// Error is one thing wrong in a configuration.
type Error struct {
	// File is the path as it was given.
	File string
	// Line counts from 1; 0 where no line can be named.
	Line int
	// Key is the dotted path of the key, empty where the file as a whole is meant.
	Key string
	// Msg says what is wrong and what would be right.
	Msg string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key)
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errors are all things wrong in a configuration, in the order of the file. It is never empty.
type Errors []*Error

// Error puts each on a line of its own.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single errors, for errors.As.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}
