package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stormfloe/floe/internal/child"
)

// Services are started into one folder. The methods may be called from one goroutine at a time.
type Services struct {
	dir    string
	log    io.Writer
	start  func(*exec.Cmd) error
	finish func()
	procs  []*process
	stops  []func()
	s3     *S3
	rest   string
	kafka  *Kafka
}

type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// ready is how it was waited for.
	ready func(context.Context) error
}

// New starts nothing. dir must exist and be empty; log is told what is started, one line each.
func New(dir string, log io.Writer) *Services {
	s := &Services{dir: dir, log: log}
	s.start, s.finish = child.Starter()
	return s
}

// Start starts a child of the caller's, which must wait for it; it does not outlive this process, nor Stop.
func (s *Services) Start(cmd *exec.Cmd) error {
	child.Tie(cmd)
	return s.start(cmd)
}

// Dir is the folder for data and logs.
func (s *Services) Dir() string { return s.dir }

// endTime is how long a service has for a graceful end.
const endTime = 20 * time.Second

// Stop ends everything that was started. It is called once.
func (s *Services) Stop() {
	for _, stop := range s.stops {
		stop()
	}
	for _, p := range slices.Backward(s.procs) {
		p.terminate()
	}
	for _, p := range slices.Backward(s.procs) {
		p.wait()
	}
	s.finish()
}

func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

func (p *process) wait() {
	t := time.NewTimer(endTime)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// launch starts a service; what it prints goes to NAME.log.
func (s *Services) launch(name string, cmd *exec.Cmd) (*process, error) {
	path := filepath.Join(s.dir, name+".log")
	log, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	child.Tie(cmd)
	if err := s.start(cmd); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, log: path, done: make(chan struct{})}
	s.procs = append(s.procs, p)
	go func() {
		_ = cmd.Wait() // that it has ended is what counts
		_ = log.Close()
		close(p.done)
	}()
	return p, nil
}

// run starts a service and waits until it is ready.
func (s *Services) run(ctx context.Context, name string, cmd *exec.Cmd, ready func(context.Context) error) error {
	p, err := s.launch(name, cmd)
	if err != nil {
		return err
	}
	return s.until(ctx, p, ready)
}

// Kill ends a service with SIGKILL, by the name that its log has: kafka, rest. Its data stay for Again.
func (s *Services) Kill(name string) error {
	p, err := s.named(name)
	if err != nil {
		return err
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
	return nil
}

// Again starts a service that has ended, with the address and the data that it had, and waits until it is ready. Its log is
// written anew. What S3 had is gone: it was in memory.
func (s *Services) Again(ctx context.Context, name string) error {
	old, err := s.named(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(old.cmd.Path, old.cmd.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = old.cmd.Dir, old.cmd.Env, old.cmd.SysProcAttr
	return s.run(ctx, name, cmd, old.ready)
}

// named gives the newest process of a name.
func (s *Services) named(name string) (*process, error) {
	for _, p := range slices.Backward(s.procs) {
		if p.name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s was not started", name)
}

// startTime is how long a service may take until it is ready, on a busy machine.
const startTime = 5 * time.Minute

// look is how often a service that is starting is asked whether it is ready. It says so to nobody by itself.
const look = 200 * time.Millisecond

// until waits until the service is ready.
func (s *Services) until(ctx context.Context, p *process, ready func(context.Context) error) error {
	p.ready = ready
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			_, _ = fmt.Fprintf(s.log, "%s is ready after %.1f s (pid %d)\n", p.name, time.Since(began).Seconds(), p.cmd.Process.Pid)
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s has ended: %s\n%s", p.name, p.cmd.ProcessState, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, errors.Join(ctx.Err(), err), p.tail())
		}
	}
}

func (p *process) tail() string {
	data, _ := os.ReadFile(p.log)
	return string(data[max(0, len(data)-3000):])
}

// says waits for a text in the log.
func (p *process) says(text string) func(context.Context) error {
	return func(context.Context) error {
		data, err := os.ReadFile(p.log)
		if err == nil && !strings.Contains(string(data), text) {
			err = errors.New("the log does not say it yet")
		}
		return err
	}
}

// accepts tries a connection.
func accepts(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
}

// answers wants a 200 from an address.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}
}

// freePort gives a port that nobody listens on at this moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// java makes the command of a Java program.
func java(megabytes int, libs, class string, props []string, args ...string) *exec.Cmd {
	all := append([]string{fmt.Sprintf("-Xmx%dm", megabytes), "-XX:TieredStopAtLevel=1"}, props...)
	all = append(all, "-cp", libs, class)
	return exec.Command("java", append(all, args...)...)
}
