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
	// Ready says that all are, or that they begin to come; Brokers is where they are, Bytes the size of their values.
	Ready   bool     `json:"ready,omitempty"`
	Brokers []string `json:"brokers,omitempty"`
	// Registry is where the schema of the records is, empty where they need none.
	Registry string `json:"registry,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"`
	// CPU answers a line that asks for it: the child's CPU time in nanoseconds.
	CPU   *int64 `json:"cpu,omitempty"`
	Error string `json:"error,omitempty"`
}

// server is what the child is.
type server struct {
	job     Job
	enc     *json.Encoder
	cluster *kfake.Cluster
	// registry is nil where the records need none.
	registry *registry
	p        *producer
	// ended gets the error that producing has ended with.
	ended chan error
}

// Serve is the child: it reads a Job as the first line of in, is the broker or fills a real one, and answers each further
// line with its CPU time and the records so far. It returns when in ends, which it does with the parent, whatever it is
// doing then.
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
	s := &server{enc: json.NewEncoder(out), ended: make(chan error, 1)}
	first, ok := <-lines
	if !ok {
		return errors.New("nothing was said on the standard input; this command belongs to floe bench")
	}
	if err := json.Unmarshal(first, &s.job); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	defer s.close()
	err := s.begin(ctx)
	for err == nil {
		if _, ok := <-lines; !ok {
			return nil
		}
		err = s.answer()
	}
	if ctx.Err() != nil {
		return nil
	}
	return s.enc.Encode(report{Error: err.Error()})
}

// begin starts the broker where there is none, and brings the records into it.
func (s *server) begin(ctx context.Context) error {
	if len(s.job.Brokers) == 0 {
		// The records take most of the heap and stay: there is little to collect and much to go over.
		debug.SetGCPercent(40)
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("floe-bench"))
		if err != nil {
			return fmt.Errorf("start the broker: %w", err)
		}
		s.cluster, s.job.Brokers = c, c.ListenAddrs()
	}
	w, err := WorkloadOf(s.job.Workload)
	if err == nil && w.schema != "" {
		s.registry, err = serveRegistry(w.schema)
	}
	if err != nil {
		return err
	}
	if s.p, err = newProducer(ctx, s.job); err != nil {
		return err
	}
	go func() { s.ended <- s.p.run(ctx) }()
	if s.job.Rate == 0 {
		if err := s.filled(); err != nil {
			return err
		}
	} else if s.cluster != nil && s.job.Keep > 0 {
		go s.forget(ctx)
	}
	r := report{Ready: true, Brokers: s.job.Brokers, Bytes: s.p.bytes.Load()}
	if s.registry != nil {
		r.Registry = s.registry.url
	}
	return s.enc.Encode(r)
}

// filled waits until all records are produced, and tells how many are.
func (s *server) filled() error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-s.ended:
			debug.FreeOSMemory()
			return err
		case <-tick.C:
			if err := s.enc.Encode(report{Done: s.p.done.Load()}); err != nil {
				return err
			}
		}
	}
}

// answer says how far the child is. A stream that has ended is an error.
func (s *server) answer() error {
	if s.job.Rate > 0 {
		select {
		case err := <-s.ended:
			return err
		default:
		}
	}
	ns := cpuTime().Nanoseconds()
	return s.enc.Encode(report{CPU: &ns, Done: s.p.done.Load()})
}

// forget deletes what is older than Keep, so that the broker's memory has a bound.
func (s *server) forget(ctx context.Context) {
	const steps = 10
	tick := time.NewTicker(max(s.job.Keep/steps, time.Millisecond))
	defer tick.Stop()
	// past are the ends of the partitions, a tick apart.
	var past [][]int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := make([]int64, len(s.p.ends))
		for i := range s.p.ends {
			now[i] = s.p.ends[i].Load()
		}
		if past = append(past, now); len(past) <= steps {
			continue
		}
		for p, offset := range past[0] {
			_ = s.cluster.DeleteRecords(s.job.Topic, int32(p), offset) // what can't be deleted now can be at the next tick
		}
		past = past[1:]
	}
}

func (s *server) close() {
	if s.p != nil {
		s.p.client.Close()
	}
	if s.cluster != nil {
		s.cluster.Close()
	}
	if s.registry != nil {
		s.registry.close()
	}
}
