package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormfloe/floe/internal/child"
)

// process is one life of `floe run`. Its methods may be called from any goroutine.
type process struct {
	cmd   *exec.Cmd
	began time.Time
	// asked is the Kind that is to end it, if any; unset, its end is a finding.
	asked atomic.Value
	// done is closed when it has ended; state is valid then.
	done  chan struct{}
	state *os.ProcessState

	mu struct {
		sync.Mutex
		addr      string
		assigned  bool
		committed bool
		stopped   bool
	}
}

// tail is how many of a log's last lines a finding shows.
const tail = 40

// launch starts floe with its log appended to the file at path. ended is told from a goroutine of the process when it has
// ended; event is told each line of the log.
func launch(start func(*exec.Cmd) error, path, floe string, args []string, event func(line string), ended func(*process)) (*process, error) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(floe, args...)
	child.Tie(cmd)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	cmd.Stdout = io.Discard
	p := &process{cmd: cmd, began: time.Now(), done: make(chan struct{})}
	if err := start(cmd); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("start %s: %w", floe, err)
	}
	_, _ = fmt.Fprintf(log, "--- pid %d starts at %s\n", cmd.Process.Pid, p.began.Format(time.RFC3339Nano))
	go func() {
		in := bufio.NewReader(pipe)
		for {
			line, err := in.ReadString('\n')
			if line != "" {
				_, _ = io.WriteString(log, line)
				p.read(line)
				event(line)
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait() // the state tells how it ended
		p.state = cmd.ProcessState
		_, _ = fmt.Fprintf(log, "--- pid %d ended: %s (asked: %v)\n", cmd.Process.Pid, p.state, p.askedFor())
		_ = log.Close()
		close(p.done)
		ended(p)
	}()
	return p, nil
}

var addressOf = regexp.MustCompile(`msg="HTTP server listens" address=(\S+)`)

// read takes signs of life from a line of the log.
func (p *process) read(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := addressOf.FindStringSubmatch(line); m != nil {
		p.mu.addr = m[1]
	}
	if strings.Contains(line, `msg="partitions assigned"`) && !strings.Contains(line, "opened=0") {
		p.mu.assigned = true
	}
}

func (p *process) askedFor() Kind {
	k, _ := p.asked.Load().(Kind)
	return k
}

// stop sends SIGSTOP, goOn SIGCONT; both do nothing to a process that has ended.
func (p *process) stop() {
	p.mu.Lock()
	p.mu.stopped = true
	p.mu.Unlock()
	_ = p.cmd.Process.Signal(signals[Stop])
}

func (p *process) goOn() {
	_ = p.cmd.Process.Signal(goOn)
	p.mu.Lock()
	p.mu.stopped = false
	p.mu.Unlock()
}

func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.stopped
}

// end sends SIGKILL or SIGTERM.
func (p *process) end(k Kind) {
	p.asked.Store(k)
	_ = p.cmd.Process.Signal(signals[k])
}

// hasEnded waits for the end of the process, at most d.
func (p *process) hasEnded(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// look is how often a sign of life is looked for. That a process has committed is in its /metrics alone, which answer at once:
// where another process is, nothing is left but to ask again.
const look = 20 * time.Millisecond

// await waits for a sign of life, at most d. It is false when the time is over, the process or ctx has ended.
func (p *process) await(ctx context.Context, s Sign, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !p.shows(ctx, s) {
		select {
		case <-tick.C:
		case <-p.done:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (p *process) shows(ctx context.Context, s Sign) bool {
	p.mu.Lock()
	addr, assigned, committed := p.mu.addr, p.mu.assigned, p.mu.committed
	p.mu.Unlock()
	switch {
	case s == Started, s == Assigned && assigned, s == Committed && committed:
		return true
	case s != Committed || addr == "":
		return false
	}
	committed = commitsOf(ctx, addr) > 0
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.committed = committed
	return committed
}

// commits gives how many commits this life has made; 0 where it does not say.
func (p *process) commits(ctx context.Context) int64 {
	p.mu.Lock()
	addr := p.mu.addr
	p.mu.Unlock()
	if addr == "" {
		return 0
	}
	return commitsOf(ctx, addr)
}

// commitsOf asks a running floe how many commits it has made; 0 where it does not answer.
func commitsOf(ctx context.Context, addr string) int64 {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", nil)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	var st struct {
		Committers []struct{ Commits int64 }
	}
	if json.NewDecoder(resp.Body).Decode(&st) != nil {
		return 0
	}
	var n int64
	for _, c := range st.Committers {
		n += c.Commits
	}
	return n
}

// wrongEnd says what is wrong with how a process ended, or nothing. Killed it may end as it likes; asked gracefully it
// must give 0, unless the signal came before Go's runtime took it.
func wrongEnd(asked Kind, st *os.ProcessState, early bool) string {
	switch {
	case asked == Kill && (!st.Exited() || st.ExitCode() == 0):
		return ""
	case asked == Term && (st.Success() || early && !st.Exited()):
		return ""
	case asked == "":
		return fmt.Sprintf("ended by itself: %s", st)
	}
	return fmt.Sprintf("ended with %s after %s", st, asked)
}

// lastLines are the last lines of a file.
func lastLines(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// listens says that the process has come as far as its HTTP server: it takes signals then.
func (p *process) listens() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.addr != ""
}
