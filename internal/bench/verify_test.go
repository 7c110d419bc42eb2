package bench

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// idsOf is a batch with one column.
func idsOf(ids ...int64) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(ids, nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(len(ids)))
}

func TestLostAndDoubledRecordsAreFound(t *testing.T) {
	const first = int64(firstID)
	for name, c := range map[string]struct {
		ids  []int64
		want Check
		ok   bool
	}{
		"each once":          {[]int64{first + 2, first, first + 1}, Check{Rows: 3}, true},
		"behind two others":  {[]int64{first + 2, 0, first, 1, first + 1}, Check{Rows: 3}, true},
		"lost":               {[]int64{first, first + 2}, Check{Rows: 2, Missing: 1}, false},
		"doubled":            {[]int64{first, first + 1, first + 2, first}, Check{Rows: 4, Doubled: 1}, false},
		"lost and doubled":   {[]int64{first, first, first + 2}, Check{Rows: 3, Missing: 1, Doubled: 1}, false},
		"from somewhere":     {[]int64{first, first + 1, first + 2, first + 3}, Check{Rows: 3, Foreign: 1}, false},
		"from before it all": {[]int64{first, first + 1, first + 2, first - 1}, Check{Rows: 3, Foreign: 1}, false},
	} {
		s := &idSet{seen: make([]uint64, 1), n: 3, before: 2}
		if err := s.add(idsOf(c.ids...)); err != nil {
			t.Fatal(err)
		}
		s.finish()
		if s.check != c.want || s.check.ok(3) != c.ok {
			t.Errorf("%s: %+v, want %+v", name, s.check, c.want)
		}
	}
}

func TestQuantilesAndRates(t *testing.T) {
	var ds []time.Duration
	for i := range 100 {
		ds = append(ds, time.Duration(100-i)*time.Second)
	}
	if quantile(ds, 0.5) != 51 || quantile(ds, 0.99) != 100 || quantile(ds[:1], 0.99) != 100 || quantile(nil, 0.5) != 0 {
		t.Error(quantile(ds, 0.5), quantile(ds, 0.99))
	}
	began := time.Unix(100, 0)
	w := &watcher{
		first: sample{rows: 100, commits: 1, last: began.Add(2 * time.Second)},
		last:  sample{rows: 500, commits: 3, last: began.Add(4 * time.Second), files: 6, bytes: 5000},
		took:  []time.Duration{time.Second, 2 * time.Second},
	}
	r := Result{Settings: Settings{Records: 500}, ValueBytes: 8e6}
	r.account(w, began, usage{cpu: 500 * time.Microsecond, allocs: 250, bytes: 1000, gc: 50 * time.Microsecond})
	if r.Seconds != 4 || r.RecordsPerSecond != 125 || r.MBPerSecond != 2 || *r.SteadyRecordsPerSecond != 200 || r.FirstRowSeconds != 2 ||
		r.CPUNsPerRecord != 1000 || r.GCCPUNsPerRecord != 100 || r.AllocsPerRecord != 0.5 || r.BytesAllocatedPerRecord != 2 ||
		r.FileBytesPerRow != 10 || r.DataFiles != 6 || r.Commits != 3 {
		t.Errorf("%+v", r)
	}
}
