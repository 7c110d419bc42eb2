package page

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/topology"
)

func TestHistorySamplesEveryFiveSecondsForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h History
		records := int64(0)
		status := func() []topology.Status {
			records += 10
			return []topology.Status{{Topology: "a", Instance: "1", Table: "db.t", Source: &topology.SourceStatus{Records: records, LagRecords: 3, LagSeconds: 1.5},
				Rejects:    map[mapper.Code]int64{"type": 2, "range": 1},
				Committers: []topology.CommitterStatus{{Rows: 5, Bytes: 50}, {Rows: 6, Bytes: 60}}}}
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.Run(ctx, status) }()
		<-time.After(time.Minute + time.Millisecond)
		s := h.Since(0)[0]
		if len(s.Samples) != 13 || s.Topology != "a" || s.Table != "db.t" {
			t.Errorf("%d samples of %s in a minute", len(s.Samples), s.Topology)
		}
		if x := s.Samples[12]; x.Read != 130 || x.Rows != 11 || x.Bytes != 110 || x.Rejects != 3 || x.LagRecords != 3 || x.LagSeconds != 1.5 {
			t.Errorf("%+v", x)
		}
		if n := len(h.Since(s.Samples[9].AtMs)[0].Samples); n != 3 {
			t.Errorf("%d samples after the tenth", n)
		}
		<-time.After(3 * time.Hour)
		s = h.Since(0)[0]
		if n := len(s.Samples); n != maxSamples || s.Samples[n-1].AtMs-s.Samples[0].AtMs != (Kept-Every).Milliseconds() {
			t.Errorf("%d samples over %d ms", n, s.Samples[n-1].AtMs-s.Samples[0].AtMs)
		}
		end()
		<-done
	})
}

func TestHistoryKeepsTheLongestCommitOfEachSample(t *testing.T) {
	var h History
	at := time.UnixMilli(1_000_000)
	commit := func(before time.Duration, s float64) topology.CommitStatus {
		return topology.CommitStatus{At: at.Add(-before), Seconds: s}
	}
	h.add(at.Add(-Every), []topology.Status{{Topology: "a"}})
	h.add(at, []topology.Status{{Topology: "a", Commits: []topology.CommitStatus{commit(time.Second, 1), commit(2*time.Second, 3), commit(time.Minute, 9)}}})
	if got := h.Since(0)[0].Samples[1].Commit; got != 3 {
		t.Errorf("longest is %v, want 3", got)
	}
}

func TestHistoryForgetsTopologiesThatAreGoneAndKeepsThoseOfOneNameApart(t *testing.T) {
	var h History
	now := time.UnixMilli(1_000_000)
	h.add(now, []topology.Status{{Topology: "a", Instance: "1"}, {Topology: "a", Instance: "2"}})
	h.add(now, []topology.Status{{Topology: "a", Instance: "2"}})
	if s := h.Since(0); len(s) != 1 || s[0].Instance != "2" || len(s[0].Samples) != 2 {
		t.Errorf("%+v", s)
	}
}
