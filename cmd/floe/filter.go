package main

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/mapper"
)

// filteredFormat is newFormat behind the rules of record.filter.
func filteredFormat(cfg *config.Config) (*format, error) {
	return formatOf(cfg, evolutionOf(cfg.Table))
}

// formatOf is filteredFormat with other changes of the schema that records may ask for.
func formatOf(cfg *config.Config, evolve mapper.Evolution) (*format, error) {
	f, err := newFormat(cfg, evolve)
	if err != nil || len(cfg.Record.Filter) == 0 {
		return f, err
	}
	rules := make([]mapper.FilterRule, len(cfg.Record.Filter))
	for i := range cfg.Record.Filter {
		rules[i] = filterRule(&cfg.Record.Filter[i])
	}
	if f.filter, err = mapper.NewFilter(rules); err != nil {
		return nil, fmt.Errorf("record.filter: %w", err)
	}
	f.mapper = f.filter.Wrap(f.mapper)
	return f, nil
}

func filterRule(r *config.FilterRule) mapper.FilterRule {
	out := mapper.FilterRule{Name: r.Name, Tombstones: r.Tombstones}
	if t := r.Topic; t != nil {
		out.Topic = &mapper.Match{In: withEquals(t.Equals, t.In), NotIn: t.NotIn}
	}
	if k := r.Key; k != nil {
		out.Key = &mapper.Match{In: withEquals(k.Equals, k.In), NotIn: k.NotIn, Exists: k.Exists}
	}
	if h := r.Header; h != nil {
		out.Header = &mapper.HeaderMatch{Name: h.Name, Match: mapper.Match{In: withEquals(h.Equals, h.In), NotIn: h.NotIn, Exists: h.Exists}}
	}
	if c := r.Column; c != nil {
		out.Column = &mapper.ColumnMatch{Path: c.Name, Exists: c.Exists}
		out.Column.In, out.Column.NotIn = c.Values()
	}
	return out
}

func withEquals(equals *string, in []string) []string {
	if equals != nil {
		return append([]string{*equals}, in...)
	}
	return in
}

// filteredBy says in a few words which rules left out how many records, the others being tombstones.
func filteredBy(f *mapper.Filter, filtered int64) string {
	if f == nil {
		return "tombstones"
	}
	var parts []string
	f.Rules(func(name string, n int64) {
		if n > 0 {
			filtered -= n
			parts = append(parts, fmt.Sprintf("rule %s: %d", name, n))
		}
	})
	if filtered > 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("tombstones: %d", filtered))
	}
	return strings.Join(parts, ", ")
}

// filterMetrics has how many records each rule has left out, as it stands when it is asked.
type filterMetrics struct {
	filter *mapper.Filter
	desc   *prometheus.Desc
}

func newFilterMetrics(f *mapper.Filter, cfg *config.Config) *filterMetrics {
	return &filterMetrics{f, prometheus.NewDesc("floe_records_filtered_by_rule_total",
		"Records that a rule of record.filter has left out; those read again count again.",
		[]string{"rule"}, prometheus.Labels{"topology": cfg.Name, "table": cfg.Table.Name})}
}

// Describe is prometheus.Collector's.
func (m *filterMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

// Collect is prometheus.Collector's.
func (m *filterMetrics) Collect(ch chan<- prometheus.Metric) {
	m.filter.Rules(func(name string, n int64) {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(n), name)
	})
}
