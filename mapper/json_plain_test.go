package mapper

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/stormfloe/floe/source"
)

var stampKinds = []Kind{Timestamp, TimestampTz, TimestampNs, TimestampTzNs}

// plainCheck reads one value by each shortcut, and where one takes it, by the strict way too.
type plainCheck struct {
	m     *jsonMapper
	text  [2]*Column // by the shortcut, and strictly
	truth [2]*Column
	stamp [2]*Column
}

func newPlainCheck() *plainCheck {
	p := &plainCheck{m: &jsonMapper{depth: defaultDepth}}
	for i := range 2 {
		p.text[i] = newColumn(&Field{Type: Type{Kind: String}})
		p.truth[i] = newColumn(&Field{Type: Type{Kind: Boolean}})
		p.stamp[i] = newColumn(&Field{Type: Type{Kind: TimestampTz}})
	}
	return p
}

func (p *plainCheck) run(t testing.TB, b []byte) {
	if len(b) == 0 {
		return
	}
	p.numbers(t, b)
	p.integers(t, b)
	p.booleans(t, b)
	for _, k := range stampKinds {
		p.stamps(t, b, k)
	}
	if b[0] == '"' {
		p.texts(t, b)
	}
}

func (p *plainCheck) integers(t testing.TB, b []byte) {
	for _, k := range []Kind{Int, Long} {
		c, n := newColumn(&Field{Type: Type{Kind: k}}), &jsonNode{kind: k, col: newColumn(&Field{Type: Type{Kind: k}})}
		end := shortcutOf(k)(c, b, 0)
		if end == 0 {
			continue
		}
		if strict := p.m.value(n, b, 0, 1); strict != end || !reflect.DeepEqual(valueOf(c, 0), valueOf(n.col, 0)) {
			t.Fatalf("%s %q: up to %d, strictly %d", k, b, end, strict)
		}
	}
}

func (p *plainCheck) numbers(t testing.TB, b []byte) {
	if v, end := simpleInt(b, 0); end > 0 {
		if want, f := split(b[:end]).int64(); numberEnd(b, 0) != end || f != nil || v != want {
			t.Fatalf("%q: integer %d up to %d, strictly %d, %v", b, v, end, want, f)
		}
	}
	neg, mant, frac, end := simple(b, 0)
	if end == 0 {
		return
	}
	lit := b[:end]
	want := bytes.TrimPrefix(bytes.Replace(lit, []byte("."), nil, 1), []byte("-"))
	if got, err := strconv.ParseUint(string(want), 10, 64); numberEnd(b, 0) != end || err != nil || got != mant || neg != (b[0] == '-') {
		t.Fatalf("%q: %d up to %d, strictly %d, %v", b, mant, end, got, err)
	}
	if i := bytes.IndexByte(lit, '.'); i >= 0 && frac != len(lit)-i-1 || i < 0 && frac != 0 {
		t.Fatalf("%q: %d digits behind the point", b, frac)
	}
	p.floats(t, b, lit)
}

func (p *plainCheck) floats(t testing.TB, b, lit []byte) {
	for _, k := range []Kind{Float, Double} {
		n := &jsonNode{kind: k, shortcut: shortcutOf(k), col: newColumn(&Field{Type: Type{Kind: k}})}
		end := n.shortcut(n.col, b, 0)
		if end == 0 {
			end = p.m.value(n, b, 0, 1)
		}
		if k == Double {
			want, f := float64Of(lit)
			if (f == nil) != (end > 0) || f == nil && math.Float64bits(n.col.F64[0]) != math.Float64bits(want) {
				t.Fatalf("%q: %v, strictly %v", b, n.col.F64, want)
			}
			continue
		}
		want, f := float32Of(lit)
		if (f == nil) != (end > 0) || f == nil && math.Float32bits(n.col.F32[0]) != math.Float32bits(want) {
			t.Fatalf("%q: %v, strictly %v", b, n.col.F32, want)
		}
	}
}

func (p *plainCheck) booleans(t testing.TB, b []byte) {
	c := p.truth
	for _, c := range c {
		c.ensure(1)
	}
	end := c[0].plainBool(b, 0)
	if end == 0 {
		return
	}
	if strict := p.m.boolean(&jsonNode{kind: Boolean, col: c[1]}, b, 0); strict != end || !reflect.DeepEqual(valueOf(c[0], c[0].Len-1), valueOf(c[1], c[1].Len-1)) {
		t.Fatalf("%q: up to %d, strictly %d", b, end, strict)
	}
}

func (p *plainCheck) texts(t testing.TB, b []byte) {
	c := p.text
	had := len(c[0].Data)
	end := c[0].plainText(b, 0)
	if end == 0 {
		if len(c[0].Data) != had || c[0].Len != len(c[0].Off)-1 {
			t.Fatalf("%q: not taken, but the column changed", b)
		}
		return
	}
	if strict := p.m.textValue(&jsonNode{kind: String, col: c[1]}, b, 1); strict != end || c[0].Len != c[1].Len || !bytes.Equal(c[0].Data, c[1].Data) || !reflect.DeepEqual(c[0].Off, c[1].Off) {
		t.Fatalf("%q: up to %d, strictly %d", b, end, strict)
	}
}

func (p *plainCheck) stamps(t testing.TB, b []byte, k Kind) {
	c := p.stamp
	for i := range c {
		c[i].kind = k
		c[i].ensure(1)
	}
	// Sometimes the shortcut knows the text's minute, if it has one.
	if len(b) > 20 {
		_, _, _ = c[0].day.parseStamp(append(bytes.Clone(b[1:17]), ":00"...), false)
	}
	end := c[0].plainStamp(b, 0)
	if end == 0 {
		return
	}
	c[1].day = dayCache{}
	strict := p.m.formed(&jsonNode{kind: k, col: c[1]}, b, 0)
	if strict != end || c[0].Len != c[1].Len || c[0].I64[c[0].Len-1] != c[1].I64[c[1].Len-1] {
		t.Fatalf("%s %q: up to %d, strictly %d", k, b, end, strict)
	}
}

// plainSeeds are values that the shortcuts take, and near ones that they must not; what stands behind a value is within reach
// of its shortcut.
func plainSeeds() []string {
	values := []string{`0`, `-0`, `7`, `2147483647`, `-2147483648`, `2147483648`, `253402300799999`, `253402300800000`, `-62135596800001`, `-7`, `01`, `1234567`, `12345678`, `123456789`, `999999999999999999`, `9223372036854775807`, `1.0`, `1e0`, `1E5`, `12x`, `-`, `1.`,
		`-0.0`, `0.1`, `1234567.1234567`, `12345678.12345678`, `123.45`, `0.30000000000000004`, `9007199254740993`, `16777217`, `1.5e3`, `.5`,
		`true`, `false`, `trues`, `falsy`, `tru`, `null`, `""`, `"a"`, `"click"`, `"exactly sixteen"`, `"exactly 16 bytes"`, `"fifteen bytes.."`,
		`"a string of more than two words, but no special ones"`, `"quote \" in"`, "\"control \x1f\"", "\"tab\t\"", `"h\u00e9"`, `"é"`, `"ends in é"`, "\"\xff\"", "\"\x7f\"", `"!#[]^ ~"`, `"open`,
		`"` + string(bytes.Repeat([]byte("x"), 239)) + `"`, `"` + string(bytes.Repeat([]byte("x"), 255)) + `"`, `"` + string(bytes.Repeat([]byte("x"), 300)) + `"`}
	for _, s := range []string{"", ".1", ".12", ".123", ".1234", ".123456", ".1234567", ".123456789", ".1234567890", ".", ".12a"} {
		for _, z := range []string{"", "Z", "z", "+00:00", "-01:30"} {
			values = append(values, `"2024-02-29T12:34:56`+s+z+`"`)
		}
	}
	values = append(values, `"2024-02-29T12:34:60Z"`, `"2024-02-30T12:34:00Z"`, `"2024-02-29 12:34:59Z"`, `"2024-02-29t12:34:5Z"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59.999999Z"`, `"2262-04-11T23:47:16.854775808Z"`, `"2262-04-11T23:47:16.854775807Z"`)
	for _, v := range values[:len(values):len(values)] {
		values = append(values, v+`,"next":1234567890123}`, v+` , "z":0}`)
	}
	return values
}

func FuzzPlainValues(f *testing.F) {
	for _, s := range plainSeeds() {
		f.Add([]byte(s))
	}
	p := newPlainCheck()
	f.Fuzz(func(t *testing.T, b []byte) { p.run(t, b) })
}

func TestPlainValuesAreTheStrictOnes(t *testing.T) {
	p := newPlainCheck()
	seeds := plainSeeds()
	for _, s := range seeds {
		p.run(t, []byte(s))
	}
	r := rand.New(rand.NewPCG(8, 8))
	alphabet := []byte("{}[]\",:\\ \t0123456789-+.eEtrufalsnTZ\x00\x1f\xff\xc3\xa9")
	for range 20000 {
		b := []byte(seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(2) {
			b = mutate(r, b, alphabet, seeds)
		}
		p.run(t, b)
	}
}

func TestPlainValuesTakeTheShortcut(t *testing.T) {
	const behind = `,"next":1234567890123}`
	for _, v := range []string{`0`, `-7`, `1234567890`, `999999999999999999`} {
		if _, end := simpleInt([]byte(v+behind), 0); end != len(v) {
			t.Errorf("integer %s: up to %d", v, end)
		}
		if _, _, _, end := simple([]byte(v+behind), 0); end != len(v) {
			t.Errorf("number %s: up to %d", v, end)
		}
	}
	p := newPlainCheck()
	for _, v := range []string{`true`, `false`} {
		p.truth[0].ensure(1)
		if end := p.truth[0].plainBool([]byte(v+behind), 0); end != len(v) {
			t.Errorf("%s: up to %d", v, end)
		}
	}
	for _, v := range []string{`""`, `"click"`, `"a string of more than two words, but no special ones"`} {
		if end := p.text[0].plainText([]byte(v+behind), 0); end != len(v) {
			t.Errorf("%s: up to %d", v, end)
		}
	}
	c := p.stamp[0]
	for _, v := range []string{`"2024-02-29T12:34:56Z"`, `"2024-02-29T12:34:56.789Z"`, `"2024-02-29T12:34:56.123456Z"`} {
		if f := c.appendText([]byte("2024-02-29T12:34:00+01:00")); f != nil {
			t.Fatal(f)
		}
		if end := c.plainStamp([]byte(v+behind), 0); end != len(v) {
			t.Errorf("%s: up to %d", v, end)
		}
	}
	// Nothing lies behind the record's last value but the brace.
	if end := c.plainStamp([]byte(`"2024-02-29T12:34:56.789Z"}`), 0); end != 26 {
		t.Errorf("timestamp at the record's end: up to %d", end)
	}
}

// learnedCheck maps a record with a mapper that has seen others before, and with one that has seen none.
func learnedCheck(t testing.TB, s *Schema, before, b []byte) {
	m, cs := mustJSON(t, s)
	if err := m.Map(&source.Record{Value: before}, cs); err != nil {
		var bad *BadRecordError
		if !errors.As(err, &bad) {
			t.Fatal(err)
		}
	}
	cs.Reset()
	fresh, want := mustJSON(t, s)
	err, strict := m.Map(&source.Record{Value: b}, cs), fresh.Map(&source.Record{Value: b}, want)
	if !reflect.DeepEqual(err, strict) || !reflect.DeepEqual(rowsOf(cs), rowsOf(want)) {
		t.Fatalf("%q behind %q: %v %v, alone %v %v", b, before, err, rowsOf(cs), strict, rowsOf(want))
	}
	checkInvariants(t, cs)
}

func learnedSeeds() []string {
	return append(oracleSeeds()[:5], `{"i": 1, "l": 2, "s": "x", "d": 1.5}`, `{ "l":2 ,"i":1	,
"s":"x"}`, `{"\u0069":1,"\u006c" :2}`, `{"i":1,"s":"abc"}`, `{"i":1,"l":2,"s":"abc"}`, `{"l":1,"l":2}`, `{"x":1, "y":2, "i":3}`, `{}`, `{"o":{"s": "x", "r": 1}}`, `{"o":{"r":1,"s":"x"}}`,
		`{"i" :1,}`, `{,"i":1}`, `{"i":1 "l":2}`, `{"i":1{"l":2}}`, `{"i":1;"l":2}`)
}

// A column that has seen no timestamp yet remembers no minute that is not one.
func TestPlainStampsOfANewColumn(t *testing.T) {
	for _, k := range stampKinds {
		zone := ""
		if k == TimestampTz || k == TimestampTzNs {
			zone = "Z"
		}
		for text, good := range map[string]bool{"1970-01-01T00:00": true, string(make([]byte, 16)): false} {
			m, cols := jsonFor(t, k)
			err := m.Map(&source.Record{Value: []byte(`{"v":"` + text + `:30.123` + zone + `"}`)}, cols)
			if (err == nil) != good {
				t.Errorf("%s %q: %v", k, text, err)
			}
			want := int64(30123000)
			if k == TimestampNs || k == TimestampTzNs {
				want *= 1000
			}
			if good && cols.Cols[0].I64[0] != want {
				t.Errorf("%s %q: %d, not %d", k, text, cols.Cols[0].I64[0], want)
			}
		}
	}
}

func jsonFor(t *testing.T, k Kind) (Mapper, *Columns) {
	s := &Schema{Fields: []Field{{Name: "v", Type: Type{Kind: k}}}}
	m, err := NewJSON(JSONOptions{})(s)
	if err != nil {
		t.Fatal(err)
	}
	cols, err := NewColumns(s)
	if err != nil {
		t.Fatal(err)
	}
	return m, cols
}

func FuzzLearnedKeys(f *testing.F) {
	seeds := learnedSeeds()
	for i, s := range seeds {
		f.Add([]byte(seeds[(i+1)%len(seeds)]), []byte(s))
		f.Add([]byte(s), []byte(s))
	}
	s := oracleSchema()
	f.Fuzz(func(t *testing.T, before, b []byte) { learnedCheck(t, s, before, b) })
}

func TestLearnedKeysChangeNothing(t *testing.T) {
	s, seeds := oracleSchema(), learnedSeeds()
	for _, before := range seeds {
		for _, b := range seeds {
			learnedCheck(t, s, []byte(before), []byte(b))
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	alphabet := []byte("{}[]\",:\\ \t\n0123456789ilsdor")
	for range 4000 {
		before := seeds[r.IntN(len(seeds))]
		learnedCheck(t, s, []byte(before), mutate(r, []byte(before), alphabet, seeds))
	}
}
