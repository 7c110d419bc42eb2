package writer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/evolve"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
)

// granter grants what tbl can have.
func granter(tbl *table.Table, columns int) Grant {
	return func(all []mapper.Change) (*iceberg.Schema, string) {
		sc, refused := evolve.Plan(tbl.Metadata(), all, columns)
		if len(refused) > 0 {
			return nil, refused[0].Why
		}
		return sc, ""
	}
}

// Hostile keys: each record of a batch asks for columns of its own.
func TestABatchAsksForABoundedNumberOfColumns(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	evolution := mapper.Evolution{Add: true}
	task := newTask(t, tbl, func(c *Config) { c.Evolve, c.Mapper = true, mapper.NewJSON(mapper.JSONOptions{Evolve: evolution}) })
	b := batchOf(0, 100_000, func(i int) []byte { return fmt.Appendf(nil, `{"id":%d,"new%d":1}`, i, i) })
	_, err := task.Append(t.Context(), b)
	ask, ok := errors.AsType[*EvolveError](err)
	if !ok {
		t.Fatal(err)
	}
	own := ask.Own(granter(tbl, 1000))
	if n := len(ask.With(own, granter(tbl, 7))); len(own) != 1 || n != 1 {
		t.Errorf("%d and %d changes, want the record's own", len(own), n)
	}
	if n := len(ask.With(own, granter(tbl, 1000))); n != 1+mostAskers {
		t.Errorf("%d changes", n)
	}
}

// growing is a table whose schema is changed as the records of a task ask for it.
type growing struct {
	t    *testing.T
	tbl  *table.Table
	cat  *icesql.Catalog
	task *Task
	rule *mapper.Filter
	// changes is how often; what of each record is in outcome.
	changes, rows, filtered int
	bad                     []string
}

func newGrowing(t *testing.T, sc *iceberg.Schema, spec *iceberg.PartitionSpec, filter ...mapper.FilterRule) *growing {
	g := &growing{t: t}
	g.tbl, g.cat = newTable(t, sc, spec, iceberg.Properties{"format-version": "2"})
	f, err := mapper.NewFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	g.rule = f
	all := mapper.Evolution{Add: true, Widen: true, Optional: true}
	g.task = rejectsTask(t, g.tbl, rejectsTable(t, g.cat, nil), func(c *Config) {
		c.Evolve, c.Mapper = true, f.Wrap(mapper.NewJSON(mapper.JSONOptions{Evolve: all}))
		c.Judge = func(_ int, bad *mapper.BadRecordError) error {
			if bad != nil {
				g.bad = append(g.bad, string(bad.Code)+" "+bad.Column)
			}
			return nil
		}
	})
	return g
}

// take appends a batch, as a topology does.
func (g *growing) take(from int, records ...string) {
	g.t.Helper()
	b := batchOf(from, from+len(records), func(i int) []byte { return []byte(records[i-from]) })
	for range 3 * len(records) {
		done, err := g.task.Append(g.t.Context(), b)
		ask, asks := errors.AsType[*EvolveError](err)
		switch {
		case done && err == nil:
			g.seal()
			return
		case !asks:
			g.t.Fatal(done, err)
		}
		grant := granter(g.tbl, 1000)
		own := ask.Own(grant)
		if own == nil {
			continue
		}
		sc, why := grant(ask.With(own, grant))
		if sc == nil {
			g.t.Fatal(why)
		}
		g.seal()
		loader := tableio.New(g.cat, g.tbl.Identifier())
		if err := loader.Change(g.t.Context(), nil, []table.Update{table.NewAddSchemaUpdate(sc), table.NewSetCurrentSchemaUpdate(-1)}); err != nil {
			g.t.Fatal(err)
		}
		if g.tbl, err = loader.Load(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
		g.changes++
		g.task.Use(g.tbl)
	}
	g.t.Fatal("the batch is never done")
}

func (g *growing) seal() {
	d, err := g.task.Seal(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	if d != nil {
		for _, in := range d.Inputs {
			g.rows, g.filtered = g.rows+int(in.Rows), g.filtered+int(in.Filtered)
		}
	}
}

func (g *growing) outcome() string {
	var columns []string
	for _, f := range g.tbl.Schema().Fields() {
		c := f.Name + " " + f.Type.String()
		if f.Required {
			c += "!"
		}
		columns = append(columns, c)
	}
	return fmt.Sprintf("%d changes; %d rows, %d filtered; bad: %s; %s", g.changes, g.rows, g.filtered, strings.Join(g.bad, ", "), strings.Join(columns, ", "))
}

// The schema is changed for a record that becomes a row by it, and for no other one.
func TestTheSchemaIsChangedForRowsAlone(t *testing.T) {
	p, str := iceberg.PrimitiveTypes, iceberg.PrimitiveTypes.String
	sc := func() *iceberg.Schema {
		return iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: p.Int32, Required: true}, iceberg.NestedField{ID: 2, Name: "region", Type: str},
			iceberg.NestedField{ID: 3, Name: "at", Type: p.Date})
	}
	other := mapper.FilterRule{Name: "other", Column: &mapper.ColumnMatch{Path: []string{"region"}, NotIn: []string{`"eu"`}}}
	same := "id int!, region string, at date"
	for name, c := range map[string]struct {
		spec    []string
		filter  []mapper.FilterRule
		records []string
		want    string
	}{
		"a row": {nil, nil, []string{`{"id":1,"x":1}`}, "1 changes; 1 rows, 0 filtered; bad: ; " + same + ", x long"},
		"a bad value behind null": {nil, nil, []string{`{"id":null,"region":7,"x":1}`, `{"id":1}`},
			"0 changes; 1 rows, 0 filtered; bad: type region; " + same},
		"a bad value behind a number that is too large": {nil, nil, []string{`{"id":3000000000,"at":"no day"}`, `{"id":3000000000,"at":"no day"}`},
			"0 changes; 0 rows, 0 filtered; bad: type at, type at; " + same},
		"an array that has no type": {nil, nil, []string{`{"id":1,"x":[9007199254740993,1.5]}`}, "0 changes; 0 rows, 0 filtered; bad: precision x.element; " + same},
		"a value that is no partition": {[]string{"region identity"}, nil, []string{`{"id":1,"region":"","x":1}`, `{"id":1,"region":"eu"}`},
			"0 changes; 1 rows, 0 filtered; bad: partition_value region; " + same},
		"a rule meets what would be added": {nil, []mapper.FilterRule{other}, []string{`{"id":1,"region":"us","x":1}`, `{"id":1,"region":"us","x":1}`, `{"id":1,"region":"us","x":"1"}`, `{"id":1,"region":"eu"}`},
			"0 changes; 1 rows, 3 filtered; bad: ; " + same},
		"a rule meets what would be widened": {nil, []mapper.FilterRule{other}, []string{`{"id":3000000000,"region":"us"}`, `{"id":1,"region":"eu","y":true}`},
			"1 changes; 1 rows, 1 filtered; bad: ; " + same + ", y boolean"},
		"a rule meets what has null": {nil, []mapper.FilterRule{other}, []string{`{"region":"eu","y":1}`, `{"region":"us","x":1}`, `{"id":1,"region":"eu"}`},
			"1 changes; 2 rows, 1 filtered; bad: ; id int, region string, at date, y long"},
		"a rule meets what stands behind a value that is no partition": {[]string{"region identity"}, []mapper.FilterRule{{Name: "seven", Column: &mapper.ColumnMatch{Path: []string{"id"}, In: []string{"7"}}}},
			[]string{`{"id":1,"region":""}`, `{"id":7,"region":"eu"}`, `{"id":2,"region":""}`, `{"id":7,"region":"us"}`, `{"id":3,"region":"eu"}`},
			"0 changes; 1 rows, 2 filtered; bad: partition_value region, partition_value region; " + same},
		"others of the batch that are left out or bad": {nil, []mapper.FilterRule{other},
			[]string{`{"id":1,"region":"eu","y":1}`, `{"id":1,"region":"us","x":1}`, `{"id":null,"region":"eu","at":"","w":1}`, `{"id":1,"region":"eu","z":1}`},
			"1 changes; 2 rows, 1 filtered; bad: type at; " + same + ", y long, z long"},
	} {
		t.Run(name, func(t *testing.T) {
			var spec *iceberg.PartitionSpec
			if c.spec != nil {
				spec = specOf(t, sc(), c.spec...)
			}
			g := newGrowing(t, sc(), spec, c.filter...)
			g.take(0, c.records...)
			if got := g.outcome(); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			counted := 0
			g.rule.Rules(func(_ string, n int64) { counted += int(n) })
			if counted != g.filtered {
				t.Errorf("%d records are counted for rules, and %d are left out", counted, g.filtered)
			}
		})
	}
}

// What others of a batch ask for is never to the harm of the record for which the schema is changed, and whatever comes first,
// no value is another one than it was.
func TestTheTypeOfANewColumnRoundsNothing(t *testing.T) {
	sc := func() *iceberg.Schema {
		return iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int32})
	}
	const large = "9007199254740993"
	for _, c := range []struct {
		form string // of the new field, with the number in it
		at   string // the path of the number
	}{
		{"%s", "x"}, {"[%s]", "x.element"}, {`{"a":%s}`, "x.a"},
	} {
		for _, order := range [][]string{{large, "1.5"}, {"1.5", large}, {"7", large, "1.5"}, {"7", "1.5", large}, {large, "7", "1.5"}} {
			for _, together := range []bool{true, false} {
				if !together && len(order) > 2 {
					continue
				}
				g := newGrowing(t, sc(), nil)
				var records []string
				for i, n := range order {
					records = append(records, fmt.Sprintf(`{"id":%d,"x":%s}`, i, fmt.Sprintf(c.form, n)))
				}
				if together {
					g.take(0, records...)
				} else {
					for i, r := range records {
						g.take(i, r)
					}
				}
				f, _ := g.tbl.Schema().FindFieldByName("x")
				double := strings.Contains(f.Type.String(), "double")
				bad := 0
				for _, n := range order {
					if double && n == large || !double && strings.Contains(n, ".") {
						bad++
					}
				}
				if g.changes != 1 || len(g.bad) != bad || g.rows != len(order)-bad || slices.ContainsFunc(g.bad, func(b string) bool { return b != "precision "+c.at }) {
					t.Errorf("%v of %s, together: %v: %s, want %d bad", order, c.form, together, g.outcome(), bad)
				}
				if first := order[0]; first == large && double || first == "1.5" && !double {
					t.Errorf("%v of %s, together: %v: the first has become no row: %s", order, c.form, together, g.outcome())
				}
			}
		}
	}
}

// A stream whose records ask for columns and are left out by a rule does not go through the table's schema for each.
func TestRecordsThatAreLeftOutAreSettledByTheTask(t *testing.T) {
	g := newGrowing(t, iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "region", Type: iceberg.PrimitiveTypes.String}), nil,
		mapper.FilterRule{Name: "other", Column: &mapper.ColumnMatch{Path: []string{"region"}, NotIn: []string{`"eu"`}}})
	b := batchOf(0, 5000, func(i int) []byte { return fmt.Appendf(nil, `{"region":"us","x":%d}`, i) })
	asks := 0
	for {
		_, err := g.task.Append(t.Context(), b)
		ask, ok := errors.AsType[*EvolveError](err)
		if !ok {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if asks++; ask.Own(granter(g.tbl, 1000)) != nil {
			t.Fatal("the schema was to be changed for what is left out")
		}
	}
	g.seal()
	if asks != 1 || g.filtered != 5000 {
		t.Errorf("%d asks, %s", asks, g.outcome())
	}
}
