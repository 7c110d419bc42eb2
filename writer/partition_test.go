package writer

import (
	"testing"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// placed remembers the partition it was told last, for each record.
type placed struct {
	mapper.Mapper
	now source.Partition
	of  *[]source.Partition
}

func (m *placed) SetPartition(p source.Partition) { m.now = p }

func (m *placed) Map(rec *source.Record, dst *mapper.Columns) error {
	*m.of = append(*m.of, m.now)
	return m.Mapper.Map(rec, dst)
}

func TestAMapperKnowsThePartitionOfEachRecord(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	var of []source.Partition
	task := newTask(t, tbl, func(c *Config) {
		c.SealRecords = 3
		c.Mapper = func(s *mapper.Schema) (mapper.Mapper, error) {
			m, err := jsonMapper()(s)
			return &placed{Mapper: m, of: &of}, err
		}
	})
	other := source.Partition{Topic: "other", ID: 7}
	task.Open(t.Context(), map[source.Partition]source.Position{testPartition: 0, other: 0})
	a, b := eventBatch(0, 2), eventBatch(0, 2)
	b.Range.Partition = other
	appendAll(t, task, a)
	// The second batch crosses the threshold: it is handed over twice.
	if done, err := task.Append(t.Context(), b); done || err != nil {
		t.Fatal(done, err)
	}
	seal(t, task)
	appendAll(t, task, b)
	want := []source.Partition{testPartition, testPartition, other, other}
	for i := range want {
		if len(of) != len(want) || of[i] != want[i] {
			t.Fatalf("got %v, want %v", of, want)
		}
	}
}

func TestHeadersCountForASegment(t *testing.T) {
	recs := make([]source.Record, 10)
	for i := range recs {
		recs[i].Headers = []source.Header{{Key: []byte("k"), Value: make([]byte, segmentBytes/2)}}
	}
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, eventBatch(0, 1))
	if n := len(task.segment(recs)); n != 2 {
		t.Errorf("%d records in one segment", n)
	}
}
