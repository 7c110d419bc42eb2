package writer

import (
	"errors"

	"github.com/stormfloe/floe/mapper"
)

const (
	// stageRows and stageBytes are what the task maps before it hands rows to the encoders.
	stageRows  = 8192
	stageBytes = 1 << 20
)

// stage holds rows that are mapped but not yet with an encoder, and where each goes.
type stage struct {
	p      *plan
	cols   *mapper.Columns
	router *router // nil for an unpartitioned table
	at     []int32 // the tuple of each row
	groups *groups // nil without group_by
	lane   []uint8 // the encoder of each row
	// recOf is scratch: the record number of each row of a segment.
	recOf []int32
	// met is scratch: the records of a segment that a rule leaves out.
	met []metRule
}

// metRule is a record, by its number in a segment, and the rule that leaves it out.
type metRule struct {
	rec  int
	rule *mapper.FilteredError
}

// filtered notes the rule that leaves record number i out, if it was one.
func (s *stage) filtered(i int, err error) {
	if met, ok := errors.AsType[*mapper.FilteredError](err); ok {
		s.met = append(s.met, metRule{i, met})
	}
}

// countMet counts those of the first n records of a segment that rules leave out.
func (s *stage) countMet(n int) {
	for _, m := range s.met {
		if m.rec < n {
			m.rule.Count()
		}
	}
}

func newStage(p *plan, cfg Config) (*stage, error) {
	cols, err := mapper.NewColumns(p.rows)
	if err != nil {
		return nil, err
	}
	s := &stage{p: p, cols: cols}
	if len(p.parts) > 0 {
		s.router, s.at = newRouter(p), make([]int32, stageRows)
	}
	if len(cfg.GroupBy) > 0 {
		keys, err := p.columnsNamed(cfg.GroupBy)
		if err != nil {
			return nil, err
		}
		s.groups, s.lane = &groups{keys: keys, n: cfg.Parallel}, make([]uint8, stageRows)
	}
	return s, nil
}

// begin starts a batch.
func (s *stage) begin() {
	s.cols.Reset()
	if s.router != nil {
		s.router.reset()
	}
}

func (s *stage) reset() { s.begin() }

// room is how many rows still fit.
func (s *stage) room() int { return stageRows - s.cols.Rows }

func (s *stage) full() bool { return s.cols.Rows >= stageRows || s.cols.Bytes() >= stageBytes }

// route finds partition and encoder of the rows from number first on.
func (s *stage) route(first int) *rowError {
	if s.router != nil {
		if err := s.router.route(s.cols, first, s.cols.Rows, s.at); err != nil {
			return err
		}
	}
	if s.groups != nil {
		s.groups.assign(s.cols, first, s.cols.Rows, s.lane)
	}
	return nil
}

// flush hands the rows to the encoders.
func (s *stage) flush(to backend) error {
	if s.cols.Rows == 0 {
		return nil
	}
	rows := rowsTo{cols: s.cols}
	if s.router != nil {
		rows.at, rows.tuples = s.at[:s.cols.Rows], s.router.tuples
	}
	if s.groups != nil {
		rows.lane = s.lane[:s.cols.Rows]
	}
	err := to.add(rows)
	s.cols.Reset()
	return err
}

// memory is what the stage holds.
func (s *stage) memory() int64 {
	n := s.cols.Cap()
	if s.router != nil {
		n += s.router.bytes
	}
	return n
}

// rowsTo are rows on their way to the encoders: at says which of tuples each belongs to (nil: the table is not
// partitioned), lane to which encoder it goes (nil: to the only one). They are good during the call alone.
type rowsTo struct {
	cols   *mapper.Columns
	at     []int32
	tuples []*tuple
	lane   []uint8
}
