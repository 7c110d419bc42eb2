package writer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// rejectsTable makes a rejects table beside the test's table.
func rejectsTable(t testing.TB, cat *icesql.Catalog, props iceberg.Properties) *table.Table {
	t.Helper()
	ident := table.Identifier{"db", "r"}
	if _, err := rejects.Ensure(t.Context(), cat, ident); err != nil {
		t.Fatal(err)
	}
	tbl, err := cat.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	if len(props) == 0 {
		return tbl
	}
	tx := tbl.NewTransaction()
	if err := tx.SetProperties(props); err != nil {
		t.Fatal(err)
	}
	if tbl, err = tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tbl
}

func withRejects(c *Config) { c.Rejects = true }

// rejectsTask is a task whose bad records go to a rejects table.
func rejectsTask(t testing.TB, tbl *table.Table, to *table.Table, change func(*Config)) *Task {
	t.Helper()
	task := newTask(t, tbl, func(c *Config) {
		withRejects(c)
		if change != nil {
			change(c)
		}
	})
	task.UseRejects(to)
	return task
}

// commitRejects appends the rejects of a descriptor.
func commitRejects(t testing.TB, tbl *table.Table, d *descriptor.Descriptor) *table.Table {
	t.Helper()
	if d.Rejects == nil {
		return tbl
	}
	return commit(t, tbl, &descriptor.Descriptor{Files: d.Rejects.Files})
}

// rejectRow is what the tests compare of a row of the rejects table.
type rejectRow struct {
	Offset              int64
	Code, Column, Batch string
	Value               []byte
}

func rejectRows(t testing.TB, tbl *table.Table) []rejectRow {
	t.Helper()
	var out []rejectRow
	for _, text := range scan(t, tbl, nil) {
		var r rejectRow
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b rejectRow) int { return int(a.Offset - b.Offset) })
	return out
}

// addUp checks that each position of the inputs has an outcome, and that the files hold what the inputs say.
func addUp(t testing.TB, d *descriptor.Descriptor) {
	t.Helper()
	var rows, bad int64
	for _, in := range d.Inputs {
		if in.Rows+in.Rejects+in.Filtered+in.Skipped != in.Range.Len() || min(in.Rows, in.Rejects, in.Filtered, in.Skipped) < 0 {
			t.Errorf("counts do not add up to the range: %+v", in)
		}
		rows, bad = rows+in.Rows, bad+in.Rejects
	}
	var has int64
	if d.Rejects != nil {
		has = d.Rejects.Rows
	}
	if rows != d.Rows || bad != has {
		t.Errorf("inputs say %d rows and %d rejects, files %d and %d", rows, bad, d.Rows, has)
	}
}

func TestEachRecordBecomesARowOrAReject(t *testing.T) {
	for name, c := range map[string]struct {
		partition []string
		change    func(*Config)
	}{
		"unpartitioned":   {nil, nil},
		"partitioned":     {[]string{"event_type identity"}, nil},
		"fields grouping": {[]string{"event_type identity"}, func(c *Config) { c.GroupBy, c.Parallel = []string{"user_id"}, 3 }},
		"small memory":    {nil, func(c *Config) { c.MaxBufferedBytes = minBuffered }},
		"by records":      {[]string{"event_type identity"}, func(c *Config) { c.SealRecords = 997 }},
	} {
		t.Run(name, func(t *testing.T) {
			var spec *iceberg.PartitionSpec
			if len(c.partition) > 0 {
				spec = specOf(t, eventSchema(), c.partition...)
			}
			tbl, cat := newTable(t, eventSchema(), spec, nil)
			to := rejectsTable(t, cat, nil)
			task := rejectsTask(t, tbl, to, c.change)
			rng := rand.New(rand.NewPCG(1, 2))
			good, want := &source.Batch{}, map[int64]string{}
			var batches []*source.Batch
			pos := 0
			for range 40 {
				b := &source.Batch{Range: source.Range{Partition: testPartition, From: source.Position(pos)}}
				share := rng.Float64() * rng.Float64()
				for range rng.IntN(400) {
					pos += 1 + rng.IntN(2)
					rec := source.Record{Position: source.Position(pos - 1), TimestampMs: 1, Value: event(pos)}
					switch {
					case rng.Float64() >= share:
						good.Records = append(good.Records, rec)
					case rng.IntN(3) == 0:
						rec.Value = nil // a tombstone
					case rng.IntN(2) == 0 && spec != nil:
						rec.Value = fmt.Appendf(nil, `{"id":%d,"event_type":""}`, pos)
						want[int64(rec.Position)] = string(CodePartitionValue)
					default:
						rec.Value = fmt.Appendf(nil, `{"id":%d.5}`, pos)
						want[int64(rec.Position)] = string(mapper.CodePrecision)
					}
					b.Records = append(b.Records, rec)
				}
				b.Range.To = source.Position(pos)
				batches = append(batches, b)
			}
			take := func(d *descriptor.Descriptor) {
				if d == nil {
					return
				}
				addUp(t, d)
				tbl, to = commit(t, tbl, d), commitRejects(t, to, d)
				task.Use(tbl)
				task.UseRejects(to)
			}
			for _, b := range batches {
				for done := false; !done; {
					var err error
					if done, err = task.Append(t.Context(), b); err != nil {
						t.Fatal(err)
					}
					if !done {
						take(seal(t, task))
					}
				}
			}
			take(seal(t, task))
			sameRows(t, scan(t, tbl, nil), mapped(t, tbl, good))
			got := rejectRows(t, to)
			if len(got) != len(want) || len(want) < 100 {
				t.Errorf("%d rejects, want %d", len(got), len(want))
			}
			for _, r := range got {
				if want[r.Offset] != r.Code || !strings.HasPrefix(string(r.Value), `{"id":`) || r.Batch == "" {
					t.Errorf("reject %+v, want code %q", r, want[r.Offset])
				}
				delete(want, r.Offset)
			}
		})
	}
}

func bad(positions ...int) *source.Batch {
	b := at(positions[0], positions[len(positions)-1]+1, positions...)
	for i := range b.Records {
		b.Records[i].Value = []byte("nonsense")
	}
	return b
}

func TestABatchOfRejectsAloneIsSealed(t *testing.T) {
	tbl, cat := newTable(t, eventSchema(), nil, nil)
	to := rejectsTable(t, cat, nil)
	task := rejectsTask(t, tbl, to, nil)
	appendAll(t, task, bad(0, 1, 4))
	if s := task.Stats(); s.Rejects != 3 || s.Rows != 0 || s.Bytes == 0 || task.RejectsByCode()[mapper.CodeSyntax] != 3 {
		t.Errorf("stats %+v, by code %v", s, task.RejectsByCode())
	}
	d := seal(t, task)
	addUp(t, d)
	if d.Rejects == nil || d.Rejects.Rows != 3 || d.Rejects.TableUUID != to.Metadata().TableUUID() || len(d.Files) != 0 {
		t.Fatalf("descriptor %+v", d)
	}
	if _, err := descriptor.Encode(d, tbl.Metadata()); err != nil {
		t.Error(err)
	}
	got := rejectRows(t, commitRejects(t, to, d))
	if len(got) != 3 || string(got[2].Value) != "nonsense" || got[2].Offset != 4 || got[0].Batch != d.ID.String() {
		t.Errorf("rejects %+v", got)
	}
	appendAll(t, task, at(5, 7, 5))
	if d := seal(t, task); d.Rejects != nil || task.RejectsByCode() != nil {
		t.Errorf("the next batch has the rejects of the one before: %+v", d.Rejects)
	}
}

func TestDiscardRemovesTheRejectsFiles(t *testing.T) {
	tbl, cat := newTable(t, eventSchema(), nil, nil)
	to := rejectsTable(t, cat, iceberg.Properties{propTargetSize: "1"})
	task := rejectsTask(t, tbl, to, nil)
	big := func(from, to int) *source.Batch {
		return batchOf(from, to, func(i int) []byte { return slices.Repeat([]byte{byte(i)}, 100<<10) })
	}
	if done, err := task.Append(t.Context(), big(0, 200)); done || err != nil {
		t.Errorf("a batch with %d files of rejects is not sealed: %v", len(filesUnder(t, to)), err)
	}
	if n := len(filesUnder(t, to)); n < 2 || n > maxRejectFiles+1 {
		t.Errorf("%d files of rejects", n)
	}
	task.Discard(t.Context())
	if n := len(filesUnder(t, to)); n != 0 {
		t.Errorf("%d files of rejects after the discard", n)
	}
	appendAll(t, task, bad(0, 1))
	if d := seal(t, task); d.Rejects.Rows != 2 {
		t.Errorf("%d rejects after a discard, want 2", d.Rejects.Rows)
	}
}

func TestRejectsCountForTheRecordThreshold(t *testing.T) {
	tbl, cat := newTable(t, eventSchema(), nil, nil)
	task := rejectsTask(t, tbl, rejectsTable(t, cat, nil), func(c *Config) { c.SealRecords = 3 })
	b := at(0, 10, 1, 2, 4, 6, 8)
	b.Records[1].Value = []byte("{")
	if done, err := task.Append(t.Context(), b); done || err != nil {
		t.Fatalf("done %t, %v", done, err)
	}
	d := seal(t, task)
	addUp(t, d)
	if in := d.Inputs[0]; in.Range.To != 6 || in.Rows != 2 || in.Rejects != 1 || in.Skipped != 3 {
		t.Errorf("input %+v", in)
	}
}

func TestJudgeStopsBeforeTheReject(t *testing.T) {
	tbl, cat := newTable(t, eventSchema(), nil, nil)
	enough := errors.New("enough")
	var goods, bads int
	task := rejectsTask(t, tbl, rejectsTable(t, cat, nil), func(c *Config) {
		c.Judge = func(good int, bad *mapper.BadRecordError) error {
			if goods += good; bad == nil {
				return nil
			}
			if bads++; bads > 2 {
				return enough
			}
			return nil
		}
	})
	appendAll(t, task, at(0, 3, 0, 1, 2))
	b := at(3, 10, 3, 4, 5, 6, 7, 8)
	for _, i := range []int{1, 2, 4} {
		b.Records[i].Value = []byte("{")
	}
	_, err := task.Append(t.Context(), b)
	var judged *JudgedError
	if !errors.As(err, &judged) || !errors.Is(err, enough) || judged.Record.Position != 7 || goods != 5 {
		t.Fatalf("error %v after %d good records", err, goods)
	}
	d := seal(t, task)
	addUp(t, d)
	if in := d.Inputs[0]; in.Range.To != 7 || in.Rejects != 2 || in.Rows != 5 {
		t.Errorf("what precedes the reject: %+v", in)
	}
}

func TestWhatCantTakeRejects(t *testing.T) {
	tbl, cat := newTable(t, eventSchema(), nil, nil)
	to := rejectsTable(t, cat, nil)
	for want, give := range map[string]*table.Table{
		"call UseRejects": nil,
		"no column":       tbl,
		"deny":            to,
	} {
		task := newTask(t, tbl, withRejects)
		task.UseRejects(give)
		if want == "deny" {
			// The folder of the rejects is a file.
			root := strings.TrimPrefix(to.Location(), "file://")
			if err := os.WriteFile(root+"/data", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			want = "rejects"
		}
		_, err := task.Append(t.Context(), bad(0))
		if err == nil {
			_, err = task.Seal(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
		if _, err := task.Seal(t.Context()); err == nil {
			t.Errorf("%s: the batch goes on without its rejects", want)
		}
	}
	own := rejectsTask(t, to, to, nil)
	if _, err := own.Append(t.Context(), bad(0)); err == nil || !strings.Contains(err.Error(), "the table itself") {
		t.Error(err)
	}
}

// mapCalls counts what a mapper is asked.
type mapCalls struct {
	mapper.Mapper
	n *int
}

func (m mapCalls) Map(rec *source.Record, dst *mapper.Columns) error {
	*m.n++
	return m.Mapper.Map(rec, dst)
}

func TestBadPartitionValuesAreNotMappedOverAndOver(t *testing.T) {
	tbl, cat := newTable(t, eventSchema(), specOf(t, eventSchema(), "event_type identity"), nil)
	calls := 0
	task := rejectsTask(t, tbl, rejectsTable(t, cat, nil), func(c *Config) {
		c.Mapper = func(s *mapper.Schema) (mapper.Mapper, error) {
			m, err := jsonMapper()(s)
			return mapCalls{m, &calls}, err
		}
	})
	appendAll(t, task, batchOf(0, 5000, func(i int) []byte { return fmt.Appendf(nil, `{"id":%d,"event_type":""}`, i) }))
	if d := seal(t, task); d.Rejects.Rows != 5000 || calls > 20*5000 {
		t.Errorf("%d rejects of 5000, %d calls of the mapper", d.Rejects.Rows, calls)
	}
}

// While the rejects table's storage is away, each try writes the rows again: what it wrote must not stay.
func TestASealWithoutRejectsLeavesNoFiles(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		tbl, cat := newTable(t, eventSchema(), nil, nil)
		to, _ := onFaults(t, rejectsTable(t, cat, nil), "close", 1)
		task := rejectsTask(t, tbl, to, func(c *Config) { c.GroupBy, c.Parallel = []string{"user_id"}, parallel })
		appendAll(t, task, batchOf(0, 100, func(i int) []byte {
			if i == 50 {
				return []byte("{")
			}
			return event(i)
		}))
		if _, err := task.Seal(t.Context()); !errors.Is(err, errFault) {
			t.Fatalf("error %v", err)
		}
		task.Discard(t.Context())
		if left := append(filesUnder(t, tbl), filesUnder(t, to)...); len(left) != 0 {
			t.Errorf("%d encoders: files left over: %v", parallel, left)
		}
	}
}
