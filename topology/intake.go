package topology

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
)

// SourceStatus is the source, and how far the table is behind it.
type SourceStatus struct {
	Name string `json:"name"`
	// Partitions are owned, Stopped of all that were seen are not read on. Assignments counts how often partitions were assigned,
	// once for each rebalance that brought some.
	Partitions  int   `json:"partitions"`
	Stopped     int   `json:"stopped"`
	Assignments int64 `json:"assignments"`
	// Records and Bytes were delivered by this run, those that were read again counted again; QueuedBytes wait for a task.
	Records     int64 `json:"records"`
	Bytes       int64 `json:"bytes"`
	QueuedBytes int64 `json:"queued_bytes"`
	// Fetches and FetchedBytes are the requests to the brokers and what they brought, compressed; absent where the source does not say.
	Fetches      int64 `json:"fetches,omitempty"`
	FetchedBytes int64 `json:"fetched_bytes,omitempty"`
	// LagRecords is the sum over the owned partitions whose end is known, LagSeconds the largest: see PartitionStatus.
	LagRecords int64   `json:"lag_records"`
	LagSeconds float64 `json:"lag_seconds"`
}

// intake is what comes from the source: counted for each batch, and looked at when status is asked for.
type intake struct {
	name                                string
	meter                               source.Meter // nil where the source is none
	records, bytes, queued, assignments atomic.Int64

	mu struct {
		sync.Mutex
		// ends is where partitions ended when the source was last asked.
		ends map[source.Partition]source.Position
	}
}

func newIntake(src source.Source) *intake {
	in := &intake{name: src.Traits().Name}
	in.meter, _ = src.(source.Meter)
	return in
}

// endsEvery is how often the source is asked where its partitions end. What it reads tells more often, but not while it is held.
const endsEvery = 15 * time.Second

// watchEnds asks the source where its partitions end. A failure costs an old number, and whatever is wrong is told of elsewhere.
func (r *run) watchEnds(reading context.Context) {
	if !r.replayable {
		return
	}
	for retry.Sleep(reading, endsEvery) == nil {
		ctx, cancel := context.WithTimeout(reading, endsEvery)
		bounds, err := r.cfg.Source.Partitions(ctx)
		cancel()
		if err != nil {
			r.log.Debug("the source does not say where its partitions end", "error", err)
			continue
		}
		ends := make(map[source.Partition]source.Position, len(bounds))
		for _, b := range bounds {
			ends[b.Partition] = b.Last
		}
		r.state.intake.mu.Lock()
		r.state.intake.mu.ends = ends
		r.state.intake.mu.Unlock()
	}
}

// status gives what was counted and where partitions end.
func (in *intake) status() (*SourceStatus, map[source.Partition]source.Position) {
	if in == nil {
		return nil, nil
	}
	st := &SourceStatus{Name: in.name, Records: in.records.Load(), Bytes: in.bytes.Load(), QueuedBytes: in.queued.Load(),
		Assignments: in.assignments.Load()}
	in.mu.Lock()
	ends := maps.Clone(in.mu.ends)
	in.mu.Unlock()
	if in.meter == nil {
		return st, ends
	}
	got := in.meter.Reading()
	st.Fetches, st.FetchedBytes = got.Fetches, got.FetchedBytes
	if ends == nil {
		ends = got.Ends
	}
	for p, end := range got.Ends {
		ends[p] = max(ends[p], end) // either may be the older one
	}
	return st, ends
}

// lag fills in what st is behind end, which the source has told of.
func (st *PartitionStatus) lag(end source.Position, now time.Time) {
	end = max(end, st.Read)
	behind := int64(end - st.Committed)
	st.End, st.LagRecords = &end, &behind
	switch {
	case behind == 0:
		st.LagSeconds = new(float64)
	case st.time > 0:
		age := max(0, now.Sub(time.UnixMilli(st.time)).Seconds())
		st.LagSeconds = &age
	}
}

// sum adds a partition to the source's.
func (s *SourceStatus) sum(st *PartitionStatus) {
	if st.Stopped != "" {
		s.Stopped++
	}
	if st.Task != "" {
		s.Partitions++
	}
	if st.LagRecords != nil {
		s.LagRecords += *st.LagRecords
	}
	if st.LagSeconds != nil {
		s.LagSeconds = max(s.LagSeconds, *st.LagSeconds)
	}
}
