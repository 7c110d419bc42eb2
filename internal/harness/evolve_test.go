package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
)

var allOfIt = mapper.Evolution{Add: true, Widen: true, Optional: true}

// evolving makes a topology whose records change the schema.
func evolving(w *harness.World, plan *fault.Plan, tasks int) topology.Config {
	cfg := w.Config(plan)
	cfg.Evolve = allOfIt
	cfg.Mapper = mapper.NewJSON(mapper.JSONOptions{Evolve: allOfIt})
	cfg.Writer.Tasks = tasks
	return cfg
}

// growth is a world whose records ask for columns, members, a wider type and null, and the values that they must have.
type growth struct {
	*harness.World
	want map[string]map[string]string // by column, then by record
}

func newGrowth(t *testing.T, parts int) *growth {
	return newGrowthOf(t, harness.Shape{Partitions: parts})
}

func newGrowthOf(t *testing.T, shape harness.Shape) *growth {
	g := &growth{World: harness.New(t, shape), want: map[string]map[string]string{}}
	sc := g.Catalog.Metadata().CurrentSchema()
	n := iceberg.NestedField{ID: 5, Name: "n", Type: iceberg.PrimitiveTypes.Int32, Required: true}
	if err := g.Catalog.Apply(table.NewAddSchemaUpdate(iceberg.NewSchema(1, append(sc.Fields(), n)...)),
		table.NewSetCurrentSchemaUpdate(-1)); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *growth) add(id int32, members ...string) {
	more := ""
	for i := 0; i < len(members); i += 2 {
		more += fmt.Sprintf(",%q:%s", members[i], members[i+1])
	}
	off := g.ProduceWith(id, more)
	for i := 0; i < len(members); i += 2 {
		if g.want[members[i]] == nil {
			g.want[members[i]] = map[string]string{}
		}
		g.want[members[i]][fmt.Sprintf("%d/%d", id, off)] = members[i+1]
	}
}

func (g *growth) produce(parts int32) {
	for i := range int32(30) {
		id := i % parts
		switch i {
		case 6, 7:
			g.add(id, "n", "7", "extra", fmt.Sprint(i))
		case 11:
			g.add(id, "n", "7", "place", `{"lat":1.5}`, "tags", `["a","b"]`)
		case 12, 13:
			g.add(id, "n", "7", "place", `{"lat":1.5,"lon":2.5}`)
		case 17:
			g.add(id, "n", "5000000000")
		case 20:
			g.add(id, "extra", "3")
		case 24:
			g.add(id, "n", "1", "late", "true")
		default:
			g.add(id, "n", fmt.Sprint(i))
		}
	}
}

func (g *growth) check(t *testing.T) {
	t.Helper()
	g.Check(t)
	for column, want := range g.want {
		got := g.Values(t, column)
		for k, v := range got {
			// What was written before a member came has null for it.
			got[k] = strings.ReplaceAll(v, `,"lon":null`, "")
		}
		if !maps.Equal(got, want) {
			t.Errorf("column %s: got %v, want %v", column, got, want)
		}
	}
}

func TestRecordsChangeTheSchemaAndKeepTheirOwnValues(t *testing.T) {
	for _, tasks := range []int{1, 3} {
		bubble(t, func(t *testing.T) {
			g := newGrowth(t, 3)
			g.produce(3)
			plan := fault.New(nil)
			if err := g.Live(t, evolving(g.World, plan, tasks), plan); err != nil {
				t.Fatal(err)
			}
			g.check(t)
			sc := g.Catalog.Metadata().CurrentSchema()
			if n, _ := sc.FindFieldByName("n"); n.Required || !n.Type.Equals(iceberg.PrimitiveTypes.Int64) || n.ID != 5 {
				t.Errorf("n is %v", n)
			}
			if n := len(g.Catalog.Metadata().Schemas()); n > 10 {
				t.Errorf("%d schemas", n)
			}
		})
	}
}

// changeEvents has records come in Debezium's envelope, as created and deleted rows in turn.
func changeEvents(opts mapper.DebeziumOptions) mapper.Factory {
	rows := mapper.NewDebezium(opts, mapper.NewJSON(mapper.JSONOptions{Evolve: allOfIt}))
	return func(s *mapper.Schema) (mapper.Mapper, error) {
		m, err := rows(s)
		return &enveloped{m}, err
	}
}

type enveloped struct{ mapper.Mapper }

func (m *enveloped) Map(rec *source.Record, dst *mapper.Columns) error {
	r := *rec
	sides := [2]string{"null", string(rec.Value)}
	op := "c"
	if rec.Position%2 == 1 {
		sides[0], sides[1], op = sides[1], sides[0], "d"
	}
	r.Value = fmt.Appendf(nil, `{"before":%s,"after":%s,"source":{"lsn":%d,"new":1},"op":%q,"ts_ms":1,"new":1}`, sides[0], sides[1], rec.Position, op)
	return m.Mapper.Map(&r, dst)
}

func TestRowsInEnvelopesChangeTheSchemaAndKeepTheirOwnValues(t *testing.T) {
	for _, tasks := range []int{1, 3} {
		bubble(t, func(t *testing.T) {
			g := newGrowth(t, 3)
			p := iceberg.PrimitiveTypes
			own := []iceberg.NestedField{{ID: 90, Name: "_op", Type: p.String, Required: true}, {ID: 91, Name: "_lsn", Type: p.Int32, Required: true}}
			if err := g.Catalog.Apply(table.NewAddSchemaUpdate(iceberg.NewSchema(2, append(g.Catalog.Metadata().CurrentSchema().Fields(), own...)...)),
				table.NewSetCurrentSchemaUpdate(-1)); err != nil {
				t.Fatal(err)
			}
			g.produce(3)
			plan := fault.New(nil)
			cfg := evolving(g.World, plan, tasks)
			cfg.Mapper = changeEvents(mapper.DebeziumOptions{Op: "_op", Source: map[string]string{"lsn": "_lsn"}})
			if err := g.Live(t, cfg, plan); err != nil {
				t.Fatal(err)
			}
			g.check(t)
			sc := g.Catalog.Metadata().CurrentSchema()
			for name, want := range map[string]iceberg.NestedField{"n": {Type: p.Int64}, "_op": own[0], "_lsn": own[1]} {
				if f, _ := sc.FindFieldByName(name); f.Required != want.Required || !f.Type.Equals(want.Type) {
					t.Errorf("%s is %v", name, f)
				}
			}
			if _, there := sc.FindFieldByName("new"); there {
				t.Error("a field of the envelope is a column")
			}
		})
	}
}

func TestACrashAtEachStepOfAnEvolutionLosesNothing(t *testing.T) {
	run := func(end fault.Decider) (steps int) {
		bubble(t, func(t *testing.T) {
			g := newGrowth(t, 2)
			g.produce(2)
			plan := fault.New(end)
			err := g.Live(t, evolving(g.World, plan, 1), plan)
			if err != nil && !errors.Is(err, topology.ErrKilled) && !errors.Is(err, fault.ErrCrashed) {
				t.Errorf("the life that was ended gave %v", err)
			}
			g.CheckOf(t, "orders")
			g.CatchUp(t, evolving(g.World, nil, 1))
			g.check(t)
			steps = plan.N()
		})
		return steps
	}
	all := run(nil)
	for k := 1; k <= all && !t.Failed(); k += stride(all, 24) {
		run(fault.At(k, fault.Crash))
	}
}

// An answer that is lost, a conflict and a request that never comes through are all the same: what counts is the table.
func TestAnswersToAChangeOfTheSchemaAreNotReliedOn(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for _, phase := range []fault.Phase{fault.Before, fault.After} {
			bubble(t, func(t *testing.T) {
				g := newGrowth(t, 2)
				g.produce(2)
				plan := fault.New(fault.On(fault.OpCommit, phase, n, fault.Fail(errors.New("502 bad gateway"))))
				if err := g.Live(t, evolving(g.World, plan, 2), plan); err != nil {
					t.Fatal(err)
				}
				g.check(t)
			})
		}
	}
}

func TestWhatCantBeHadIsABadRecordAndNoLoop(t *testing.T) {
	for name, more := range map[string]string{
		"a type that does not fit":       `,"n":"text"`,
		"a name that differs by case":    `,"n":1,"Region":"x"`,
		"members that differ by case":    `,"n":1,"a":{"b":1,"B":2}`,
		"an array of two types":          `,"n":1,"a":[1,"x"]`,
		"an integer that has no type":    `,"n":1,"a":123456789012345678901`,
		"a full name that is taken":      `,"n":1,"a.b":1,"a":{"b":1}`,
		"a column beyond the most":       `,"n":1,"a":{"b":1,"c":2,"d":3,"e":4}`,
		"a key that is there twice":      `,"n":1,"a":1,"a":2`,
		"a new field with a key twice":   `,"n":1,"a":{"b":1,"b":2}`,
		"a name that does not print":     ",\"n\":1,\"a\\u0000\":1",
		"a new field that is too deep":   `,"n":1,"a":` + strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30),
		"a wider type that is too small": `,"n":123456789012345678901`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGrowth(t, 1)
				g.add(0, "n", "1")
				g.ProduceWith(0, more)
				cfg := evolving(g.World, nil, 1)
				cfg.Evolve.MaxColumns = 9
				err := g.Live(t, cfg, fault.New(nil))
				if err == nil || !strings.Contains(err.Error(), "offset 1: bad record") {
					t.Errorf("the run gave %v", err)
				}
				if n := len(g.Catalog.Metadata().Schemas()); n != 2 {
					t.Errorf("%d schemas", n)
				}
				g.CheckOf(t, "orders")
			})
		})
	}
}

// pass lets time pass in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// The table that others have changed takes the record as it is, though the open batch's schema does not.
func TestAChangeByOthersIsNotRefusedForAnOlderBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGrowth(t, 1)
		g.ProduceWith(0, `,"n":1`)
		cfg := evolving(g.World, nil, 1)
		cfg.Writer.SealInterval, cfg.Committer.CheckInterval = time.Hour, time.Second
		_, stop := harness.Start(t, cfg)
		pass(5 * time.Second)
		sc := g.Catalog.Metadata().CurrentSchema()
		without := slices.DeleteFunc(slices.Clone(sc.Fields()), func(f iceberg.NestedField) bool { return f.Name == "n" })
		if err := g.Catalog.Apply(table.NewAddSchemaUpdate(iceberg.NewSchema(2, without...)), table.NewSetCurrentSchemaUpdate(-1)); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		g.ProduceWith(0, "")
		pass(5 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		g.Check(t)
	})
}

// What one record asks for is had, though another of its batch asks for what does not go with it.
func TestARecordIsNotBadForWhatAnotherAsksFor(t *testing.T) {
	for name, other := range map[string]string{
		"by case":       `{"P":1}`,
		"by the number": `{"q":1,"r":2,"s":3}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGrowth(t, 1)
				g.add(0, "n", "1", "o", `{"p":1}`)
				g.ProduceWith(0, `,"n":1,"o":`+other)
				cfg := evolving(g.World, nil, 1)
				cfg.Evolve.MaxColumns = 9
				if err := g.Live(t, cfg, fault.New(nil)); err == nil || !strings.Contains(err.Error(), "offset 1: bad record") {
					t.Errorf("the run gave %v", err)
				}
				g.CheckOf(t, "orders")
			})
		})
	}
}

// refuser answers changes of the schema by itself where answer gives an error, of the REST catalog's kind for a status.
type refuser struct {
	topology.SchemaChanger
	answer func(asked int, schema string) int
	asked  *atomic.Int64
}

type errorResponse struct{ Code int }

func (e *errorResponse) Error() string { return "not with me" }

func (r refuser) Change(ctx context.Context, reqs []table.Requirement, updates []table.Update) error {
	schema, err := json.Marshal(updates[0])
	if err != nil {
		return err
	}
	if status := r.answer(int(r.asked.Add(1)), string(schema)); status != 0 {
		return &errorResponse{status}
	}
	return r.SchemaChanger.Change(ctx, reqs, updates)
}

// A catalog that refuses one change makes the record that needs it a reject; others get theirs, and nothing goes round for ever.
func TestAChangeThatTheCatalogRefusesIsAReject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGrowthOf(t, harness.Shape{Partitions: 1, Rejects: true})
		g.add(0, "n", "1")
		g.add(0, "n", "1", "good", "1")
		for range 40 {
			g.ProduceRejectWith(0, `,"n":1,"evil":1`)
		}
		g.add(0, "n", "1", "fine", "true")
		cfg := evolving(g.World, nil, 1)
		cfg.RejectLimit.Share = 1
		asked := &atomic.Int64{}
		cfg.Table = refuser{cfg.Table.(topology.SchemaChanger), func(_ int, schema string) int {
			if strings.Contains(schema, `"evil"`) {
				return 422
			}
			return 0
		}, asked}
		if err := g.Live(t, cfg, fault.New(nil)); err != nil {
			t.Fatal(err)
		}
		g.check(t)
		if n := asked.Load(); n > 6 {
			t.Errorf("the catalog was asked %d times", n)
		}
	})
}

// A catalog that forbids it holds the stream for a while, in case that passes, and ends it with what is to be done.
func TestAChangeThatIsForbiddenEndsTheRun(t *testing.T) {
	for _, passes := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			g := newGrowth(t, 1)
			g.add(0, "n", "1")
			g.add(0, "n", "1", "extra", "1")
			cfg := evolving(g.World, nil, 1)
			cfg.StartupTimeout = 20 * time.Second
			cfg.Table = refuser{cfg.Table.(topology.SchemaChanger), func(asked int, _ string) int {
				if passes && asked > 3 {
					return 0
				}
				return 403
			}, &atomic.Int64{}}
			began := time.Now()
			err := g.Live(t, cfg, fault.New(nil))
			if passes {
				if err != nil {
					t.Error(err)
				}
				g.check(t)
				return
			}
			if err == nil || !strings.Contains(err.Error(), "Allow floe to change the table") || !strings.Contains(err.Error(), "HTTP 403") {
				t.Errorf("the run gave %v", err)
			}
			if took := time.Since(began); took < 20*time.Second || took > 40*time.Second {
				t.Errorf("it took %s", took)
			}
			g.CheckOf(t, "orders")
		})
	}
}

// Where the catalog is away when the schema is to be changed, that is an outage, whatever a registry has said so far.
func TestACatalogThatIsAwayForAChangeIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGrowth(t, 1)
		g.add(0, "n", "1", "extra", "1")
		cfg := evolving(g.World, nil, 1)
		began := time.Now()
		cfg.Table = refuser{cfg.Table.(topology.SchemaChanger), func(int, string) int {
			if time.Since(began) < time.Hour {
				return 503
			}
			return 0
		}, &atomic.Int64{}}
		_, stop := harness.Start(t, cfg)
		pass(2 * time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		g.check(t)
	})
}

// A record that is left out by rule, or bad whatever the schema, changes nothing.
func TestRecordsThatBecomeNoRowsChangeNoSchema(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGrowthOf(t, harness.Shape{Partitions: 1, Rejects: true})
		for range 20 {
			g.ProduceRejectWith(0, `,"n":null,"a":1,"region":7`)
		}
		g.add(0, "n", "1")
		cfg := evolving(g.World, nil, 1)
		cfg.RejectLimit.Share = 1
		if err := g.Live(t, cfg, fault.New(nil)); err != nil {
			t.Fatal(err)
		}
		g.check(t)
		if n := len(g.Catalog.Metadata().Schemas()); n != 2 {
			t.Errorf("%d schemas", n)
		}
	})
}

// A burst of new fields, each in a record of its own and some with dots in their names, is one change of the schema.
func TestABurstOfNewFieldsIsOneChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGrowth(t, 1)
		g.add(0, "n", "1")
		for i := range 60 {
			g.add(0, "n", "1", fmt.Sprintf("new%d", i), fmt.Sprint(i), "a.b", "true")
		}
		cfg := evolving(g.World, nil, 1)
		cfg.Source = g.Log.Source(memory.Options{Poison: true})
		if err := g.Live(t, cfg, fault.New(nil)); err != nil {
			t.Fatal(err)
		}
		g.check(t)
		if n := len(g.Catalog.Metadata().Schemas()); n != 3 {
			t.Errorf("%d schemas, want one more than before", n)
		}
	})
}
