package mapper

import (
	"fmt"
	"maps"
	"slices"
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

// What is declared without a semicolon, or many times in one statement, costs as much as fields do.
func TestAllThatAProtobufSchemaDeclaresCounts(t *testing.T) {
	const head, many, few = `syntax = "proto2"; message M {} `, 50001, 20000
	long := strings.Repeat("N", 50000)
	for name, c := range map[string]struct{ before, each, after, says string }{
		"messages":                              {"", "message A{}", "", ""},
		"enums":                                 {"", "enum A{}", "", ""},
		"services":                              {"", "service A{}", "", ""},
		"oneofs":                                {"message A{", "oneof a{}", "}", ""},
		"methods in braces":                     {"service A{", "rpc A(M) returns (M) {}", "}", ""},
		"methods":                               {"service A{", "rpc A(M) returns (M);", "}", ""},
		"reserved names":                        {`message A{reserved "a"`, `,"a"`, ";}", ""},
		"reserved numbers":                      {"message A{reserved 1", ",1", ";}", ""},
		"options of a field":                    {"message A{optional int32 a=1[(o)=1", ",(o)=1", "];}", ""},
		"fields of an option":                   {"option (o)={", "o:1 ", "};", ""},
		"in a long name":                        {"message " + long + "{", "message A{}", "}", errProtoNames.Error()},
		"methods of a service with a long name": {"service " + long + "{", "rpc A(M) returns (M) {}", "}", errProtoNames.Error()},
	} {
		n, says := many, "has more than 50000 declarations"
		if c.says != "" {
			n, says = 4000, c.says
		}
		s := ProtoSchema{Message: "M", Text: head + c.before + strings.Repeat(c.each, n) + c.after}
		if err := boundProto(&s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d %s: %v", n, name, err)
		}
		if s.Text = head + c.before + strings.Repeat(c.each, few) + c.after; c.says == "" && boundProto(&s) != nil {
			t.Errorf("%d %s: %v", few, name, boundProto(&s))
		}
	}
	maps := ProtoSchema{Message: "M", Text: head + "message A{" + strings.Repeat("map<int32,int32>a=1;", 12499) + "}"}
	if err := boundProto(&maps); err != nil {
		t.Errorf("a map counts as more than four: %v", err)
	}
}

func TestAllThatDescriptorsDeclareCounts(t *testing.T) {
	long := proto.String(strings.Repeat("n", 50000))
	methods := func(service *string, n int) []*descriptorpb.ServiceDescriptorProto {
		return []*descriptorpb.ServiceDescriptorProto{{Name: service, Method: slices.Repeat([]*descriptorpb.MethodDescriptorProto{{}}, n)}}
	}
	for name, c := range map[string]struct {
		file *descriptorpb.FileDescriptorProto
		says string // empty: it is read
	}{
		"messages":   {&descriptorpb.FileDescriptorProto{MessageType: slices.Repeat([]*descriptorpb.DescriptorProto{{}}, 50001)}, "has more than 50000 declarations"},
		"services":   {&descriptorpb.FileDescriptorProto{Service: slices.Repeat([]*descriptorpb.ServiceDescriptorProto{{}}, 50001)}, "has more than 50000 declarations"},
		"methods":    {&descriptorpb.FileDescriptorProto{Service: methods(nil, 50000)}, "has more than 50000 declarations"},
		"fewer":      {&descriptorpb.FileDescriptorProto{Service: methods(nil, 49999)}, ""},
		"long names": {&descriptorpb.FileDescriptorProto{Service: methods(long, 4000)}, errProtoNames.Error()},
	} {
		err := boundDescriptors(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{c.file}})
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
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
