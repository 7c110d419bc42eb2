package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/child"
)

// asFloe makes this test binary behave as a process whose log is its arguments, and which ends when it is told to.
const asFloe = "FLOE_PROOF_PRETEND"

// pretend prints its arguments as lines of a log and waits; with "exit" it ends with exit code 3.
func pretend(lines []string) int {
	for _, l := range lines {
		if l == "exit" {
			return 3
		}
		_, _ = fmt.Fprintln(os.Stderr, l)
	}
	select {}
}

const listening = `time=x level=INFO msg="HTTP server listens" address=`

// lived starts a pretended floe and gives it, with the lines that it has logged when it has ended.
func lived(t *testing.T, lines ...string) (p *process, logged func() []string) {
	t.Helper()
	t.Setenv(asFloe, "yes")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start, stop := child.Starter()
	var mu sync.Mutex
	var got []string
	p, err = launch(start, filepath.Join(t.TempDir(), "log"), self, lines,
		func(l string) { mu.Lock(); defer mu.Unlock(); got = append(got, l) }, func(*process) {})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(Kill); <-p.done; stop() })
	return p, func() []string {
		<-p.done
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestSignsOfLife(t *testing.T) {
	commits := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			_, _ = fmt.Fprintf(w, `{"committers":[{"commits":0},{"commits":%d}]}`, commits)
		}
		commits++
	}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	p, _ := lived(t, listening+strings.TrimPrefix(srv.URL, "http://"), `level=INFO msg="partitions assigned" partitions=4 opened=4`)
	for _, s := range []Sign{Started, Assigned, Committed} {
		if !p.await(context.Background(), s, time.Minute) {
			t.Errorf("it has not %s", s)
		}
	}
	if !p.listens() || commits < 2 {
		t.Errorf("asked %d times", commits)
	}
}

func TestNoSignOfADeadProcess(t *testing.T) {
	p, _ := lived(t, `level=INFO msg="partitions assigned" partitions=4 opened=0`)
	p.end(Kill)
	if p.await(context.Background(), Assigned, time.Minute) || p.await(context.Background(), Committed, time.Minute) {
		t.Error("a dead process shows signs of life")
	}
}

func TestKilledProcessEndsAlsoWhileItIsStopped(t *testing.T) {
	p, logged := lived(t, "one", "two")
	p.stop()
	if !p.isStopped() {
		t.Error("it is not stopped")
	}
	p.end(Kill)
	logged()
	st, ok := p.state.Sys().(syscall.WaitStatus)
	if !ok || st.Signal() != syscall.SIGKILL || wrongEnd(p.askedFor(), p.state, false) != "" {
		t.Errorf("ended by %v: %s", p.state, wrongEnd(p.askedFor(), p.state, false))
	}
}

func TestStoppedProcessGoesOn(t *testing.T) {
	p, _ := lived(t)
	p.stop()
	p.end(Term)
	p.goOn()
	if !p.hasEnded(time.Minute) || p.isStopped() {
		t.Error("it has not gone on to its end")
	}
}

func TestAProcessThatEndsByItselfIsAFinding(t *testing.T) {
	p, logged := lived(t, "why it ends", "exit")
	if got := logged(); len(got) != 1 || got[0] != "why it ends\n" {
		t.Errorf("logged %q", got)
	}
	for asked, want := range map[Kind]string{"": "ended by itself: exit status 3", Term: "ended with exit status 3 after SIGTERM", Kill: "after SIGKILL"} {
		if got := wrongEnd(asked, p.state, false); !strings.Contains(got, want) {
			t.Errorf("asked for %q: %q", asked, got)
		}
	}
}

func TestSIGTERMBeforeItIsTakenIsNoFinding(t *testing.T) {
	p, logged := lived(t)
	p.end(Term)
	logged()
	if got := wrongEnd(Term, p.state, true); got != "" {
		t.Error(got)
	}
	if got := wrongEnd(Term, p.state, false); !strings.Contains(got, "signal: terminated") {
		t.Errorf("got %q", got)
	}
}

func TestLogIsCounted(t *testing.T) {
	c := newCounters(1)
	c.event(`time=x level=INFO msg="WAL entry of an earlier life was adopted" topology=t entry=e` + "\n")
	c.event(`time=x level=WARN msg="a sealed batch is stale, going back to the table's positions" task=writer/0` + "\n")
	c.event("panic: runtime error\n")
	f := c.now()
	if f.Events["WAL entries adopted"] != 1 || f.Events["stale batches"] != 1 || f.Found["alarm"] != 1 || len(f.Findings) != 1 {
		t.Errorf("%+v", f)
	}
	if s := f.String(); !strings.Contains(s, "1 WAL entries adopted, 1 stale batches") || !strings.Contains(s, "0 doubled, 0 lost") {
		t.Error(s)
	}
}

// TestEventsAreThoseOfTheLog holds that floe still logs the texts that are counted.
func TestEventsAreThoseOfTheLog(t *testing.T) {
	var all strings.Builder
	for _, dir := range []string{"committer", "topology", "source/kafka", "cmd/floe"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", dir, files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	for text, name := range events {
		said := strings.Trim(strings.TrimPrefix(text, "msg="), `"`)
		if !strings.Contains(all.String(), said) {
			t.Errorf("%s: nothing logs %q", name, said)
		}
	}
}
