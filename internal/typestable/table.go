package typestable

import (
	"fmt"
	"strings"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/writer"
)

// Format is an input format.
type Format struct {
	// Name is the heading on the page, Intro the paragraph below it.
	Name, Intro string
	Forms       []*Form
}

// Form is one type of a format, or one form in which its values are written.
type Form struct {
	// Name is Markdown without a vertical bar.
	Name string
	// Factory makes the mapper for records of this form. The schema has the columns id (a required long) and c.
	Factory mapper.Factory
	// Record makes the record of an input's text, whose id is the number given.
	Record func(id int, in string) []byte
	// Samples are refused by every type that Takes does not name, with the code Refusal. Each is as good as another.
	Samples []string
	Refusal mapper.Code
	// Takes are the cells that need more than that. A kind may be there several times, as decimals of several scales.
	Takes []Cell
}

// How is what a type makes of a form.
type How string

// The ways, as the page has them.
const (
	// Exact: the same value in the same kind of type.
	Exact How = "exact"
	// Widened: the same value in a wider type.
	Widened How = "widened"
	// Converted: the same value in a type of another kind, by a rule.
	Converted How = "converted"
	// Refused: never.
	Refused How = "refused"
)

// Cell is a form against a type.
type Cell struct {
	// Type is what tableio.ParseType takes.
	Type string
	How  How
	// Cases are tried in this order. A cell that is not refused has one at least that is taken.
	Cases []Case
}

// Case is one input.
type Case struct {
	In string
	// Want is the value as Text gives it, or an exclamation mark and the code of the refusal.
	Want string
}

// Refused says that the input is refused.
func (c Case) Refused() bool { return strings.HasPrefix(c.Want, "!") }

// Formats are all formats of the page, in its order.
func Formats() []*Format {
	return []*Format{jsonFormat(), avroFormat(), protoFormat(), csvFormat()}
}

// kinds are the columns of the page, each with the type that samples are tried with.
var kinds = []struct{ name, typ string }{
	{"boolean", "boolean"}, {"int", "int"}, {"long", "long"}, {"float", "float"}, {"double", "double"},
	{"decimal", "decimal(10,2)"}, {"date", "date"}, {"time", "time"}, {"timestamp", "timestamp"},
	{"timestamptz", "timestamptz"}, {"timestamp_ns", "timestamp_ns"}, {"timestamptz_ns", "timestamptz_ns"},
	{"string", "string"}, {"uuid", "uuid"}, {"fixed", "fixed(3)"}, {"binary", "binary"},
	{"struct", "struct<a: long, b: string>"}, {"list", "list<long>"}, {"map", "map<string, long>"},
	{"variant", "variant"}, {"unknown", "unknown"},
}

// kindOf is the name before a type's arguments.
func kindOf(typ string) string {
	if i := strings.IndexAny(typ, "(<"); i >= 0 {
		return typ[:i]
	}
	return typ
}

// Cells gives the cells of a kind: those that the form names, or one made of its samples.
func (f *Form) Cells(kind string) []Cell {
	var out []Cell
	for _, c := range f.Takes {
		if kindOf(c.Type) == kind {
			out = append(out, c)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, k := range kinds {
		if k.name == kind {
			c := Cell{Type: k.typ, How: Refused}
			for _, in := range f.Samples {
				c.Cases = append(c.Cases, Case{In: in, Want: "!" + string(f.Refusal)})
			}
			return []Cell{c}
		}
	}
	return nil
}

// AllCells gives the cells of all kinds, in the page's order.
func (f *Form) AllCells() []Cell {
	var out []Cell
	for _, k := range kinds {
		out = append(out, f.Cells(k.name)...)
	}
	return out
}

// Columns are those of a table for values of the type.
func Columns(typ string) []tableio.Column {
	return []tableio.Column{{Name: "id", Type: "long", Required: true}, {Name: "c", Type: typ}}
}

// schemaOf is the row type with a column of the type.
func schemaOf(typ string) (*mapper.Schema, error) {
	sc, err := tableio.ParseSchema(Columns(typ))
	if err != nil {
		return nil, err
	}
	return writer.MapperSchema(sc)
}

// maxCell bounds a text on the page.
const maxCell = 60

func shorten(s string) string {
	if len(s) <= maxCell {
		return s
	}
	return fmt.Sprintf("%s … (%d characters)", s[:20], len(s))
}
