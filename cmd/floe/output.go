package main

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errWriter writes text until the first error and keeps it.
type errWriter struct {
	w   io.Writer
	err error
}

// lines is text of several lines that printf leaves as they are.
type lines string

// printf formats. What comes in as an argument may come from a record, a broker or a table: nothing in it reaches the terminal as
// anything but text (see visible), and only what is of type lines begins a line.
func (e *errWriter) printf(format string, args ...any) {
	if e.err != nil {
		return
	}
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = visibleArg(a)
	}
	_, e.err = fmt.Fprintf(e.w, format, safe...)
}

func visibleArg(a any) any {
	switch a := a.(type) {
	case lines:
		return visibleLines(string(a))
	case error:
		return visible(a.Error())
	case fmt.Stringer:
		return visible(a.String())
	}
	if v := reflect.ValueOf(a); v.Kind() == reflect.String {
		return visible(v.String())
	}
	return a
}

// visible is s with escapes, as in a Go string, for all that is no visible character of Unicode: control characters, with those
// that begin a terminal's sequences, line breaks, marks that change the direction of what follows, and bytes that are not UTF-8.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if hidden(r) {
			q := strconv.QuoteToASCII(s[i : i+n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// hidden is also true of what stands for a byte that is not UTF-8.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// visibleLines is visible for each line of s.
func visibleLines(s string) string {
	parts := strings.Split(s, "\n")
	for i, p := range parts {
		parts[i] = visible(p)
	}
	return strings.Join(parts, "\n")
}

// visibleJSON escapes in JSON what package encoding/json leaves as it is and a terminal may obey: all that is not ASCII there is in a string.
func visibleJSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, hiddenJSON) {
		return b
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case !hiddenJSON(r):
			out = append(out, b[:n]...)
		case r > 0xffff:
			hi, lo := (r-0x10000)>>10, (r-0x10000)&0x3ff
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+hi, 0xdc00+lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return out
}

func hiddenJSON(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
