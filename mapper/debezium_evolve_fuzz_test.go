package mapper

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stormfloe/floe/source"
)

// toldFields are schemas beside the payload of a field that is no column; the first is none.
var toldFields = []string{"", connectField("new", "int32", "", ""), connectField("new", "int64", "io.debezium.time.MicroTimestamp", ""),
	connectField("new", "bytes", connectDecimal, `,"parameters":{"scale":"2","connect.decimal.precision":"3"}`), connectField("new", "array", "", `,"items":{"type":"string"}`),
	connectField("new", "map", "", `,"keys":{"type":"string"},"values":{"type":"int32"}`), connectField("new", "struct", "", `,"fields":[{"type":"int64","field":"q"},{"type":"string","field":"t"}]`)}

// A row asks for what it needs in a few tries, becomes a row or bad by it, and leaves the envelope's own columns as they are. A record that
// fits the columns asks for others only if it becomes a row with them, and nothing that it tells goes to no column because of
// the placeholders beside it.
func FuzzDebeziumEvolution(f *testing.F) {
	f.Add([]byte(`{"a":null,"s":{"n":[{"o":1}]},"l":[{"z":1.5}],"m":{"k":{"v":{}}},"d":12345,"new":[[1],[2.5]]}`), true, uint8(0))
	f.Add([]byte(`{"a":1,"new":["__debezium_unavailable_value"],"x":{"y":"__debezium_unavailable_value"}}`), true, uint8(0))
	f.Add([]byte(`{"a":1,"_op":1,"new":[95,95]}`), false, uint8(0))
	f.Add([]byte(`{"a":1,"new":["keep","__debezium_unavailable_value"],"x":[{"x":5,"y":"__debezium_unavailable_value"}]}`), true, uint8(0))
	f.Add([]byte(`{"a":1,"new":[5,"__debezium_unavailable_value"]}`), true, uint8(0))
	for i, value := range []string{`"abc"`, `5000000000`, `"x"`, `"BNI="`, `["x","__debezium_unavailable_value"]`, `{"k":"__debezium_unavailable_value"}`, `{"zz":[1,"x"]}`} {
		f.Add([]byte(`{"a":1,"new":`+value+`}`), true, uint8(max(i, 1)))
	}
	f.Fuzz(func(t *testing.T, row []byte, null bool, told uint8) {
		record := fmt.Appendf(nil, `{"after":%s,%s,"op":"c","ts_ms":1}`, row, changedSource)
		field := toldFields[int(told)%len(toldFields)]
		if field != "" {
			record = fmt.Appendf(nil, `{"schema":{"type":"struct","fields":[{"type":"struct","fields":[%s],"field":"after"}]},"payload":%s}`, field, record)
		}
		factory := NewDebezium(changingOptions(null, field != ""), NewJSON(JSONOptions{Evolve: everything}))
		s, err := settled(t, changing(), factory, record)
		if err != nil || field != "" {
			return
		}
		var more *EvolveError
		if m, err := factory(s); err != nil {
			t.Fatal(err)
		} else if err = m.Map(&source.Record{Value: bytes.ReplaceAll(record, []byte(`"__debezium_unavailable_value"`), []byte("null"))}, mustColumns(t, s)); errors.As(err, &more) {
			t.Fatalf("%s becomes a row that lacks %s", record, describeAll(more.Changes))
		}
	})
}

// settled makes the changes of s that a record asks for, and gives what becomes of it then.
func settled(t *testing.T, s *Schema, f Factory, record []byte) (*Schema, error) {
	t.Helper()
	next, fitted := 100, false
	for asks := 0; ; asks++ {
		m, err := f(s)
		if err != nil {
			t.Fatal(err)
		}
		cs := mustColumns(t, s)
		err = m.Map(&source.Record{Value: record}, cs)
		checkInvariants(t, cs)
		var want *EvolveError
		if !errors.As(err, &want) {
			if fitted && err != nil {
				t.Fatalf("%s asks for columns, and is bad with them: %v", record, err)
			}
			return s, err
		}
		for _, c := range want.Changes {
			if c.ID >= 90 && c.ID < 100 {
				t.Fatalf("%s: %s", record, describeAll(want.Changes))
			}
		}
		if asks == 3 {
			t.Fatalf("it asks once more: %s", describeAll(want.Changes))
		}
		fitted = fitted || want.Bad.Code == CodeUnknown
		s = &Schema{Fields: apply(s.Fields, 0, want.Changes, &next)}
	}
}
