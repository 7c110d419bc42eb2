package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is the process beside this one: the broker, or what fills a real one.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	said    *tail
	brokers []string
	// registry is the URL of the schema registry, empty where the records need none.
	registry string
	// bytes is the size of all values.
	bytes int64
}

// startChild starts command and waits until the records of j are in the broker. progress is told how many are.
func startChild(command []string, j Job, stopped <-chan struct{}, progress func(done int64)) (*child, error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...), said: &tail{}}
	c.cmd.Stderr = c.said
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	err = c.begin(j, stopped, progress)
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *child) begin(j Job, stopped <-chan struct{}, progress func(done int64)) error {
	// The child notices the end of its input whatever it is doing, and ends: then reading ends as well.
	began := make(chan struct{})
	defer close(began)
	go func() {
		select {
		case <-stopped:
			_ = c.in.Close()
		case <-began:
		}
	}()
	if err := json.NewEncoder(c.in).Encode(j); err != nil {
		return c.gone(err)
	}
	for {
		r, err := c.read()
		switch {
		case err != nil:
			return err
		case r.Ready:
			c.brokers, c.registry, c.bytes = r.Brokers, r.Registry, r.Bytes
			return nil
		}
		progress(r.Done)
	}
}

// read gives the child's next line.
func (c *child) read() (report, error) {
	var r report
	if !c.out.Scan() {
		return r, c.gone(c.out.Err())
	}
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("read what the broker's process says: %w", err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// gone says that the child ended by itself, in its own last words.
func (c *child) gone(err error) error {
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the broker's process has ended: %w %s", err, c.said)
}

// ask asks how far the child is: the records it has produced and the CPU time it has used.
func (c *child) ask() (done int64, cpu time.Duration, err error) {
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		return 0, 0, c.gone(err)
	}
	r, err := c.read()
	if err != nil || r.CPU == nil {
		return 0, 0, err
	}
	return r.Done, time.Duration(*r.CPU), nil
}

// stop ends the child by closing its input, and by force where that does not help.
func (c *child) stop() {
	_ = c.in.Close()
	force := time.AfterFunc(5*time.Second, func() {
		_ = c.cmd.Process.Kill() // it may have ended by itself
	})
	defer force.Stop()
	_ = c.cmd.Wait() // however it ended
}

// tail keeps the last of what is written to it.
type tail struct {
	mu struct {
		sync.Mutex
		text []byte
	}
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4 << 10
	t.mu.text = append(t.mu.text, p...)
	t.mu.text = t.mu.text[max(0, len(t.mu.text)-most):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.mu.text))
}

// cpuOf is the CPU time of the child where it is the broker, 0 otherwise.
func (c *child) cpuOf(broker string) (time.Duration, error) {
	if broker != "in-process" {
		return 0, nil
	}
	_, cpu, err := c.ask()
	return cpu, err
}
