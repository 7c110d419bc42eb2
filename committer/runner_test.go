package committer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// recorder is an Observer that counts.
type recorder struct {
	mu       sync.Mutex
	outcomes map[string]int
	troubles int
	last     error
	landed   int
	failed   int
	trouble  chan struct{}
	// appended are the rows of rejects; outboxes are told of each look, boxed is the last.
	appended int64
	outboxes chan Outbox
	boxed    Outbox
}

func newRecorder() *recorder {
	return &recorder{outcomes: map[string]int{}, trouble: make(chan struct{}, 1000), outboxes: make(chan Outbox, 10_000)}
}

func (r *recorder) Committed(Commit) {
	r.mu.Lock()
	r.landed++
	r.mu.Unlock()
}
func (r *recorder) CommitFailed(error)     { r.mu.Lock(); r.failed++; r.mu.Unlock() }
func (r *recorder) Outcome(k string)       { r.mu.Lock(); r.outcomes[k]++; r.mu.Unlock() }
func (r *recorder) Pending(int, time.Time) {}
func (r *recorder) Trouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
	if err != nil {
		r.troubles++
		select {
		case r.trouble <- struct{}{}:
		default:
		}
	}
}

func (r *recorder) RejectsAppended(_ int, rows, _ int64) {
	r.mu.Lock()
	r.appended += rows
	r.mu.Unlock()
}

func (r *recorder) Outbox(o Outbox) {
	r.mu.Lock()
	r.boxed = o
	r.mu.Unlock()
	r.outboxes <- o
}

func (r *recorder) count(kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[kind]
}

// memLog is a WAL in memory; an entry keeps what was put.
type memLog struct {
	mu      sync.Mutex
	entries map[string]descriptor.Entry
	aside   []string
	puts    int
	err     error
}

func newLog() *memLog { return &memLog{entries: map[string]descriptor.Entry{}} }

func (l *memLog) Put(_ context.Context, _ *table.Table, g *descriptor.Group) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.puts++
	if l.err != nil {
		return "", l.err
	}
	path := g.CommitID.String() + ".json"
	c := *g
	l.entries[path] = descriptor.Entry{Path: path, Group: &c, ModifiedAt: g.CreatedAt}
	return path, nil
}

func (l *memLog) List(context.Context, *table.Table) ([]descriptor.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Collect(maps.Values(l.entries))
	slices.SortFunc(out, func(a, b descriptor.Entry) int { return a.ModifiedAt.Compare(b.ModifiedAt) })
	return out, l.err
}

func (l *memLog) Delete(_ context.Context, _ *table.Table, path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, path)
	return l.err
}

func (l *memLog) SetAside(_ context.Context, _ *table.Table, path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, path)
	l.aside = append(l.aside, path)
	return nil
}

func (l *memLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// runner is a committer that runs.
type runner struct {
	*Committer
	w    *world
	obs  *recorder
	stop context.CancelFunc
	done chan error
}

func (w *world) committer(cfg Config, log Log) *runner {
	w.t.Helper()
	r := &runner{w: w, obs: newRecorder(), done: make(chan error, 1)}
	if cfg.Topology == "" {
		cfg.Topology = "a"
	}
	cfg.Observer = r.obs
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	if cfg.MaxBackoff == 0 {
		cfg.MaxBackoff = 5 * time.Millisecond
	}
	var err error
	r.Committer, err = New(cfg, w, log)
	w.must(err)
	return r
}

// start loads, begins partitions 0 and 1 at 0, and runs.
func (w *world) start(cfg Config, log Log) *runner {
	w.t.Helper()
	r := w.committer(cfg, log)
	_, err := r.Load(context.Background())
	w.must(err)
	_, err = r.Begin(context.Background(), map[source.Partition]source.Position{part(0): 0, part(1): 0})
	w.must(err)
	r.run()
	return r
}

func (r *runner) run() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- r.Run(ctx) }()
	r.w.t.Cleanup(r.end)
}

func (r *runner) end() {
	if r.stop != nil {
		r.stop()
		<-r.done
		r.stop = nil
	}
}

// submit hands a descriptor over; the channel gives its outcome.
func (r *runner) submit(owner string, epoch uint64, d *descriptor.Descriptor) <-chan Outcome {
	r.w.t.Helper()
	ch := make(chan Outcome, 2)
	r.w.must(r.Submit(context.Background(), Submission{Descriptor: d, Owner: owner, Epoch: epoch, Done: func(o Outcome) { ch <- o }}))
	return ch
}

func (w *world) want(ch <-chan Outcome, v Verdict) Outcome {
	w.t.Helper()
	o := <-ch
	if o.Verdict != v {
		w.t.Fatalf("verdict %d, want %d (err %v)", o.Verdict, v, o.Err)
	}
	return o
}

var errGateway = errors.New("502 bad gateway")

// refuse makes bad say so of requests that add a file with this in its path.
func (w *world) refuse(path string) { w.cat.refused = path }

// bad looks into the manifests of the request at hand.
func (w *world) bad() bool {
	w.cat.mu.Lock()
	defer w.cat.mu.Unlock()
	b, err := json.Marshal(w.cat.last)
	w.must(err)
	var ups []struct {
		Snapshot *table.Snapshot `json:"snapshot"`
	}
	w.must(json.Unmarshal(b, &ups))
	for _, u := range ups {
		if u.Snapshot == nil {
			continue
		}
		ms, err := u.Snapshot.Manifests(iceio.LocalFS{})
		w.must(err)
		for _, m := range ms {
			for e, err := range m.Entries(iceio.LocalFS{}, true) {
				w.must(err)
				if strings.Contains(e.DataFile().FilePath(), w.cat.refused) {
					return true
				}
			}
		}
	}
	return false
}

func mustFS(t *testing.T, tbl *table.Table) iceio.IO {
	t.Helper()
	fio, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return fio
}
