package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/demo"
)

func TestProgressOnATerminalIsOneLineAStep(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &progress{w: &b, terminal: true, unit: "events", now: func() time.Time { return now }}
	for _, u := range []demo.Progress{
		{Step: "produce", Done: 1, Total: 10}, {Step: "produce", Done: 5, Total: 10}, {Step: "produce", Done: 10, Total: 10},
		{Step: "verify", Done: 3, Total: 10},
	} {
		p.update(u)
		now = now.Add(time.Second)
	}
	p.end()
	want := "\rproducing   1 of 10 events\rproducing   5 of 10 events\rproducing  10 of 10 events\rproducing  10 of 10 events  3.0 s\n" +
		"\rverifying   3 of 10 events\rverifying   3 of 10 events  1.0 s\n"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}
