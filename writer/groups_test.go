package writer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

func TestGroupsWriteEachKeyInOneEncoder(t *testing.T) {
	sc := eventSchema()
	for _, spec := range [][]string{nil, {"event_type identity"}} {
		var ps *iceberg.PartitionSpec
		if spec != nil {
			ps = specOf(t, sc, spec...)
		}
		tbl, _ := newTable(t, sc, ps, nil)
		task := newTask(t, tbl, func(c *Config) { c.GroupBy, c.Parallel, c.SealRecords = []string{"event_type"}, 3, 30000 })
		b := eventBatch(0, 50000)
		rows := 0
		for done := false; !done; {
			var err error
			if done, err = task.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			d := seal(t, task)
			rows += int(d.Rows)
			if spec != nil && len(d.Files) != 8 {
				t.Errorf("%d files, want one for each event type: each is written by one encoder", len(d.Files))
			}
			if spec == nil && len(d.Files) < 2 {
				t.Errorf("%d files, want those of several encoders", len(d.Files))
			}
			tbl = commit(t, tbl, d)
		}
		if rows != 50000 {
			t.Errorf("%d rows", rows)
		}
		sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b))
	}
}

func TestGroupsRewind(t *testing.T) {
	sc := eventSchema()
	tbl, _ := newTable(t, sc, nil, nil)
	task := newTask(t, tbl, func(c *Config) { c.GroupBy, c.Parallel = []string{"user_id", "event_type"}, 4 })
	appendAll(t, task, eventBatch(0, 30000))
	task.Discard(t.Context())
	b := eventBatch(0, 100)
	appendAll(t, task, b)
	d := seal(t, task)
	wantInput(t, d, 0, 100, 100, 0, 0)
	tbl = commit(t, tbl, d)
	sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b))
	task.Open(t.Context(), map[source.Partition]source.Position{testPartition: 5})
	appendAll(t, task, eventBatch(0, 100))
	wantInput(t, seal(t, task), 5, 100, 95, 0, 0)
}

func TestGroupByNamesColumns(t *testing.T) {
	tbl, _ := newTable(t, allTypes(), nil, nil)
	for name, want := range map[string]string{
		"id": "", "st.opt": "", "nope": "no primitive column", "st": "no primitive column", "l.element": "list or a map", "l": "no primitive column",
	} {
		cfg := Config{Topology: "t", Mapper: jsonMapper(), GroupBy: []string{name}, Parallel: 2}
		err := cfg.CheckTable(tbl)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		task := newTask(t, tbl, func(c *Config) { c.GroupBy, c.Parallel = cfg.GroupBy, 2 })
		if _, aerr := task.Append(t.Context(), &source.Batch{Range: source.Range{Partition: testPartition, To: 1}}); (aerr == nil) != (err == nil) {
			t.Errorf("%s: Append gives %v", name, aerr)
		}
	}
}

func TestEqualKeysHaveEqualHashes(t *testing.T) {
	cols, err := mapper.NewColumns(&mapper.Schema{Fields: []mapper.Field{{ID: 1, Name: "f", Type: mapper.Type{Kind: mapper.Double}}}})
	if err != nil {
		t.Fatal(err)
	}
	rows := []map[string]any{{"f": 0.0}, {"f": math.Copysign(0, -1)}, {"f": math.NaN()}, {"f": math.Float64frombits(0xfff8000000000001)}, {}, {}}
	m, err := values(rows)(cols.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := m.Map(&source.Record{Position: source.Position(i), Value: []byte{}}, cols); err != nil {
			t.Fatal(err)
		}
	}
	g := &groups{keys: []*leaf{{path: []int{0}, typ: mapper.Type{Kind: mapper.Double}}}, n: 200}
	lane := make([]uint8, len(rows))
	g.assign(cols, 0, len(rows), lane)
	if lane[0] != lane[1] || lane[2] != lane[3] || lane[4] != lane[5] {
		t.Errorf("lanes %v", lane)
	}
	if s := fmt.Sprint(lane); strings.Count(s, fmt.Sprint(lane[0])) == len(rows) {
		t.Errorf("all keys go to one lane: %v", lane)
	}
}
