package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// report is a line that the child writes.
type report struct {
	// Done records are produced so far.
	Done int64 `json:"done,omitempty"`
	// Ready says that all are; Brokers is where they are, Bytes the size of their values.
	Ready   bool     `json:"ready,omitempty"`
	Brokers []string `json:"brokers,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	// CPU answers a line that asks for it: the child's CPU time in nanoseconds.
	CPU   *int64 `json:"cpu,omitempty"`
	Error string `json:"error,omitempty"`
}

// Serve is the child: it reads a Job as the first line of in, is the broker or fills a real one, and answers each further
// line with its CPU time. It returns when in ends, which it does with the parent, whatever it is doing then.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := make(chan []byte)
	go func() {
		defer cancel()
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- append([]byte(nil), s.Bytes()...)
		}
	}()
	enc := json.NewEncoder(out)
	first, ok := <-lines
	if !ok {
		return errors.New("nothing was said on the standard input; this command belongs to floe bench")
	}
	var j Job
	if err := json.Unmarshal(first, &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	stop, err := fill(ctx, j, enc)
	if stop != nil {
		defer stop()
	}
	if err != nil {
		if ctx.Err() == nil {
			return enc.Encode(report{Error: err.Error()})
		}
		return nil
	}
	for range lines {
		ns := cpuTime().Nanoseconds()
		if err := enc.Encode(report{CPU: &ns}); err != nil {
			return err
		}
	}
	return nil
}

// fill brings the records of j into the broker, which is started first where there is none.
func fill(ctx context.Context, j Job, enc *json.Encoder) (stop func(), err error) {
	if len(j.Brokers) == 0 {
		// The records take most of the heap and stay: there is little to collect and much to go over.
		debug.SetGCPercent(40)
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("floe-bench"))
		if err != nil {
			return nil, fmt.Errorf("start the broker: %w", err)
		}
		stop = c.Close
		j.Brokers = c.ListenAddrs()
	}
	p, err := newProducer(ctx, j)
	if err != nil {
		return stop, err
	}
	defer p.client.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err == nil {
				debug.FreeOSMemory()
				err = enc.Encode(report{Ready: true, Brokers: j.Brokers, Bytes: p.bytes.Load()})
			}
			return stop, err
		case <-tick.C:
			if err := enc.Encode(report{Done: p.done.Load()}); err != nil {
				return stop, err
			}
		}
	}
}
