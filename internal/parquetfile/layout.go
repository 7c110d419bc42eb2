package parquetfile

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/stormfloe/floe/mapper"
)

// Layout says how columns of one schema lie in a file. It never changes, so that files and goroutines share it.
type Layout struct {
	leaves []leaf
	// head is the footer up to, and with, the schema.
	head []byte
}

// leaf is one primitive column, nested or not, in the order of the file.
type leaf struct {
	typ      mapper.Type
	physical parquet.Type
	// width is the number of bytes a value takes in the file; 0 for byte arrays, and for booleans.
	width int
	// signed says that the order of the values is one that the oldest readers know, who read other fields for it.
	signed bool
	path   []string
	// steps lead to it, from the column down.
	steps          []step
	maxDef, maxRep uint8
}

// step is one level of nesting: column at of the columns above.
type step struct {
	at       int
	optional bool
	repeated bool // a list or a map
}

// NewLayout takes the row type, and the same as the schema of the file.
func NewLayout(rows *mapper.Schema, file *schema.Schema) (*Layout, error) {
	l := &Layout{}
	l.find(rows.Fields, nil)
	if len(l.leaves) != file.NumColumns() {
		return nil, fmt.Errorf("parquet: the schema has %d leaves, the file %d", len(l.leaves), file.NumColumns())
	}
	for i := range l.leaves {
		if err := l.leaves[i].bind(file.Column(i)); err != nil {
			return nil, err
		}
	}
	return l, l.readHead(file)
}

func (l *Layout) find(fields []mapper.Field, above []step) {
	for i := range fields {
		f := &fields[i]
		if f.Type.Kind == mapper.Unknown {
			continue // in no file
		}
		s := step{at: i, optional: !f.Required, repeated: f.Type.Kind == mapper.List || f.Type.Kind == mapper.Map}
		steps := append(above[:len(above):len(above)], s)
		if len(f.Type.Fields) > 0 {
			l.find(f.Type.Fields, steps)
			continue
		}
		lf := leaf{typ: f.Type, steps: steps}
		for _, s := range steps {
			if s.optional {
				lf.maxDef++
			}
			if s.repeated {
				lf.maxDef++
				lf.maxRep++
			}
		}
		l.leaves = append(l.leaves, lf)
	}
}

// bind takes over what the file's schema says, and makes sure that the nesting is the same.
func (lf *leaf) bind(c *schema.Column) error {
	lf.physical, lf.path = c.PhysicalType(), c.ColumnPath()
	if int16(lf.maxDef) != c.MaxDefinitionLevel() || int16(lf.maxRep) != c.MaxRepetitionLevel() {
		return fmt.Errorf("parquet: column %s has levels %d and %d in the file, %d and %d were expected", c.Path(),
			c.MaxDefinitionLevel(), c.MaxRepetitionLevel(), lf.maxDef, lf.maxRep)
	}
	lf.signed = c.SortOrder() == schema.SortSIGNED
	switch lf.physical {
	case parquet.Types.Int32, parquet.Types.Float:
		lf.width = 4
	case parquet.Types.Int64, parquet.Types.Double:
		lf.width = 8
	case parquet.Types.FixedLenByteArray:
		lf.width = c.TypeLength()
	case parquet.Types.Boolean, parquet.Types.ByteArray:
	default:
		return fmt.Errorf("parquet: column %s has the type %s, which is not written", c.Path(), lf.physical)
	}
	return nil
}

// readHead has the library serialise the footer of an empty file. What follows the schema in it must be what this
// package writes: then what comes before is the schema, and the two agree.
func (l *Layout) readHead(file *schema.Schema) error {
	props := parquet.NewWriterProperties(parquet.WithVersion(parquet.V2_LATEST), parquet.WithCreatedBy(createdBy))
	m, err := metadata.NewFileMetadataBuilder(file, props, nil).Finish()
	if err != nil {
		return fmt.Errorf("parquet: schema: %w", err)
	}
	var buf bytes.Buffer
	if _, err := m.WriteTo(&buf, nil); err != nil {
		return fmt.Errorf("parquet: schema: %w", err)
	}
	head, ok := bytes.CutSuffix(buf.Bytes(), l.tail(nil, 0, 0, nil))
	if !ok {
		return fmt.Errorf("parquet: the library writes another footer than expected")
	}
	l.head = bytes.Clone(head)
	return nil
}

// isText says that values are of variable length.
func (lf *leaf) isText() bool { return lf.physical == parquet.Types.ByteArray }

// column finds the leaf's column.
func (lf *leaf) column(cs *mapper.Columns) *mapper.Column {
	c := cs.Cols[lf.steps[0].at]
	for _, s := range lf.steps[1:] {
		c = c.Kids[s.at]
	}
	return c
}

// slot is the number of the leaf's first value that belongs to row, or to a later one.
func (lf *leaf) slot(cs *mapper.Columns, row int) int {
	if lf.maxRep == 0 {
		return row
	}
	cols, at := cs.Cols, row
	for _, s := range lf.steps {
		c := cols[s.at]
		if s.repeated {
			at = int(c.Off[at])
		}
		cols = c.Kids
	}
	return at
}
