package topology

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// value is that of the only series of a family whose labels are those given, in pairs.
func value(t *testing.T, reg prometheus.Gatherer, name string, labels ...string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n, v := 0, 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			same := f.GetName() == name
			for i := 0; i < len(labels); i += 2 {
				same = same && have[labels[i]] == labels[i+1]
			}
			if same {
				n, v = n+1, m.GetGauge().GetValue()+m.GetCounter().GetValue()
			}
		}
	}
	if n != 1 {
		t.Fatalf("%s%q: %d series", name, labels, n)
	}
	return v
}

func TestMetricsAndStatusTellTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 25)
		cfg := g.config()
		cfg.Writer.SealRecords, cfg.Writer.SealInterval = 10, time.Hour
		reg := prometheus.NewPedanticRegistry()
		cfg.Registerer = reg
		top := g.topology(t, cfg)
		stop := start(top)
		pass(time.Minute)
		st := top.Status()
		if s := st.Source; s.Records != 25 || s.Partitions != 1 || s.Assignments != 1 || s.LagRecords != 5 || s.QueuedBytes != 0 {
			t.Errorf("source %+v", s)
		}
		if p := st.Partitions[0]; *p.End != 25 || p.Committed != 20 || *p.LagRecords != 5 {
			t.Errorf("partition %+v", p)
		}
		if s := st.Tasks[0].Sealed; s.Rows != 20 || s.Batches != 2 || st.Tasks[0].OpenRows != 5 {
			t.Errorf("sealed %+v", s)
		}
		for _, c := range []struct {
			name   string
			want   float64
			labels []string
		}{
			{"floe_ready", 1, nil},
			{"floe_records_read_total", 25, nil},
			{"floe_rebalances_total", 1, nil},
			{"floe_source_partitions", 1, []string{"state", "owned"}},
			{"floe_source_lag_records", 5, nil},
			{"floe_partition_lag_records", 5, []string{"topic", "t", "partition", "0"}},
			{"floe_partition_position", 25, []string{"topic", "t", "partition", "0", "at", "read"}},
			{"floe_partition_position", 20, []string{"topic", "t", "partition", "0", "at", "committed"}},
			{"floe_partition_position", 25, []string{"topic", "t", "partition", "0", "at", "end"}},
			{"floe_records_written_total", 20, []string{"task", "writer/0"}},
			{"floe_open_records", 5, []string{"task", "writer/0"}},
			{"floe_batches_in_flight", 0, []string{"task", "writer/0"}},
			{"floe_rewinds_total", 0, []string{"task", "writer/0", "cause", "rollback"}},
			{"floe_commit_attempts_total", 0, []string{"task", "committer/0", "outcome", "pinned_retry"}},
		} {
			if got := value(t, reg, c.name, c.labels...); got != c.want {
				t.Errorf("%s%q is %v, want %v", c.name, c.labels, got, c.want)
			}
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if families, _ := reg.Gather(); len(families) != 0 {
			t.Errorf("%d metrics are left after the end", len(families))
		}
	})
}

func TestTheEndIsAskedForWhileTheSourceIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 5)
		top := g.topology(t, g.config())
		stop := start(top)
		pass(time.Minute)
		if l := top.Status().Source; l.LagRecords != 0 || l.LagSeconds != 0 {
			t.Errorf("behind by %d and %v s with everything committed", l.LagRecords, l.LagSeconds)
		}
		g.table.set(func() { g.table.away = true })
		g.fill(0, 30)
		pass(time.Minute)
		if l := top.Status().Source; l.LagRecords != 30 {
			t.Errorf("behind by %d, want 30", l.LagRecords)
		}
		g.table.set(func() { g.table.away = false })
		pass(time.Minute)
		if l := top.Status().Source; l.LagRecords != 0 {
			t.Errorf("still behind by %d", l.LagRecords)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestLag(t *testing.T) {
	now := time.UnixMilli(100_000)
	for _, c := range []struct {
		name      string
		committed source.Position
		end       source.Position
		time      int64
		records   int64
		seconds   float64
	}{
		{"nothing is left to commit, however old it is", 10, 10, 1000, 0, 0},
		{"by the newest record that is committed", 8, 10, 40_000, 2, 60},
		{"a record from the future", 8, 10, 200_000, 2, 0},
		{"no record has a time", 8, 10, 0, 2, -1},
		{"an end that is older than what was read", 8, 3, 40_000, 2, 60},
	} {
		st := PartitionStatus{Read: 10, Committed: c.committed, time: c.time}
		st.lag(c.end, now)
		seconds := -1.0
		if st.LagSeconds != nil {
			seconds = *st.LagSeconds
		}
		if *st.LagRecords != c.records || seconds != c.seconds {
			t.Errorf("%s: %d records, %v s", c.name, *st.LagRecords, seconds)
		}
	}
}

func TestSeriesOfPartitionsAreBoundedAndDistinct(t *testing.T) {
	s := newState("test", "i")
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(newStatusMetrics(s))
	own := func(n int) {
		ps := map[source.Partition]PartitionStatus{}
		for i := range n {
			p := source.Partition{Topic: "t", ID: int32(i)}
			ps[p] = PartitionStatus{Topic: "t", Partition: int32(i), Task: "writer/0"}
		}
		// The topic's life before, and names that are no text.
		ps[source.Partition{Topic: "t", Incarnation: "old"}] = PartitionStatus{Topic: "t", Task: "writer/0"}
		ps[source.Partition{Topic: "\xff"}] = PartitionStatus{Topic: "\xff", Task: "writer/0"}
		ps[source.Partition{Topic: "\xfe"}] = PartitionStatus{Topic: "\xfe", Task: "writer/0"}
		s.setTask(0, TaskStatus{Task: "writer/0"}, ps)
	}
	for _, c := range []struct{ owned, series int }{{10, 33}, {maxSeriesPartitions - 1, 3 * maxSeriesPartitions}, {maxSeriesPartitions, 0}} {
		own(c.owned)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range families {
			if f.GetName() == "floe_partition_position" {
				n = len(f.GetMetric())
			}
		}
		if n != c.series {
			t.Errorf("%d partitions: %d series, want %d", c.owned, n, c.series)
		}
	}
}

func TestTroublesSayHowLongTheyLastAndWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newState("test", "i")
		r := &report{log: slog.New(slog.DiscardHandler), state: s}
		o := newObserver(r, committer.Config{Component: "committer"})
		began := time.Now()
		o.Trouble(&committer.StopError{Reason: "gone", Hint: "look for it"})
		pass(time.Minute)
		o.Trouble(errors.New("still away"))
		st := s.snapshot(time.Now())
		if len(st.Troubles) != 1 || st.Troubles[0].Error != "still away" || !st.Troubles[0].Since.Equal(began) {
			t.Errorf("%+v", st.Troubles)
		}
		if st.Committers[0].Phase != "held up" {
			t.Errorf("the committer is %q", st.Committers[0].Phase)
		}
		for i := range keptCommits + 3 {
			o.Committed(committer.Commit{SnapshotID: int64(i), Rows: 1})
		}
		o.Outcome("landed")
		st = s.snapshot(time.Now())
		if len(st.Troubles) != 0 || st.Committers[0].Phase != "idle" || st.Committers[0].Attempts["landed"] != 1 {
			t.Errorf("%+v", st)
		}
		if len(st.Commits) != keptCommits || st.Commits[0].SnapshotID != keptCommits+2 {
			t.Errorf("%d commits, the newest %+v", len(st.Commits), st.Commits[0])
		}
	})
}

// flakyWAL answers with err.
type flakyWAL struct{ err error }

func (w *flakyWAL) Put(_ context.Context, _ *table.Table, g *descriptor.Group) (string, error) {
	return g.Topology, w.err
}
func (w *flakyWAL) List(context.Context, *table.Table) ([]descriptor.Entry, error) {
	return []descriptor.Entry{{Path: "a", ModifiedAt: time.Unix(1, 0)}, {Path: "b", ModifiedAt: time.Unix(2, 0)}}, w.err
}
func (w *flakyWAL) Delete(context.Context, *table.Table, string) error   { return w.err }
func (w *flakyWAL) SetAside(context.Context, *table.Table, string) error { return w.err }

func TestWALIsCounted(t *testing.T) {
	under := &flakyWAL{}
	w := newWALLog(under)
	state := func() string {
		st := w.status()
		oldest := int64(0)
		if st.Oldest != nil {
			oldest = st.Oldest.Unix()
		}
		return fmt.Sprintf("%d entries since %d, %d failures, %d set aside", st.Entries, oldest, st.Failures, st.SetAside)
	}
	for i, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "0 entries since 0, 0 failures, 0 set aside"},
		{func() { w.List(t.Context(), nil) }, "2 entries since 1, 0 failures, 0 set aside"},
		{func() { w.Put(t.Context(), nil, &descriptor.Group{Topology: "c"}) }, "3 entries since 1, 0 failures, 0 set aside"},
		{func() { w.Put(t.Context(), nil, &descriptor.Group{Topology: "a"}) }, "3 entries since 1, 0 failures, 0 set aside"},
		{func() { w.Delete(t.Context(), nil, "a") }, "2 entries since 2, 0 failures, 0 set aside"},
		{func() { w.SetAside(t.Context(), nil, "b"); w.Delete(t.Context(), nil, "c") }, "0 entries since 0, 0 failures, 1 set aside"},
		{func() { under.err = errors.New("away"); w.Put(t.Context(), nil, &descriptor.Group{}) }, "0 entries since 0, 1 failures, 1 set aside"},
	} {
		c.do()
		if got := state(); got != c.want {
			t.Errorf("step %d: %s, want %s", i, got, c.want)
		}
	}
}

// A start that fails behind the table has registered metrics already.
func TestATopologyThatHasEndedLeavesNoMetrics(t *testing.T) {
	for name, wrong := range map[string]error{"in its start": errors.New("no rejects table today"), "later": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(1, 25)
				cfg, to := g.rejecting()
				to.err = wrong
				reg := prometheus.NewPedanticRegistry()
				cfg.Registerer, cfg.UntilCaughtUp = reg, true
				top := g.topology(t, cfg)
				if err := top.Run(t.Context()); !errors.Is(err, wrong) {
					t.Fatalf("Run gave %v, want %v", err, wrong)
				}
				if left, err := reg.Gather(); err != nil || len(left) > 0 {
					t.Errorf("%d metrics are left, the first %v; %v", len(left), left[:min(1, len(left))], err)
				}
				if st := top.Status(); st.Phase != PhaseEnded || wrong != nil && !strings.Contains(st.LastError, wrong.Error()) {
					t.Errorf("status %+v", st)
				}
			})
		})
	}
}
