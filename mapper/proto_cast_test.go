package mapper

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCastsOfProtobuf(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	dec := Type{Kind: Decimal, Precision: 10, Scale: 2}
	variable := "message V { int32 scale = 1; bytes value = 2; } V v = 1;"
	for _, tt := range []struct {
		rule  string
		typ   Type
		field string
		text  string // of the message
		want  any    // value, code, or a part of the factory's error behind "!"
	}{
		{"number", of(Long), "string v=1;", `v: "12"`, int64(12)}, {"number", of(Long), "string v=1;", `v: "1.5"`, CodePrecision}, {"number", of(Long), "string v=1;", "", CodeType},
		{"number", of(Long), "optional string v=1;", "", nil}, {"number", of(Double), "string v=1;", `v: "0.1"`, 0.1}, {"number", dec, "string v=1;", `v: "1.5"`, decimalOf(150)},
		{"number", of(Long), "int32 v=1;", "v: 12", int64(12)}, {"number", of(Long), "E v=1;", "v: ONE", int64(1)}, {"number", of(Long), "google.protobuf.StringValue v=1;", `v { value: "12" }`, int64(12)},
		{"number", of(Long), "bytes v=1;", "", "!does not fit"}, {"number", of(Long), "string v=1;", `v: "9223372036854775808"`, CodeRange},
		{"text", of(String), "int64 v=1;", "v: -12", "-12"}, {"text", of(String), "uint64 v=1;", "v: 18446744073709551615", "18446744073709551615"}, {"text", of(String), "fixed32 v=1;", "v: 4294967295", "4294967295"},
		{"text", of(String), "bool v=1;", "v: true", "true"}, {"text", of(String), "double v=1;", "v: 0.1", "0.1"}, {"text", of(String), "float v=1;", "v: 0.1", "0.1"}, {"text", of(String), "double v=1;", "v: nan", CodeType},
		{"text", of(String), "double v=1;", "v: -0.0", "-0"}, {"text", of(String), "string v=1;", `v: "a"`, "a"}, {"text", of(String), "E v=1;", "v: ONE", "ONE"}, {"text", of(String), "int64 v=1;", "", "0"},
		{"text", of(String), "google.protobuf.Timestamp v=1;", "", "!does not fit"},
		{"boolean", of(Boolean), "int32 v=1;", "v: 1", true}, {"boolean", of(Boolean), "int32 v=1;", "v: 2", CodeType}, {"boolean", of(Boolean), "uint64 v=1;", "v: 18446744073709551615", CodeType},
		{"boolean", of(Boolean), "string v=1;", `v: "0"`, false}, {"boolean", of(Boolean), "bool v=1;", "v: true", true}, {"boolean", of(Boolean), "E v=1;", "", "!does not fit"},
		{"epoch_ms", of(TimestampTz), "int64 v=1;", "v: 1700000000123", int64(1700000000123000)}, {"epoch_ms", of(TimestampTz), "int64 v=1;", "v: 1700000000", CodeRange},
		{"epoch_ms", of(TimestampTz), "int64 v=1;", "", int64(0)}, {"epoch_s", of(TimestampTz), "uint64 v=1;", "v: 18446744073709551615", CodeRange}, {"epoch_s", of(TimestampTz), "sint32 v=1;", "v: -1", int64(-1e6)},
		{"epoch_s", of(TimestampTz), "string v=1;", `v: "1700000000.5"`, int64(1700000000500000)}, {"epoch_ns", of(TimestampNs), "int64 v=1;", "v: 1700000000123456789", int64(1700000000123456789)},
		{"epoch_ns", of(Timestamp), "int64 v=1;", "v: 1700000000123456789", CodePrecision}, {"epoch_ms(any)", of(Timestamp), "int64 v=1;", "v: 5", int64(5000)},
		{"epoch_ms", of(TimestampTz), "double v=1;", "", "!does not fit"}, {"epoch_ms", of(TimestampTz), "google.protobuf.Timestamp v=1;", "v { seconds: 5 }", int64(5e6)},
		{"epoch_ms", of(TimestampTz), "google.protobuf.Int64Value v=1;", "", nil}, {"epoch_us", of(TimestampTz), "google.protobuf.Int64Value v=1;", "v { value: 1700000000123456 }", int64(1700000000123456)},
		{"midnight_ms", of(Time), "int32 v=1;", "v: 1000", int64(1000000)}, {"midnight_ms", of(Time), "int64 v=1;", "v: 86400000", CodeRange}, {"days", of(Date), "int32 v=1;", "v: 19000", int32(19000)},
		{"days", of(Date), "int64 v=1;", "v: 2932897", CodeRange}, {"days", of(Date), "google.protobuf.Timestamp v=1;", "", "!does not fit"},
		{"unscaled(2)", dec, "bytes v=1;", `v: "\004\322"`, decimalOf(1234)}, {"unscaled(3)", dec, "bytes v=1;", `v: "\004\322"`, CodePrecision}, {"unscaled(2)", dec, "bytes v=1;", "", CodeType},
		{"unscaled(2)", dec, "string v=1;", `v: "BNI="`, decimalOf(1234)}, {"unscaled(2)", dec, "int64 v=1;", "", "!not written as the column's cast says"}, {"unscaled(2)", dec, "confluent.type.Decimal v=1;", `v { value: "\005" scale: 1 }`, decimalOf(50)},
		{"variable_scale", dec, variable, `v { scale: 1 value: "{" }`, decimalOf(1230)}, {"variable_scale", dec, variable, `v { scale: 3 value: "{" }`, CodePrecision}, {"variable_scale", dec, variable, `v { scale: 1 }`, CodeType},
		{"variable_scale", dec, variable, `v { value: "{" }`, decimalOf(12300)}, {"variable_scale", dec, variable, "", nil}, {"variable_scale", dec, variable, `v { scale: 2147483647 value: "{" }`, CodeRange},
		{"variable_scale", dec, "message V { optional int32 scale = 1; bytes value = 2; } V v = 1;", `v { value: "{" }`, CodeType}, {"variable_scale", dec, "string v=1;", `v: "12"`, "!not written as the column's cast says"},
		{"", of(TimestampTz), "string v=1;", `v: "2024-07-01T12:00:00"`, int64(1719828000e6)}, {"", of(TimestampTz), "string v=1;", `v: "2024-07-01T12:00:00Z"`, int64(1719835200e6)},
		{"", of(TimestampTz), "string v=1;", `v: "2024-03-31T02:30:00"`, CodeRange}, {"", of(TimestampTz), "int64 v=1;", "", "!its unit would be a guess"},
	} {
		rules := Rules{Zone: berlin}
		at := [3]Path{{"v"}, {"v", "element"}, {"v", "value"}}
		types := [3]Type{tt.typ, listOf(Field{Type: tt.typ}), mapOf(Type{Kind: String}, Field{Type: tt.typ})}
		for i := range at {
			field, text, plain := tt.field, tt.text, !strings.Contains(tt.field, "optional") && tt.text != "" && !strings.Contains(tt.field, "message ")
			switch {
			case i > 0 && !plain:
				continue // several forms of the same are the same code
			case i == 1:
				field = "repeated " + field
			case i == 2:
				field = "map<string," + strings.TrimSuffix(field, " v=1;") + "> v=1;"
				text = `v { key: "k" value` + strings.TrimPrefix(text, "v") + ` }`
			}
			if rules.Casts = nil; tt.rule != "" {
				rules.Casts = []ColumnCast{{at[i], mustCast(t, tt.rule)}}
			}
			schema := protoOf(field)
			s := &Schema{Fields: []Field{{Name: "v", Type: types[i]}}}
			f := WithRules(rules, NewProto(ProtoOptions{Schema: schema}))
			why, _ := tt.want.(string)
			wrong, refused := strings.CutPrefix(why, "!")
			if _, err := f(s); refused != (err != nil) || refused && !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s of %s to %s: error %v, want %v", tt.rule, field, &types[i], err, tt.want)
			}
			if refused {
				continue
			}
			row, err := ruled(t, f, s, fromText(t, descriptorOf(t, schema), text))
			if code, bad := tt.want.(Code); bad {
				if codeOf(err) != code {
					t.Errorf("%s of %s %s: %v %v, want %s", tt.rule, field, text, row, err, code)
				}
				continue
			}
			want := [3]any{tt.want, []any{tt.want}, []any{"k", tt.want}}[i]
			if err != nil || !reflect.DeepEqual(row[0], want) {
				t.Errorf("%s of %s %s: %v %v, want %v", tt.rule, field, text, row, err, want)
			}
		}
	}
}

// A decimal that brings its scale along may come in pieces, and what came before is no part of the next.
func TestCastsOfProtobufTakeMessagesInPieces(t *testing.T) {
	schema := protoOf("message V { optional int32 scale = 1; bytes value = 2; } V v = 1; int32 id = 2;")
	s := &Schema{Fields: []Field{{Name: "v", Type: Type{Kind: Decimal, Precision: 10, Scale: 2}}}}
	f := WithRules(Rules{Casts: []ColumnCast{{Path{"v"}, mustCast(t, "variable_scale")}}}, NewProto(ProtoOptions{Schema: schema}))
	m, err := f(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	scale, value := []byte{10, 2, 8, 1}, []byte{10, 3, 18, 1, 123}
	for _, c := range []struct {
		body []byte
		want any
	}{{append(scale, value...), decimalOf(1230)}, {value, CodeType}, {append(value, scale...), decimalOf(1230)}, {scale, CodeType}} {
		row, bad := mapAvro(t, m, cs, c.body)
		if code, ok := c.want.(Code); ok && (bad == nil || bad.Code != code) || !ok && (bad != nil || row[0] != c.want) {
			t.Errorf("%v: %v %v, want %v", c.body, row, bad, c.want)
		}
	}
}

func TestCastsOfCSV(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	dec := Type{Kind: Decimal, Precision: 10, Scale: 2}
	for _, tt := range []struct {
		rule string
		typ  Type
		text string
		want any
	}{
		{"number", of(Long), "12", int64(12)}, {"number", of(Long), `"1.5"`, CodePrecision}, {"number", of(Long), "", nil}, {"number", of(Long), `""`, CodeType}, {"text", of(String), "12", "12"},
		{"boolean", of(Boolean), "1", true}, {"boolean", of(Boolean), "true", true}, {"boolean", of(Boolean), "2", CodeType}, {"epoch_ms", of(TimestampTz), "1700000000123", int64(1700000000123000)},
		{"epoch_ms", of(TimestampTz), "1700000000", CodeRange}, {"epoch_ms", of(TimestampTz), "2024-01-01T00:00:00Z", CodeType}, {"midnight_s", of(Time), "1.5", int64(1500000)}, {"days", of(Date), "19000", int32(19000)},
		{"unscaled(2)", dec, "BNI=", decimalOf(1234)}, {"unscaled(2)", dec, "12", CodeType}, {"variable_scale", dec, "12", "the column's cast is for"},
		{"", of(TimestampTz), "2024-07-01T12:00:00", int64(1719828000e6)}, {"", of(TimestampTz), "2024-10-27T02:30:00", CodeRange}, {"", of(TimestampTz), "1700000000123", CodeType}, {"", of(Timestamp), "1970-01-01T00:00:01", int64(1e6)},
	} {
		rules := Rules{Zone: berlin}
		if tt.rule != "" {
			rules.Casts = []ColumnCast{{Path{"v"}, mustCast(t, tt.rule)}}
		}
		s := &Schema{Fields: []Field{{Name: "v", Type: tt.typ}}}
		f := WithRules(rules, NewCSV(CSVOptions{Columns: []string{"v"}}))
		if _, err := f(s); err != nil {
			if why, ok := tt.want.(string); !ok || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v", tt.rule, err)
			}
			continue
		}
		row, err := ruled(t, f, s, []byte(tt.text+"\n"))
		if code, bad := tt.want.(Code); bad && codeOf(err) != code || !bad && (err != nil || row[0] != tt.want) {
			t.Errorf("%s of %s: %v %v, want %v", tt.rule, tt.text, row, err, tt.want)
		}
	}
}
