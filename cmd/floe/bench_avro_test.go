package main

import "testing"

func TestBenchReadsAvroWithARegistry(t *testing.T) {
	o := benchJSON(t, "--workload", "avro-a", "--records", "20000", "--warm-up", "1000", "--partitions", "3")
	if o.Workload != "avro-a" || o.Check.Rows != 20_000 || o.Check.Missing+o.Check.Doubled+o.Check.Foreign != 0 {
		t.Errorf("%+v", o)
	}
}
