package mapper

import (
	"errors"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

func TestRawPutsTheWholeValueIntoOneColumn(t *testing.T) {
	for _, c := range []struct {
		typ   Type
		value string
		want  string
		code  Code
	}{
		{Type{Kind: Binary}, "\x00\xff", "\x00\xff", ""},
		{Type{Kind: Binary}, "", "", ""},
		{Type{Kind: String}, "größer\x00\ufeff", "größer\x00\ufeff", ""},
		{Type{Kind: String}, "a\xff", "", CodeUTF8},
		{Type{Kind: String}, "\xed\xa0\x80", "", CodeUTF8},
		{Type{Kind: Fixed, Length: 3}, "abc", "abc", ""},
		{Type{Kind: Fixed, Length: 3}, "ab", "", CodeLength},
	} {
		s := &Schema{Fields: []Field{{ID: 1, Name: "n", Type: Type{Kind: Long}}, {ID: 2, Name: "body", Type: c.typ, Required: true}}}
		m, err := NewRaw(RawOptions{Column: "body"})(s)
		if err != nil {
			t.Fatal(err)
		}
		cs := mustColumns(t, s)
		err = m.Map(&source.Record{Value: []byte(c.value)}, cs)
		checkInvariants(t, cs)
		var bad *BadRecordError
		switch {
		case c.code != "" && (!errors.As(err, &bad) || bad.Code != c.code || bad.Column != "body" || cs.Rows != 0):
			t.Errorf("%q into %s: %v", c.value, &c.typ, err)
		case c.code == "" && (err != nil || string(cs.Cols[1].Slot(0)) != c.want || !cs.Cols[0].IsNull(0)):
			t.Errorf("%q into %s: %v", c.value, &c.typ, err)
		}
		if err := m.Map(&source.Record{}, cs); !errors.Is(err, ErrFiltered) {
			t.Errorf("a tombstone: %v", err)
		}
	}
}

func TestRawRefusesWhatItCanNotFill(t *testing.T) {
	text := Type{Kind: String}
	for want, fields := range map[string][]Field{
		"name the one that takes it": {{ID: 1, Name: "a", Type: text}, {ID: 2, Name: "b", Type: text}},
		"bytes go to binary":         {{ID: 1, Name: "a", Type: Type{Kind: Long}}},
		"there are 0 columns":        nil,
	} {
		if _, err := NewRaw(RawOptions{})(&Schema{Fields: fields}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for want, column := range map[string]string{`there is no column "x"`: "x", `"b" is required`: "a"} {
		s := &Schema{Fields: []Field{{ID: 1, Name: "a", Type: text}, {ID: 2, Name: "b", Type: text, Required: true}}}
		if _, err := NewRaw(RawOptions{Column: column})(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
