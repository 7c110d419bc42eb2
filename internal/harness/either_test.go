package harness_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/topology"
)

// turn is a change of the schema by somebody else that makes rows of what would have been rejects, or the other way round.
type turn struct {
	name          string
	before, after *iceberg.NestedField // the fifth column
	unknown       mapper.UnknownPolicy
	// records have these members: the first is a row under the schema before alone, or, where rowAfter is set, under the one after.
	more     string
	rowAfter bool
}

func column(t iceberg.Type) *iceberg.NestedField {
	return &iceberg.NestedField{ID: 5, Name: "n", Type: t}
}

var turns = []turn{
	{name: "added", after: column(iceberg.PrimitiveTypes.Int64), more: `,"n":"text"`},
	{name: "added to strict records", after: column(iceberg.PrimitiveTypes.Int64), unknown: mapper.UnknownReject, more: `,"n":1`, rowAfter: true},
	{name: "widened", before: column(iceberg.PrimitiveTypes.Int32), after: column(iceberg.PrimitiveTypes.Int64), more: `,"n":5000000000`, rowAfter: true},
	{name: "dropped", before: column(iceberg.PrimitiveTypes.Int64), more: `,"n":"text"`, rowAfter: true},
	{name: "dropped under strict records", before: column(iceberg.PrimitiveTypes.Int64), unknown: mapper.UnknownReject, more: `,"n":1`},
}

func (c *turn) config(w *harness.World, plan *fault.Plan) topology.Config {
	cfg := w.Config(plan)
	cfg.Mapper = mapper.NewJSON(mapper.JSONOptions{Unknown: mapper.UnknownOptions{Policy: c.unknown}})
	cfg.RejectLimit.Share = 1
	return cfg
}

// setColumn makes f the fifth column, or leaves four.
func setColumn(t *testing.T, w *harness.World, f *iceberg.NestedField) {
	t.Helper()
	fields := slices.Clone(w.Catalog.Metadata().CurrentSchema().Fields()[:4])
	if f != nil {
		fields = append(fields, *f)
	}
	if err := w.Catalog.Apply(table.NewAddSchemaUpdate(iceberg.NewSchema(1, fields...)), table.NewSetCurrentSchemaUpdate(-1)); err != nil {
		t.Fatal(err)
	}
}

// live runs a life that ends as end says, the change of the schema, and a second life. It gives the steps of the first.
func (c *turn) live(t *testing.T, end fault.Decider) (steps int) {
	t.Helper()
	w := harness.New(t, harness.Shape{Partitions: 2, Rejects: true})
	if c.before != nil {
		setColumn(t, w, c.before)
	}
	var either []string // by the order within each partition
	produce := func() {
		for i := range 24 {
			id := int32(i % 2)
			switch i / 2 % 3 {
			case 0:
				w.ProduceWith(id, "")
			case 1:
				either = append(either, fmt.Sprintf("%d/%d", id, w.ProduceEither(id, c.more)))
			default:
				w.ProduceRejectWith(id, `,"region":1`)
			}
		}
	}
	produce()
	plan := fault.New(end)
	_ = w.Live(t, c.config(w, plan), plan) // it dies, or has caught up
	setColumn(t, w, c.after)
	produce()
	w.CatchUp(t, c.config(w, nil))
	rows := w.Settle(t)
	w.Check(t)
	c.checkTurn(t, either, rows)
	return plan.N()
}

// checkTurn looks that what each record became is by one schema up to a position and by the other one from there on: no reject, and
// no row, stands there from a batch that was read again.
func (c *turn) checkTurn(t *testing.T, either []string, rows map[string]bool) {
	t.Helper()
	turned := map[string]bool{}
	for i, at := range either {
		part := at[:1]
		after := rows[at] == c.rowAfter
		if turned[part] && !after {
			t.Errorf("%s is as the schema was, behind records that are as it became", at)
		}
		turned[part] = turned[part] || after
		if i >= len(either)/2 && !after {
			t.Errorf("%s was written after the change, and is as the schema was", at)
		}
	}
}

// A process dies with rejects in its batches, somebody changes the schema, and the next one reads again what was not committed.
func TestABatchThatIsReadAgainUnderAnotherSchemaLeavesNoStaleReject(t *testing.T) {
	for _, c := range turns {
		t.Run(c.name, func(t *testing.T) {
			all := 0
			bubble(t, func(t *testing.T) { all = c.live(t, nil) })
			for k := 1; k <= all && !t.Failed(); k += stride(all, 20) {
				bubble(t, func(t *testing.T) { c.live(t, fault.At(k, fault.Crash)) })
			}
		})
	}
}
