// Package descriptor says what a sealed batch is: its data files, the ranges of input they cover, and the table, schema
// and spec they were written against; and how it travels as bytes between processes.
//
//	b, err := descriptor.Encode(d, tbl.Metadata()) // in the writer's process
//	d, err := descriptor.Decode(b, tbl.Metadata()) // in the committer's
//
// # The bytes
//
// One line of JSON, an envelope around a body:
//
//	{"floe":"descriptor","version":1,"sha256":"…","body":{"id":"…","topology":"orders","task":"writer/0","table":"…",
//	 "schema":0,"spec":0,"format":2,"sealed_at":"…","rows":2,"bytes":1024,"inputs":[{"cluster":"…","topic":"orders",
//	 "incarnation":"…","partition":3,"from":10,"to":12,"rows":2,"max_timestamp_ms":1700000000000}],"files":["…"]}}
//
// The checksum is of the body's bytes exactly as they stand. A file is the Avro of a manifest's entry, in base64: its
// partition tuple can be read only with the spec, and the spec's types only with the schema, that it was written with.
// Reading with another spec gives no error but wrong values. So the body names the table's UUID, the schema, the spec and
// the format version, and they are compared before any file is looked at.
//
// A batch with rejects is version 2: the body ends with the rejects table, its schema, spec and format version, and their
// files, each input has its count of them. All else is version 1, which an older floe reads too.
//
//	"rejects":{"table":"…","schema":0,"spec":0,"format":2,"rows":1,"bytes":512,"files":["…"]}
//
// A version that this package does not know is refused (ErrVersion), never guessed at. Within a version nothing is added
// to the body.
package descriptor
