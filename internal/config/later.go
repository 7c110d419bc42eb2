package config

// later are the keys of the design that this release does not have, by dotted path, with what to do instead. They are
// refused: a configuration that says more than floe does is a configuration that lies.
var later = map[string]string{
	"record.metadata": "this release does not copy topic, partition, offset, timestamp, key or headers into columns; remove the key",
	"rejects":         "this release has no rejects table: a bad record stops the topology and is named; remove the key",
}

// values of keys that a later release accepts, with what to do instead.
var laterValues = map[string]map[string]string{
	"record.format": {
		"protobuf": "this release reads JSON and Avro; write json or avro",
		"csv":      "this release reads JSON and Avro; write json or avro",
		"raw":      "this release reads JSON and Avro; write json or avro",
	},
	"record.envelope": {
		"debezium": "this release does not unwrap envelopes; write none, or remove the key",
	},
	"record.on_bad_record": {
		"reject": "this release has no rejects table: a bad record stops the topology and is named; write stop, or remove the key",
	},
}
