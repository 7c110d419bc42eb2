package config

import "unicode/utf8"

// CSV is record.csv and record.key.csv.
type CSV struct {
	// Columns are the fields' names in their order; an empty name leaves its field out.
	Columns []string `yaml:"columns"`
	// Header says that each record brings a line with its fields' names along.
	Header bool `yaml:"header"`
	// Delimiter is one character. Empty: a comma.
	Delimiter string `yaml:"delimiter"`
	// Quote is one character, or none. Empty: a double quote.
	Quote string `yaml:"quote"`
	// NullText is how a field without a value is written. Default: nothing.
	NullText string `yaml:"null_text"`
}

func (c *CSV) isZero() bool {
	return c.Columns == nil && !c.Header && c.Delimiter == "" && c.Quote == "" && c.NullText == ""
}

// Raw is record.raw.
type Raw struct {
	// Column takes the value. Empty: the only column that nothing else fills.
	Column string `yaml:"column"`
}

// plain checks the formats without a schema of their own.
func (v *validator) plain(r *Record) {
	v.check(r.Format == "csv" || r.CSV.isZero(), "record.csv", "belongs to format: csv; remove the key")
	v.check(r.Format == "raw" || r.Raw == Raw{}, "record.raw", "belongs to format: raw; remove the key")
	switch r.Format {
	case "csv":
		v.csv(&r.CSV)
	case "raw":
	default:
		return
	}
	v.check(r.Unknown == "ignore", "record.unknown", "belongs to formats json, avro and protobuf; write ignore, or remove the key")
	v.check(r.Registry == nil || r.keyNeedsRegistry(), "record.registry", "belongs to formats json, avro and protobuf; remove the key")
}

// csv checks record.csv.
func (v *validator) csv(c *CSV) {
	const key = "record.csv"
	switch {
	case len(c.Columns) == 0 && !c.Header:
		v.fail(key, "names no fields; write columns: [id, region], in the order of the fields, or header: true where each message brings a line with them")
	case len(c.Columns) > 0 && c.Header:
		v.fail(key+".header", "stands beside columns; fields are named by the one or the other: remove one")
	}
	v.csvCharacters(key, c)
}

func (v *validator) csvCharacters(key string, c *CSV) {
	v.check(c.Delimiter == "" || csvCharacter(c.Delimiter), key+".delimiter", `%q is not one ASCII character; write one, such as ";" or "\t"`, c.Delimiter)
	v.check(c.Quote == "" || c.Quote == "none" || csvCharacter(c.Quote), key+".quote", `%q is not one ASCII character; write one, such as "'", or none`, c.Quote)
	delimiter, quote := c.Delimiter, c.Quote
	if delimiter == "" {
		delimiter = ","
	}
	if quote == "" {
		quote = `"`
	}
	v.check(delimiter != quote, key+".quote", "%q is the delimiter too; write another, or none", quote)
	for _, r := range c.NullText {
		v.check(string(r) != delimiter && string(r) != quote && r != '\r' && r != '\n' && r != utf8.RuneError, key+".null_text",
			"%q has %q in it, so that no field without quotes is it; write a text without", c.NullText, r)
	}
}

func csvCharacter(s string) bool {
	return len(s) == 1 && s[0] > 0 && s[0] < utf8.RuneSelf && s != "\r" && s != "\n"
}
