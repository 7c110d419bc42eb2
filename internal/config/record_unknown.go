package config

import "slices"

// unknown checks what becomes of fields that are no column.
func (v *validator) unknown() {
	r := v.c.Record
	v.oneOf("record.unknown", r.Unknown)
	add := slices.Contains(v.c.Table.Evolve, "add")
	v.check(r.Unknown != "evolve" || add, "record.unknown", "evolve adds columns to the table, which must be switched on by name: write table.evolve: [add], or ignore, reject or keep here")
	v.check(r.Unknown == "evolve" || !add, "record.unknown", "is %s, and table.evolve has add, which makes columns of the fields that are none: write evolve, or take add from table.evolve", r.Unknown)
	if r.Unknown != "keep" {
		v.check(r.UnknownColumn == "", "record.unknown_column", "stands beside unknown: %s; it belongs to unknown: keep, which collects there the fields that are no column: write keep, or remove the key", r.Unknown)
		return
	}
	v.check(r.UnknownColumn != "", "record.unknown_column", "is missing; name the column that takes the fields that are no column, of type string or map<string, string>")
	v.check(r.Format == "json", "record.unknown", "keep works with format: json alone; write ignore or reject")
}

// finishUnknown fills in what becomes of fields that are no column: they become columns where that is switched on.
func (c *Config) finishUnknown() {
	if c.Record.Unknown != "" {
		return
	}
	c.Record.Unknown = "ignore"
	if slices.Contains(c.Table.Evolve, "add") {
		c.Record.Unknown = "evolve"
	}
}

// evolve checks which changes of the table's schema records may ask for.
func (v *validator) evolve() {
	t, r := v.c.Table, v.c.Record
	for i, e := range t.Evolve {
		v.oneOf("table.evolve", e)
		v.check(!slices.Contains(t.Evolve[:i], e), "table.evolve", "has %s twice; write it once", e)
	}
	v.between("table.evolve_max_columns", int64(t.EvolveMaxColumns), 1, 100_000)
	if len(t.Evolve) == 0 {
		return
	}
	v.check(r.Format != "csv" && r.Format != "raw", "table.evolve", "works with record.format json, avro and protobuf; remove the key")
}
