package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// changeSchema makes a schema of the fields the current one, as another engine would.
func changeSchema(t *testing.T, w *harness.World, change func([]iceberg.NestedField) []iceberg.NestedField) {
	t.Helper()
	fields := change(slices.Clone(w.Catalog.Metadata().CurrentSchema().Fields()))
	if err := w.Catalog.Apply(table.NewAddSchemaUpdate(iceberg.NewSchema(0, fields...)), table.NewSetCurrentSchemaUpdate(-1)); err != nil {
		t.Fatal(err)
	}
}

func field(id int, name string) iceberg.NestedField {
	return iceberg.NestedField{ID: id, Name: name, Type: iceberg.PrimitiveTypes.String}
}

// othersChange are changes of the table that somebody makes while batches are open, sealed and on their way. last says what
// the column note holds of a record that was written before, and of one after the change.
var othersChange = []struct {
	name         string
	before, last string
	change       func(t *testing.T, w *harness.World)
}{
	{"dropped", "", "", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { return f[:4] })
	}},
	{"renamed", "", "", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { f[4].Name = "remark"; return f })
	}},
	{"dropped and made again", "", "after", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { return f[:4] })
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { return append(f, field(7, "note")) })
	}},
	{"two change their names", "other", "after", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField {
			f[4].Name, f[5].Name = "swap", "note"
			return f
		})
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { f[4].Name = "second"; return f })
	}},
	{"moved", "before", "after", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { slices.Reverse(f); return f })
	}},
	{"made optional", "before", "after", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField {
			f[0].Required, f[1].Required = false, false
			return f
		})
	}},
	{"made required", "before", "after", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { f[3].Required = true; return f })
	}},
	{"made a long, and partitioned by", "before", "after", func(t *testing.T, w *harness.World) {
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField {
			f[0].Type = iceberg.PrimitiveTypes.Int64
			return f
		})
	}},
	{"another spec", "before", "after", func(t *testing.T, w *harness.World) {
		spec := iceberg.NewPartitionSpecID(1, iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1001, Name: "region", Transform: iceberg.IdentityTransform{}})
		if err := w.Catalog.Apply(table.NewAddPartitionSpecUpdate(&spec, false), table.NewSetDefaultSpecUpdate(-1)); err != nil {
			t.Fatal(err)
		}
	}},
}

// The ids of fields decide what a column holds, never names or places: what was sealed under the schema before is right
// under the one after, or is read again.
func TestOthersChangeTheTableWhileBatchesAreOnTheirWay(t *testing.T) {
	for _, c := range othersChange {
		// The change comes when a batch is open, when its file is written, and when its commit is about to be sent.
		for _, at := range []fault.Decider{nil, fault.On(fault.OpClose, fault.After, 2, fault.Slow(300*time.Millisecond)),
			fault.On(fault.OpCommit, fault.Before, 3, fault.Slow(300*time.Millisecond))} {
			t.Run(c.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := harness.New(t, harness.Shape{PartitionBy: []string{"part"}})
					changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField {
						return append(f, field(5, "note"), field(6, "second"))
					})
					const more = `,"note":"%s","second":"other"`
					for range 20 {
						w.ProduceWith(0, fmt.Sprintf(more, "before"))
					}
					plan := fault.New(at)
					cfg := w.Config(plan)
					_, stop := harness.Start(t, cfg)
					<-time.After(200 * time.Millisecond)
					c.change(t, w)
					if at == nil {
						<-time.After(2 * cfg.Committer.CheckInterval) // it has been seen
					}
					for range 20 {
						w.ProduceWith(0, fmt.Sprintf(more, "after"))
					}
					harness.Until(t, "everything is there", func() bool { return w.Rows(t) == 40 })
					if err := stop(); err != nil {
						t.Fatal(err)
					}
					w.Check(t)
					notes := w.Values(t, "note")
					// One that was mapped under the schema before is as it would have been before the change.
					if last := notes["0/39"]; at == nil && last != quoted(c.last) {
						t.Errorf("the last record has %s", last)
					}
					if first := notes["0/0"]; at == nil && first != quoted(c.before) {
						t.Errorf("the first record has %s", first)
					}
					for k, v := range notes {
						if v != quoted(c.before) && v != quoted(c.last) && v != quoted("before") {
							t.Errorf("%s has %s", k, v)
						}
					}
				})
			})
		}
	}
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("%q", s)
}

// A null that was sealed before its column was made required is not committed: the record is read again, and bad.
func TestANullIsNotCommittedIntoAColumnThatWasMadeRequired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { return append(f, field(5, "note")) })
		for i := range 8 {
			more := `,"note":"x"`
			if i == 6 {
				more = ""
			}
			w.ProduceWith(0, more)
		}
		var once sync.Once
		fail := 0
		plan := fault.New(func(p fault.Point) fault.Action {
			if p.Op == fault.OpCommit && p.Phase == fault.Before && w.Catalog.Metadata().CurrentSnapshot() != nil {
				once.Do(func() {
					changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { f[4].Required = true; return f })
				})
				fail++
				if fail == 1 { // so that it is looked at again
					return fault.Fail(errors.New("502 bad gateway"))
				}
			}
			return fault.Continue
		})
		cfg := w.Config(plan)
		err := w.Live(t, cfg, plan)
		if err == nil || !strings.Contains(err.Error(), "offset 6: bad record (required)") {
			t.Errorf("the run gave %v", err)
		}
		if n := w.Rows(t); n > 6 {
			t.Errorf("%d rows", n)
		}
		w.CheckOf(t, "orders")
	})
}

// A column becomes required when the commit of rows without it has looked, and is about to be sent.
func TestNoNullIsCommittedIntoAColumnThatHasJustBecomeRequired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { return append(f, field(5, "note")) })
		w.ProduceWith(0, "")
		g := newGate()
		plan := fault.New(g.at(moment{fault.OpCommit, fault.Before, 2}))
		err := g.during(func() error { return w.Live(t, w.Config(plan), plan) }, func() {
			changeSchema(t, w, func(f []iceberg.NestedField) []iceberg.NestedField { f[4].Required = true; return f })
		})
		if err == nil || !strings.Contains(err.Error(), "offset 0: bad record (required)") || w.Rows(t) != 0 {
			t.Errorf("%d rows, error %v", w.Rows(t), err)
		}
	})
}
