package tableio

import "testing"

func TestTypesAreWrittenAsTheyAreRead(t *testing.T) {
	for _, text := range []string{"boolean", "int", "timestamptz_ns", "decimal(18,4)", "fixed(16)", "list<string>", "list<required long>",
		"struct<a: int, b: map<string, double>>", "map<string, required struct<x: required list<decimal(38,0)>, y: uuid>>"} {
		typ, err := ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatType(typ); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
