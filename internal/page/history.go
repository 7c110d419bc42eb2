package page

import (
	"context"
	"sync"
	"time"

	"github.com/stormfloe/floe/topology"
)

const (
	// Every is the time between two samples.
	Every = 5 * time.Second
	// Kept is how long a sample is kept.
	Kept = time.Hour
	// maxSamples bounds what one topology takes: about 70 KiB.
	maxSamples = int(Kept / Every)
)

// Sample is what a topology had done at one moment. Counters begin with the run.
type Sample struct {
	// AtMs is in milliseconds since the epoch.
	AtMs int64 `json:"t"`
	// Read are records delivered by the source, Rows those made visible, Bytes of data files made visible.
	Read  int64 `json:"read"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Rejects are records that went to the rejects table.
	Rejects int64 `json:"rejects"`
	// Commit is the longest of the commits since the sample before, in seconds; 0 where there was none.
	Commit float64 `json:"commit"`
	// LagRecords and LagSeconds are SourceStatus's.
	LagRecords int64   `json:"lag"`
	LagSeconds float64 `json:"lag_s"`
}

// Series is the history of one topology.
type Series struct {
	Topology string   `json:"topology"`
	Table    string   `json:"table"`
	Instance string   `json:"instance"`
	Samples  []Sample `json:"samples"`
}

// History keeps the last hour of topologies. Any goroutine may use it.
type History struct {
	mu struct {
		sync.Mutex
		series []*Series
	}
}

// Run takes a sample of each topology now and every five seconds, until ctx ends.
func (h *History) Run(ctx context.Context, status func() []topology.Status) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		h.add(time.Now(), status())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Since gives what was sampled after a moment, in milliseconds since the epoch.
func (h *History) Since(afterMs int64) []Series {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Series, 0, len(h.mu.series))
	for _, s := range h.mu.series {
		c := *s
		c.Samples = []Sample{}
		for _, x := range s.Samples {
			if x.AtMs > afterMs {
				c.Samples = append(c.Samples, x)
			}
		}
		out = append(out, c)
	}
	return out
}

// add samples each status. A topology that is not among them any more is forgotten.
func (h *History) add(now time.Time, all []topology.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	series := make([]*Series, 0, len(all))
	for i := range all {
		st := &all[i]
		s := h.ofLocked(st)
		s.Table = st.Table // known once it was loaded
		if n := len(s.Samples); n == maxSamples {
			copy(s.Samples, s.Samples[1:])
			s.Samples = s.Samples[:n-1]
		}
		s.Samples = append(s.Samples, sample(now, st, s.Samples))
		series = append(series, s)
	}
	h.mu.series = series
}

func (h *History) ofLocked(st *topology.Status) *Series {
	for _, s := range h.mu.series {
		if s.Topology == st.Topology && s.Instance == st.Instance {
			return s
		}
	}
	return &Series{Topology: st.Topology, Instance: st.Instance}
}

func sample(now time.Time, st *topology.Status, before []Sample) Sample {
	x := Sample{AtMs: now.UnixMilli()}
	if src := st.Source; src != nil {
		x.Read, x.LagRecords, x.LagSeconds = src.Records, src.LagRecords, src.LagSeconds
	}
	for _, c := range st.Committers {
		x.Rows, x.Bytes = x.Rows+c.Rows, x.Bytes+c.Bytes
	}
	for _, n := range st.Rejects {
		x.Rejects += n
	}
	last := int64(0)
	if n := len(before); n > 0 {
		last = before[n-1].AtMs
	}
	for _, c := range st.Commits {
		if c.At.UnixMilli() > last {
			x.Commit = max(x.Commit, c.Seconds)
		}
	}
	return x
}
