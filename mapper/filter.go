package mapper

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stormfloe/floe/source"
)

// FilterRule says which records yield no row: those that meet every condition that the rule has. It has at least one.
type FilterRule struct {
	// Name is what the rule is counted under.
	Name string
	// Tombstones is met by records without a value.
	Tombstones bool
	// Topic is met by the name of the topic. Exists must not be asked of it.
	Topic *Match
	// Key is met by the record's key, byte by byte.
	Key *Match
	// Header is met by one of the record's headers, see HeaderMatch.
	Header *HeaderMatch
	// Column is met by the value that the record's row would have.
	Column *ColumnMatch
}

// Match compares bytes. Exactly one of its fields is set.
type Match struct {
	// In are the values of which one is to be there; NotIn those of which none is. A record without a key, and one
	// without such a header, meets NotIn and not In.
	In, NotIn []string
	// Exists: whether there is one at all. A key of no bytes exists.
	Exists *bool
}

// HeaderMatch is met if some header of the name has a value of In; if none has one of NotIn; if there is, or is not, a
// header of the name. A header without a value has none of them. The name is compared byte by byte.
type HeaderMatch struct {
	Name string
	Match
}

// ColumnMatch is met by a column's value. Exactly one of In, NotIn and Exists is set.
type ColumnMatch struct {
	// Path is the column's name, followed by those of members where it is a struct.
	Path []string
	// In and NotIn are values as JSON writes them, and are read by the rules that the package documentation has for a
	// column of that type: 7, "eu", true, "2024-02-29". Null is met by NotIn and not by In; NaN equals nothing.
	In, NotIn []string
	// Exists: whether the value is not null. It is the only condition for structs, lists and maps.
	Exists *bool
}

// Filter makes factories of mappers that leave out what its rules are met by. Rules are tried in their order, those
// without a column before the record is mapped, and the first that is met counts; so a record that can't become a row is
// bad also where a rule on a column was meant for it. A Filter may be used by several mappers at once.
type Filter struct {
	rules []filterRule
}

// filterRule is a rule with its count, and the error that says it was met.
type filterRule struct {
	FilterRule
	topic, key, header bytesTest
	met                FilteredError
	count              atomic.Int64
}

// FilteredError is an ErrFiltered that names the rule.
type FilteredError struct {
	Rule  string
	count *atomic.Int64
}

// Count counts the record under its rule. Whoever leaves the record out calls it, once: a record may be mapped more often than that.
// It may be called from any goroutine.
func (e *FilteredError) Count() { e.count.Add(1) }

func (e *FilteredError) Error() string {
	return fmt.Sprintf("%v: filtered by rule %q", ErrFiltered, e.Rule)
}

// Unwrap gives ErrFiltered.
func (e *FilteredError) Unwrap() error { return ErrFiltered }

// maxMatchValues bounds the values of one condition.
const maxMatchValues = 10_000

// NewFilter checks the rules; an error names the rule.
func NewFilter(rules []FilterRule) (*Filter, error) {
	f := &Filter{rules: make([]filterRule, len(rules))}
	seen := map[string]bool{}
	for i, r := range rules {
		if r.Name == "" || seen[r.Name] {
			return nil, fmt.Errorf("mapper: filter: rule %d: the name %q is empty or there twice", i, r.Name)
		}
		seen[r.Name] = true
		if err := f.rules[i].set(r); err != nil {
			return nil, fmt.Errorf("mapper: filter: rule %q: %w", r.Name, err)
		}
	}
	return f, nil
}

func (f *filterRule) set(r FilterRule) (err error) {
	f.FilterRule, f.met = r, FilteredError{r.Name, &f.count}
	if !r.Tombstones && r.Topic == nil && r.Key == nil && r.Header == nil && r.Column == nil {
		return errors.New("it has no condition, and would leave out every record")
	}
	if r.Topic != nil {
		if r.Topic.Exists != nil {
			return errors.New("topic: Exists is set, but each record has one")
		}
		if f.topic, err = newBytesTest(r.Topic); err != nil {
			return fmt.Errorf("topic: %w", err)
		}
	}
	if r.Key != nil {
		if f.key, err = newBytesTest(r.Key); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	if r.Header != nil {
		if r.Header.Name == "" {
			return errors.New("header: it has no name")
		}
		if f.header, err = newBytesTest(&r.Header.Match); err != nil {
			return fmt.Errorf("header: %w", err)
		}
	}
	if c := r.Column; c != nil {
		if len(c.Path) == 0 {
			return errors.New("column: it has no name")
		}
		if err := oneCondition(c.In, c.NotIn, c.Exists); err != nil {
			return fmt.Errorf("column: %w", err)
		}
	}
	return nil
}

// oneCondition checks that exactly one is set.
func oneCondition(in, notIn []string, exists *bool) error {
	n := 0
	for _, set := range []bool{len(in) > 0, len(notIn) > 0, exists != nil} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return errors.New("exactly one of In, NotIn and Exists is to be set")
	case len(in)+len(notIn) > maxMatchValues:
		return fmt.Errorf("%d values; there may be %d", len(in)+len(notIn), maxMatchValues)
	}
	return nil
}

// Rules calls f with each rule's name and how many records were counted for it, in order, also while mappers run. A record
// that is left out again, after a rewind, counts again.
func (f *Filter) Rules(each func(name string, records int64)) {
	for i := range f.rules {
		each(f.rules[i].Name, f.rules[i].count.Load())
	}
}

// Wrap makes a factory of mappers that ask the rules, and inner's mapper. It refuses a schema in which a rule's column is
// not there, or can't hold the rule's values.
func (f *Filter) Wrap(inner Factory) Factory {
	return func(s *Schema) (Mapper, error) {
		m, err := inner(s)
		if err != nil {
			return nil, err
		}
		w := &filterMapper{inner: m, rules: f.rules, topic: make([]bool, len(f.rules))}
		for i := range f.rules {
			r := &f.rules[i]
			w.topic[i] = r.Topic == nil
			if r.Column == nil {
				w.records = append(w.records, i)
				continue
			}
			test, err := newColumnTest(s, r.Column)
			if err != nil {
				return nil, fmt.Errorf("mapper: filter: rule %q: %w", r.Name, err)
			}
			w.rows = append(w.rows, rowRule{i, test})
		}
		return w, nil
	}
}

// filterMapper asks the rules that need no row before it maps, and the others after it.
type filterMapper struct {
	inner Mapper
	rules []filterRule
	// topic has what each rule says of the topic that the records come from.
	topic []bool
	// records are the rules that need no row, rows the others.
	records []int
	rows    []rowRule
}

type rowRule struct {
	rule int
	test *columnTest
}

// SetPartition asks the rules about the topic, once a batch.
func (m *filterMapper) SetPartition(p source.Partition) {
	for i := range m.rules {
		m.topic[i] = m.rules[i].Topic == nil || m.rules[i].topic.meets([]byte(p.Topic))
	}
	SetPartition(m.inner, p)
}

// Map gives a *FilteredError where a rule is met.
func (m *filterMapper) Map(rec *source.Record, dst *Columns) error {
	for _, i := range m.records {
		if r := &m.rules[i]; m.topic[i] && r.meets(rec) {
			return r.filtered()
		}
	}
	if err := m.inner.Map(rec, dst); err != nil {
		return err
	}
	for i := range m.rows {
		row := &m.rows[i]
		if r := &m.rules[row.rule]; m.topic[row.rule] && r.meets(rec) && row.test.meets(dst) {
			dst.Truncate(dst.Rows - 1)
			return r.filtered()
		}
	}
	return nil
}

func (f *filterRule) filtered() error {
	return &f.met
}

// meets looks at all conditions but the topic's and the column's.
func (f *filterRule) meets(rec *source.Record) bool {
	return !(f.Tombstones && rec.Value != nil) &&
		(f.Key == nil || f.key.meets(rec.Key)) &&
		(f.Header == nil || f.header.meetsHeaders(f.Header.Name, rec.Headers))
}
