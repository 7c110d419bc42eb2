package mapper

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestHugeProtobufSchemasAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	deep := `syntax = "proto3"; ` + strings.Repeat("message A { ", 30000) + strings.Repeat("}", 30000)
	maps6000 := "message A { " + strings.Repeat("map<int32,int32>a=1;", 6000)
	half := "// " + strings.Repeat("x", mostProtoText/2)
	for name, c := range map[string]struct {
		schema ProtoSchema
		says   string // empty: it is read
	}{
		"large":           {ProtoSchema{Text: half + half}, "at most 2097152 are read"},
		"large together":  {ProtoSchema{Text: half, Imports: map[string]string{"a.proto": half}}, "with what it imports"},
		"deep":            {ProtoSchema{Text: deep}, "is nested more than 100 deep"},
		"a deep import":   {ProtoSchema{Text: `syntax = "proto3"; import "a.proto";`, Imports: map[string]string{"a.proto": deep}}, "deep in a.proto"},
		"a deep option":   {ProtoSchema{Text: `syntax = "proto3"; option (x) = ` + strings.Repeat("{a:[", 60)}, "is nested more than 100 deep"},
		"hidden closings": {ProtoSchema{Text: strings.Repeat("message A { /*}*/ //}\n", 101)}, "is nested more than 100 deep"},
		"closings in text": {ProtoSchema{Text: strings.Repeat(`message A { option x = "\"}"; option y = '}';`, 101)},
			"is nested more than 100 deep"},
		"maps":          {ProtoSchema{Text: `syntax = "proto3"; message M { ` + strings.Repeat("map<int32,int32>a=1;", 12501) + "}"}, "has more than 50000 declarations"},
		"maps together": {ProtoSchema{Text: maps6000, Imports: map[string]string{"a.proto": maps6000, "b.proto": maps6000}}, "has more than 50000 declarations"},
		"a long name": {ProtoSchema{Text: `syntax = "proto3"; message ` + strings.Repeat("M", 1000) + "{" + strings.Repeat("message "+strings.Repeat("M", 1000)+" {", 20) + strings.Repeat("int32 a=1;", 4000)},
			"full names of more than"},
		"a long package":             {ProtoSchema{Text: `syntax = "proto3"; package ` + strings.Repeat("p.", 5000) + "p; message M { " + strings.Repeat("int32 a=1;", 9000)}, "full names of more than"},
		"deep descriptors":           {ProtoSchema{DescriptorSet: nested(101, "m", 0)}, "is nested more than 100 deep"},
		"descriptors of a long name": {ProtoSchema{DescriptorSet: nested(99, strings.Repeat("m", 1000), 1000)}, "full names of more than"},
		"descriptors":                {ProtoSchema{DescriptorSet: nested(100, "M", 10)}, ""},
		"comments":                   {ProtoSchema{Text: `syntax = "proto3"; /*` + strings.Repeat("{", 200) + "*/ message M { } //" + strings.Repeat("(", 200)}, ""},
		"an open comment":            {ProtoSchema{Text: "/*"}, "is no Protobuf schema"}, "an open string": {ProtoSchema{Text: `"\`}, "is no Protobuf schema"}, "a slash": {ProtoSchema{Text: "/"}, "is no Protobuf schema"},
	} {
		c.schema.Message = "M"
		if err := c.schema.Validate(); c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	before := maps.Clone(bundled)
	if err := (&ProtoSchema{Text: `syntax = "proto3"; message M { }`, Message: "M", Imports: map[string]string{"confluent/meta.proto": `syntax = "proto3";`}}).Validate(); err != nil || !maps.Equal(before, bundled) {
		t.Errorf("%v, and what is bundled has changed: %v", err, !maps.Equal(before, bundled))
	}
}

// nested is a set of messages in one another, the innermost with fields.
func nested(depth int, name string, fields int) []byte {
	var in []*descriptorpb.DescriptorProto
	for i := range depth {
		m := &descriptorpb.DescriptorProto{Name: &name, NestedType: in}
		for k := range fields {
			if i == 0 {
				m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String(fmt.Sprint("f", k)), Number: proto.Int32(int32(k + 1)),
					Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum()})
			}
		}
		in = []*descriptorpb.DescriptorProto{m}
	}
	b, _ := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{Name: proto.String("f"), MessageType: in}}})
	return b
}
