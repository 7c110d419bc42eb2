package mapper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// doubling is a record of which each level holds two of the next: each may be null, so that a value may be small.
func doubling(levels int, leaf string) string {
	text := fmt.Sprintf(`{"type":"record","name":"R%d","fields":[%s]}`, levels, leaf)
	for i := levels - 1; i >= 0; i-- {
		text = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":["null",%s]},{"name":"b","type":{"type":"array","items":"R%d"}}]}`, i, text, i+1)
	}
	return text
}

// asksOf gives what the records of a schema ask for.
func asksOf(t *testing.T, text string, columns ...Field) error {
	t.Helper()
	s := &Schema{Fields: columns}
	m, err := NewAvro(AvroOptions{Schema: &AvroSchema{Text: text}, Evolve: Evolution{Add: true, Widen: true, untyped: func(string) {}}})(s)
	if err != nil {
		return err
	}
	dst, err := NewColumns(s)
	if err != nil {
		t.Fatal(err)
	}
	return m.Map(&source.Record{Value: []byte{0, 0}}, dst)
}

func TestAnAvroSchemaThatStandsForCountlessColumnsIsReadInTime(t *testing.T) {
	long := `{"name":"x","type":"long"}`
	err := asksOf(t, doubling(40, long), Field{ID: 1, Name: "n", Type: Type{Kind: Long}})
	if err == nil || !strings.Contains(err.Error(), `column "a": a field that is no column, and records may not add any beyond 1000 columns in all`) {
		t.Error(err)
	}
	// Those that come to no column are no matter, however many they are; nor is what a column beside takes.
	err = asksOf(t, doubling(40, `{"name":"x","type":"null"}`), Field{ID: 1, Name: "a", Type: Type{Kind: Struct, Fields: []Field{{ID: 2, Name: "z", Type: Type{Kind: Long}}}}})
	if err != nil {
		t.Error(err)
	}
	// The bound is on the columns and not on the types: seven levels are less than 1000 columns, eight are more.
	for levels, fits := range map[int]bool{7: true, 8: false} {
		var ask *EvolveError
		if err = asksOf(t, doubling(levels, long), Field{ID: 1, Name: "n", Type: Type{Kind: Long}}); errors.As(err, &ask) != fits {
			t.Errorf("%d levels: %v", levels, err)
		} else if fits && countFields(ask.Changes[0].Type.Fields)+countFields(ask.Changes[1].Type.Fields)+2 > 999 {
			t.Errorf("%d levels: too many", levels)
		}
	}
}
