package writer

import (
	"testing"

	"github.com/apache/iceberg-go"
)

func TestUnpartitionedRowsComeBack(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	b1, b2 := eventBatch(0, 20000), eventBatch(20000, 30001)
	appendAll(t, task, b1)
	appendAll(t, task, b2)
	d := seal(t, task)
	if d.Rows != 30001 || len(d.Files) != 1 || d.Bytes != d.Files[0].FileSizeBytes() {
		t.Errorf("descriptor: rows %d, files %d, bytes %d", d.Rows, len(d.Files), d.Bytes)
	}
	if in := d.Inputs[0]; in.Range.From != 0 || in.Range.To != 30001 || in.Rows != 30001 || in.Filtered != 0 || in.Skipped != 0 || in.MaxTimestampMs != 31000 {
		t.Errorf("input %+v", in)
	}
	tbl = commit(t, tbl, d)
	sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b1, b2))
}

func TestPartitionedRowsComeBackAndPrune(t *testing.T) {
	sc := eventSchema()
	tbl, _ := newTable(t, sc, specOf(t, sc, "event_type identity", "ts hour"), nil)
	task := newTask(t, tbl, nil)
	b := eventBatch(0, 60000)
	appendAll(t, task, b)
	d := seal(t, task)
	if d.Rows != 60000 || len(d.Files) != 7*8 {
		t.Errorf("rows %d in %d files, want 60000 in 56", d.Rows, len(d.Files))
	}
	tbl = commit(t, tbl, d)
	if n := len(scan(t, tbl, iceberg.EqualTo(iceberg.Reference("event_type"), "click"))); n != 7500 {
		t.Errorf("filter on event_type: %d rows, want 7500", n)
	}
	sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b))
}
