package mapper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

func TestMetadataTypes(t *testing.T) {
	list := func(members ...Field) Type {
		return listOf(Field{ID: 9, Name: "element", Type: Type{Kind: Struct, Fields: members}})
	}
	text, bytes := Type{Kind: String}, Type{Kind: Binary}
	k, v, vb := Field{ID: 11, Name: "key", Type: text, Required: true}, Field{ID: 12, Name: "value", Type: text}, Field{ID: 13, Name: "value", Type: bytes}
	rec := source.Record{Position: 5, TimestampMs: 1500, Key: []byte("key!"), Value: []byte(`{}`), Headers: []source.Header{header("b", "2"), header("a", "1"), header("b", "3")}}
	for _, c := range []struct {
		part Metadata
		typ  Type
		want string // empty: refused
	}{
		{Metadata{Topic: "c"}, text, "orders"},
		{Metadata{Topic: "c"}, bytes, ""},
		{Metadata{Partition: "c"}, Type{Kind: Int}, "3"},
		{Metadata{Partition: "c"}, Type{Kind: Long}, "3"},
		{Metadata{Partition: "c"}, text, ""},
		{Metadata{Offset: "c"}, Type{Kind: Long}, "5"},
		{Metadata{Offset: "c"}, Type{Kind: Int}, ""},
		{Metadata{Timestamp: "c"}, Type{Kind: TimestampTz}, "1500000"},
		{Metadata{Timestamp: "c"}, Type{Kind: TimestampTzNs}, "1500000000"},
		{Metadata{Timestamp: "c"}, Type{Kind: Long}, "1500"},
		{Metadata{Timestamp: "c"}, Type{Kind: Timestamp}, ""},
		{Metadata{Timestamp: "c"}, Type{Kind: Date}, ""},
		{Metadata{Key: "c"}, bytes, "[107 101 121 33]"},
		{Metadata{Key: "c"}, text, "key!"},
		{Metadata{Key: "c"}, Type{Kind: Fixed, Length: 4}, "key!"},
		{Metadata{Key: "c"}, Type{Kind: Long}, ""},
		{Metadata{Tombstone: "c"}, Type{Kind: Boolean}, "false"},
		{Metadata{Tombstone: "c"}, Type{Kind: Int}, ""},
		{Metadata{Headers: "c"}, list(k, v), "[[b 2] [a 1] [b 3]]"},
		{Metadata{Headers: "c"}, list(vb, k), "[[[50] b] [[49] a] [[51] b]]"},
		{Metadata{Headers: "c"}, list(k), ""},
		{Metadata{Headers: "c"}, list(k, Field{ID: 14, Name: "val", Type: text}), ""},
		{Metadata{Headers: "c"}, listOf(k), ""},
		{Metadata{Headers: "c"}, mapOf(Type{Kind: Long}, v), ""},
		{Metadata{Headers: "c"}, mapOf(text, Field{ID: 15, Name: "value", Type: Type{Kind: Long}}), ""},
		{Metadata{Headers: "c"}, text, ""},
	} {
		name := fmt.Sprintf("%+v into %s", c.part, &c.typ)
		s := &Schema{Fields: []Field{{ID: 1, Name: "c", Type: c.typ}}}
		m, err := Compose(NewJSON(JSONOptions{}), Parts{Metadata: c.part})(s)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "does not go to: make it ") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		SetPartition(m, source.Partition{Topic: "orders", ID: 3})
		cs := mustColumns(t, s)
		if err := m.Map(&rec, cs); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkInvariants(t, cs)
		if got := showRow(cs, 0); got != "["+c.want+"]" {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestAHeaderWithoutAValueIsNullOrBad(t *testing.T) {
	for _, required := range []bool{false, true} {
		s := &Schema{Fields: []Field{
			{ID: 1, Name: "all", Type: mapOf(Type{Kind: String}, Field{ID: 2, Name: "value", Type: Type{Kind: String}, Required: required})},
		}}
		m, cs := mustCompose(t, s, Parts{Metadata: Metadata{Headers: "all"}})
		err := m.Map(&source.Record{Value: []byte(`{}`), Headers: []source.Header{{Key: []byte("a")}, {Key: []byte("b"), Value: []byte{}}}}, cs)
		var bad *BadRecordError
		switch {
		case required && (!errors.As(err, &bad) || bad.Code != CodeRequired || bad.Column != "all.value"):
			t.Errorf("required: %v", err)
		case !required && err != nil:
			t.Error(err)
		case !required && showRow(cs, 0) != "[[[a <nil>] [b ]]]":
			t.Errorf("got %s", showRow(cs, 0))
		}
	}
}

func TestConstantsOfEachType(t *testing.T) {
	for _, c := range []struct {
		typ        Type
		text, want string // want empty: refused
	}{
		{Type{Kind: String}, "eu", "eu"}, {Type{Kind: String}, "", ""}, {Type{Kind: Long}, "7", "7"}, {Type{Kind: Boolean}, "true", "true"},
		{Type{Kind: Double}, "1.5", "1.5"}, {Type{Kind: Date}, "1970-01-02", "1"}, {Type{Kind: Binary}, "AQI=", "\x01\x02"},
		{Type{Kind: Fixed, Length: 2}, "AQI=", "\x01\x02"}, {Type{Kind: TimestampTz}, "1970-01-01T00:00:01Z", "1000000"},
	} {
		s := &Schema{Fields: []Field{{ID: 1, Name: "c", Type: c.typ}}}
		m, cs := mustCompose(t, s, Parts{Constants: map[string]string{"c": c.text}})
		for range 9 {
			if err := m.Map(&source.Record{Value: []byte(`{"c":1}`)}, cs); err != nil {
				t.Fatal(err)
			}
		}
		checkInvariants(t, cs)
		if got := fmt.Sprint(valueOf(cs.Cols[0], 8)); got != c.want {
			t.Errorf("%s: got %q, want %q", &c.typ, got, c.want)
		}
	}
	for text, typ := range map[string]Type{"x": {Kind: Long}, "2147483648": {Kind: Int}, "[]": listOf(Field{Name: "element", Type: Type{Kind: Int}}), "\xff": {Kind: String}} {
		s := &Schema{Fields: []Field{{ID: 1, Name: "c", Type: typ}}}
		if _, err := Compose(NewJSON(JSONOptions{}), Parts{Constants: map[string]string{"c": text}})(s); err == nil || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("%s: %v", &typ, err)
		}
	}
}
