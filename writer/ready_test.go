package writer

import (
	"errors"
	"testing"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// waiting maps JSON once ready says so, for the records from number from on.
type waiting struct {
	mapper.Mapper
	ready *bool
	from  source.Position
}

func (m *waiting) Map(rec *source.Record, dst *mapper.Columns) error {
	if rec.Position >= m.from && !*m.ready {
		return &mapper.NotReadyError{What: "it"}
	}
	return m.Mapper.Map(rec, dst)
}

func TestAMapperThatIsNotReadyLeavesTheBatchGood(t *testing.T) {
	for _, unpositioned := range []bool{false, true} {
		ready := false
		tbl, _ := newTable(t, eventSchema(), nil, nil)
		task := newTask(t, tbl, func(c *Config) {
			c.Unpositioned = unpositioned
			c.Mapper = func(s *mapper.Schema) (mapper.Mapper, error) {
				m, err := jsonMapper()(s)
				return &waiting{m, &ready, 5}, err
			}
		})
		b := at(0, 10, 1, 3, 5, 6)
		for range 2 {
			done, err := task.Append(t.Context(), b)
			var wait *mapper.NotReadyError
			if done || !errors.As(err, &wait) {
				t.Fatalf("done %t, error %v", done, err)
			}
			if s := task.Stats(); s.Rows != 2 {
				t.Errorf("%d rows open", s.Rows)
			}
		}
		if !unpositioned {
			wantInput(t, seal(t, task), 0, 5, 2, 0, 3)
		}
		ready = true
		appendAll(t, task, b)
		d := seal(t, task)
		if !unpositioned {
			wantInput(t, d, 5, 10, 2, 0, 3)
		} else if d.Rows != 4 {
			t.Errorf("%d rows", d.Rows)
		}
	}
}
