package mapper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// What a record fills is bounded, also where its elements take a byte or two and have a hundred columns.
func TestARecordFillsNoMoreThanItMay(t *testing.T) {
	element, text, fields := Type{Kind: Struct}, "", make([]string, 100)
	for i := range fields {
		element.Fields = append(element.Fields, Field{Name: fmt.Sprint("f", i), Type: of(Long)})
		text += fmt.Sprintf("int64 f%d=%d;", i, i+1)
		fields[i] = fmt.Sprintf(`{"name":"f%d","type":"long"}`, i)
	}
	list := &Schema{Fields: []Field{{Name: "l", Type: listOf(Field{Type: element})}}}
	schema := `{"type":"record","name":"r","fields":[{"name":"l","type":{"type":"array","items":["null",{"type":"record","name":"e","fields":[` + strings.Join(fields, ",") + `]}]}}]}`
	for name, c := range map[string]struct {
		f    Factory
		of   func(n int) []byte // a record of n elements
		most int
	}{
		"JSON":       {NewJSON(JSONOptions{}), func(n int) []byte { return []byte(`{"l":[{}` + strings.Repeat(",{}", n-1) + "]}") }, 43000},
		"JSON nulls": {NewJSON(JSONOptions{}), func(n int) []byte { return []byte(`{"l":[null` + strings.Repeat(",null", n-1) + "]}") }, 44000},
		"Avro": {NewAvro(AvroOptions{Schema: &AvroSchema{Text: schema}}), func(n int) []byte {
			return append(binary.AppendVarint(nil, int64(n)), make([]byte, n+1)...)
		}, 42000},
		"Protobuf": {NewProto(ProtoOptions{Schema: &ProtoSchema{Text: `syntax="proto3"; message E{` + text + `} message M { repeated E l = 1; }`, Message: "M"}}),
			func(n int) []byte { return bytes.Repeat([]byte{10, 0}, n) }, 42000},
	} {
		m, err := c.f(list)
		if err != nil {
			t.Fatal(name, err)
		}
		cs := mustColumns(t, list)
		for _, n := range []int{c.most, c.most + 5000, 1 << 20, 1} {
			cs.Reset()
			err := m.Map(&source.Record{Value: c.of(n)}, cs)
			if bad := codeOf(err); n > c.most != (bad == CodeSize) || n <= c.most && err != nil {
				t.Errorf("%s, %d elements: %v", name, n, err)
			}
		}
	}
}
