package writer

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/descriptor"
)

// pruneRow is a row of the table that the filters are tried on.
type pruneRow struct {
	id   int
	s    string // "": null
	n    int
	ts   time.Time
	f    float64
	null bool // n, ts and f are null
}

func pruneRows() []pruneRow {
	var out []pruneRow
	start := time.Date(1969, 12, 30, 22, 0, 0, 0, time.UTC)
	texts := []string{"", "a", "b/c d=é%", "bcd", "日本", "null", "zzz", ".."}
	for i := range 400 {
		out = append(out, pruneRow{id: i, s: texts[i%len(texts)], n: i*7%97 - 40,
			ts: start.Add(time.Duration(i) * 37 * time.Minute), f: float64(i%5) - 2, null: i%11 == 0})
	}
	return out
}

func (r pruneRow) json() []byte {
	s, n, ts, f := "null", "null", "null", "null"
	if r.s != "" {
		s = fmt.Sprintf("%q", r.s)
	}
	if !r.null {
		n, ts, f = fmt.Sprint(r.n), fmt.Sprintf("%q", r.ts.Format(time.RFC3339)), fmt.Sprint(r.f)
	}
	return fmt.Appendf(nil, `{"id":%d,"s":%s,"n":%s,"ts":%s,"f":%s}`, r.id, s, n, ts, f)
}

func pruneSchema() *iceberg.Schema {
	p := iceberg.PrimitiveTypes
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: p.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "s", Type: p.String},
		iceberg.NestedField{ID: 3, Name: "n", Type: p.Int32},
		iceberg.NestedField{ID: 4, Name: "ts", Type: p.TimestampTz},
		iceberg.NestedField{ID: 5, Name: "f", Type: p.Float64})
}

// Each filter finds the rows that it should, whatever the table is partitioned by: what is pruned by partition values,
// manifest bounds, file bounds or row groups holds no match.
func TestFiltersFindTheirRowsUnderEveryTransform(t *testing.T) {
	rows := pruneRows()
	mid := rows[200].ts
	us := iceberg.Timestamp(mid.UnixMicro())
	filters := map[string]struct {
		expr iceberg.BooleanExpression
		has  func(r pruneRow) bool
	}{
		"s = b/c":   {iceberg.EqualTo(iceberg.Reference("s"), "b/c d=é%"), func(r pruneRow) bool { return r.s == "b/c d=é%" }},
		"s = null":  {iceberg.EqualTo(iceberg.Reference("s"), "null"), func(r pruneRow) bool { return r.s == "null" }},
		"s is null": {iceberg.IsNull(iceberg.Reference("s")), func(r pruneRow) bool { return r.s == "" }},
		"s >= 日":    {iceberg.GreaterThanEqual(iceberg.Reference("s"), "日"), func(r pruneRow) bool { return r.s >= "日" }},
		"n < -3":    {iceberg.LessThan(iceberg.Reference("n"), int32(-3)), func(r pruneRow) bool { return !r.null && r.n < -3 }},
		"n = 0":     {iceberg.EqualTo(iceberg.Reference("n"), int32(0)), func(r pruneRow) bool { return !r.null && r.n == 0 }},
		"n is null": {iceberg.IsNull(iceberg.Reference("n")), func(r pruneRow) bool { return r.null }},
		"ts < mid":  {iceberg.LessThan(iceberg.Reference("ts"), us), func(r pruneRow) bool { return !r.null && r.ts.Before(mid) }},
		"ts = mid":  {iceberg.EqualTo(iceberg.Reference("ts"), us), func(r pruneRow) bool { return !r.null && r.ts.Equal(mid) }},
		"ts < 1970": {iceberg.LessThan(iceberg.Reference("ts"), iceberg.Timestamp(0)), func(r pruneRow) bool { return !r.null && r.ts.Unix() < 0 }},
		"f >= 0":    {iceberg.GreaterThanEqual(iceberg.Reference("f"), 0.0), func(r pruneRow) bool { return !r.null && r.f >= 0 }},
	}
	for _, spec := range [][]string{
		nil, {"s identity"}, {"s bucket[5]"}, {"s truncate[1]"}, {"n identity"}, {"n bucket[3]"}, {"n truncate[10]"},
		{"ts year"}, {"ts month"}, {"ts day"}, {"ts hour"}, {"f identity"}, {"s void"}, {"s identity", "ts day", "n bucket[2]"},
	} {
		if testing.Short() && len(spec) < 2 {
			continue
		}
		t.Run("by "+strings.Join(spec, ","), func(t *testing.T) {
			sc := pruneSchema()
			var ps *iceberg.PartitionSpec
			if spec != nil {
				ps = specOf(t, sc, spec...)
			}
			tbl, _ := newTable(t, sc, ps, nil)
			task := newTask(t, tbl, nil)
			appendAll(t, task, batchOf(0, len(rows), func(i int) []byte { return rows[i].json() }))
			d := seal(t, task)
			filesAreThere(t, d)
			tbl = commit(t, tbl, d)
			for name, f := range filters {
				want := map[int]bool{}
				for _, r := range rows {
					if f.has(r) {
						want[r.id] = true
					}
				}
				got := scan(t, tbl, f.expr)
				for _, row := range got {
					var r struct{ ID int }
					if err := json.Unmarshal([]byte(row), &r); err != nil {
						t.Fatal(err)
					}
					if !want[r.ID] {
						t.Errorf("%s: row %s too much, or twice", name, row)
					}
					delete(want, r.ID)
				}
				if len(want) > 0 {
					t.Errorf("%s: %d rows missing", name, len(want))
				}
			}
		})
	}
}

// filesAreThere looks for the files under the names that the manifest gives, with no decoding of them: other readers do
// the same.
func filesAreThere(t *testing.T, d *descriptor.Descriptor) {
	t.Helper()
	for _, f := range d.Files {
		if _, err := os.Stat(strings.TrimPrefix(f.FilePath(), "file://")); err != nil {
			t.Errorf("file not under its literal name: %v", err)
		}
	}
}
