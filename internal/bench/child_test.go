package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the child, and a parent of one that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "broker":
			if err := Serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "parent":
			c, err := startChild([]string{os.Args[0], "broker"}, testJob(1000), nil, func(int64) {})
			if err != nil {
				panic(err)
			}
			fmt.Fprintln(os.Stdout, c.brokers[0])
			select {}
		}
	}
	goleak.VerifyTestMain(m)
}

func testJob(records int64) Job {
	return Job{Topic: "t", Workload: "a", Seed: 1, Records: records, Partitions: 2, Codec: "lz4"}
}

// TestTheBrokerEndsWithItsKilledParent kills a parent that can do nothing about its child any more.
func TestTheBrokerEndsWithItsKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimSpace(addr))
	if err != nil {
		t.Fatal("there is no broker: ", err)
	}
	defer conn.Close()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	// The connection ends with the broker.
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the broker lives on: ", err)
	}
}

func TestTheBrokerEndsWhileItIsFilled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	reports := 0
	_, err := startChild([]string{os.Args[0], "broker"}, testJob(1<<40), ctx.Done(), func(int64) {
		if reports++; reports == 2 {
			cancel()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "the broker's process has ended") {
		t.Error(err)
	}
}

func TestTheChildSaysItsTrouble(t *testing.T) {
	for want, start := range map[string]func() (*child, error){
		"no such file": func() (*child, error) {
			return startChild([]string{"/nowhere/floe"}, testJob(1), nil, func(int64) {})
		},
		"there is no workload": func() (*child, error) {
			j := testJob(1)
			j.Workload = "z"
			return startChild([]string{os.Args[0], "broker"}, j, nil, func(int64) {})
		},
		"the broker's process has ended: unexpected EOF": func() (*child, error) {
			return startChild([]string{os.Args[0], "-test.run", "^$"}, testJob(1), nil, func(int64) {})
		},
	} {
		if c, err := start(); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "read what the broker's process says") {
			t.Errorf("want %q, got %v, %v", want, c, err)
		}
	}
	if err := Serve(strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "belongs to floe bench") {
		t.Error(err)
	}
	if err := Serve(strings.NewReader("{\n"), io.Discard); err == nil {
		t.Error("half a job was taken")
	}
}

func TestTheChildTellsItsCPUTime(t *testing.T) {
	var last int64
	c, err := startChild([]string{os.Args[0], "broker"}, testJob(30_000), nil, func(done int64) { last = done })
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	_, first, err := c.ask()
	if err != nil {
		t.Fatal(err)
	}
	done, second, err := c.ask()
	if err != nil || done != 30_000 || first <= 0 || second < first || c.bytes < 30_000*140 || last > 30_000 {
		t.Error(first, second, c.bytes, last, err)
	}
	if none, err := c.cpuOf("given"); none != 0 || err != nil {
		t.Error(none, err)
	}
}

func TestTheTailKeepsTheLastWords(t *testing.T) {
	var l tail
	for i := range 1000 {
		if _, err := fmt.Fprintf(&l, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if s := l.String(); len(s) > 4<<10 || !strings.HasSuffix(s, "line 999") {
		t.Errorf("%d bytes: %q", len(s), s)
	}
}

func TestResultsAreReadBack(t *testing.T) {
	file := t.TempDir() + "/r.json"
	data, err := json.Marshal(Result{Records: 7, Settings: Settings{Workload: "b"}})
	if err != nil || os.WriteFile(file, data, 0o600) != nil {
		t.Fatal(err)
	}
	if r, err := Load(file); err != nil || r.Records != 7 || r.Settings.Workload != "b" {
		t.Error(r, err)
	}
	if _, err := Load(file + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
