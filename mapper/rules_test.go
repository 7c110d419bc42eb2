package mapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

func longs(names ...string) []Field {
	out := make([]Field, len(names))
	for i, name := range names {
		out[i] = Field{Name: name, Type: Type{Kind: Long}}
	}
	return out
}

func of(k Kind) Type { return Type{Kind: k} }

func structOf(fields ...Field) Type { return Type{Kind: Struct, Fields: fields} }

// ruled maps one record, and gives its row or why there is none.
func ruled(t testing.TB, f Factory, s *Schema, value []byte) ([]any, error) {
	t.Helper()
	m, err := f(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	err = m.Map(&source.Record{Value: value}, cs)
	checkInvariants(t, cs)
	if err != nil {
		return nil, err
	}
	return rowOf(cs, 0), nil
}

func TestRulesSayWhichFieldGoesToWhichColumn(t *testing.T) {
	nested := func(name string, members ...Field) *Schema {
		return &Schema{Fields: []Field{{Name: name, Type: listOf(Field{Type: structOf(members...)})}}}
	}
	tests := map[string]struct {
		rules  Rules
		fields []Field
		json   string
		want   string // the row, or a code
	}{
		"a dot is part of a name": {Rules{Renames: []Rename{{Path{"a.b"}, "c"}}}, longs("c"), `{"a.b":1,"c":2,"a":{"b":3}}`, "[1]"},
		"two are exchanged":       {Rules{Renames: []Rename{{Path{"a"}, "b"}, {Path{"b"}, "a"}}}, longs("a", "b"), `{"a":1,"b":2}`, "[2 1]"},
		"inside a list": {Rules{Renames: []Rename{{Path{"Items"}, "items"}, {Path{"Items", "element", "x y"}, "x"}}},
			nested("items", longs("x", "y")...).Fields, `{"Items":[{"x y":1,"x":5,"y":2}]}`, "[[[1 2]]]"},
		"a dropped field is no column":     {Rules{Drop: []Path{{"b"}, {"z"}}}, longs("a", "b"), `{"b":{"any":1},"a":1,"z":0}`, "[1 <nil>]"},
		"any case":                         {Rules{FoldCase: true}, longs("userId", "straße"), `{"USERID":1,"STRAßE":2}`, "[1 2]"},
		"any case, with runes that fold":   {Rules{FoldCase: true}, longs("kiss", "Σ"), "{\"\u212aI\u017f\u017f\":1,\"ς\":2}", "[1 2]"},
		"any case, escaped":                {Rules{FoldCase: true}, longs("ab"), `{"\u0041B":1}`, "[1]"},
		"any case, nested":                 {Rules{FoldCase: true}, nested("L", longs("x")...).Fields, `{"l":[{"X":1},{"x":2}]}`, "[[[1] [2]]]"},
		"one column twice in another case": {Rules{FoldCase: true}, longs("a"), `{"a":1,"A":1}`, "duplicate_key"},
		"renamed in any case":              {Rules{FoldCase: true, Renames: []Rename{{Path{"Old"}, "new"}}}, longs("new"), `{"OLD":1,"NEW":2}`, "[1]"},
		"dropped in any case":              {Rules{FoldCase: true, Drop: []Path{{"A"}}}, longs("a", "b"), `{"a":1,"B":2}`, "[<nil> 2]"},
		"exact where nothing is said":      {Rules{Drop: []Path{{"z"}}}, longs("a"), `{"A":1}`, "[<nil>]"},
	}
	for name, tt := range tests {
		for range 2 { // the shortcuts know the second record
			row, err := ruled(t, WithRules(tt.rules, NewJSON(JSONOptions{})), &Schema{Fields: tt.fields}, []byte(tt.json))
			if got := fmt.Sprint(row); err == nil && got != tt.want || err != nil && string(codeOf(err)) != tt.want {
				t.Errorf("%s: %v %v, want %s", name, row, err, tt.want)
			}
		}
	}
}

func TestRulesAreTheSameForAvro(t *testing.T) {
	s := &Schema{Fields: append(longs("id", "hidden"), Field{Name: "in", Type: structOf(longs("x")...)})}
	rules := Rules{FoldCase: true, Renames: []Rename{{Path{"Key"}, "id"}, {Path{"IN", "y"}, "x"}}, Drop: []Path{{"Hidden"}}}
	w := recordOf("hidden long", "KEY long", `In {"type":"record","name":"I","fields":[{"name":"Y","type":"long"}]}`)
	row, err := ruled(t, WithRules(rules, NewAvro(AvroOptions{Schema: &w})), s, zz(9, 1, 2))
	if err != nil || fmt.Sprint(row) != "[1 <nil> [2]]" {
		t.Error(row, err)
	}
	twice := recordOf("a long", "A long")
	if _, err := WithRules(rules, NewAvro(AvroOptions{Schema: &twice}))(&Schema{Fields: longs("id", "x", "a")}); err == nil {
		t.Error("two fields go to one column")
	}
	_, err = WithRules(Rules{FoldCase: true}, NewAvro(AvroOptions{Schema: &twice}))(&Schema{Fields: longs("a")})
	if err == nil || !strings.Contains(err.Error(), "another case") {
		t.Error(err)
	}
}

func TestRulesThatDoNotFitTheTableAreRefused(t *testing.T) {
	s := &Schema{Fields: append(longs("a", "b", "A.b"), Field{Name: "r", Type: of(Long), Required: true}, Field{Name: "m", Type: mapOf(of(String), Field{Type: of(Long)})})}
	number, _ := ParseCast("number")
	epoch, _ := ParseCast("epoch_ms")
	for want, r := range map[string]Rules{
		"another field goes":              {Renames: []Rename{{Path{"b"}, "b"}, {Path{"x"}, "b"}}},
		"would both take the field":       {Renames: []Rename{{Path{"a"}, "b"}}},
		"there is no column":              {Renames: []Rename{{Path{"a"}, "c"}}},
		"there is no column \"in.x\"":     {Renames: []Rename{{Path{"in", "y"}, "x"}}},
		"required":                        {Drop: []Path{{"r"}}},
		"there is no such column":         {Casts: []ColumnCast{{Path{"c"}, number}}},
		"two rules":                       {Casts: []ColumnCast{{Path{"a"}, number}, {Path{"a"}, number}}},
		"for columns of type timestamp":   {Casts: []ColumnCast{{Path{"a"}, epoch}}},
		"keys of maps":                    {Casts: []ColumnCast{{Path{"m", "key"}, number}}},
		"no rule is given":                {Casts: []ColumnCast{{Path{"a"}, Cast{}}}},
		"a path has no name":              {Drop: []Path{{}}},
		"an empty name":                   {Renames: []Rename{{Path{"a", ""}, "b"}}},
		"the machine's own":               {Zone: time.Local},
		"rename of \"q\": the column has": {Renames: []Rename{{Path{"q"}, ""}}},
	} {
		_, err := WithRules(r, NewJSON(JSONOptions{}))(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	folded := &Schema{Fields: longs("a", "A")}
	if _, err := WithRules(Rules{FoldCase: true}, NewJSON(JSONOptions{}))(folded); err == nil || !strings.Contains(err.Error(), "would both take") {
		t.Error(err)
	}
}

func TestWithoutRulesTheFactoryIsTheSame(t *testing.T) {
	calls := 0
	f := Factory(func(s *Schema) (Mapper, error) {
		calls++
		if s.rule != nil {
			t.Error("the schema carries rules")
		}
		return nil, errors.New("none")
	})
	s := &Schema{Fields: longs("a")}
	WithRules(Rules{}, f)(s)
	if calls != 1 || s.Fields[0].rule != nil {
		t.Error(calls)
	}
}

func TestRulesLeaveTheTablesSchemaAlone(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "l", Type: listOf(Field{Type: structOf(longs("x")...)})}}}
	was, _ := json.Marshal(s)
	if _, err := WithRules(Rules{FoldCase: true, Renames: []Rename{{Path{"l", "element", "q"}, "x"}}}, NewJSON(JSONOptions{}))(s); err != nil {
		t.Fatal(err)
	}
	if is, _ := json.Marshal(s); string(is) != string(was) || s.Fields[0].rule != nil || s.Fields[0].Type.Fields[0].Type.Fields[0].rule != nil {
		t.Errorf("%s", is)
	}
}

func TestFoldedNamesAllocateNothing(t *testing.T) {
	s := &Schema{Fields: longs("alpha", "beta")}
	m, err := WithRules(Rules{FoldCase: true}, NewJSON(JSONOptions{}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	recs := []source.Record{{Value: []byte(`{"ALPHA":1,"Gamma":0,"BETA":2}`)}, {Value: []byte(`{"BETA":2,"OTHER":{},"Alpha":1}`)}}
	if n := testing.AllocsPerRun(100, func() {
		for i := range recs {
			if err := m.Map(&recs[i], cs); err != nil {
				t.Fatal(err)
			}
		}
		cs.Reset()
	}); n != 0 {
		t.Error(n)
	}
}

func FuzzFoldIsWhatEqualFoldSays(f *testing.F) {
	for _, s := range []string{"Kelvin", "\u212aelvin", "straße", "STRASSE", "Σς", "İi", "\xff", "ſS", "{a}[A]@`", ""} {
		f.Add(s, strings.ToUpper(s))
		f.Add(s, "k")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if got := foldName(a) == foldName(b); got != strings.EqualFold(a, b) {
			t.Errorf("%q %q: %v", a, b, got)
		}
	})
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestTimestampsWithoutAnOffsetAreOfTheNamedZone(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "t", Type: of(TimestampTz)}, {Name: "n", Type: of(TimestampTzNs)}, {Name: "l", Type: of(Timestamp)}}}
	f := WithRules(Rules{Zone: zoneOf(t, "Europe/Berlin")}, NewJSON(JSONOptions{}))
	micros := func(text string) int64 {
		v, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMicro()
	}
	for text, want := range map[string]any{
		"2024-01-15T12:00:00":       micros("2024-01-15T11:00:00Z"),
		"2024-07-15 12:00:00.5":     micros("2024-07-15T10:00:00.5Z"),
		"2024-07-15T12:00:00Z":      micros("2024-07-15T12:00:00Z"),
		"2024-07-15T12:00:00+05:00": micros("2024-07-15T07:00:00Z"),
		"2024-03-31T01:59:59.999":   micros("2024-03-31T00:59:59.999Z"),
		"2024-03-31T02:00:00":       "put forward", "2024-03-31T02:59:59": "put forward",
		"2024-03-31T03:00:00": micros("2024-03-31T01:00:00Z"),
		"2024-10-27T01:59:59": micros("2024-10-26T23:59:59Z"),
		"2024-10-27T02:00:00": "put back", "2024-10-27T02:59:59": "put back",
		"2024-10-27T03:00:00":            micros("2024-10-27T02:00:00Z"),
		"0001-01-01T00:00:00":            "years 1 to 9999", // begins before the year 1 in UTC
		"9999-12-31T23:59:59":            micros("9999-12-31T22:59:59Z"),
		"2024-02-30T00:00:00":            "no day",
		"2024-01-15T12:00:00.1234567":    "finer",
		"2024-01-15T12:00:00.1234560000": micros("2024-01-15T11:00:00.123456Z"),
	} {
		m, err := f(s)
		if err != nil {
			t.Fatal(err)
		}
		cs := mustColumns(t, s)
		for range 2 { // the second time the zone's period is remembered
			err = m.Map(&source.Record{Value: []byte(`{"t":"` + text + `"}`)}, cs)
			if why, bad := want.(string); bad {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: %v", text, err)
				}
			} else if err != nil || cs.Cols[0].I64[cs.Rows-1] != want {
				t.Errorf("%s: %v %v, want %v", text, err, cs.Cols[0].I64, want)
			}
		}
	}
	row, err := ruled(t, f, s, []byte(`{"t":1700000000123,"n":"2024-01-15T12:00:00.123456789","l":"2024-01-15T12:00:00"}`))
	want := []any{int64(1700000000123000), micros("2024-01-15T11:00:00Z")*1000 + 123456789, micros("2024-01-15T12:00:00Z")}
	if err != nil || !reflect.DeepEqual(row, want) {
		t.Error(row, err, want)
	}
	w := recordOf("t "+logical("long", "local-timestamp-millis"), "l "+logical("long", "local-timestamp-micros"), "n string")
	row, err = ruled(t, WithRules(Rules{Zone: zoneOf(t, "Europe/Berlin")}, NewAvro(AvroOptions{Schema: &w})), s,
		append(zz(1700000000123, 5), zstr("2024-01-15T12:00:00")...))
	want = []any{int64(1699996400123000), micros("2024-01-15T11:00:00Z") * 1000, int64(5)}
	if err != nil || !reflect.DeepEqual(row, want) {
		t.Error(row, err, want)
	}
}

// Every zone's local times are compared with all instants that show them.
func FuzzLocalTimeIsFoundWhereItIsOnce(f *testing.F) {
	f.Add("Europe/Berlin", int64(1711846800))
	f.Add("Australia/Lord_Howe", int64(1712412000))
	f.Add("Pacific/Apia", int64(1325203200))
	f.Add("Africa/Casablanca", int64(1680400800))
	f.Add("UTC", int64(0))
	f.Fuzz(func(t *testing.T, name string, local int64) {
		loc, err := time.LoadLocation(name)
		if err != nil || local < -1e10 || local > 1e11 {
			t.Skip()
		}
		z := newZone(loc)
		z.utc(local + 86400)
		got, fault := z.utc(local)
		var all []int64
		for off := int64(-16 * 3600); off <= 16*3600; off += 60 {
			for _, sec := range []int64{off, off + 28, off + 8} { // offsets that were not whole minutes
				u := local - sec
				if _, o := time.Unix(u, 0).In(loc).Zone(); int64(o) == sec && (len(all) == 0 || all[len(all)-1] != u) {
					all = append(all, u)
				}
			}
		}
		if fault == nil && (time.Unix(got, 0).In(loc).Format("2006-01-02T15:04:05") != time.Unix(local, 0).UTC().Format("2006-01-02T15:04:05")) ||
			fault == nil && len(all) > 1 || fault == faultTwofold && len(all) == 1 || fault == faultSkipped && len(all) > 0 {
			t.Errorf("%s %d: %d %v, by search %v", name, local, got, fault, all)
		}
	})
}
