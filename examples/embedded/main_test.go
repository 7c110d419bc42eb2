package main

import (
	"context"
	"strings"
	"testing"
)

func TestBothWaysBringEachRecord(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"queue: 1000 of 1000 messages were acknowledged, 1000 rows are in the table",
		"log: started at 0, ended at 2500, 2500 rows are in the table",
		"log: started at 2500, ended at 5000, 5000 rows are in the table",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
