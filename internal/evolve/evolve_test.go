package evolve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
)

// memory is a table that does compare-and-swap by the requirements alone.
type memory struct {
	mu      sync.Mutex
	meta    table.Metadata
	commits int
	// lose says what becomes of the answer to the next request.
	lose error
	// before runs once before the next request.
	before func(*memory)
}

func (m *memory) Load(context.Context) (*table.Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return table.New(table.Identifier{"db", "t"}, m.meta, "m", nil, nil), nil
}

func (m *memory) Change(_ context.Context, reqs []table.Requirement, updates []table.Update) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.before; f != nil {
		m.before = nil
		f(m)
	}
	for _, r := range reqs {
		if err := r.Validate(m.meta); err != nil {
			return err
		}
	}
	if err := m.apply(updates...); err != nil {
		return err
	}
	m.commits++
	err := m.lose
	m.lose = nil
	return err
}

func (m *memory) apply(updates ...table.Update) error {
	next, err := table.UpdateTableMetadata(m.meta, updates, "m")
	if err == nil {
		m.meta = next
	}
	return err
}

func newTable(t *testing.T, version string, partitionBy []string, columns ...tableio.Column) *memory {
	t.Helper()
	sc, err := tableio.ParseSchema(columns)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := tableio.ParsePartition(sc, partitionBy)
	if err != nil {
		t.Fatal(err)
	}
	if spec == nil {
		spec = iceberg.UnpartitionedSpec
	}
	meta, err := table.NewMetadata(sc, spec, table.UnsortedSortOrder, "mem://t", iceberg.Properties{"format-version": version})
	if err != nil {
		t.Fatal(err)
	}
	return &memory{meta: meta}
}

func orders(t *testing.T) *memory {
	return newTable(t, "2", []string{"region"}, tableio.Column{Name: "id", Type: "int", Required: true}, tableio.Column{Name: "region", Type: "int"},
		tableio.Column{Name: "s", Type: "struct<m: required int, l: list<struct<x: float>>>"},
		tableio.Column{Name: "m", Type: "map<string, struct<y: decimal(4,2)>>"}, tableio.Column{Name: "a.b", Type: "int"})
}

// show gives a schema with its ids.
func show(fields []iceberg.NestedField) string {
	var out []string
	for _, f := range fields {
		s := fmt.Sprintf("%d %s", f.ID, f.Name)
		if f.Required {
			s += "!"
		}
		if nested, ok := f.Type.(iceberg.NestedType); ok {
			s += "{" + show(nested.Fields()) + "}"
		} else {
			s += " " + f.Type.String()
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func add(id int, name string, t mapper.Type) mapper.Change {
	return mapper.Change{Kind: mapper.AddColumn, ID: id, Name: name, Type: t}
}

func widen(id int, t mapper.Type) mapper.Change {
	return mapper.Change{Kind: mapper.WidenType, ID: id, Type: t}
}

func optional(id int) mapper.Change { return mapper.Change{Kind: mapper.MakeOptional, ID: id} }

var (
	long   = mapper.Type{Kind: mapper.Long}
	number = mapper.Type{Kind: mapper.Decimal, Precision: 9, Scale: 2}
	pair   = mapper.Type{Kind: mapper.Struct, Fields: []mapper.Field{{Name: "p", Type: long},
		{Name: "q", Type: mapper.Type{Kind: mapper.List, Fields: []mapper.Field{{Name: "element", Type: long}}}}}}
)

const before = "1 id! int, 2 region int, 3 s{4 m! int, 5 l{6 element{7 x float}}}, 8 m{9 key! string, 10 value{11 y decimal(4, 2)}}, 12 a.b int"

func TestAPlanBringsWhatIsMissing(t *testing.T) {
	m := orders(t)
	if got := show(m.meta.CurrentSchema().Fields()); got != before {
		t.Fatal(got)
	}
	sc, refused := Plan(m.meta, []mapper.Change{add(0, "new", pair), add(6, "z", long), add(10, "w", long), widen(1, long), widen(7, mapper.Type{Kind: mapper.Double}),
		widen(11, number), optional(4), optional(1)}, 100)
	want := "1 id long, 2 region int, 3 s{4 m int, 5 l{6 element{7 x double, 17 z long}}}, 8 m{9 key! string, 10 value{11 y decimal(9, 2), 18 w long}}, " +
		"12 a.b int, 13 new{14 p long, 15 q{16 element long}}"
	if len(refused) > 0 || show(sc.Fields()) != want {
		t.Errorf("refused %v\ngot  %s\nwant %s", refused, show(sc.Fields()), want)
	}
	if got := show(m.meta.CurrentSchema().Fields()); got != before {
		t.Errorf("the plan has changed the schema: %s", got)
	}
	// What is there already is not missing, whoever has made it.
	sc, refused = Plan(m.meta, []mapper.Change{add(0, "region", long), add(3, "m", long), widen(1, mapper.Type{Kind: mapper.Int}), optional(2)}, 1)
	if sc != nil || len(refused) > 0 {
		t.Error(sc, refused)
	}
}

func TestAPlanRefusesWhatCantBe(t *testing.T) {
	m := orders(t)
	for _, c := range []struct {
		change mapper.Change
		want   string
	}{
		{add(99, "x", long), "no longer in the table"},
		{add(5, "x", long), "no longer in the table"},
		{add(0, "Region", long), "upper and lower case alone"},
		{add(0, "_pos", long), "Iceberg itself"},
		{add(0, "s.m", long), "is that of another column"},
		{add(0, "s.l.x", long), "is that of another column"},
		{add(0, "a", mapper.Type{Kind: mapper.Struct, Fields: []mapper.Field{{Name: "b", Type: long}}}), "is that of another column"},
		{add(0, "t", mapper.Type{Kind: mapper.TimestampNs}), "needs format version 3"},
		{add(0, "big", mapper.Type{Kind: mapper.Struct, Fields: []mapper.Field{{Name: "b", Type: pair}}}), "beyond 15 in all"},
		{widen(99, long), "no longer in the table"},
		{widen(2, long), "partitioned by the column"},
		{widen(12, mapper.Type{Kind: mapper.Double}), "type int can't become one of type double"},
		{widen(11, mapper.Type{Kind: mapper.Decimal, Precision: 9, Scale: 3}), "can't become"},
		{optional(99), "no longer in the table"},
		{optional(9), "key of a map"},
	} {
		sc, refused := Plan(m.meta, []mapper.Change{c.change}, 15)
		if sc != nil || len(refused) != 1 || !strings.Contains(refused[0].Why, c.want) {
			t.Errorf("%+v: %v, want %q", c.change, refused, c.want)
		}
	}
	// The rest is done without it.
	sc, refused := Plan(m.meta, []mapper.Change{optional(99), add(0, "x", long), add(0, "X", long)}, 100)
	if sc == nil || len(refused) != 2 {
		t.Error(sc, refused)
	}
	ids := iceberg.NewSchemaWithIdentifiers(0, []int{1}, m.meta.CurrentSchema().Fields()...)
	meta, err := table.NewMetadata(ids, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://t", nil)
	if err != nil {
		t.Fatal(err)
	}
	if sc, refused = Plan(meta, []mapper.Change{optional(1)}, 100); sc != nil || !strings.Contains(refused[0].Why, "identifies rows") {
		t.Error(sc, refused)
	}
	inner := []iceberg.NestedField{{ID: 2, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true}, {ID: 3, Name: "n", Type: iceberg.PrimitiveTypes.Int64, Required: true}}
	nested := iceberg.NewSchemaWithIdentifiers(0, []int{2}, iceberg.NestedField{ID: 1, Name: "s", Required: true, Type: &iceberg.StructType{FieldList: inner}})
	deep, err := table.NewMetadata(nested, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://t", nil)
	if err != nil {
		t.Fatal(err)
	}
	if sc, refused = Plan(deep, []mapper.Change{optional(1), optional(2), optional(3)}, 100); sc == nil || len(refused) != 2 {
		t.Errorf("what holds an identifier became optional: %v %v", sc, refused)
	}
	if sc, _ = Plan(meta, []mapper.Change{add(0, "x", long)}, 100); len(sc.IdentifierFieldIDs) != 1 {
		t.Error("the identifier fields are gone")
	}
}

func TestOfManyWhoWantTheSameOneMakesIt(t *testing.T) {
	m := orders(t)
	var wg sync.WaitGroup
	for i := range 8 {
		ev := New(m, 100, 0) // as if each were a process of its own
		wg.Go(func() {
			changes := []mapper.Change{add(0, "new", pair), optional(1)}
			if i%2 == 1 {
				changes = append(changes, add(6, "z", long))
			}
			tbl, _, err := ev.Evolve(context.Background(), changes)
			if err != nil {
				t.Error(err)
				return
			}
			if sc, refused := Plan(tbl.Metadata(), changes, 100); sc != nil || len(refused) > 0 {
				t.Error("it does not have what was asked for")
			}
		})
	}
	wg.Wait()
	if m.commits > 2 {
		t.Errorf("%d commits", m.commits)
	}
	if got := show(m.meta.CurrentSchema().Fields()); strings.Count(got, "new") != 1 || strings.Count(got, "z long") != 1 {
		t.Error(got)
	}
}

func TestALostAnswerIsLookedFor(t *testing.T) {
	m := orders(t)
	m.lose = errors.New("502 bad gateway")
	tbl, _, err := New(m, 100, 0).Evolve(context.Background(), []mapper.Change{optional(1)})
	if err != nil || m.commits != 1 || tbl.Schema().ID != m.meta.CurrentSchema().ID {
		t.Error(err, m.commits)
	}
}

// Ids decide: what was renamed is still the column, what was dropped is gone whatever has its name.
func TestSomebodyElseChangesTheSchemaMeanwhile(t *testing.T) {
	m := orders(t)
	fields := m.meta.CurrentSchema().Fields()
	m.before = func(m *memory) {
		changed := append([]iceberg.NestedField(nil), fields...)
		changed[0].Name = "number"
		changed[2] = iceberg.NestedField{ID: 13, Name: "s", Type: iceberg.PrimitiveTypes.String}
		if err := m.apply(table.NewAddSchemaUpdate(iceberg.NewSchema(1, changed...)), table.NewSetCurrentSchemaUpdate(-1)); err != nil {
			t.Error(err)
		}
	}
	tbl, _, err := New(m, 100, 0).Evolve(context.Background(), []mapper.Change{widen(1, long), add(3, "n", long)})
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := tbl.Schema().FindFieldByName("number"); !ok || !f.Type.Equals(iceberg.PrimitiveTypes.Int64) {
		t.Error(tbl.Schema())
	}
	if _, ok := tbl.Schema().FindFieldByName("s.n"); ok || m.commits != 1 {
		t.Error(tbl.Schema(), m.commits)
	}
}

// errorResponse is what iceberg-go's REST catalog gives.
type errorResponse struct {
	Code    int
	Message string
}

func (e *errorResponse) Error() string { return e.Message }

// answering is a table whose catalog answers changes with err, without making them.
type answering struct {
	*memory
	err   error
	asked int
}

func (a *answering) Change(context.Context, []table.Requirement, []table.Update) error {
	a.asked++
	return fmt.Errorf("change table db.t: %w", a.err)
}

func TestARefusalIsToldFromWhatWaitingMends(t *testing.T) {
	plain, strange := []mapper.Change{add(0, "extra", long)}, []mapper.Change{add(0, "Jane Doe", long)}
	inside := []mapper.Change{add(0, "extra", mapper.Type{Kind: mapper.Struct, Fields: []mapper.Field{{Name: "4111 1111", Type: long}}})}
	for _, c := range []struct {
		status             int
		changes            []mapper.Change
		refused, forbidden bool
		want               string
	}{
		{400, plain, true, false, "the catalog refuses to change the table's schema: change table db.t: no Jane (HTTP 400)"},
		{422, strange, true, false, "the catalog refuses to change the table's schema (HTTP 422)"},
		{413, inside, true, false, "the catalog refuses to change the table's schema (HTTP 413)"},
		{403, plain, true, true, "the catalog refuses to change the table's schema: change table db.t: no Jane (HTTP 403)"},
		{401, plain, false, false, "change the table's schema: change table db.t: no Jane (HTTP 401)"},
		{429, plain, false, false, "change the table's schema: change table db.t: no Jane (HTTP 429)"},
		{500, plain, false, false, "change the table's schema: change table db.t: no Jane (HTTP 500)"},
		{409, plain, false, false, "change the table's schema: change table db.t: no Jane"},
	} {
		a := &answering{memory: orders(t), err: &errorResponse{c.status, "no Jane"}}
		if c.status == 409 {
			a.err = fmt.Errorf("no Jane%w", table.ErrCommitFailed)
			c.want += table.ErrCommitFailed.Error()
		}
		ev := New(a, 100, 0)
		_, _, err := ev.Evolve(t.Context(), c.changes)
		var refused *RefusedError
		if errors.As(err, &refused) != c.refused || refused != nil && refused.Forbidden != c.forbidden || err.Error() != c.want {
			t.Errorf("%d: %v (refused: %v), want %s", c.status, err, refused != nil, c.want)
		}
		if got := ev.Refused(c.changes) != nil; got != (c.refused && !c.forbidden) {
			t.Errorf("%d: it is remembered: %v", c.status, got)
		}
		if most := 1; c.status != 409 && a.asked != most {
			t.Errorf("%d: %d requests", c.status, a.asked)
		}
	}
}

// Whatever records make up, the catalog is not asked for ever.
func TestRefusalsAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answering{memory: orders(t), err: &errorResponse{422, "no"}}
		ev := New(a, 100, 0)
		ask := func(name string) {
			changes := []mapper.Change{add(0, name, long)}
			if ev.Refused(changes) == nil {
				_, _, _ = ev.Evolve(t.Context(), changes)
			}
		}
		ask("a")
		ask("a")
		if a.asked != 1 {
			t.Errorf("asked %d times for one thing", a.asked)
		}
		for i := range 10 * mostRefused {
			ask(fmt.Sprint("k", i))
		}
		if a.asked != mostRefused {
			t.Errorf("asked %d times", a.asked)
		}
		<-time.After(refusedFor)
		ask("a")
		if a.asked != mostRefused+1 {
			t.Errorf("asked %d times later on", a.asked)
		}
	})
}

// A request that never comes back ends, and is looked for.
func TestARequestThatStallsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := New(stalling{orders(t)}, 100, time.Minute).Evolve(t.Context(), []mapper.Change{optional(1)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

type stalling struct{ *memory }

func (stalling) Change(ctx context.Context, _ []table.Requirement, _ []table.Update) error {
	<-ctx.Done()
	return ctx.Err()
}
