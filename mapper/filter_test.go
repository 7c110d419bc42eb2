package mapper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

func filterSchema() *Schema {
	member := func(name string, k Kind) Field { return Field{Name: name, Type: Type{Kind: k}} }
	return &Schema{Fields: []Field{
		{Name: "id", Type: Type{Kind: Long}, Required: true},
		member("region", String), member("open", Boolean), member("n", Int), member("f", Float), member("d", Double),
		{Name: "amount", Type: Type{Kind: Decimal, Precision: 10, Scale: 2}},
		member("day", Date), member("at", TimestampTz), member("ref", UUID), member("raw", Binary),
		{Name: "tags", Type: Type{Kind: List, Fields: []Field{member("element", String)}}},
		{Name: "place", Type: Type{Kind: Struct, Fields: []Field{
			{Name: "country", Type: Type{Kind: String}, Required: true}, member("a.b", Int)}}},
	}}
}

func isSet(v bool) *bool { return &v }

func newFilter(t testing.TB, rules ...FilterRule) (*Filter, Mapper, *Columns) {
	t.Helper()
	f, err := NewFilter(rules)
	if err != nil {
		t.Fatal(err)
	}
	s := filterSchema()
	m, err := f.Wrap(NewJSON(JSONOptions{}))(s)
	if err != nil {
		t.Fatal(err)
	}
	SetPartition(m, source.Partition{Topic: "orders"})
	return f, m, mustColumns(t, s)
}

func TestARuleLeavesOutWhatMeetsAllItsConditions(t *testing.T) {
	header := func(name, value string) source.Header { return source.Header{Key: []byte(name), Value: []byte(value)} }
	column := func(in []string, notIn []string, exists *bool, path ...string) FilterRule {
		return FilterRule{Column: &ColumnMatch{Path: path, In: in, NotIn: notIn, Exists: exists}}
	}
	in := func(path string, values ...string) FilterRule { return column(values, nil, nil, path) }
	const id = `"id":1`
	tests := map[string]struct {
		rule FilterRule
		rec  source.Record
		body string // of the value, beside id
		want bool
	}{
		"tombstone":                     {rule: FilterRule{Tombstones: true}, body: "none", want: true},
		"no tombstone":                  {rule: FilterRule{Tombstones: true}},
		"topic":                         {rule: FilterRule{Topic: &Match{In: []string{"orders"}}}, want: true},
		"another topic":                 {rule: FilterRule{Topic: &Match{In: []string{"order"}}}},
		"topic of no list":              {rule: FilterRule{Topic: &Match{NotIn: []string{"others"}}, Key: &Match{Exists: isSet(false)}}, want: true},
		"a topic's rows":                {rule: FilterRule{Topic: &Match{In: []string{"orders"}}, Column: &ColumnMatch{Path: []string{"n"}, In: []string{"7"}}}, body: `,"n":7`, want: true},
		"another topic's rows":          {rule: FilterRule{Topic: &Match{In: []string{"order"}}, Column: &ColumnMatch{Path: []string{"n"}, In: []string{"7"}}}, body: `,"n":7`},
		"key":                           {rule: FilterRule{Key: &Match{In: []string{"a", "hb"}}}, rec: source.Record{Key: []byte("hb")}, want: true},
		"another key":                   {rule: FilterRule{Key: &Match{In: []string{"hb"}}}, rec: source.Record{Key: []byte("HB")}},
		"no key":                        {rule: FilterRule{Key: &Match{In: []string{""}}}},
		"a key of no bytes":             {rule: FilterRule{Key: &Match{In: []string{""}}}, rec: source.Record{Key: []byte{}}, want: true},
		"no key is in no list":          {rule: FilterRule{Key: &Match{NotIn: []string{"a"}}}, want: true},
		"key of the list":               {rule: FilterRule{Key: &Match{NotIn: []string{"a"}}}, rec: source.Record{Key: []byte("a")}},
		"key exists":                    {rule: FilterRule{Key: &Match{Exists: isSet(true)}}, rec: source.Record{Key: []byte{}}, want: true},
		"key does not exist":            {rule: FilterRule{Key: &Match{Exists: isSet(false)}}, want: true},
		"header":                        {rule: FilterRule{Header: &HeaderMatch{"env", Match{In: []string{"test"}}}}, rec: source.Record{Headers: []source.Header{header("env", "prod"), header("env", "test")}}, want: true},
		"header of another name":        {rule: FilterRule{Header: &HeaderMatch{"env", Match{In: []string{"test"}}}}, rec: source.Record{Headers: []source.Header{header("Env", "test")}}},
		"header without a value":        {rule: FilterRule{Header: &HeaderMatch{"env", Match{In: []string{""}}}}, rec: source.Record{Headers: []source.Header{{Key: []byte("env")}}}},
		"header not in":                 {rule: FilterRule{Header: &HeaderMatch{"env", Match{NotIn: []string{"prod"}}}}, rec: source.Record{Headers: []source.Header{header("env", "test")}}, want: true},
		"one header of the list":        {rule: FilterRule{Header: &HeaderMatch{"env", Match{NotIn: []string{"prod"}}}}, rec: source.Record{Headers: []source.Header{header("env", "test"), header("env", "prod")}}},
		"header exists":                 {rule: FilterRule{Header: &HeaderMatch{"env", Match{Exists: isSet(true)}}}, rec: source.Record{Headers: []source.Header{{Key: []byte("env")}}}, want: true},
		"header does not exist":         {rule: FilterRule{Header: &HeaderMatch{"env", Match{Exists: isSet(false)}}}, rec: source.Record{Headers: []source.Header{header("env", "")}}},
		"text":                          {rule: in("region", `"eu"`, `"\u0075s"`), body: `,"region":"us"`, want: true},
		"other text":                    {rule: in("region", `"eu"`), body: `,"region":"EU"`},
		"null is in no list":            {rule: in("region", `""`)},
		"null is not in a list":         {rule: column(nil, []string{`"eu"`}, nil, "region"), want: true},
		"text of the list":              {rule: column(nil, []string{`"eu"`}, nil, "region"), body: `,"region":"eu"`},
		"a column exists":               {rule: column(nil, nil, isSet(true), "region"), body: `,"region":""`, want: true},
		"a column does not exist":       {rule: column(nil, nil, isSet(false), "region"), body: `,"region":null`, want: true},
		"required":                      {rule: in("id", "1"), want: true},
		"boolean":                       {rule: in("open", "false"), body: `,"open":false`, want: true},
		"integer however it is written": {rule: in("n", "70e-1"), body: `,"n":7.0`, want: true},
		"another integer":               {rule: in("n", "7"), body: `,"n":8`},
		"float rounds as the column":    {rule: in("f", "0.1"), body: `,"f":0.1`, want: true},
		"zeros are equal":               {rule: in("d", "0"), body: `,"d":-0.0`, want: true},
		"decimal":                       {rule: in("amount", "12.3"), body: `,"amount":"12.30"`, want: true},
		"date":                          {rule: in("day", `"2024-02-29"`), body: `,"day":19782`, want: true},
		"timestamp":                     {rule: in("at", `"2024-02-29T12:00:00Z"`), body: `,"at":"2024-02-29T13:00:00+01:00"`, want: true},
		"uuid":                          {rule: in("ref", `"00000000-0000-0000-0000-00000000000A"`), body: `,"ref":"00000000-0000-0000-0000-00000000000a"`, want: true},
		"binary":                        {rule: in("raw", `"aGI="`), body: `,"raw":"aGI="`, want: true},
		"list exists":                   {rule: column(nil, nil, isSet(true), "tags"), body: `,"tags":[]`, want: true},
		"member":                        {rule: column([]string{`"de"`}, nil, nil, "place", "country"), body: `,"place":{"country":"de"}`, want: true},
		"member with a dot":             {rule: column([]string{"3"}, nil, nil, "place", "a.b"), body: `,"place":{"country":"de","a.b":3}`, want: true},
		// The required member of a null struct has a slot, which is no value.
		"member of nothing":          {rule: column([]string{`""`}, nil, nil, "place", "country")},
		"member of nothing is null":  {rule: column(nil, nil, isSet(false), "place", "country"), want: true},
		"all conditions":             {rule: FilterRule{Key: &Match{In: []string{"k"}}, Column: &ColumnMatch{Path: []string{"n"}, In: []string{"7"}}}, rec: source.Record{Key: []byte("k")}, body: `,"n":7`, want: true},
		"all conditions but the key": {rule: FilterRule{Key: &Match{In: []string{"k"}}, Column: &ColumnMatch{Path: []string{"n"}, In: []string{"7"}}}, rec: source.Record{Key: []byte("j")}, body: `,"n":7`},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			c.rule.Name = "r"
			f, m, cs := newFilter(t, c.rule)
			// A row before and one behind stay.
			other := source.Record{Value: []byte(`{"id":9,"region":"zz","day":1,"tags":["x"]}`)}
			inner, err := NewJSON(JSONOptions{})(cs.Schema)
			if err != nil {
				t.Fatal(err)
			}
			if err := inner.Map(&other, cs); err != nil {
				t.Fatal(err)
			}
			if c.rec.Value = []byte("{" + id + c.body + "}"); c.body == "none" {
				c.rec.Value = nil
			}
			err = m.Map(&c.rec, cs)
			var met *FilteredError
			if got := errors.As(err, &met) && errors.Is(err, ErrFiltered) && met.Rule == "r"; got != c.want || !got && err != nil {
				t.Errorf("got %v", err)
			}
			var n int64
			if met != nil {
				met.Count() // what is only looked at is not counted
			}
			f.Rules(func(_ string, records int64) { n = records })
			if (n == 1) != c.want || (cs.Rows == 1) != c.want {
				t.Errorf("%d counted, %d rows", n, cs.Rows)
			}
			checkInvariants(t, cs)
			if err := inner.Map(&other, cs); err != nil {
				t.Error(err)
			}
			checkInvariants(t, cs)
		})
	}
}

func TestTheFirstRuleThatIsMetCounts(t *testing.T) {
	rules := []FilterRule{
		{Name: "column", Column: &ColumnMatch{Path: []string{"n"}, In: []string{"7"}}},
		{Name: "key", Key: &Match{In: []string{"k"}}},
		{Name: "both", Key: &Match{In: []string{"k"}}, Column: &ColumnMatch{Path: []string{"n"}, In: []string{"7"}}},
	}
	f, m, cs := newFilter(t, rules...)
	for _, rec := range []source.Record{
		{Key: []byte("k"), Value: []byte(`{"id":1,"n":7}`)}, // no row is needed for the second
		{Key: []byte("j"), Value: []byte(`{"id":1,"n":7}`)},
		{Key: []byte("k"), Value: []byte(`no JSON`)},
		{Value: nil}, // a tombstone without a rule
	} {
		err := m.Map(&rec, cs)
		if !errors.Is(err, ErrFiltered) {
			t.Error(err)
		}
		var met *FilteredError
		if errors.As(err, &met) {
			met.Count()
		}
	}
	var bad *BadRecordError
	if err := m.Map(&source.Record{Value: []byte(`{"id":"x","n":7}`)}, cs); !errors.As(err, &bad) {
		t.Errorf("a bad record that a column's rule was meant for: %v", err)
	}
	var got []string
	f.Rules(func(name string, n int64) { got = append(got, fmt.Sprint(name, n)) })
	if want := "[column1 key2 both0]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestARuleThatCannotBeMeantIsRefused(t *testing.T) {
	yes := isSet(true)
	in := func(path string, values ...string) FilterRule {
		return FilterRule{Name: "r", Column: &ColumnMatch{Path: strings.Split(path, "/"), In: values}}
	}
	for want, rules := range map[string][]FilterRule{
		"empty or there twice":                          {{Name: "a", Tombstones: true}, {Name: "a", Tombstones: true}},
		"no condition":                                  {{Name: "a"}},
		"topic: Exists is set":                          {{Name: "a", Topic: &Match{Exists: yes}}},
		"key: exactly one":                              {{Name: "a", Key: &Match{}}},
		"header: exactly one":                           {{Name: "a", Header: &HeaderMatch{Name: "h", Match: Match{In: []string{"a"}, Exists: yes}}}},
		"header: it has no name":                        {{Name: "a", Header: &HeaderMatch{Match: Match{Exists: yes}}}},
		"column: it has no name":                        {{Name: "a", Column: &ColumnMatch{Exists: yes}}},
		"column: exactly one":                           {{Name: "a", Column: &ColumnMatch{Path: []string{"n"}, In: []string{"1"}, NotIn: []string{"2"}}}},
		"10001 values; there may be":                    {in("n", make([]string, maxMatchValues+1)...)},
		`column "nope": the table has no such column`:   {in("nope", "1")},
		`column "n.x": "n" is of type int`:              {in("n/x", "1")},
		`column "tags" is of type list<string>`:         {in("tags", "[]")},
		`column "n" of type int: the value "7": not an`: {in("n", `"7"`)},
		`the value 7.5: a number with a fraction`:       {in("n", `7.5`)},
		`the value 1,"w":2: it is not one JSON`:         {in("n", `1,"w":2`)},
		`the value null`:                                {in("n", `null`)},
		`the value 1.234: more digits`:                  {in("amount", `1.234`)},
	} {
		f, err := NewFilter(rules)
		if err == nil {
			_, err = f.Wrap(NewJSON(JSONOptions{}))(filterSchema())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestAFilterAllocatesNothing(t *testing.T) {
	_, m, cs := newFilter(t,
		FilterRule{Name: "a", Key: &Match{In: []string{"k"}}},
		FilterRule{Name: "b", Header: &HeaderMatch{"h", Match{In: []string{"x"}}}},
		FilterRule{Name: "c", Column: &ColumnMatch{Path: []string{"region"}, NotIn: []string{`"eu"`}}})
	records := []source.Record{
		{Key: []byte("k"), Value: []byte(`{"id":1}`)},
		{Headers: []source.Header{{Key: []byte("h"), Value: []byte("x")}}, Value: []byte(`{"id":1}`)},
		{Value: []byte(`{"id":1,"region":"us"}`)},
		{Value: []byte(`{"id":1,"region":"eu"}`)},
	}
	run := func() {
		for i := range records {
			if err := m.Map(&records[i], cs); err != nil && !errors.Is(err, ErrFiltered) {
				t.Fatal(err)
			}
		}
		cs.Reset()
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
