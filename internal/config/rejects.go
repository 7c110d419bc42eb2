package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// Rejects says where records go that can't become rows, and when there are too many.
type Rejects struct {
	// Table is namespace.table, in the table's catalog; floe makes it where it does not exist. Default: the table's name and
	// _rejects.
	Table string `yaml:"table"`
	// Stop ends floe where there are too many.
	Stop RejectsStop `yaml:"stop"`
}

// RejectsStop stops a topology whose configuration is wrong, rather than its records.
type RejectsStop struct {
	// Share of the first Of records: where more than it are bad, floe stops, with nothing lost. Default 0.5; 1 is never.
	Share Share `yaml:"share"`
	// Of is a number of records, default 1000.
	Of int64 `yaml:"of"`
	// Rate stops floe when more records than that become rejects within Per, later on too. Default 0, no limit; Per: 1m.
	Rate int64         `yaml:"rate"`
	Per  time.Duration `yaml:"per"`
}

// Share is a number from 0 to 1.
type Share float64

const shareHint = "write a number from 0 to 1, such as 0.5"

// decodeNode reads a number.
func (s *Share) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrong(n, path, "a number from 0 to 1, such as 0.5")
		return
	}
	text, _, ok := d.text(n, path)
	if !ok {
		return
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		d.fail(n.Line, path, "%q is not a share; %s", text, shareHint)
		return
	}
	*s = Share(f)
}

func (r *Rejects) finish(c *Config) {
	if r.Table == "" && c.Table.Name != "" {
		r.Table = c.Table.Name + "_rejects"
	}
}

func (v *validator) rejects() {
	r := v.c.Rejects
	v.between("rejects.stop.of", r.Stop.Of, 1, 1_000_000_000)
	v.check(r.Stop.Rate >= 0, "rejects.stop.rate", "%d is negative; write 0 for no limit", r.Stop.Rate)
	v.check(r.Stop.Per > 0, "rejects.stop.per", "is 0; write the time that rate is for, such as 1m")
	if v.c.lines["rejects.table"] == 0 {
		return // what is wrong with the table's name is said there
	}
	parts := strings.Split(r.Table, ".")
	blank := func(part string) bool { return strings.TrimSpace(part) == "" }
	v.check(len(parts) > 1 && !slices.ContainsFunc(parts, blank), "rejects.table", "%q must be namespace and table, such as db.orders_rejects", r.Table)
	v.check(r.Table != v.c.Table.Name, "rejects.table", "%q is the table that rows go to; name another, floe makes it", r.Table)
}
