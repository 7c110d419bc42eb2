package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/stormfloe/floe/internal/demo"
)

// progress shows how far the demo or the bench is: one line that is written over on a terminal, and otherwise a line at each step's
// beginning and end and every few seconds between them.
type progress struct {
	w        io.Writer
	terminal bool
	// unit is what is counted.
	unit  string
	now   func() time.Time
	last  demo.Progress
	shown time.Time
	began time.Time
	width int
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w), unit: "events", now: time.Now}
}

// isTerminal says whether w is one: a device that takes characters.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

var stepNames = map[string]string{
	"produce": "producing", "ingest": "ingesting", "verify": "verifying",
	"preload": "preloading", "history": "snapshots", "warm": "warming up", "measure": "measuring",
}

func (p *progress) update(u demo.Progress) {
	now := p.now()
	if u.Step != p.last.Step {
		p.end()
		p.began = now
	}
	every := 3 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	show := u.Step != p.last.Step || now.Sub(p.shown) >= every
	p.last = u
	if show {
		p.shown = now
		p.show(u, now, false)
	}
}

// end shows the last state of the step for good.
func (p *progress) end() {
	if p.last.Step != "" {
		p.show(p.last, p.now(), true)
	}
	p.last = demo.Progress{}
}

func (p *progress) show(u demo.Progress, now time.Time, final bool) {
	line := fmt.Sprintf("%-9s  %*d of %d %s", stepNames[u.Step], len(fmt.Sprint(u.Total)), u.Done, u.Total, p.unit)
	if d := now.Sub(p.began); final {
		line += fmt.Sprintf("  %.1f s", d.Seconds())
	}
	switch {
	case !p.terminal:
		_, _ = fmt.Fprintln(p.w, line)
		return
	case final:
		_, _ = fmt.Fprintf(p.w, "\r%s%s\n", line, strings.Repeat(" ", max(0, p.width-len(line))))
		p.width = 0
	default:
		_, _ = fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
		p.width = len(line)
	}
}
