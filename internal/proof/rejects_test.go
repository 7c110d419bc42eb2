package proof

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// fullTruth is truth, where every seventh record is bad but the first of them, which is a tombstone.
type fullTruth struct{ truth }

func (f fullTruth) Outcome(p int32, off int64) Outcome {
	_, row := f.Payload(p, off)
	switch {
	case row:
		return Row
	case off == 6:
		return Filtered
	}
	return Rejected
}

func (fullTruth) Reject(p int32, off int64) Reject {
	return Reject{Code: "type", Value: fmt.Appendf(nil, "bad %d/%d", p, off)}
}

// newRejects makes an empty rejects table.
func newRejects(t *testing.T) *maker {
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "topology", Type: iceberg.PrimitiveTypes.String, Required: true},
		iceberg.NestedField{ID: 2, Name: "topic", Type: iceberg.PrimitiveTypes.String, Required: true},
		iceberg.NestedField{ID: 3, Name: "partition", Type: iceberg.PrimitiveTypes.Int32, Required: true},
		iceberg.NestedField{ID: 4, Name: "offset", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 5, Name: "value", Type: iceberg.PrimitiveTypes.Binary},
		iceberg.NestedField{ID: 6, Name: "code", Type: iceberg.PrimitiveTypes.String, Required: true})
	meta, err := table.NewMetadata(sc, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://w/r", iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{t: t, files: iceio.NewMemFS(), at: map[string][]int64{}}
	m.put(meta)
	return m
}

// rejected writes a file of rejects: "topology topic partition/offset code value", value NULL for none.
func (m *maker) rejected(rows ...string) iceberg.DataFile {
	m.t.Helper()
	field := func(name string, typ arrow.DataType, id int) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: name == "value", Metadata: arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{fmt.Sprint(id)})}
	}
	sc := arrow.NewSchema([]arrow.Field{field("topology", arrow.BinaryTypes.String, 1), field("topic", arrow.BinaryTypes.String, 2),
		field("partition", arrow.PrimitiveTypes.Int32, 3), field("offset", arrow.PrimitiveTypes.Int64, 4),
		field("value", arrow.BinaryTypes.Binary, 5), field("code", arrow.BinaryTypes.String, 6)}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	defer b.Release()
	for _, r := range rows {
		w := strings.SplitN(r, " ", 5)
		var part int32
		var off int64
		if _, err := fmt.Sscanf(w[2], "%d/%d", &part, &off); err != nil {
			m.t.Fatal(err)
		}
		b.Field(0).(*array.StringBuilder).Append(w[0])
		b.Field(1).(*array.StringBuilder).Append(w[1])
		b.Field(2).(*array.Int32Builder).Append(part)
		b.Field(3).(*array.Int64Builder).Append(off)
		if w[4] == "NULL" {
			b.Field(4).AppendNull()
		} else {
			b.Field(4).(*array.BinaryBuilder).Append([]byte(w[4]))
		}
		b.Field(5).(*array.StringBuilder).Append(w[3])
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(sc, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	path := fmt.Sprintf("mem://w/r/data/%s.parquet", uuid.New())
	if err == nil {
		err = m.files.WriteFile(path, out.Bytes())
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return m.build(iceberg.EntryContentData, path, int64(len(rows)), int64(out.Len()))
}

// all are the rejects of the truth.
var all = []string{"a orders 0/13 type bad 0/13", "a orders 1/13 type bad 1/13"}

func TestRejectsAreComparedWithWhatWasProduced(t *testing.T) {
	for _, c := range []struct {
		name  string
		files [][]string
		want  []Finding
		part  bool
	}{
		{name: "each once", files: [][]string{all[:1], all[1:]}},
		{name: "another topology's and another topic's", files: [][]string{all, {"b orders 0/1 type x", "a other 0/1 type x"}}},
		{name: "nothing yet", part: true},
		{name: "one is missing", files: [][]string{all[:1]}, want: []Finding{{Kind: Lost, Partition: 1, Position: 13}}},
		{name: "no snapshot at all", want: []Finding{{Kind: Lost, Partition: 0, Position: 13}, {Kind: Lost, Partition: 1, Position: 13}}},
		{name: "one twice", files: [][]string{all, all[:1], all[:1]}, want: []Finding{{Kind: Doubled, Partition: 0, Position: 13}}},
		{name: "one that is a row", files: [][]string{all, {"a orders 0/1 type x"}}, want: []Finding{{Kind: Foreign, Partition: 0, Position: 1}}},
		{name: "one that is filtered", files: [][]string{all, {"a orders 0/6 type x"}}, want: []Finding{{Kind: Foreign, Partition: 0, Position: 6}}},
		{name: "one beyond the end", files: [][]string{all, {"a orders 0/20 type x"}}, want: []Finding{{Kind: Foreign, Partition: 0, Position: 20}}},
		{name: "another value", files: [][]string{all[1:], {"a orders 0/13 type bad 0/1"}}, want: []Finding{{Kind: Altered, Partition: 0, Position: 13}}},
		{name: "no value", files: [][]string{all[1:], {"a orders 0/13 type NULL"}}, want: []Finding{{Kind: Altered, Partition: 0, Position: 13}}},
		{name: "another code", files: [][]string{all[1:], {"a orders 0/13 range bad 0/13"}}, want: []Finding{{Kind: Altered, Partition: 0, Position: 13}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newRejects(t)
			for _, rows := range c.files {
				m.append("", nil, m.rejected(rows...))
			}
			o := options("a")
			o.Whole = !c.part
			r, err := CheckRejects(t.Context(), m.table(), fullTruth{}, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.want {
				c.want[i].Snapshot = m.last
			}
			m.want(r, c.want...)
		})
	}
}

func TestAFileOfRejectsThatIsNotThere(t *testing.T) {
	m := newRejects(t)
	f := m.rejected(all...)
	m.append("", nil, f)
	if err := m.files.Remove(f.FilePath()); err != nil {
		t.Fatal(err)
	}
	r, err := CheckRejects(t.Context(), m.table(), fullTruth{}, options("a"))
	if err != nil {
		t.Fatal(err)
	}
	m.want(r, Finding{Kind: Dangling, Snapshot: m.last})
}

func TestCountsMustAddUp(t *testing.T) {
	for name, c := range map[string]struct {
		counts string // of partition 0
		want   string
	}{
		"right":                   {`"rejects":[1],"filtered":[1]`, ""},
		"a reject that is a row":  {`"filtered":[1]`, "18 rows, 0 rejects, 1 filtered, 0 skipped counted, and it were 17 rows, 1 rejects"},
		"a reject that is a gap":  {`"skipped":[1],"filtered":[1]`, "0 rejects, 1 filtered, 1 skipped counted"},
		"filtered twice":          {`"rejects":[1],"filtered":[2]`, "16 rows, 1 rejects, 2 filtered"},
		"begun behind the reject": {`"start":[14],"rejects":[0]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker(t)
			value := `{"v":1,"topologies":{"a":{"cluster":"c","topics":{"orders":{"next":[19],` + c.counts + `}}}}}`
			tx := m.table().NewTransaction()
			if err := tx.AddFiles(t.Context(), nil, iceberg.Properties{keyPositions: value}, true); err != nil {
				t.Fatal(err)
			}
			m.commit(tx)
			o := options("a")
			o.Partitions = 1
			err := CheckCounts(m.table(), fullTruth{}, o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
