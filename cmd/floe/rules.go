package main

import (
	"fmt"
	"time"
	_ "time/tzdata" // record.timezone means the same on every machine

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/mapper"
)

// newRules are what record.case, rename, drop, cast and timezone stand for.
func newRules(r *config.Record) (mapper.Rules, error) {
	out := mapper.Rules{FoldCase: r.Case == "insensitive"}
	for _, n := range r.Rename {
		out.Renames = append(out.Renames, mapper.Rename{Field: mapper.Path(n.Field), Column: n.Column})
	}
	for _, p := range r.Drop {
		out.Drop = append(out.Drop, mapper.Path(p))
	}
	for _, c := range r.Cast {
		cast, err := mapper.ParseCast(c.As)
		if err != nil {
			return out, fmt.Errorf("record.cast: %s: %w", mapper.Path(c.Column), err)
		}
		out.Casts = append(out.Casts, mapper.ColumnCast{Column: mapper.Path(c.Column), Cast: cast})
	}
	if r.Timezone != "" {
		var err error
		if out.Zone, err = time.LoadLocation(r.Timezone); err != nil {
			return out, fmt.Errorf("record.timezone: %w", err)
		}
	}
	return out, nil
}
