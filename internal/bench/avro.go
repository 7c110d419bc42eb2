package bench

import (
	"encoding/binary"
	"math"
)

// schemaID is the id of the only schema in the registry.
const schemaID = 7

// schemaA is workload A's record in Avro.
const schemaA = `{"type":"record","name":"Event","namespace":"bench","fields":[
	{"name":"id","type":"long"},
	{"name":"user_id","type":["null","long"],"default":null},
	{"name":"event_type","type":"string"},
	{"name":"value","type":"double"},
	{"name":"info","type":"string"},
	{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}}]}`

// appendAvroA adds a record of workload A, with the same values, as Avro behind the header of the wire format: 67 bytes.
func appendAvroA(dst []byte, g *generator, i int64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, 0), schemaID)
	dst = binary.AppendVarint(dst, firstID+i) // Avro's numbers are zigzag, as these are
	dst = binary.AppendVarint(dst, 1)         // the union's second branch
	dst = binary.AppendVarint(dst, g.r.Int64N(1_000_000))
	kind := eventTypes[g.r.IntN(len(eventTypes))]
	dst = append(binary.AppendVarint(dst, int64(len(kind))), kind...)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(g.r.Int64N(100_000))/100))
	at := len(dst)
	dst = g.text(append(dst, 0), 27)
	dst[at] = byte(len(dst)-at-1) << 1 // fewer than 64 bytes: the length is one
	return binary.AppendVarint(dst, startOf+i*apart)
}
