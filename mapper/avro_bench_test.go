package mapper

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stormfloe/floe/source"
)

// avroA is workload A as Avro, in the wire format: 67 bytes.
const avroA = `{"type":"record","name":"Event","fields":[{"name":"id","type":"long"},{"name":"user_id","type":["null","long"]},{"name":"event_type","type":"string"},
	{"name":"value","type":"double"},{"name":"info","type":"string"},{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}}]}`

func recordsAvroA(n int) []source.Record {
	r := rand.New(rand.NewPCG(1, 1))
	recs := make([]source.Record, n)
	for i := range recs {
		recs[i] = *wire(7, zz(1000000000+int64(i), 1, r.Int64N(1000000)), zstr(eventTypes[r.IntN(8)]), f64(math.Round(r.Float64()*100000)/100),
			zstr(string(appendWords(r, nil, 27))), zz(startOf.UnixMilli()+int64(i)*3))
	}
	return recs
}

func avroMapperA(t testing.TB) (Mapper, *Columns) {
	m, cs := mustAvro(t, schemaA(), AvroOptions{Resolver: resolverFunc(func(uint32) (AvroSchema, error) { return AvroSchema{Text: avroA}, nil })})
	if err := mapWire(t, m, cs, &recordsAvroA(1)[0]); err != nil {
		t.Fatal(err)
	}
	cs.Reset()
	return m, cs
}

func BenchmarkAvroWorkloadA(b *testing.B) {
	m, cs := avroMapperA(b)
	measureMap(b, m, cs, recordsAvroA(5000))
}

func TestSteadyAvroMappingAllocatesNothing(t *testing.T) {
	m, cs := avroMapperA(t)
	o := newAvroOracle(t)
	nested := []source.Record{{Value: o.encode(t, avroSeed(5))}, {Value: o.encode(t, avroSeed(6))}}
	recs := recordsAvroA(500)
	round := func() {
		for i := range recs {
			if err := m.Map(&recs[i], cs); err != nil {
				t.Fatal(err)
			}
		}
		for i := range nested {
			if err := o.m.Map(&nested[i], o.cs); err != nil {
				t.Fatal(err)
			}
		}
		cs.Reset()
		o.cs.Reset()
	}
	round()
	round()
	if n := testing.AllocsPerRun(5, round); n > 0 {
		t.Errorf("%v allocations in %d records", n, len(recs)+len(nested))
	}
}

// Other schemas in turn cost a look into a map, and no plan is made twice.
func TestAvroKeepsThePlansOfAllSchemas(t *testing.T) {
	m, cs := avroMapperA(t)
	recs := recordsAvroA(100)
	for i := range recs {
		recs[i].Value = slices.Clone(recs[i].Value)
		binary.BigEndian.PutUint32(recs[i].Value[1:], uint32(i%10))
		if err := mapWire(t, m, cs, &recs[i]); err != nil {
			t.Fatal(err)
		}
	}
	cs.Reset()
	if n := testing.AllocsPerRun(5, func() {
		for i := range recs {
			if err := m.Map(&recs[i], cs); err != nil {
				t.Fatal(err)
			}
		}
		cs.Reset()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
