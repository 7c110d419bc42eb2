package main

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

func TestRowsLieInTheirPartitions(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := run(context.Background(), dir, &out); err != nil {
		t.Fatal(err)
	}
	for _, region := range regions {
		for _, day := range []string{"2026-03-01", "2026-03-02"} {
			if want := "region=" + region + "/event_time_day=" + day + ": 2000 rows in "; !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, out.String())
			}
		}
	}
	tbl, err := openTable(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	now, err := tbl.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// The filter prunes by the partition.
	rows, err := now.Scan(table.WithRowFilter(iceberg.EqualTo(iceberg.Reference("region"), "eu"))).ToArrowTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if rows.NumRows() != events/3 {
		t.Errorf("%d rows of region eu", rows.NumRows())
	}
}
