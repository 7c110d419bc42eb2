package mapper

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stormfloe/floe/source"
)

// laxer says whether encoding/csv takes what RFC 4180 does not have, or not for one record: carriage returns on their own, and
// blank lines, which it leaves out.
func laxer(value string) bool {
	for i := range len(value) {
		if value[i] == '\r' && (i+1 == len(value) || value[i+1] != '\n') {
			return true
		}
	}
	text := strings.ReplaceAll(value, "\r\n", "\n")
	return strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n\n")
}

// FuzzCSV holds the reader of lines against encoding/csv.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"", "1,x,y", "1,x,y\r\n", ",,", `"",""""," "`, "1,\"a,\"\"b\"\"\r\nc\",y\n", "1,x\n", "1,x,y,", "1,x,y\n2,x,y", "\n1,x,y", "1,x,y\n\n",
		`1,x"y,z`, `1,"y"x,z`, `1,x,"y`, "1,x\ry,z", "1,\xff,y", "\ufeff1,x,y", "\"a\r\nb\",\"\r\",\r\n", "a,b,\"c\"\r", "\x00,\x00,\x00",
	} {
		f.Add(s)
	}
	s := &Schema{}
	for i, name := range []string{"a", "b", "c"} {
		s.Fields = append(s.Fields, Field{ID: i + 1, Name: name, Type: Type{Kind: String}, Required: true})
	}
	m, err := NewCSV(CSVOptions{Columns: []string{"a", "b", "c"}, Null: "no field of these tests"})(s)
	if err != nil {
		f.Fatal(err)
	}
	cs := mustColumns(f, s)
	f.Fuzz(func(t *testing.T, value string) {
		defer cs.Reset()
		err := m.Map(&source.Record{Value: []byte(value)}, cs)
		checkInvariants(t, cs)
		r := csv.NewReader(strings.NewReader(value))
		r.FieldsPerRecord = 3
		want, werr := r.ReadAll()
		var bad *BadRecordError
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Fatal(err)
		case !utf8.ValidString(value) || strings.HasPrefix(value, "\ufeff"):
			if err == nil {
				t.Fatal("no UTF-8, or a byte order mark, was taken")
			}
		case err != nil:
			if werr == nil && len(want) == 1 && !laxer(value) {
				t.Fatalf("%v, but encoding/csv reads %q", err, want)
			}
		case werr != nil || len(want) != 1:
			t.Fatalf("got %q, but encoding/csv reads %q, %v", rowOf(cs, 0), want, werr)
		default:
			for i, w := range want[0] {
				// encoding/csv turns line ends inside of quotes into line feeds.
				if got := strings.ReplaceAll(string(cs.Cols[i].Slot(0)), "\r\n", "\n"); got != w {
					t.Fatalf("field %d: got %q, want %q", i, got, w)
				}
			}
		}
	})
}

// literal is a text that may be a JSON number or boolean, and cannot be more than one token.
var jsonLiteral = regexp.MustCompile(`^[-+.0-9a-zA-Z]+$`)

// FuzzCSVText holds that a field means what the same text means in JSON: as text, or as a number or boolean.
func FuzzCSVText(f *testing.F) {
	for _, s := range []string{
		"1", "-0", "1.0", "1e2", "01", "NaN", "true", "2147483648", "9223372036854775808", "1e400", "0.1", "12.340", "2024-02-29", "2023-02-29",
		"12:34:56.789", "2024-02-29T12:34:56Z", "2024-02-29 12:34:56.123456789", "123e4567-e89b-12d3-a456-426614174000", "AQI=", "AQI", "", "größer", "a\"b,\r\n",
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "1969-12-31T23:59:59.999999Z", "1677-09-21T00:12:43.145224192Z",
	} {
		f.Add(s)
	}
	kinds := []Type{{Kind: String}, {Kind: Date}, {Kind: Time}, {Kind: Timestamp}, {Kind: TimestampTz}, {Kind: TimestampNs}, {Kind: TimestampTzNs},
		{Kind: Decimal, Precision: 9, Scale: 2}, {Kind: UUID}, {Kind: Binary}, {Kind: Fixed, Length: 2},
		{Kind: Boolean}, {Kind: Int}, {Kind: Long}, {Kind: Float}, {Kind: Double}}
	type pair struct {
		csv, json Mapper
		cols      [2]*Columns
		typ       Type
	}
	var pairs []pair
	for _, typ := range kinds {
		s := &Schema{Fields: []Field{{ID: 1, Name: "c", Type: typ, Required: true}}}
		a, err := NewCSV(CSVOptions{Columns: []string{"c"}, Null: "no field of these tests"})(s)
		if err != nil {
			f.Fatal(err)
		}
		b, err := NewJSON(JSONOptions{})(s)
		if err != nil {
			f.Fatal(err)
		}
		pairs = append(pairs, pair{a, b, [2]*Columns{mustColumns(f, s), mustColumns(f, s)}, typ})
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		asCSV := []byte(`"` + strings.ReplaceAll(text, `"`, `""`) + `"`)
		for _, p := range pairs {
			var value bytes.Buffer
			if k := p.typ.Kind; k == Boolean || k == Int || k == Long || k == Float || k == Double {
				if !jsonLiteral.MatchString(text) || text == "null" {
					continue
				}
				fmt.Fprintf(&value, `{"c":%s}`, text)
			} else {
				e := json.NewEncoder(&value)
				e.SetEscapeHTML(false)
				if err := e.Encode(map[string]string{"c": text}); err != nil {
					t.Fatal(err)
				}
			}
			err := p.csv.Map(&source.Record{Value: asCSV}, p.cols[0])
			jerr := p.json.Map(&source.Record{Value: value.Bytes()}, p.cols[1])
			if (err == nil) != (jerr == nil) {
				t.Fatalf("%s of %q: CSV gives %v, JSON %v", &p.typ, text, err, jerr)
			}
			if err == nil && !reflect.DeepEqual(rowOf(p.cols[0], 0), rowOf(p.cols[1], 0)) {
				t.Fatalf("%s of %q: CSV gives %v, JSON %v", &p.typ, text, rowOf(p.cols[0], 0), rowOf(p.cols[1], 0))
			}
			p.cols[0].Reset()
			p.cols[1].Reset()
		}
	})
}
