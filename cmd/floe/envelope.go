package main

import (
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/mapper"
)

// inEnvelope is f where a record's value is the row itself, or a factory that takes the row out of its envelope.
func inEnvelope(r *config.Record, f mapper.Factory) mapper.Factory {
	if r.Envelope != "debezium" {
		return f
	}
	d := &r.Debezium
	opts := mapper.DebeziumOptions{Op: d.Op, TSMs: d.TSMs, Source: d.Source, Transaction: d.Transaction, Wrapped: d.Wrapped,
		Unavailable: d.Placeholder, NullUnavailable: d.Unavailable == "as_null"}
	events := map[string]mapper.DebeziumEvent{"truncate": mapper.DebeziumTruncate, "message": mapper.DebeziumMessage,
		"heartbeat": mapper.DebeziumHeartbeat, "transaction": mapper.DebeziumTransaction}
	for _, name := range d.Skip {
		opts.Skip = append(opts.Skip, events[name])
	}
	return mapper.NewDebezium(opts, f)
}
