package mapper

import (
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stormfloe/floe/source"
)

// protoA is workload A as Protobuf, in the wire format.
const protoA = `syntax = "proto3"; import "google/protobuf/timestamp.proto"; message Event { int64 id = 1; optional int64 user_id = 2; string event_type = 3; double value = 4; string info = 5; google.protobuf.Timestamp ts = 6; }`

func recordsProtoA(n int) []source.Record {
	r := rand.New(rand.NewPCG(1, 1))
	recs := make([]source.Record, n)
	for i := range recs {
		at := startOf.UnixMilli() + int64(i)*3
		body := raw(1, 1000000000+i, 2, int(r.Int64N(1000000)), 3, eventTypes[r.IntN(8)])
		body = protowire.AppendFixed64(protowire.AppendTag(body, 4, protowire.Fixed64Type), math.Float64bits(math.Round(r.Float64()*100000)/100))
		recs[i] = *wire(7, []byte{0}, body, raw(5, string(appendWords(r, nil, 27)), 6, raw(1, int(at/1000), 2, int(at%1000*1000000))))
	}
	return recs
}

func protoMapperA(t testing.TB) (Mapper, *Columns) {
	m, cs := mustProto(t, schemaA(), ProtoOptions{Resolver: protoSchemas{7: {Text: protoA}}})
	if err := mapWire(t, m, cs, &recordsProtoA(1)[0]); err != nil {
		t.Fatal(err)
	}
	cs.Reset()
	return m, cs
}

func BenchmarkProtoWorkloadA(b *testing.B) {
	m, cs := protoMapperA(b)
	measureMap(b, m, cs, recordsProtoA(5000))
}
