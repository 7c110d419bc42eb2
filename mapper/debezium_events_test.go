package mapper

import (
	"errors"
	"testing"

	"github.com/stormfloe/floe/source"
)

// What is skipped as one of Debezium's own records has nothing but what those have, whatever becomes of unknown fields elsewhere.
func TestDebeziumSkipsOnlyItsOwnRecords(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "_op", Type: Type{Kind: String}}, {Name: "n", Type: Type{Kind: Long}}}}
	opts := DebeziumOptions{Op: "_op", Skip: []DebeziumEvent{DebeziumHeartbeat, DebeziumTransaction}}
	const envelope = `{"type":"record","name":"After","fields":[{"name":"n","type":"long"}]}`
	heartbeat, row, begin := recordOf("ts_ms long"), recordOf("ts_ms long", "n long"), recordOf("status string", "id string", `event_count ["null","long"]`, "ts_ms long")
	change := recordOf("op string", `after ["null",`+envelope+`]`)
	avro := &schemas{byID: map[uint32]AvroSchema{1: heartbeat, 2: row, 3: begin, 4: change}}
	proto := protoSchemas{1: {Text: `syntax = "proto3"; message M { int64 ts_ms = 1; }`}, 2: {Text: `syntax = "proto3"; message M { int64 ts_ms = 1; int64 n = 2; }`},
		3: {Text: `syntax = "proto3"; message M { string status = 1; string id = 2; optional int64 event_count = 3; int64 ts_ms = 4; }`},
		4: {Text: `syntax = "proto3"; message M { string op = 1; A after = 2; message A { int64 n = 1; } }`}}
	for name, c := range map[string]struct {
		factory func(UnknownOptions) Factory
		records map[*source.Record]string // filtered, row, or a code
	}{
		"avro": {func(u UnknownOptions) Factory {
			return NewAvro(AvroOptions{Resolver: resolverFunc(avro.at), Unknown: u})
		}, map[*source.Record]string{
			wire(1, zz(5)): "filtered", wire(2, zz(5, 6)): "envelope", wire(3, zstr("BEGIN"), zstr("1"), zz(0, 5)): "filtered", wire(3, zstr("OPEN"), zstr("1"), zz(0, 5)): "envelope",
			wire(4, zstr("c"), zz(1, 7)): "row",
		}},
		"protobuf": {func(u UnknownOptions) Factory { return NewProto(ProtoOptions{Resolver: proto, Unknown: u}) }, map[*source.Record]string{
			wire(1, []byte{0, 8, 5}): "filtered", wire(2, []byte{0, 8, 5, 16, 6}): "envelope", wire(1, []byte{0, 8, 5, 16, 6}): "envelope", wire(3, []byte{0, 10, 3, 'E', 'N', 'D', 18, 1, '1', 32, 5}): "filtered",
			wire(3, []byte{0, 10, 3, 'e', 'n', 'd', 18, 1, '1', 32, 5}): "envelope", wire(4, []byte{0, 10, 1, 'c', 18, 2, 8, 7}): "row",
		}},
	} {
		for _, policy := range []UnknownPolicy{UnknownIgnore, UnknownReject} {
			m, err := NewDebezium(opts, c.factory(UnknownOptions{Policy: policy}))(s)
			if err != nil {
				t.Fatal(err)
			}
			cs := mustColumns(t, s)
			for rec, want := range c.records {
				got := "row"
				if err := mapWire(t, m, cs, rec); errors.Is(err, ErrFiltered) {
					got = "filtered"
				} else if err != nil {
					got = string(codeOf(err))
				}
				if got != want {
					t.Errorf("%s %v: %s, want %s", name, rec.Value, got, want)
				}
			}
		}
	}
}
