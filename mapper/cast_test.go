package mapper

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
)

func mustCast(t testing.TB, text string) Cast {
	t.Helper()
	k, err := ParseCast(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCastsThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"", "epoch", "epoch_", "epoch_h", "epoch_ms(all)", "epoch_ms(any", "days(any)", "unscaled", "unscaled()", "unscaled(-1)", "unscaled(39)", "Number", "midnight_ms(any)", "number()"} {
		if k, err := ParseCast(text); err == nil {
			t.Errorf("%q: %v", text, k)
		}
	}
}

// decimalOf is a decimal's value in a column.
func decimalOf(unscaled int64) string {
	neg := unscaled < 0
	if neg {
		unscaled = -unscaled
	}
	return string(appendInt128(nil, neg, 0, uint64(unscaled)))
}

func TestCastsOfJSON(t *testing.T) {
	dec := Type{Kind: Decimal, Precision: 10, Scale: 2}
	b64 := func(b ...byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` }
	type cells map[string]any // JSON to value or code
	for _, tt := range []struct {
		rule string
		typ  Type
		in   cells
	}{
		{"number", of(Long), cells{`"12"`: int64(12), `12`: int64(12), `"1.20e1"`: int64(12), `"-9223372036854775808"`: int64(math.MinInt64), `""`: CodeType, `" 1"`: CodeType, `"0x1"`: CodeType,
			`"1.5"`: CodePrecision, `"9223372036854775808"`: CodeRange, `true`: CodeType, `[]`: CodeType, `null`: nil, `01`: CodeSyntax, `tru`: CodeSyntax, `"+1"`: CodeType, `"1_0"`: CodeType, `"١"`: CodeType}},
		{"number", of(Int), cells{`"2147483648"`: CodeRange, `"7"`: int32(7)}},
		{"number", of(Double), cells{`"0.1"`: 0.1, `1e400`: CodeRange, `"NaN"`: CodeType}},
		{"number", of(Float), cells{`"0.1"`: float32(0.1)}},
		{"number", dec, cells{`"1.20"`: decimalOf(120), `1.2`: decimalOf(120), `"1.234"`: CodePrecision}},
		{"text", of(String), cells{`"a"`: "a", `1.50`: "1.50", `-0`: "-0", `1e400`: "1e400", `true`: "true", `{}`: CodeType, `null`: nil, `"\u0041"`: "A", `1.`: CodeSyntax}},
		{"boolean", of(Boolean), cells{`0`: false, `1`: true, `"0"`: false, `"1"`: true, `true`: true, `"false"`: false, `1.0`: true, `2`: CodeType, `-1`: CodeType, `"yes"`: CodeType, `"True"`: CodeType, `0.5`: CodeType, `"1.0"`: CodeType, `1e99`: CodeType}},
		{"epoch_s", of(TimestampTz), cells{`1700000000`: int64(1700000000e6), `1700000000.123456`: int64(1700000000123456), `1700000000.1234567`: CodePrecision, `"1700000000"`: int64(1700000000e6),
			`0`: int64(0), `-86400`: int64(-86400e6), `86400`: CodeRange, `1700000000000`: CodeRange, `"2024-01-01T00:00:00Z"`: CodeType, `true`: CodeType, `253402300799`: int64(253402300799e6), `253402300800`: CodeRange}},
		{"epoch_ms", of(Timestamp), cells{`1700000000123`: int64(1700000000123000), `1700000000`: CodeRange, `1700000000123456`: CodeRange, `1.7e12`: int64(1700000000e6)}},
		{"epoch_ms", of(TimestampTz), cells{`253402300799999`: int64(253402300799999000), `253402300800000`: CodeRange, `-62135596800000`: int64(-62135596800000000), `-62135596800001`: CodeRange}},
		{"epoch_ms", of(TimestampTzNs), cells{`9223372036854`: int64(9223372036854000000), `9223372036855`: CodeRange}}, {"epoch_s(any)", of(Timestamp), cells{`1700000000123`: CodeRange}},
		{"epoch_ms(any)", of(Timestamp), cells{`1700000000`: int64(1700000000000), `86400000`: int64(86400e6)}},
		{"epoch_us", of(TimestampTz), cells{`1700000000123456`: int64(1700000000123456), `1700000000123`: CodeRange}},
		{"epoch_ns", of(TimestampTz), cells{`1700000000123456000`: int64(1700000000123456), `1700000000123456789`: CodePrecision}},
		{"epoch_ns", of(TimestampTzNs), cells{`1700000000123456789`: int64(1700000000123456789), `1700000000123`: CodeRange, `9223372036854775808`: CodeRange}},
		{"epoch_s", of(TimestampNs), cells{`1700000000.123456789`: int64(1700000000123456789), `9223372037`: CodeRange}},
		{"midnight_ms", of(Time), cells{`0`: int64(0), `86399999`: int64(86399999000), `86400000`: CodeRange, `-1`: CodeRange, `"12:00:00"`: CodeType}},
		{"midnight_us", of(Time), cells{`1`: int64(1)}}, {"midnight_ns", of(Time), cells{`1000`: int64(1), `1`: CodePrecision}}, {"midnight_s", of(Time), cells{`1.5`: int64(1500000)}},
		{"days", of(Date), cells{`19000`: int32(19000), `"-1"`: int32(-1), `2932897`: CodeRange, `1.5`: CodePrecision, `9999999999999999999`: CodeRange, `"2024-01-01"`: CodeType}},
		{"unscaled(2)", dec, cells{b64(4, 210): decimalOf(1234), b64(0xff): decimalOf(-1), `""`: CodeType, `"?"`: CodeType, `12.34`: CodeType, b64(make([]byte, 20)...): decimalOf(0)}},
		{"unscaled(3)", dec, cells{b64(4, 210): CodePrecision, b64(4, 216): decimalOf(124)}},
		{"unscaled(0)", dec, cells{b64(5): decimalOf(500), b64(0x7f, 0xff, 0xff, 0xff): CodeRange}},
		{"variable_scale", dec, cells{`{"scale":2,"value":` + b64(4, 210) + `}`: decimalOf(1234), `{"value":` + b64(12) + `,"scale":-1,"x":0}`: decimalOf(12000), `{"scale":1}`: CodeRequired,
			`{"scale":2,"value":null}`: CodeRequired, `1`: CodeType, `{"scale":2147483647,"value":"AQ=="}`: CodeRange, `{"scale":0,"value":"AQ==","scale":1}`: CodeDuplicateKey, `null`: nil}},
	} {
		s := &Schema{Fields: []Field{{Name: "c", Type: tt.typ}}}
		list := &Schema{Fields: []Field{{Name: "c", Type: listOf(Field{Type: tt.typ})}}}
		for in, want := range tt.in {
			f := WithRules(Rules{Casts: []ColumnCast{{Path{"c"}, mustCast(t, tt.rule)}}}, NewJSON(JSONOptions{}))
			row, err := ruled(t, f, s, []byte(`{"c":`+in+`}`))
			f = WithRules(Rules{Casts: []ColumnCast{{Path{"c", "element"}, mustCast(t, tt.rule)}}}, NewJSON(JSONOptions{}))
			inList, lerr := ruled(t, f, list, []byte("{\"c\":[ "+in+"\n]}"))
			if code, bad := want.(Code); bad {
				if codeOf(err) != code || codeOf(lerr) != code {
					t.Errorf("%s of %s: %v %v, %v, want %s", tt.rule, in, row, err, lerr, code)
				}
			} else if err != nil || lerr != nil || row[0] != want || fmt.Sprint(inList[0]) != fmt.Sprint([]any{want}) {
				t.Errorf("%s of %s: %v %v %v %v, want %v", tt.rule, in, row, err, inList, lerr, want)
			}
		}
	}
}

func TestCastsOfAvro(t *testing.T) {
	dec := Type{Kind: Decimal, Precision: 10, Scale: 2}
	variable := `{"type":"record","name":"VariableScaleDecimal","namespace":"io.debezium.data","fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}]}`
	connect := func(typ, name string) string {
		return fmt.Sprintf(`["null",{"type":%q,"connect.version":1,"connect.name":%q}]`, typ, name)
	}
	for _, tt := range []struct {
		rule string
		typ  Type
		avro string
		body []byte
		want any // value, code, or text of the factory's error
	}{
		{"number", of(Long), "string", zstr("12"), int64(12)}, {"number", of(Long), "long", zz(12), int64(12)}, {"number", of(Double), "string", zstr("1.5"), 1.5}, {"number", of(Long), "string", zstr(""), CodeType},
		{"number", of(Long), `["null","string","long"]`, append(zz(1), zstr("12")...), int64(12)}, {"number", of(Long), `["null","string","long"]`, zz(2, 12), int64(12)}, {"number", of(Long), `["null","string","long"]`, zz(0), nil},
		{"text", of(String), "long", zz(-12), "-12"}, {"text", of(String), "int", zz(7), "7"}, {"text", of(String), "boolean", []byte{1}, "true"}, {"text", of(String), "boolean", []byte{2}, CodeSyntax},
		{"text", of(String), "double", f64(0.1), "0.1"}, {"text", of(String), "float", f32(0.1), "0.1"}, {"text", of(String), "double", f64(math.NaN()), CodeType}, {"text", of(String), "string", zstr("a"), "a"},
		{"text", of(String), logical("long", "timestamp-millis"), zz(1), "does not fit"},
		{"boolean", of(Boolean), "int", zz(1), true}, {"boolean", of(Boolean), "long", zz(2), CodeType}, {"boolean", of(Boolean), "string", zstr("0"), false}, {"boolean", of(Boolean), "boolean", []byte{1}, true},
		{"epoch_ms", of(TimestampTz), "long", zz(1700000000123), int64(1700000000123000)}, {"epoch_ms", of(TimestampTz), "long", zz(1700000000), CodeRange}, {"epoch_s", of(TimestampTz), "string", zstr("1700000000"), int64(1700000000e6)},
		{"epoch_ms", of(TimestampTz), logical("long", "timestamp-micros"), zz(5), int64(5)}, {"epoch_ms", of(TimestampTz), "double", f64(5), "does not fit"},
		{"midnight_ms", of(Time), "int", zz(1000), int64(1000000)}, {"days", of(Date), "int", zz(19000), int32(19000)},
		{"unscaled(2)", dec, "bytes", append(zz(2), 4, 210), decimalOf(1234)}, {"unscaled(2)", dec, `{"type":"fixed","name":"F","size":2}`, []byte{4, 210}, decimalOf(1234)},
		{"unscaled(2)", dec, "long", zz(5), "not written as the column's cast says"}, {"variable_scale", dec, "string", zstr("12"), "not written as the column's cast says"},
		{"variable_scale", dec, variable, append(zz(1, 1), 123), decimalOf(1230)}, {"", dec, variable, append(zz(1, 1), 123), decimalOf(1230)}, {"", dec, variable, append(zz(3, 1), 123), CodePrecision},
		{"", of(Date), connect("int", "io.debezium.time.Date"), zz(1, 19000), int32(19000)}, {"", of(Time), connect("int", "io.debezium.time.Time"), zz(1, 5), int64(5000)},
		{"", of(Time), connect("long", "io.debezium.time.MicroTime"), zz(1, 5), int64(5)}, {"", of(Time), connect("long", "io.debezium.time.NanoTime"), zz(1, 5000), int64(5)},
		{"", of(Timestamp), connect("long", "io.debezium.time.Timestamp"), zz(1, 5), int64(5000)}, {"", of(Timestamp), connect("long", "io.debezium.time.MicroTimestamp"), zz(1, 5), int64(5)},
		{"", of(TimestampNs), connect("long", "io.debezium.time.NanoTimestamp"), zz(1, 5), int64(5)}, {"", of(TimestampTz), connect("long", "io.debezium.time.MicroTimestamp"), zz(1, 5), "no instant without a time zone"},
		{"", of(Long), connect("long", "io.debezium.time.MicroTimestamp"), zz(1, 5), int64(5)}, {"", of(Timestamp), connect("long", "io.debezium.time.MicroDuration"), zz(1, 5), "does not fit"},
		{"", of(TimestampTz), connect("string", "io.debezium.time.ZonedTimestamp"), append(zz(1), zstr("1970-01-01T00:00:01.5Z")...), int64(1500000)},
	} {
		var rules Rules
		if tt.rule != "" {
			rules.Casts = []ColumnCast{{Path{"c"}, mustCast(t, tt.rule)}}
		}
		w := recordOf("c " + tt.avro)
		s := &Schema{Fields: []Field{{Name: "c", Type: tt.typ}}}
		f := WithRules(rules, NewAvro(AvroOptions{Schema: &w}))
		if _, err := f(s); err != nil {
			if why, ok := tt.want.(string); !ok || !strings.Contains(err.Error(), why) {
				t.Errorf("%s of %s: %v", tt.rule, tt.avro, err)
			}
			continue
		}
		row, err := ruled(t, f, s, tt.body)
		if code, bad := tt.want.(Code); bad {
			if codeOf(err) != code {
				t.Errorf("%s of %s: %v %v, want %s", tt.rule, tt.avro, row, err, code)
			}
		} else if err != nil || row[0] != tt.want {
			t.Errorf("%s of %s: %v %v, want %v", tt.rule, tt.avro, row, err, tt.want)
		}
	}
}
