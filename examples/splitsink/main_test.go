package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestManySealsFewSnapshots(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := run(context.Background(), dir, &out); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(\d+) rows in (\d+) files, .* by (\d+) commits`).FindStringSubmatch(out.String())
	if m == nil || m[1] != fmt.Sprint(events) {
		t.Fatalf("got %s", out.String())
	}
	var files, commits int
	_, _ = fmt.Sscan(m[2]+" "+m[3], &files, &commits)
	if files < 10*len(regions) || commits >= 10 {
		t.Errorf("%d files by %d commits", files, commits)
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
	if rows.NumRows() != events {
		t.Errorf("%d rows are read back", rows.NumRows())
	}
}
