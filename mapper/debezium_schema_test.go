package mapper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

// connectField is a field of a schema as the JSON converter writes it.
func connectField(name, typ, logical, more string) string {
	return fmt.Sprintf(`{"type":%q,"optional":true,"name":%q,"version":1%s,"field":%q}`, typ, logical, more, name)
}

// wrappedEvent is a change event of the row {"v": value} beside its schema.
func wrappedEvent(op, field, value string) string {
	sides := [2]string{"null", `{"v":` + value + `}`}
	if op == "d" {
		sides[0], sides[1] = sides[1], sides[0]
	}
	row := `{"type":"struct","fields":[` + field + `],"optional":true,"name":"d.t.Value","field":%q}`
	return `{"schema":{"type":"struct","fields":[` + fmt.Sprintf(row, "before") + `,` + fmt.Sprintf(row, "after") + `,{"type":"string","optional":false,"field":"op"}],"optional":false,"name":"d.t.Envelope"},` +
		`"payload":{"before":` + sides[0] + `,"after":` + sides[1] + `,"source":{"lsn":1},"op":"` + op + `"}}`
}

func TestDebeziumUnitsAreThoseOfTheSchemaBesideThePayload(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const dbz, connect = "io.debezium.time.", "org.apache.kafka.connect.data."
	dec := Type{Kind: Decimal, Precision: 10, Scale: 2}
	scale := func(n string) string { return `,"parameters":{"scale":"` + n + `","connect.decimal.precision":"10"}` }
	for _, tt := range []struct {
		typ                  Type
		connect, name, extra string
		value                string
		rule                 string // the column's cast
		want                 any
	}{
		{of(Timestamp), "int64", dbz + "MicroTimestamp", "", "1600000000000001", "", int64(1600000000000001)}, {of(Timestamp), "int64", dbz + "MicroTimestamp", "", "1", "", int64(1)},
		{of(Timestamp), "int64", dbz + "Timestamp", "", "1600000000001", "", int64(1600000000001000)}, {of(Timestamp), "int64", dbz + "NanoTimestamp", "", "1600000000000001000", "", int64(1600000000000001)},
		{of(Timestamp), "int64", dbz + "NanoTimestamp", "", "1600000000000000001", "", CodePrecision}, {of(TimestampNs), "int64", dbz + "NanoTimestamp", "", "1600000000000000001", "", int64(1600000000000000001)},
		{of(TimestampTz), "int64", dbz + "MicroTimestamp", "", "1719828000000000", "", int64(1719828000000000 - 7200e6)}, {of(TimestampTz), "int64", dbz + "MicroTimestamp", "", "1711852200000000", "", CodeRange},
		{of(TimestampTz), "int64", connect + "Timestamp", "", "1719828000000", "", int64(1719828000000000)}, {of(Timestamp), "int64", connect + "Timestamp", "", "5", "", CodeSchema},
		{of(Timestamp), "int64", connect + "Timestamp", "", "1719828000000", "epoch_ms", int64(1719828000000000)}, {of(TimestampTz), "string", dbz + "ZonedTimestamp", "", `"2024-07-01T12:00:00+02:00"`, "", int64(1719828000000000)},
		{of(Timestamp), "int64", dbz + "MicroTimestamp", "", "1600000000000001", "epoch_us", int64(1600000000000001)}, {of(Timestamp), "int64", dbz + "MicroTimestamp", "", "1600000000001", "epoch_ms", CodeSchema},
		{of(Timestamp), "int64", "", "", "1600000000001", "", CodeType}, {of(Timestamp), "int64", "", "", "1600000000001", "epoch_ms", int64(1600000000001000)}, {of(Long), "int64", dbz + "MicroTimestamp", "", "7", "", int64(7)},
		{of(Date), "int32", dbz + "Date", "", "19000", "", int32(19000)}, {of(Date), "int32", connect + "Date", "", "19000", "", int32(19000)}, {of(Date), "int64", dbz + "Timestamp", "", "19000", "", CodeSchema},
		{of(Time), "int32", dbz + "Time", "", "1000", "", int64(1000000)}, {of(Time), "int64", dbz + "MicroTime", "", "1000", "", int64(1000)}, {of(Time), "int64", dbz + "NanoTime", "", "1000", "", int64(1)},
		{of(Time), "int32", connect + "Time", "", "1000", "", int64(1000000)}, {of(Time), "int64", dbz + "MicroTime", "", "86400000000", "", CodeRange},
		{dec, "bytes", connect + "Decimal", scale("2"), `"BNI="`, "", decimalOf(1234)}, {dec, "bytes", connect + "Decimal", scale("2"), `"1234"`, "", decimalOf(-2658824)}, {dec, "bytes", connect + "Decimal", scale("3"), `"BNI="`, "", CodePrecision},
		{dec, "bytes", connect + "Decimal", scale("-1"), `"DA=="`, "", decimalOf(12000)}, {dec, "bytes", connect + "Decimal", scale("2"), "12.34", "", decimalOf(1234)}, {dec, "bytes", connect + "Decimal", "", `"BNI="`, "", CodeSchema},
		{dec, "bytes", connect + "Decimal", scale("2"), `"BNI="`, "unscaled(2)", decimalOf(1234)}, {dec, "bytes", connect + "Decimal", scale("2"), `"BNI="`, "unscaled(1)", CodeSchema}, {dec, "bytes", connect + "Decimal", scale("2"), `"1234"`, "number", CodeSchema},
		{dec, "struct", "io.debezium.data.VariableScaleDecimal", "", `{"scale":1,"value":"ew=="}`, "", decimalOf(1230)}, {dec, "string", "", "", `"12.34"`, "", decimalOf(1234)}, {dec, "int64", dbz + "MicroTime", "", "1", "", CodeSchema},
		{of(String), "string", "io.debezium.data.Json", "", `"{}"`, "", "{}"}, {of(Timestamp), "int64", dbz + "MicroTimestamp", "", "null", "", nil},
	} {
		types := [3]Type{tt.typ, listOf(Field{Type: tt.typ}), {Kind: Struct, Fields: []Field{{Name: "x", Type: tt.typ}}}}
		for i, typ := range types {
			field, value, at := connectField("v", tt.connect, tt.name, tt.extra), tt.value, Path{"v"}
			switch i {
			case 1:
				field, value, at = `{"type":"array","optional":true,"items":`+field+`,"field":"v"}`, "["+value+"]", append(at, "element")
			case 2:
				field, value, at = `{"type":"struct","optional":true,"fields":[`+connectField("x", tt.connect, tt.name, tt.extra)+`],"field":"v"}`, `{"x":`+value+`}`, append(at, "x")
			}
			rules := Rules{Zone: berlin}
			if tt.rule != "" {
				rules.Casts = []ColumnCast{{at, mustCast(t, tt.rule)}}
			}
			s := &Schema{Fields: []Field{{Name: "v", Type: typ}, {Name: "_op", Type: of(String)}}}
			f := WithRules(rules, NewDebezium(DebeziumOptions{Op: "_op", Wrapped: true}, NewJSON(JSONOptions{})))
			for _, op := range []string{"c", "d"} {
				row, err := ruled(t, f, s, []byte(wrappedEvent(op, field, value)))
				if code, bad := tt.want.(Code); bad {
					if codeOf(err) != code {
						t.Errorf("%s %s to %s (%s): %v %v, want %s", tt.name, value, &typ, tt.rule, row, err, code)
					}
					continue
				}
				want := tt.want
				if i > 0 {
					want = []any{tt.want}
				}
				if err != nil || !reflect.DeepEqual(row[0], want) {
					t.Errorf("%s %s to %s (%s): %v %v, want %v", tt.name, value, &typ, tt.rule, row, err, want)
				}
			}
		}
	}
}

// The schema counts for its own record alone, wherever it stands, and must be there once.
func TestDebeziumSchemasChangeFromRecordToRecord(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "v", Type: of(Timestamp)}, {Name: "_op", Type: of(String)}}}
	m, err := NewDebezium(DebeziumOptions{Op: "_op", Wrapped: true}, NewJSON(JSONOptions{}))(s)
	if err != nil {
		t.Fatal(err)
	}
	micros := wrappedEvent("c", connectField("v", "int64", "io.debezium.time.MicroTimestamp", ""), "1600000000000000")
	millis := wrappedEvent("c", connectField("v", "int64", "io.debezium.time.Timestamp", ""), "1600000000000")
	schema, payload, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(millis, "{"), "}"), `,"payload"`)
	last := `{"payload"` + payload + `,` + schema + `}`
	cs := mustColumns(t, s)
	for i, c := range []struct {
		text string
		code Code // empty: a row
	}{
		{micros, ""}, {millis, ""}, {micros, ""}, {last, ""}, {micros, ""}, {" " + micros, ""}, {`{"payload"` + payload + `}`, CodeType}, {`{"schema":null,"payload"` + payload + `}`, CodeType}, {millis, ""},
		{strings.TrimSuffix(micros, "}") + `,` + schema + `}`, CodeDuplicateKey}, {`{"schema":7,"payload"` + payload + `}`, CodeSchema}, {`{"schema":{"fields":{}},"payload"` + payload + `}`, CodeSchema},
		{`{` + schema, CodeSyntax}, {`{`, CodeSyntax}, {`[]`, CodeType}, {millis[:len(millis)-1], CodeSyntax}, {millis, ""},
	} {
		before := cs.Rows
		err := m.Map(&source.Record{Value: []byte(c.text)}, cs)
		checkInvariants(t, cs)
		switch {
		case codeOf(err) != c.code, err == nil && c.code != "", c.code != "" && cs.Rows != before:
			t.Errorf("%d: %v, want %q", i, err, c.code)
		case c.code == "" && (err != nil || rowOf(cs, before)[0] != int64(1600000000000000)):
			t.Errorf("%d: %v %v", i, rowsOf(cs), err)
		}
	}
	for n := range 3 * mostSchemas {
		field := connectField("v", "int64", "io.debezium.time.MicroTimestamp", fmt.Sprintf(`,"doc":"%d"`, n))
		if err := m.Map(&source.Record{Value: []byte(wrappedEvent("c", field, "1600000000000000"))}, cs); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.(*debezium).schemas.known); n > mostSchemas {
		t.Errorf("the plans of %d schemas are kept", n)
	}
	rec := &source.Record{Value: []byte(micros)}
	if n := testing.AllocsPerRun(100, func() {
		cs.Reset()
		if err := m.Map(rec, cs); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// firstSchema is the value of an object's first member schema.
func firstSchema(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return ""
	}
	for d.More() {
		var value json.RawMessage
		if key, err := d.Token(); err != nil || d.Decode(&value) != nil {
			return ""
		} else if key == "schema" {
			return string(value)
		}
	}
	return ""
}

// FuzzConnectSchema holds what is found as a record's schema against encoding/json.
func FuzzConnectSchema(f *testing.F) {
	f.Add([]byte(wrappedEvent("c", connectField("v", "int64", "io.debezium.time.MicroTimestamp", ""), "1")))
	f.Add([]byte(`{"payload":{},"sch\u0065ma":{"fields":[]}}`))
	f.Add([]byte(` { "a" : [1, "}"] , "schema" : null } `))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &envelopeSchemas{}
		raw, end := s.find(b)
		if want := firstSchema(b); json.Valid(b) && len(raw) > 0 && (string(raw) != want || string(b[end-len(raw):end]) != want) {
			t.Errorf("%q: %q, want %q", b, raw, want)
		}
		if _, err := s.of(b, func(*connectSchema) (*envelopePlans, error) { return &envelopePlans{}, nil }); err != nil {
			t.Error(err)
		}
	})
}
