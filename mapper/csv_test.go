package mapper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// csvSchema is a, b, c: a long and two strings.
func csvSchema() *Schema {
	return &Schema{Fields: []Field{
		{ID: 1, Name: "a", Type: Type{Kind: Long}}, {ID: 2, Name: "b", Type: Type{Kind: String}}, {ID: 3, Name: "c", Type: Type{Kind: String}},
	}}
}

// mapCSV maps one record, twice, and gives the row as text or the code and column of the error.
func mapCSV(t testing.TB, s *Schema, o CSVOptions, value string) string {
	t.Helper()
	m, err := NewCSV(o)(s)
	if err != nil {
		return err.Error()
	}
	cs := mustColumns(t, s)
	for range 2 {
		err = m.Map(&source.Record{Value: []byte(value)}, cs)
		checkInvariants(t, cs)
	}
	var bad *BadRecordError
	switch {
	case errors.As(err, &bad):
		if cs.Rows != 0 {
			t.Errorf("%q: the columns have changed", value)
		}
		return fmt.Sprintf("bad %s %s", bad.Code, bad.Column)
	case err != nil:
		return err.Error()
	}
	row := rowOf(cs, 1)
	for i, v := range row {
		if s, ok := v.(string); ok {
			row[i] = fmt.Sprintf("%q", s)
		}
	}
	return fmt.Sprint(row)
}

func TestCSVOfOneRecord(t *testing.T) {
	abc := []string{"a", "b", "c"}
	plain, header := CSVOptions{Columns: abc}, CSVOptions{Header: true}
	for _, c := range []struct {
		name  string
		opts  CSVOptions
		value string
		want  string
	}{
		{"plain", plain, "1,x,y", `[1 "x" "y"]`},
		{"line feed at the end", plain, "1,x,y\n", `[1 "x" "y"]`},
		{"carriage return and line feed", plain, "1,x,y\r\n", `[1 "x" "y"]`},
		{"blanks belong to a field", plain, "1, x ,y", `[1 " x " "y"]`},
		{"empty is null", plain, ",,", `[<nil> <nil> <nil>]`},
		{"empty in quotes is text", plain, `1,"",y`, `[1 "" "y"]`},
		{"quotes", plain, "1,\"a,\"\"b\"\"\r\nc\",y\n", `[1 "a,\"b\"\r\nc" "y"]`},
		{"only a quote", plain, `1,"""",""""""`, `[1 "\"" "\"\""]`},
		{"a number in quotes", plain, `"1",x,y`, `[1 "x" "y"]`},
		{"a number in empty quotes", plain, `"",x,y`, `bad type a`},
		{"NUL", plain, "1,\x00,y", `[1 "\x00" "y"]`},
		{"too few", plain, "1,x", `bad width `},
		{"too few in a line of quotes", plain, "\"1\",x\n", `bad width `},
		{"too many", plain, "1,x,y,z", `bad width `},
		{"a delimiter at the end", plain, "1,x,y,", `bad width `},
		{"two records", plain, "1,x,y\n2,x,y", `bad syntax `},
		{"a blank line behind it", plain, "1,x,y\n\n", `bad syntax `},
		{"a blank line before it", plain, "\n1,x,y", `bad syntax `},
		{"no bytes", plain, "", `bad empty `},
		{"a quote inside", plain, `1,x"y,z`, `bad syntax `},
		{"a quote behind a blank", plain, `1, "y",z`, `bad syntax `},
		{"more behind quotes", plain, `1,"y"x,z`, `bad syntax `},
		{"open quotes", plain, `1,x,"y`, `bad syntax `},
		{"open quotes of nothing", plain, `1,x,"`, `bad syntax `},
		{"a lone carriage return", plain, "1,x\ry,z", `bad syntax `},
		{"a carriage return at the end", plain, "1,x,z\r", `bad syntax `},
		{"no UTF-8", plain, "1,\xff,y", `bad utf8 `},
		{"a byte order mark", plain, "\ufeff1,x,y", `bad syntax `},
		{"wrong type", plain, "x,x,y", `bad type a`},
		{"leading zero", plain, "01,x,y", `bad type a`},
		{"null by text", CSVOptions{Columns: abc, Null: `\N`}, `\N,,"\N"`, `[<nil> "" "\\N"]`},
		{"empty is no null there", CSVOptions{Columns: abc, Null: `\N`}, `,x,y`, `bad type a`},
		{"semicolon and single quote", CSVOptions{Columns: abc, Delimiter: ";", Quote: "'"}, `1;'x;''"';y,`, `[1 "x;'\"" "y,"]`},
		{"tab without quotes", CSVOptions{Columns: abc, Delimiter: "\t", Quote: "none"}, "1\t\"x\ty\"", `[1 "\"x" "y\""]`},
		{"another order", CSVOptions{Columns: []string{"c", "", "a"}}, "y,left out,1", `[1 <nil> "y"]`},
		{"what is left out is still checked", CSVOptions{Columns: []string{"c", "", "a"}}, `y,"x"x,1`, `bad syntax `},
		{"fewer columns", CSVOptions{Columns: []string{"b"}}, "\n", `[<nil> <nil> <nil>]`},
		{"header", header, "c,a,other\ny,1,left out\n", `[1 <nil> "y"]`},
		{"header in quotes", header, "\"c\",\"a\"\r\ny,1", `[1 <nil> "y"]`},
		{"header without a record", header, "c,a\n", `bad syntax `},
		{"header without a line end", header, "c,a", `bad syntax `},
		{"header and two records", header, "c,a\ny,1\ny,2", `bad syntax `},
		{"header twice", header, "c,a,c\ny,1,z", `bad duplicate_key c`},
		{"other names may be there twice", header, "x,a,x,,\ny,1,z,,", `[1 <nil> <nil>]`},
		{"fewer fields than names", header, "c,a\ny", `bad width `},
		{"header of too many names", header, strings.Repeat("x,", maxCSVFields) + "a\n1", `bad width `},
		{"no names", CSVOptions{}, "", "mapper: csv: neither Columns nor Header is set: say what the fields' names are"},
		{"names twice over", CSVOptions{Columns: abc, Header: true}, "", "mapper: csv: both Columns and Header are set: fields are named once"},
		{"a column twice", CSVOptions{Columns: []string{"a", "", "", "a"}}, "", `mapper: csv: the column "a" is there twice`},
		{"an unknown column", CSVOptions{Columns: []string{"a", "x"}}, "", `mapper: csv: column "x": the table has no such column`},
		{"long delimiter", CSVOptions{Columns: abc, Delimiter: "||"}, "", `mapper: csv: Delimiter is "||", but must be one ASCII character, and no line end`},
		{"delimiter that is no ASCII", CSVOptions{Columns: abc, Delimiter: "é"}, "", `mapper: csv: Delimiter is "é", but must be one ASCII character, and no line end`},
		{"quote that ends lines", CSVOptions{Columns: abc, Quote: "\n"}, "", `mapper: csv: Quote is "\n", but must be one ASCII character, and no line end, or "none"`},
		{"both the same", CSVOptions{Columns: abc, Quote: ","}, "", `mapper: csv: Quote and Delimiter are both ","`},
		{"null that no field is", CSVOptions{Columns: abc, Null: `"`}, "", `mapper: csv: Null is "\"", which no field is without quotes`},
	} {
		if got := mapCSV(t, csvSchema(), c.opts, c.value); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCSVOfColumnsThatItCanNotFill(t *testing.T) {
	s := csvSchema()
	s.Fields[2].Required = true
	s.Fields = append(s.Fields, Field{ID: 4, Name: "tags", Type: listOf(Field{ID: 5, Name: "element", Type: Type{Kind: Long}})})
	for _, c := range []struct {
		opts        CSVOptions
		value, want string
	}{
		{CSVOptions{Columns: []string{"a", "b"}}, "", `mapper: csv: column "c": the column is required, and no field has its name`},
		{CSVOptions{Columns: []string{"c", "tags"}}, "", `mapper: csv: column "tags": CSV holds no structs, lists, maps or variants`},
		{CSVOptions{Columns: []string{"c"}}, "x", `[<nil> <nil> "x" <nil>]`},
		{CSVOptions{Columns: []string{"c"}}, "\n", `bad required c`},
		{CSVOptions{Header: true}, "a\n1", `bad required c`},
		{CSVOptions{Header: true}, "c,tags\n1,2", `bad type tags`},
		{CSVOptions{Header: true}, "c\n1", `[<nil> <nil> "1" <nil>]`},
	} {
		if got := mapCSV(t, s, c.opts, c.value); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.opts, got, c.want)
		}
	}
}

func TestCSVHeadersMayDifferFromRecordToRecord(t *testing.T) {
	s := csvSchema()
	m, err := NewCSV(CSVOptions{Header: true})(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	for _, v := range []string{"a,b\n1,x", "a,b\n2,y", "b,a\nz,3", "a,a\n1,1", "a,b\n4,x", "a,bb\n5,x", "a\n6", "a,b\r\n7,w"} {
		var bad *BadRecordError
		if err := m.Map(&source.Record{Value: []byte(v)}, cs); err != nil && (!errors.As(err, &bad) || bad.Code != CodeDuplicateKey) {
			t.Errorf("%q: %v", v, err)
		}
	}
	checkInvariants(t, cs)
	if got, want := fmt.Sprint(rowsOf(cs)), "[[1 x <nil>] [2 y <nil>] [3 z <nil>] [4 x <nil>] [5 <nil> <nil>] [6 <nil> <nil>] [7 w <nil>]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestACSVRecordAllocatesNothing(t *testing.T) {
	for o, value := range map[*CSVOptions]string{
		{Columns: []string{"a", "b", "c"}}: "1,x,\"a \"\"quote\"\"\"\n",
		{Header: true}:                     "c,a\n\"a \"\"quote\"\"\",1",
	} {
		m, err := NewCSV(*o)(csvSchema())
		if err != nil {
			t.Fatal(err)
		}
		cs, rec := mustColumns(t, csvSchema()), source.Record{Value: []byte(value)}
		run := func() {
			for range 100 {
				if err := m.Map(&rec, cs); err != nil {
					t.Fatal(err)
				}
			}
			cs.Reset()
		}
		run()
		if n := testing.AllocsPerRun(10, run); n > 0 {
			t.Errorf("%v allocations for 100 records", n)
		}
	}
}
