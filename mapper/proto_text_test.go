package mapper

import (
	"maps"
	"strings"
	"testing"
)

func TestHugeProtobufSchemasAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	deep := `syntax = "proto3"; ` + strings.Repeat("message A { ", 30000) + strings.Repeat("}", 30000)
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
		"comments":        {ProtoSchema{Text: `syntax = "proto3"; /*` + strings.Repeat("{", 200) + "*/ message M { } //" + strings.Repeat("(", 200)}, ""},
		"an open comment": {ProtoSchema{Text: "/*"}, "is no Protobuf schema"}, "an open string": {ProtoSchema{Text: `"\`}, "is no Protobuf schema"}, "a slash": {ProtoSchema{Text: "/"}, "is no Protobuf schema"},
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
