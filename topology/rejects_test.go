package topology

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// fakeRejects is a rejects table that is loaded.
type fakeRejects struct {
	columns []tableio.Column
	loads   atomic.Int64
	err     error
}

func (f *fakeRejects) Load(context.Context) (*table.Table, error) {
	f.loads.Add(1)
	if f.err != nil {
		return nil, f.err
	}
	sc, err := tableio.ParseSchema(f.columns)
	if err != nil {
		return nil, err
	}
	return tableio.Definition{Schema: sc}.Preview(table.Identifier{"db", "bad"})
}

func (g *rig) rejecting() (Config, *fakeRejects) {
	cfg, to := g.config(), &fakeRejects{columns: rejects.Columns()}
	cfg.Rejects = to
	return cfg, to
}

// counted is a counter's value, of those whose label has the value.
func counted(t *testing.T, reg prometheus.Gatherer, name, label, value string) (n float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == label && l.GetValue() == value {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

func TestBadRecordsDoNotStopATopologyWithARejectsTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 33)
		for range 5 {
			g.log.AppendValues("t", 0, []byte("bad"), []byte("x"))
		}
		cfg, to := g.rejecting()
		reg := prometheus.NewPedanticRegistry()
		cfg.Registerer = reg
		top := g.topology(t, cfg)
		stop := start(top)
		pass(time.Minute)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		st := top.Status()
		if !st.Ready || st.Rejects["type"] != 5 || st.RejectsTable != "db.bad" {
			t.Errorf("status %+v", st)
		}
		if g.tasks[0].took == nil {
			t.Error("the task has no rejects table")
		}
		if got := counted(t, reg, "floe_records_rejected_total", "code", "type"); got != 5 {
			t.Errorf("the metric has %v rejects, want 5", got)
		}
		if n := to.loads.Load(); n != 2 {
			t.Errorf("the rejects table was loaded %d times, want once at the start and once after rejects", n)
		}
		pass(time.Hour)
		if n := to.loads.Load(); n < 10 || n > 14 {
			t.Errorf("the rejects table was loaded %d times in an hour without rejects", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTooManyOfTheFirstRecordsStopAndCommitNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 20)
		for range 60 {
			g.log.AppendValues("t", 0, []byte("bad"))
		}
		cfg, _ := g.rejecting()
		cfg.Writer.SealRecords = 0
		cfg.RejectLimit = RejectLimit{Share: 0.5, Of: 100}
		top := g.topology(t, cfg)
		err := top.Run(context.Background())
		var over *TooManyRejects
		if !errors.As(err, &over) || over.Rejects != 51 || over.Records != 71 || over.ByCode["type"] != 51 {
			t.Fatal(err)
		}
		for _, want := range []string{"51 of the first 71 records", "(type: 51)", "offset 70", "Nothing of the open batches is committed"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
		if err := g.table.check(map[source.Partition]source.Position{g.part(0): 0}); err != nil {
			t.Error(err)
		}
	})
}

func TestARateOfRejectsStopsAfterWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 200)
		cfg, _ := g.rejecting()
		cfg.RejectLimit = RejectLimit{Share: 0.5, Of: 100, Rate: 3, Per: time.Minute}
		top := g.topology(t, cfg)
		done := make(chan error, 1)
		go func() { done <- top.Run(context.Background()) }()
		for range 4 {
			g.log.AppendValues("t", 0, []byte("bad"))
			pass(20 * time.Second) // never more than three within a minute
		}
		g.log.AppendValues("t", 0, []byte("bad"), []byte("bad"), []byte("bad"), []byte("x"))
		err := <-done
		var over *TooManyRejects
		if !errors.As(err, &over) || over.Within != time.Minute || !strings.Contains(err.Error(), "4 records within 1m0s") {
			t.Fatal(err)
		}
		if err := g.table.check(map[source.Partition]source.Position{g.part(0): 206}); err != nil {
			t.Error(err)
		}
	})
}

func TestARejectsTableThatWontDoStopsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 3)
		cfg, to := g.rejecting()
		to.columns = to.columns[1:]
		if err := g.topology(t, cfg).Run(context.Background()); err == nil || !strings.Contains(err.Error(), `no column "topology"`) {
			t.Error(err)
		}
		cfg, to = g.rejecting()
		to.err = errors.New("away")
		began := time.Now()
		if err := g.topology(t, cfg).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "load the rejects table: away") {
			t.Error(err)
		}
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("a catalog that is away was waited for %s", took)
		}
	})
}

func TestRejectLimit(t *testing.T) {
	bad := &mapper.BadRecordError{Code: "c"}
	for name, c := range map[string]struct {
		limit RejectLimit
		// good records stand before each reject
		good, rejects int
		want          int // the reject that is refused, 0 for none
	}{
		"default":               {RejectLimit{}, 0, 600, 501},
		"half is not more":      {RejectLimit{}, 1, 600, 0},
		"just over":             {RejectLimit{Share: 0.25, Of: 100}, 2, 40, 26},
		"none at all":           {RejectLimit{Share: 0, Of: 10}, 5, 9, 1},
		"no limit":              {RejectLimit{Share: 1, Of: 10}, 0, 100, 0},
		"later ones are free":   {RejectLimit{Share: 0, Of: 10}, 20, 9, 0},
		"by rate":               {RejectLimit{Share: 1, Of: 1, Rate: 7}, 3, 9, 8},
		"the first count first": {RejectLimit{Share: 0.1, Of: 10, Rate: 7}, 0, 9, 2},
	} {
		c.limit.setDefaults()
		l := newRejectLimiter(c.limit)
		got := 0
		for i := 1; i <= c.rejects && got == 0; i++ {
			if err := l.judge(c.good, nil); err != nil {
				t.Errorf("%s: good records are refused: %v", name, err)
			}
			if err := l.judge(0, bad); err != nil {
				got = i
				if err2 := l.judge(0, bad); !errors.Is(err2, err) {
					t.Errorf("%s: what was refused once is taken: %v", name, err2)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: reject %d is refused, want %d", name, got, c.want)
		}
	}
}

func TestRejectLimitsAreValidated(t *testing.T) {
	g := newRig(1, 0)
	for _, l := range []RejectLimit{{Share: -0.1, Of: 1}, {Share: 1.1, Of: 1}, {Of: -1}, {Rate: -1}, {Per: -1}} {
		cfg := g.config()
		cfg.RejectLimit = l
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "reject limit") {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestCodesAreNamedByTheirNumber(t *testing.T) {
	if got := codeCounts(map[mapper.Code]int64{"b": 2, "a": 2, "c": 10}); got != "c: 10, a: 2, b: 2" {
		t.Error(got)
	}
}
