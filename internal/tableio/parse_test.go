package tableio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

func TestTypesAreReadAsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"long":                 "long",
		" INT ":                "int",
		"decimal(18,4)":        "decimal(18, 4)",
		"decimal( 38 , 0 )":    "decimal(38, 0)",
		"fixed(16)":            "fixed[16]",
		"fixed[16]":            "fixed[16]",
		"list<string>":         "list<string>",
		"map<string,double>":   "map<string, double>",
		"list< list<uuid> >":   "list<list<uuid>>",
		"timestamptz_ns":       "timestamptz_ns",
		"map<int, list<date>>": "map<int, list<date>>",
	} {
		got, err := ParseType(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseType(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	st, err := ParseType("struct<a: int, b: required map<string, required double>, c: list<required string>>")
	if err != nil {
		t.Fatal(err)
	}
	f := st.(*iceberg.StructType).FieldList
	if f[0].Required || !f[1].Required || !f[1].Type.(*iceberg.MapType).ValueRequired || !f[2].Type.(*iceberg.ListType).ElementRequired {
		t.Errorf("required is lost: %v", st)
	}
}

func TestWrongTypesSayWhatWouldBeRight(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "a type is missing",
		"strin":                               "it is one of boolean",
		"bigint":                              "Iceberg calls it long",
		"bool":                                "Iceberg calls it boolean",
		"geometry":                            "can't be written by floe",
		"decimal":                             "decimal(18,4)",
		"decimal(39,2)":                       "precision is 1 to 38",
		"decimal(5,6)":                        "scale 0 to the precision",
		"decimal(-1,0)":                       "not a whole number",
		"decimal(99999999999999999999,0)":     "not a whole number",
		"fixed(0)":                            "at least 1 byte",
		"list":                                "'<' is missing",
		"list<int":                            "'>' is missing",
		"list<int> x":                         "nothing may follow",
		"map<int>":                            "',' is expected",
		"struct<>":                            "field's name is missing",
		"struct<a int>":                       "':' is expected",
		"struct<a: int,>":                     "field's name is missing",
		"struct<a: b: int>":                   "field a",
		strings.Repeat("list<", 5000) + "int": "nests deeper",
	} {
		if got, err := ParseType(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseType(%.40q) = %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestSchemaIsNumberedLevelByLevel(t *testing.T) {
	sc, err := ParseSchema([]Column{
		{Name: "id", Type: "long", Required: true, Doc: "the key"},
		{Name: "s", Type: "struct<a: int, b: struct<c: int>>"},
		{Name: "m", Type: "map<string, list<int>>"},
		{Name: "last", Type: "string"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]int{"id": 1, "s": 2, "m": 3, "last": 4, "s.a": 5, "s.b": 6, "s.b.c": 7, "m.key": 8, "m.value": 9, "m.value.element": 10} {
		if f, ok := sc.FindFieldByName(name); !ok || f.ID != id {
			t.Errorf("%s has id %d, want %d", name, f.ID, id)
		}
	}
	if f, _ := sc.FindFieldByName("id"); !f.Required || f.Doc != "the key" {
		t.Errorf("got %+v", f)
	}
	// A catalog may number them anew; the partition field must then still be of the same column.
	spec, err := ParsePartition(sc, []string{"last"})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := table.NewMetadata(sc, spec, table.UnsortedSortOrder, "file:///t", nil)
	if err != nil {
		t.Fatal(err)
	}
	made := meta.PartitionSpec()
	if name, _ := meta.CurrentSchema().FindColumnName(made.Field(0).SourceID()); name != "last" {
		t.Errorf("the table is partitioned by %q", name)
	}
}

func TestWrongSchemasNameTheColumn(t *testing.T) {
	for name, c := range map[string]struct {
		columns []Column
		want    string
	}{
		"none":               {nil, "no columns"},
		"no name":            {[]Column{{Name: "a", Type: "int"}, {Type: "int"}}, "column 2"},
		"no type":            {[]Column{{Name: "a"}}, "column a: the type is missing"},
		"wrong type":         {[]Column{{Name: "a", Type: "list<x>"}}, `column a: type "x"`},
		"twice":              {[]Column{{Name: "a", Type: "int"}, {Name: "a", Type: "long"}}, "column a"},
		"twice in a struct":  {[]Column{{Name: "s", Type: "struct<x: int, x: int>"}}, "column s.x"},
		"dotted meets inner": {[]Column{{Name: "s", Type: "struct<x: int>"}, {Name: "s.x", Type: "int"}}, "column s.x"},
		"dotted element":     {[]Column{{Name: "l", Type: "list<int>"}, {Name: "l.element", Type: "int"}}, "l.element"},
		"dotted short name":  {[]Column{{Name: "l", Type: "list<struct<x: int>>"}, {Name: "l.x", Type: "int"}}, "l.x"},
		"control character":  {[]Column{{Name: "a\n", Type: "int"}}, "control"},
		"not UTF-8":          {[]Column{{Name: "a\xff", Type: "int"}}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseSchema(c.columns); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func testSchema(t testing.TB) *iceberg.Schema {
	t.Helper()
	sc, err := ParseSchema([]Column{{Name: "id", Type: "long"}, {Name: "name", Type: "string"}, {Name: "event_time", Type: "timestamptz"},
		{Name: "d", Type: "date"}, {Name: "f", Type: "double"}, {Name: "s", Type: "struct<x: int, l: list<int>>"}, {Name: "tags", Type: "list<string>"},
		{Name: "odd(name)", Type: "int"}, {Name: "p", Type: "decimal(9,2)"}, {Name: "q", Type: "decimal(9,2)"}, {Name: "id_bucket", Type: "int"}, {Name: "whole", Type: "decimal(9,0)"}})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func TestPartitionFieldsAreNamedAsIcebergNamesThem(t *testing.T) {
	sc := testSchema(t)
	for text, want := range map[string]string{
		"name":               "name identity",
		"identity(name)":     "name identity",
		"day(event_time)":    "event_time_day day",
		"Days( event_time )": "event_time_day day",
		"hour(event_time)":   "event_time_hour hour",
		"month(d)":           "d_month month",
		"year(d)":            "d_year year",
		"bucket(8, name)":    "name_bucket bucket[8]",
		"bucket(name, 8)":    "name_bucket bucket[8]",
		"truncate(4, name)":  "name_trunc truncate[4]",
		"void(name)":         "name_null void",
		"s.x":                "s.x identity",
		"odd(name)":          "odd(name) identity",
	} {
		spec, err := ParsePartition(sc, []string{text})
		if err != nil {
			t.Errorf("ParsePartition(%q): %v", text, err)
			continue
		}
		if f := spec.Field(0); fmt.Sprintf("%s %s", f.Name, f.Transform) != want || f.FieldID != 1000 {
			t.Errorf("ParsePartition(%q) = %s %s, id %d; want %s", text, f.Name, f.Transform, f.FieldID, want)
		}
	}
	if spec, err := ParsePartition(sc, nil); err != nil || !spec.IsUnpartitioned() {
		t.Errorf("got %v, %v", spec, err)
	}
	spec, err := ParsePartition(sc, []string{"name", "day(event_time)"})
	if err != nil || spec.NumFields() != 2 || spec.Field(1).FieldID != 1001 {
		t.Errorf("got %v, %v", spec, err)
	}
}

func TestWrongPartitionFieldsSayWhatWouldBeRight(t *testing.T) {
	sc := testSchema(t)
	for text, want := range map[string]string{
		"":                      "there is no column",
		"regoin":                "the table has id, name, event_time",
		"day(name)":             "it takes a date or a timestamp",
		"hour(d)":               "it takes a timestamp",
		"bucket(id)":            "bucket(16, id)",
		"bucket(0, id)":         "a number above zero",
		"bucket(-1, id)":        "a number above zero",
		"bucket(99999999999,id": "parentheses",
		"truncate(4, f)":        "can't be applied to column f",
		"week(event_time)":      "is no transform",
		"day(event_time":        "parentheses do not match",
		"day((event_time))":     "parentheses do not match",
		"tags":                  "can't be applied",
		"tags.element":          "inside a list",
		"s":                     "primitive",
		"s.l.element":           "inside a list",
		"bucket(4, id)":         "id_bucket",
		"whole":                 "a scale above 0",
		"truncate(10, whole)":   "take a bucket",
	} {
		if spec, err := ParsePartition(sc, []string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePartition(%q) = %v, %v; want an error with %q", text, spec, err, want)
		}
	}
	for _, by := range [][]string{{"name", "identity(name)"}, {"day(event_time)", "hour(event_time)"}, {"p", "q"}, {"p", "truncate(10, p)"}} {
		if spec, err := ParsePartition(sc, by); err == nil {
			t.Errorf("ParsePartition(%q) = %v", by, spec)
		}
	}
}

func FuzzParseType(f *testing.F) {
	for _, s := range []string{"struct<a: int, b: required map<string, list<decimal(9,2)>>>", "fixed[3]", "list<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := ParseType(text)
		if err != nil {
			return
		}
		sc, err := ParseSchema([]Column{{Name: "a", Type: text}})
		if err != nil {
			return
		}
		if _, ok := sc.FindFieldByName("a"); !ok || typ == nil {
			t.Fatal("the column is not there")
		}
		_, _ = ParsePartition(sc, []string{text})
	})
}
