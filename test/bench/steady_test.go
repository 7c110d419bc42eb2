//go:build linux

package main

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// quick is a process that is there at once and ends by an interrupt.
func quick() *exec.Cmd {
	return exec.Command("sh", "-c", `trap "exit 0" INT; while :; do sleep 0.02; done`)
}

func TestAProcessIsSampledUntilItIsEnded(t *testing.T) {
	c := &call{io.Discard, io.Discard}
	samples, peak, err := c.watch(context.Background(), quick(), &steadyRun{duration: 500 * time.Millisecond})
	if err != nil || len(samples) < 3 || peak <= 0 {
		t.Fatal(len(samples), peak, err)
	}
	for _, s := range samples {
		if s <= 0 || s > float64(peak) {
			t.Errorf("RSS %v, peak %d", s, peak)
		}
	}
	_, _, err = c.watch(context.Background(), exec.Command("true"), &steadyRun{duration: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "ended before its time") && !strings.Contains(err.Error(), "VmRSS") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err = c.watch(ctx, quick(), &steadyRun{duration: time.Minute}); err == nil {
		t.Error("the end of the context was not noticed")
	}
}
