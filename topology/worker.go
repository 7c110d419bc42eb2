package topology

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// worker is one writer task: a goroutine that owns a writer.Task and what is known of its partitions. Others reach it
// through in (batches), ctl (functions that it runs) and answers (outcomes). Fields have no lock: only its goroutine,
// and the closures it runs, touch them.
type worker struct {
	r    *run
	i    int
	name string
	task task
	sink sink

	in       chan queued
	ctl      chan func(context.Context)
	answers  *mailbox[answer]
	handOver chan *flight

	at map[source.Partition]*track
	// batch is taken over but not wholly appended: a threshold was crossed inside it, or the mapper lacks something. held is
	// the wait for that, nil where there is none; lastHold is the last there was.
	batch          *source.Batch
	held, lastHold *hold
	// asking is the record of the batch for which the schema is changed; evolved is the table after such a change, until the
	// committer has seen it.
	asking  *asking
	evolved *table.Table
	// open are the ranges of a source without positions that are in the open batch.
	open []source.Range

	// flights are sealed and unanswered; queue are those of them that the submitter has not taken yet, in order.
	flights map[*flight]struct{}
	queue   []*flight
	weight  int64
	// waiting are those who gave partitions up and wait until nothing of them is in flight.
	waiting []*giveUp

	epoch     uint64
	rewinding bool
	stopped   bool
	// resumeAt is when the next batch may be taken after a write failure; failures are those in a row, since failingSince.
	// works says that a batch has been sealed.
	resumeAt, failingSince time.Time
	failures               int
	works                  bool
	// stale counts rewinds in a row without a commit landed between. foreign counts how often another instance committed in
	// our stead, up to what this worker bears; own are our commits since.
	stale, foreign, bears, own int
	// sends numbers the flights; those up to crossings are part of what was counted in foreign.
	sends, crossings uint64
	// gapped are partitions of which a batch was dropped because it did not join up, and nothing has joined up since.
	gapped map[source.Partition]struct{}
	// table and rejects are the metadata that were last given to the task.
	table, rejects *table.Table
	// hurried: the targets of the task are reached and the committer was asked to flush.
	hurried bool
	// total is what was sealed so far.
	total SealedStatus
	// published is when the status was last shown.
	published time.Time
}

// queued is a batch on its way to a worker, or a mark that is closed when all before it were appended.
type queued struct {
	batch *source.Batch
	mark  chan struct{}
}

// track is what a worker knows of one partition.
type track struct {
	// read is what was appended up to; sealed is where the open batch began; held is what the table is known to hold.
	read, sealed, held source.Position
	// reopenedAt is when the source was last told to deliver from elsewhere: batches that do not join up are then likely
	// to be old ones.
	reopenedAt time.Time
	// time is that of the newest record that is held, else of the first that was read, in ms since the epoch; 0: not known.
	time int64
	// stopped: nothing more of it is taken, because of a bad record or because the source can't read it.
	stopped bool
}

// flight is a sealed batch on its way.
type flight struct {
	epoch  uint64
	n      uint64 // by worker.sends
	sub    committer.Submission
	ranges []source.Range
	weight int64
	// flush asks the committer not to wait for its interval. A flight can be nothing but this wish.
	flush bool
}

// answer is an outcome on its way back.
type answer struct {
	f *flight
	o committer.Outcome
}

// giveUp is a wish to be told when nothing of ps is in flight.
type giveUp struct {
	ps   map[source.Partition]bool
	done chan struct{}
}

func newWorker(r *run, i int) (*worker, error) {
	wc := r.cfg.writer(i)
	r.rejects.configure(&wc)
	t, err := r.parts.task(wc)
	if err != nil {
		return nil, err
	}
	return &worker{
		r: r, i: i, name: wc.Name, task: t, sink: r.sinkOf(i),
		in:       make(chan queued, queueLength),
		ctl:      make(chan func(context.Context)),
		answers:  newMailbox[answer](),
		handOver: make(chan *flight),
		at:       map[source.Partition]*track{},
		flights:  map[*flight]struct{}{},
		gapped:   map[source.Partition]struct{}{},
		epoch:    1,
		bears:    minForeign + rand.IntN(maxForeign-minForeign),
	}, nil
}

// run is the worker's goroutine. It ends with life.
func (w *worker) run(life context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	w.use()
	if !w.r.replayable {
		w.task.Open(life, nil)
	}
	for life.Err() == nil {
		now := time.Now()
		show := w.publish(now)
		in, hand := w.in, w.handOver
		if w.batch != nil || !w.free() {
			in = nil
		}
		var head *flight
		if len(w.queue) > 0 {
			head = w.queue[0]
		} else {
			hand = nil
		}
		timer.Reset(min(show, w.untilNext(now)))
		select {
		case <-life.Done():
			return
		case q := <-in:
			w.take(q)
		case f := <-w.ctl:
			f(life)
		case <-w.answers.ready():
			for _, a := range w.answers.take() {
				w.answered(life, a)
			}
		case hand <- head:
			w.queue = w.queue[1:]
		case <-timer.C:
		}
		w.progress(life)
	}
}

// do has f run in the worker's goroutine and waits until it has. It reports false where life or ctx ended first; f may
// then still run, once.
func (w *worker) do(ctx context.Context, f func(context.Context)) bool {
	ran := make(chan struct{})
	select {
	case w.ctl <- func(life context.Context) { f(life); close(ran) }:
	case <-w.r.done:
		return false
	case <-ctx.Done():
		return false
	}
	select {
	case <-ran:
		return true
	case <-w.r.done:
		return false
	case <-ctx.Done():
		return false
	}
}

// end gives back what the worker holds. It is called when its goroutine, and the source, have ended.
func (w *worker) end() {
	w.drop()
	for {
		select {
		case q := <-w.in:
			w.take(q)
			w.drop()
			continue
		default:
		}
		break
	}
	if err := w.task.Close(); err != nil {
		w.r.log.Warn("closing a writer task failed", "task", w.name, "error", err)
	}
}

// take takes over what was queued.
func (w *worker) take(q queued) {
	if q.mark != nil {
		close(q.mark)
		return
	}
	w.batch = q.batch
}

// drop gives the batch in hand back to the source.
func (w *worker) drop() {
	w.letGo()
	w.asking = nil
	if w.batch == nil {
		return
	}
	w.r.release(w.batch)
	w.batch = nil
}

// lose gives up the batch in hand with what is open; a source without positions is to deliver both again.
func (w *worker) lose() {
	if w.batch != nil && !w.r.replayable {
		w.open = append(w.open, w.batch.Range)
	}
	w.drop()
}

// free says that another batch may be appended now.
func (w *worker) free() bool {
	if w.rewinding || w.stopped || (!w.resumeAt.IsZero() && time.Now().Before(w.resumeAt)) {
		return false
	}
	return !w.full()
}

// full says that enough sealed batches wait for their answer: more would only take memory.
func (w *worker) full() bool {
	share := MemoryShares(w.r.cfg.Memory).Descriptors / int64(len(w.r.workers))
	return len(w.flights) >= maxInFlight || (len(w.flights) > 0 && w.weight >= share)
}

// untilNext is how long nothing happens by the clock alone.
func (w *worker) untilNext(now time.Time) time.Duration {
	d := time.Hour
	if w.free() {
		if at := w.task.Deadline(); !at.IsZero() {
			d = min(d, at.Sub(now))
		}
	} else if !w.resumeAt.IsZero() {
		d = min(d, w.resumeAt.Sub(now))
	}
	for p := range w.gapped {
		if tr := w.at[p]; tr != nil {
			d = min(d, tr.reopenedAt.Add(staleAfterReopen).Sub(now))
		}
	}
	return max(d, time.Millisecond)
}

// submitter waits in Submit in the worker's stead.
func (w *worker) submitter(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case f := <-w.handOver:
			if f.sub.Done != nil && !w.submit(life, f) {
				continue
			}
			if f.flush {
				w.sink.Flush()
			}
		}
	}
}

func (w *worker) submit(life context.Context, f *flight) bool {
	err := w.sink.Submit(life, f.sub)
	if err != nil && life.Err() == nil {
		f.sub.Done(committer.Outcome{Verdict: committer.Failed, Err: err})
	}
	return err == nil
}

// mailbox hands values to one receiver without ever blocking the sender. What bounds it is the number of flights.
type mailbox[T any] struct {
	token chan struct{}
	mu    struct {
		sync.Mutex
		items []T
	}
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{token: make(chan struct{}, 1)} }

func (m *mailbox[T]) put(v T) {
	m.mu.Lock()
	m.mu.items = append(m.mu.items, v)
	m.mu.Unlock()
	select {
	case m.token <- struct{}{}:
	default:
	}
}

func (m *mailbox[T]) ready() <-chan struct{} { return m.token }

func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.mu.items
	m.mu.items = nil
	return items
}
