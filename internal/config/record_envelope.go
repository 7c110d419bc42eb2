package config

import (
	"maps"
	"slices"
)

// Debezium is record.debezium; it belongs to envelope debezium.
type Debezium struct {
	// Op is the column for the operation: c, u, d or r. Default _op; the table must have it.
	Op string `yaml:"op"`
	// TSMs is the column for the envelope's ts_ms. Default none.
	TSMs string `yaml:"ts_ms"`
	// Source and Transaction are columns for the fields of source and transaction, by the fields' names.
	Source      map[string]string `yaml:"source"`
	Transaction map[string]string `yaml:"transaction"`
	// Wrapped says that records are {"schema": …, "payload": …}. Default false.
	Wrapped bool `yaml:"wrapped"`
	// Skip are the events that are left out: truncate, message, heartbeat, transaction. Others are bad records.
	Skip []string `yaml:"skip" oneof:"truncate message heartbeat transaction"`
	// Unavailable is bad (default) or as_null: what becomes of values that the record has a placeholder for.
	Unavailable string `yaml:"unavailable" oneof:"bad as_null"`
	// Placeholder is Debezium's unavailable.value.placeholder. Default __debezium_unavailable_value.
	Placeholder string `yaml:"placeholder"`
}

func defaultDebezium() Debezium {
	return Debezium{Op: "_op", Source: map[string]string{}, Transaction: map[string]string{}, Unavailable: "bad", Placeholder: "__debezium_unavailable_value"}
}

func (v *validator) envelope(r *Record) {
	v.oneOf("record.envelope", r.Envelope)
	d, key := &r.Debezium, "record.debezium"
	if r.Envelope == "none" {
		own := d.TSMs != "" || len(d.Source) > 0 || len(d.Transaction) > 0 || d.Wrapped || len(d.Skip) > 0
		v.check(!own && d.Op == "_op" && d.Unavailable == "bad" && d.Placeholder == defaultDebezium().Placeholder, key,
			"belongs to envelope: debezium; write that too, or remove the key")
		return
	}
	v.check(r.Format != "csv" && r.Format != "raw", "record.envelope", "debezium is there for json, avro and protobuf; write none, or remove the key")
	v.check(d.Op != "", key+".op", "is empty; name a column, since a row that was deleted looks like any other without it")
	v.check(d.Placeholder != "", key+".placeholder", "is empty; write what the connector has as unavailable.value.placeholder, or remove the key")
	v.check(r.Unknown != "keep", "record.unknown", "keep is not there for envelope: debezium; write ignore or reject")
	v.check(!d.Wrapped || r.Format == "json", key+".wrapped", "belongs to format: json; Avro has no such wrapping, remove the key")
	v.oneOf(key+".unavailable", d.Unavailable)
	for _, s := range d.Skip {
		v.oneOf(key+".skip", s)
	}
	for name, fields := range map[string]map[string]string{"source": d.Source, "transaction": d.Transaction} {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			v.check(field != "" && fields[field] != "", key+"."+name, "a field or its column has no name; write {lsn: _lsn}")
		}
	}
}
