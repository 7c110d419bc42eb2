package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

// Patience is how long a test waits for something that must happen.
const Patience = 60 * time.Second

// Recorder is a source.Handler that keeps what it gets and checks the contract at each call.
type Recorder struct {
	t testing.TB
	// OnAssigned says where to open; nil opens everything at source.Source.Start's answer.
	OnAssigned func(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error)
	// OnRevoked is called inside Revoked.
	OnRevoked func(ctx context.Context, ps []source.Partition)
	// OnDeliver is called inside Deliver, before the batch is kept; its error is Deliver's.
	OnDeliver func(ctx context.Context, b *source.Batch) error
	src       source.Source

	mu struct {
		sync.Mutex
		changed  chan struct{}
		got      map[source.Partition][]source.Record // copies
		next     map[source.Partition]source.Position // owned and opened
		owned    map[source.Partition]bool
		reopened map[source.Partition]source.Position
		busy     map[source.Partition]bool
		failed   map[source.Partition]error
		batches  map[source.Partition][]source.Range
		assigned int
		revoked  int
		calling  bool // inside Assigned or Revoked
		trouble  []error
	}
}

// NewRecorder makes a recorder for src.
func NewRecorder(t testing.TB, src source.Source) *Recorder {
	r := &Recorder{t: t, src: src}
	r.mu.changed = make(chan struct{})
	r.mu.got = map[source.Partition][]source.Record{}
	r.mu.next = map[source.Partition]source.Position{}
	r.mu.owned = map[source.Partition]bool{}
	r.mu.reopened = map[source.Partition]source.Position{}
	r.mu.busy = map[source.Partition]bool{}
	r.mu.failed = map[source.Partition]error{}
	r.mu.batches = map[source.Partition][]source.Range{}
	return r
}

func (r *Recorder) changedLocked() {
	close(r.mu.changed)
	r.mu.changed = make(chan struct{})
}

// Wait returns when ok, which is called with the recorder locked, says so. It fails the test after Patience.
func (r *Recorder) Wait(what string, ok func() bool) {
	r.t.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		done, changed := ok(), r.mu.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			r.t.Fatalf("waited in vain for: %s\n%s", what, r.state())
		}
	}
}

func (r *Recorder) state() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := fmt.Sprintf("owned %d, failed %v, trouble %v\n", len(r.mu.owned), r.mu.failed, r.mu.trouble)
	for p, next := range r.mu.next {
		s += fmt.Sprintf("%s is at %d with %d records\n", p, next, len(r.mu.got[p]))
	}
	return s
}

// WaitRecords waits until partition id of topic has given n records in all.
func (r *Recorder) WaitRecords(topic string, id int32, n int) {
	r.t.Helper()
	r.Wait(fmt.Sprintf("%d records of %s/%d", n, topic, id), func() bool { return len(r.recordsLocked(topic, id)) >= n })
}

// WaitPosition waits until partition id of topic has been delivered up to pos.
func (r *Recorder) WaitPosition(topic string, id int32, pos source.Position) {
	r.t.Helper()
	r.Wait(fmt.Sprintf("position %d of %s/%d", pos, topic, id), func() bool {
		for p, next := range r.mu.next {
			if p.Topic == topic && p.ID == id && next >= pos {
				return true
			}
		}
		return false
	})
}

// WaitOwned waits until exactly n partitions are owned.
func (r *Recorder) WaitOwned(n int) {
	r.t.Helper()
	r.Wait(fmt.Sprintf("%d partitions owned", n), func() bool { return len(r.mu.owned) == n && !r.mu.calling })
}

// WaitFailed waits until partition id of topic has failed and gives the error.
func (r *Recorder) WaitFailed(topic string, id int32) error {
	r.t.Helper()
	var err error
	r.Wait(fmt.Sprintf("the failure of %s/%d", topic, id), func() bool {
		for p, e := range r.mu.failed {
			if p.Topic == topic && p.ID == id {
				err = e
				return true
			}
		}
		return false
	})
	return err
}

// Records gives copies of what partition id of topic has delivered.
func (r *Recorder) Records(topic string, id int32) []source.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.recordsLocked(topic, id))
}

func (r *Recorder) recordsLocked(topic string, id int32) []source.Record {
	for p, got := range r.mu.got {
		if p.Topic == topic && p.ID == id {
			return got
		}
	}
	return nil
}

// Owned lists what is owned now.
func (r *Recorder) Owned() []source.Partition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.mu.owned))
}

// Find gives the owned partition id of topic; it fails the test where there is none.
func (r *Recorder) Find(topic string, id int32) source.Partition {
	r.t.Helper()
	for _, p := range r.Owned() {
		if p.Topic == topic && p.ID == id {
			return p
		}
	}
	r.t.Fatalf("%s/%d is not owned", topic, id)
	return source.Partition{}
}

// Ranges lists the ranges that partition id of topic has delivered.
func (r *Recorder) Ranges(topic string, id int32) []source.Range {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, rs := range r.mu.batches {
		if p.Topic == topic && p.ID == id {
			return slices.Clone(rs)
		}
	}
	return nil
}

// Reopen forgets what p delivered, and calls the source's Reopen.
func (r *Recorder) Reopen(p source.Partition, pos source.Position) {
	r.mu.Lock()
	r.mu.reopened[p] = pos
	delete(r.mu.got, p)
	delete(r.mu.failed, p)
	r.mu.Unlock()
	r.src.Reopen(p, pos)
}

// Assigned implements source.Handler.
func (r *Recorder) Assigned(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	r.enter("Assigned")
	defer r.leave()
	at := map[source.Partition]source.Position{}
	if r.OnAssigned != nil {
		var err error
		if at, err = r.OnAssigned(ctx, ps); err != nil {
			return nil, err
		}
	} else {
		for _, p := range ps {
			pos, err := r.src.Start(ctx, p, source.OriginConfigured)
			if err != nil {
				return nil, err
			}
			at[p] = pos
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.assigned++
	for _, p := range ps {
		if r.mu.owned[p] {
			r.t.Errorf("%s was assigned twice", p)
		}
		r.mu.owned[p] = true
		if pos, ok := at[p]; ok {
			r.mu.next[p] = pos
		}
	}
	return at, nil
}

// Revoked implements source.Handler.
func (r *Recorder) Revoked(ctx context.Context, ps []source.Partition) {
	r.enter("Revoked")
	defer r.leave()
	if _, ok := ctx.Deadline(); !ok {
		r.t.Error("Revoked got no deadline")
	}
	if r.OnRevoked != nil {
		r.OnRevoked(ctx, ps)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.revoked++
	for _, p := range ps {
		if !r.mu.owned[p] {
			r.t.Errorf("%s was revoked without being owned", p)
		}
		if r.mu.busy[p] {
			r.t.Errorf("%s was revoked in the middle of a Deliver", p)
		}
		delete(r.mu.owned, p)
		delete(r.mu.next, p)
		delete(r.mu.reopened, p)
	}
}

func (r *Recorder) enter(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.calling {
		r.t.Errorf("%s was called while another assignment was being worked on", what)
	}
	r.mu.calling = true
}

func (r *Recorder) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.calling = false
	r.changedLocked()
}

// Deliver implements source.Handler. It keeps copies and releases the batch.
func (r *Recorder) Deliver(ctx context.Context, b *source.Batch) error {
	p := b.Range.Partition
	r.mu.Lock()
	if r.mu.busy[p] {
		r.t.Errorf("two batches of %s at once", p)
	}
	r.mu.busy[p] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.mu.busy, p)
		r.changedLocked()
		r.mu.Unlock()
	}()
	if r.OnDeliver != nil {
		if err := r.OnDeliver(ctx, b); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkLocked(b); err != nil {
		if !errors.Is(err, errOld) {
			r.t.Error(err)
		}
	} else {
		r.mu.next[p] = b.Range.To
		r.mu.batches[p] = append(r.mu.batches[p], b.Range)
		for _, rec := range b.Records {
			r.mu.got[p] = append(r.mu.got[p], clone(rec))
		}
	}
	b.Release()
	return nil
}

// errOld marks a batch from before a Reopen, which may still arrive.
var errOld = errors.New("a batch from before the partition was opened again")

func (r *Recorder) checkLocked(b *source.Batch) error {
	p := b.Range.Partition
	next, open := r.mu.next[p]
	if !r.mu.owned[p] || !open {
		return fmt.Errorf("%s was delivered, but is not owned and open", b.Range)
	}
	if pos, ok := r.mu.reopened[p]; ok {
		if b.Range.From != pos {
			return errOld
		}
		delete(r.mu.reopened, p)
		next = pos
	}
	if b.Range.From != next {
		return fmt.Errorf("%s does not join up: %d was next", b.Range, next)
	}
	if b.Range.To <= b.Range.From {
		return fmt.Errorf("%s is empty or backward", b.Range)
	}
	last := b.Range.From - 1
	for _, rec := range b.Records {
		if rec.Position <= last || rec.Position >= b.Range.To {
			return fmt.Errorf("%s has a record at %d after %d", b.Range, rec.Position, last)
		}
		last = rec.Position
	}
	return nil
}

func clone(r source.Record) source.Record {
	r.Key, r.Value = bytesClone(r.Key), bytesClone(r.Value)
	hs := r.Headers
	r.Headers = nil
	for _, h := range hs {
		r.Headers = append(r.Headers, source.Header{Key: bytesClone(h.Key), Value: bytesClone(h.Value)})
	}
	return r
}

func bytesClone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// Failed implements source.Handler.
func (r *Recorder) Failed(p source.Partition, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mu.owned[p] {
		r.t.Errorf("%s failed without being owned: %v", p, err)
	}
	r.mu.failed[p] = err
	r.changedLocked()
}

// Trouble implements source.Handler.
func (r *Recorder) Trouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.trouble = append(r.mu.trouble, err)
	r.changedLocked()
}

// Troubles lists what was reported.
func (r *Recorder) Troubles() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.mu.trouble)
}

// TroublesLocked is Troubles for use inside Wait.
func (r *Recorder) TroublesLocked() []error { return r.mu.trouble }
