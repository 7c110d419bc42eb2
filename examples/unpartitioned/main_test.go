package main

import (
	"context"
	"strings"
	"testing"
)

func TestEachOrderIsThereOnce(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := run(context.Background(), dir, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"after the first run the table has 10000 rows", "after the second run the table has 10000 rows",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
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
	rows, err := now.Scan().ToArrowTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if rows.NumRows() != orders {
		t.Errorf("%d rows are read back", rows.NumRows())
	}
}
