//go:build darwin || linux || freebsd || netbsd || openbsd

package demo

import (
	"context"
	"strings"
	"testing"
)

func TestTwoDemosOnOneFolder(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	_, err = Run(context.Background(), Options{Dir: dir})
	if want := "another floe demo runs in " + dir + ": wait for it, end it, or use another --dir"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
