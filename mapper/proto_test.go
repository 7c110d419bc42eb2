package mapper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/stormfloe/floe/source"
)

func mustProto(t testing.TB, s *Schema, opts ProtoOptions) (Mapper, *Columns) {
	t.Helper()
	m, err := NewProto(opts)(s)
	if err != nil {
		t.Fatal(err)
	}
	return m, mustColumns(t, s)
}

// protoOf is a schema whose message M has the given body.
func protoOf(body string) *ProtoSchema {
	return &ProtoSchema{Text: `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto"; import "confluent/type/decimal.proto";
enum E { ZERO = 0; ONE = 1; } message N { int64 x = 1; string s = 2; repeated int32 l = 3; } message M { ` + body + `}`, Message: "M"}
}

func descriptorOf(t testing.TB, s *ProtoSchema) protoreflect.MessageDescriptor {
	t.Helper()
	p, err := parseProto(s)
	if err != nil {
		t.Fatal(err)
	}
	md, err := p.named(s.Message)
	if err != nil {
		t.Fatal(err)
	}
	return md
}

func TestProtoTypesAreExactOrRefused(t *testing.T) {
	n := Type{Kind: Struct, Fields: []Field{{Name: "x", Type: Type{Kind: Long}}, {Name: "s", Type: Type{Kind: String}}}}
	dec9 := Type{Kind: Decimal, Precision: 20, Scale: 2}
	for _, c := range []struct {
		field string // of the name v
		typ   Type
		text  string
		want  any // a value, or the Code of a bad record
	}{
		{"int32 v=1;", Type{Kind: Int}, "v: -5", int32(-5)},
		{"int32 v=1;", Type{Kind: Long}, "", int64(0)},
		{"optional int32 v=1;", Type{Kind: Long}, "", nil},
		{"optional int32 v=1;", Type{Kind: Long}, "v: 0", int64(0)},
		{"int64 v=1;", Type{Kind: Int}, "v: 2147483648", CodeRange},
		{"uint64 v=1;", Type{Kind: Long}, "v: 9223372036854775807", int64(1<<63 - 1)},
		{"uint64 v=1;", Type{Kind: Long}, "v: 9223372036854775808", CodeRange},
		{"fixed64 v=1;", Type{Kind: Int}, "v: 18446744073709551615", CodeRange},
		{"uint64 v=1;", dec9, "v: 18446744073709551615", CodeRange},
		{"uint64 v=1;", Type{Kind: Decimal, Precision: 20}, "v: 18446744073709551615", dec("18446744073709551615")},
		{"int64 v=1;", dec9, "v: -12", dec("-1200")},
		{"uint64 v=1;", Type{Kind: Double}, "v: 9223372036854775808", float64(1 << 63)},
		{"uint64 v=1;", Type{Kind: Double}, "v: 9223372036854775809", CodePrecision},
		{"int32 v=1;", Type{Kind: Float}, "v: 16777217", CodePrecision},
		{"sfixed32 v=1;", Type{Kind: Int}, "v: -1", int32(-1)},
		{"double v=1;", Type{Kind: Float}, "v: 0.5", float32(0.5)},
		{"double v=1;", Type{Kind: Float}, "v: 0.1", CodePrecision},
		{"string v=1;", Type{Kind: UUID}, `v: "00000000-0000-0000-0000-000000000001"`, strings.Repeat("\x00", 15) + "\x01"},
		{"string v=1;", Type{Kind: UUID}, "", CodeType},
		{"string v=1;", Type{Kind: Date}, `v: "1970-01-02"`, int32(1)},
		{"string v=1;", dec9, `v: "1.5"`, dec("150")},
		{"bytes v=1;", Type{Kind: String}, `v: "\377"`, CodeUTF8},
		{"bytes v=1;", Type{Kind: Fixed, Length: 2}, `v: "ab"`, "ab"},
		{"bytes v=1;", Type{Kind: Fixed, Length: 2}, `v: "abc"`, CodeLength},
		{"E v=1;", Type{Kind: String}, "v: ONE", "ONE"},
		{"E v=1;", Type{Kind: String}, "", "ZERO"},
		{"E v=1;", Type{Kind: String}, "v: 7", CodeType},
		{"E v=1;", Type{Kind: Int}, "v: 7", int32(7)},
		{"N v=1;", n, "", nil},
		{"N v=1;", n, "v { x: 5 }", []any{int64(5), ""}},
		{"google.protobuf.Timestamp v=1;", Type{Kind: TimestampTz}, "v { seconds: -1 nanos: 999999000 }", int64(-1)},
		{"google.protobuf.Timestamp v=1;", Type{Kind: TimestampTz}, "v { nanos: 1 }", CodePrecision},
		{"google.protobuf.Timestamp v=1;", Type{Kind: TimestampTzNs}, "v { nanos: 1 }", int64(1)},
		{"google.protobuf.Timestamp v=1;", Type{Kind: TimestampTz}, "v { nanos: -1 }", CodeRange},
		{"google.protobuf.Timestamp v=1;", Type{Kind: TimestampTz}, "v { seconds: 253402300800 }", CodeRange},
		{"google.protobuf.Timestamp v=1;", Type{Kind: TimestampTz}, "", nil},
		{"google.protobuf.Duration v=1;", dec9, "v { seconds: -1 nanos: -500000000 }", dec("-150")},
		{"google.protobuf.Duration v=1;", dec9, "v { seconds: 1 nanos: -500000000 }", CodeRange},
		{"google.protobuf.Duration v=1;", dec9, "v { nanos: 1 }", CodePrecision},
		{"google.protobuf.Int32Value v=1;", Type{Kind: Long}, "", nil},
		{"google.protobuf.Int32Value v=1;", Type{Kind: Long}, "v {}", int64(0)},
		{"google.protobuf.StringValue v=1;", Type{Kind: String}, `v { value: "x" }`, "x"},
		{"confluent.type.Decimal v=1;", dec9, `v { value: "\377" precision: 3 scale: 1 }`, dec("-10")},
		{"confluent.type.Decimal v=1;", dec9, `v { value: "\001" scale: 3 }`, CodePrecision},
		{"confluent.type.Decimal v=1;", dec9, `v { value: "\001" scale: -2147483648 }`, CodeRange},
		{"confluent.type.Decimal v=1;", dec9, `v { }`, CodeType},
		{"repeated int32 v=1;", listOf(Field{Type: Type{Kind: Int}}), "", []any{}},
		{"map<string,N> v=1;", mapOf(Type{Kind: String}, Field{Type: n}), `v { key: "k" }`, []any{"k", []any{int64(0), ""}}},
		{"map<bool,google.protobuf.Int32Value> v=1;", mapOf(Type{Kind: Boolean}, Field{Type: Type{Kind: Int}}), `v { value { } }`, []any{false, int32(0)}},
	} {
		schema := protoOf(c.field)
		m, cs := mustProto(t, &Schema{Fields: []Field{{Name: "v", Type: c.typ}}}, ProtoOptions{Schema: schema})
		row, bad := mapAvro(t, m, cs, fromText(t, descriptorOf(t, schema), c.text))
		if code, ok := c.want.(Code); ok {
			if bad == nil || bad.Code != code || bad.Column != "v" {
				t.Errorf("%s %s to %s: got %v %v, want %s", c.field, c.text, &c.typ, row, bad, code)
			}
		} else if bad != nil || !reflect.DeepEqual(row[0], c.want) {
			t.Errorf("%s %s to %s: got %v %v, want %v", c.field, c.text, &c.typ, row, bad, c.want)
		}
	}
}

func TestProtoRefusesWhatWouldBeAGuess(t *testing.T) {
	for _, c := range []struct {
		field string
		typ   Type
		says  string
	}{
		{"int64 v=1;", Type{Kind: TimestampTz}, "its unit would be a guess"},
		{"google.protobuf.Timestamp v=1;", Type{Kind: Timestamp}, "without a time zone"},
		{"google.protobuf.Timestamp v=1;", Type{Kind: Date}, "without a time zone"},
		{"google.protobuf.Struct v=1;", Type{Kind: String}, "values of any type"},
		{"N v=1;", Type{Kind: String}, "the message N does not fit a column of type string"},
		{"repeated int32 v=1;", Type{Kind: Int}, "the repeated field M.v"},
		{"int32 v=1;", listOf(Field{Type: Type{Kind: Int}}), "does not fit a column of type list<int>"},
		{"map<string,int32> v=1;", listOf(Field{Type: Type{Kind: Int}}), "the map M.v"},
		{"bool v=1;", Type{Kind: Int}, "type bool"},
		{"M v=1;", Type{Kind: Struct, Fields: []Field{{Name: "v", Type: Type{Kind: Struct}}}}, "the message M is recursive"},
	} {
		_, err := NewProto(ProtoOptions{Schema: protoOf(c.field)})(&Schema{Fields: []Field{{Name: "v", Type: c.typ}}})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `column "v"`) {
			t.Errorf("%s to %s: %v", c.field, &c.typ, err)
		}
	}
	if _, err := NewProto(ProtoOptions{Schema: protoOf("int32 a=1;")})(&Schema{Fields: []Field{{Name: "v", Type: Type{Kind: Int}, Required: true}}}); err == nil || !strings.Contains(err.Error(), "has no field of that name") {
		t.Error(err)
	}
}

// raw is a message written by hand: pairs of a tag and a value.
func raw(parts ...any) (b []byte) {
	for i := 0; i < len(parts); i += 2 {
		num := protowire.Number(parts[i].(int))
		switch v := parts[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
		}
	}
	return b
}

func TestProtoPiecesOfARecordAreMerged(t *testing.T) {
	n := Type{Kind: Struct, Fields: []Field{{Name: "x", Type: Type{Kind: Long}}, {Name: "s", Type: Type{Kind: String}}, {Name: "l", Type: listOf(Field{Type: Type{Kind: Int}})}}}
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}, {Name: "n", Type: n}, {Name: "x", Type: Type{Kind: Long}}, {Name: "y", Type: n}, {Name: "m", Type: mapOf(Type{Kind: Long}, Field{Type: Type{Kind: Long}})},
		{Name: "t", Type: Type{Kind: TimestampTz}}, {Name: "l", Type: listOf(Field{Type: Type{Kind: Long}})}}}
	m, cs := mustProto(t, s, ProtoOptions{Schema: protoOf("int64 a=1; N n=2; oneof o { int64 x=3; N y=4; string left=5; } map<int64,int64> m=6; google.protobuf.Timestamp t=7; repeated int64 l=8;")})
	for i, c := range []struct {
		in   []byte
		want any
	}{
		{raw(1, 5, 1, 6), []any{int64(6), nil, nil, nil, []any{}, nil, []any{}}},
		{raw(2, raw(1, 5, 3, 1), 1, 7, 2, raw(2, "s", 3, []byte{2, 3}), 2, raw(1, 6)), []any{int64(7), []any{int64(6), "s", []any{int32(1), int32(2), int32(3)}}, nil, nil, []any{}, nil, []any{}}},
		{raw(3, 5, 4, raw(1, 5)), []any{int64(0), nil, nil, []any{int64(5), "", []any{}}, []any{}, nil, []any{}}},
		{raw(4, raw(1, 5), 3, 5), []any{int64(0), nil, int64(5), nil, []any{}, nil, []any{}}},
		{raw(4, raw(1, 5, 2, "s", 3, 1), 3, 5, 4, raw(1, 6)), []any{int64(0), nil, nil, []any{int64(6), "", []any{}}, []any{}, nil, []any{}}},
		{raw(3, 5, 5, "left out"), []any{int64(0), nil, nil, nil, []any{}, nil, []any{}}},
		{raw(6, raw(1, 1, 2, 5, 2, 6), 6, raw(2, 1)), []any{int64(0), nil, nil, nil, []any{int64(1), int64(6), int64(0), int64(1)}, nil, []any{}}},
		{raw(6, raw(1, 1), 6, raw(1, 1)), CodeDuplicateKey},
		{raw(7, raw(1, 1), 7, raw(2, 1000)), []any{int64(0), nil, nil, nil, []any{}, int64(1000001), []any{}}},
		{raw(8, 1, 1, 5, 8, []byte{2, 3}, 8, []byte{}, 8, 4), []any{int64(5), nil, nil, nil, []any{}, nil, []any{int64(1), int64(2), int64(3), int64(4)}}},
		{raw(1, "x"), CodeType},
		{raw(2, 5), CodeType},
		{raw(5, 5), CodeType},
		{raw(5, "\xff"), CodeUTF8},
		{raw(99, 5, 100, "unknown"), []any{int64(0), nil, nil, nil, []any{}, nil, []any{}}},
		{[]byte{8}, CodeSyntax}, {[]byte{0, 0}, CodeSyntax}, {[]byte{12}, CodeSyntax}, {[]byte{0xf8, 6}, CodeSyntax}, {[]byte{0xfe, 6, 1}, CodeSyntax}, {[]byte{0xfb, 6}, CodeSyntax}, {[]byte{0xfb, 6, 8, 1, 0xfc, 6}, []any{int64(0), nil, nil, nil, []any{}, nil, []any{}}},
		{append([]byte{8}, slices.Repeat([]byte{0xff}, 10)...), CodeSyntax},
	} {
		row, bad := mapAvro(t, m, cs, c.in)
		if code, ok := c.want.(Code); ok {
			if bad == nil || bad.Code != code {
				t.Errorf("%d: got %v %v, want %s", i, row, bad, code)
			}
		} else if bad != nil || !reflect.DeepEqual(row, c.want) {
			t.Errorf("%d: got %v %v, want %v", i, row, bad, c.want)
		}
	}
}

func TestProtoTwoHasPresenceAndDefaults(t *testing.T) {
	schema := &ProtoSchema{Message: "M", Text: `syntax = "proto2"; message M { required int32 r = 1; optional int32 o = 2; optional string d = 3 [default = "def"]; optional group G = 4 { required int32 x = 1; } optional E e = 5; optional E f = 6 [default = B]; } enum E { A = 1; B = 2; }`}
	s := &Schema{Fields: []Field{{Name: "r", Type: Type{Kind: Int}}, {Name: "o", Type: Type{Kind: Int}}, {Name: "d", Type: Type{Kind: String}, Required: true},
		{Name: "g", Type: Type{Kind: Struct, Fields: []Field{{Name: "x", Type: Type{Kind: Int}}}}}, {Name: "e", Type: Type{Kind: String}}, {Name: "f", Type: Type{Kind: String}}}}
	m, cs := mustProto(t, s, ProtoOptions{Schema: schema})
	if row, bad := mapAvro(t, m, cs, raw(1, 5)); bad != nil || !reflect.DeepEqual(row, []any{int32(5), nil, "def", nil, nil, "B"}) {
		t.Errorf("got %v %v", row, bad)
	}
	if row, bad := mapAvro(t, m, cs, append(raw(1, 5), 0x23, 8, 7, 0x24)); bad != nil || !reflect.DeepEqual(row[3], []any{int32(7)}) {
		t.Errorf("got %v %v", row, bad)
	}
	for col, in := range map[string][]byte{"r": raw(2, 5), "g.x": append(raw(1, 5), 0x23, 0x24)} {
		if _, bad := mapAvro(t, m, cs, in); bad == nil || bad.Code != CodeRequired || bad.Column != col {
			t.Errorf("%s: got %v", col, bad)
		}
	}
}

func TestProtoDepthIsBounded(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, cs := mustProto(t, s, ProtoOptions{Schema: protoOf("int64 a=1; M again=2;"), MaxDepth: 10})
	nested := func(n int) (b []byte) {
		for range n {
			b = raw(2, b)
		}
		return b
	}
	if _, bad := mapAvro(t, m, cs, nested(9)); bad != nil {
		t.Error(bad)
	}
	if _, bad := mapAvro(t, m, cs, nested(10)); bad == nil || bad.Code != CodeDepth {
		t.Error(bad)
	}
	if _, bad := mapAvro(t, m, cs, slices.Repeat([]byte{0x7b}, 1000)); bad == nil || bad.Code != CodeDepth {
		t.Error(bad)
	}
}

func TestProtoUnknownFieldsMayBeRejected(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, cs := mustProto(t, s, ProtoOptions{Schema: protoOf("int64 a=1; int64 b=2; repeated int64 c=3;"), Unknown: UnknownOptions{Policy: UnknownReject}})
	if _, bad := mapAvro(t, m, cs, raw(1, 5)); bad != nil {
		t.Error(bad)
	}
	for _, in := range [][]byte{raw(2, 5), raw(9, 5), raw(3, []byte{1}), raw(3, 1)} {
		if _, bad := mapAvro(t, m, cs, in); bad == nil || bad.Code != CodeUnknown {
			t.Errorf("%x: %v", in, bad)
		}
	}
}

type protoSchemas map[uint32]ProtoSchema

func (s protoSchemas) ResolveProto(_ context.Context, ref SchemaRef) (ProtoSchema, error) {
	id := ref.ID
	if ref.ByGUID() {
		id = 1000 + uint32(ref.GUID[15])
	}
	if got, ok := s[id]; ok {
		return got, nil
	}
	if id == 50 {
		return ProtoSchema{}, fmt.Errorf("%w: AVRO", ErrWrongSchema)
	}
	return ProtoSchema{}, ErrNoSchema
}

func TestProtoWireFormat(t *testing.T) {
	reg := protoSchemas{
		1: {Text: `syntax = "proto3"; message A { int64 v = 1; } message B { message C { int64 v = 2; } message D { int64 v = 3; } string v = 1; }`},
		2: {Text: `syntax = "proto3"; import "sub/other.proto"; message A { Other o = 1; int64 v = 2; }`, Imports: map[string]string{"sub/other.proto": `syntax = "proto3"; import "confluent/meta.proto"; message Other { int64 x = 1 [(confluent.field_meta) = {doc: "x"}]; }`}},
		3: {Text: `syntax = "proto3"; message A { map<string, int32> m = 1; message B { int64 v = 1; } message C { int64 v = 2; } }`},
		4: {Text: `nonsense`}, 5: {Text: `syntax = "proto3"; import "away.proto"; message A { }`},
	}
	s := &Schema{Fields: []Field{{Name: "v", Type: Type{Kind: Long}}}}
	m, cs := mustProto(t, s, ProtoOptions{Resolver: reg})
	for i, c := range []struct {
		rec  *source.Record
		want any
	}{
		{wire(1, []byte{0}, raw(1, 5)), int64(5)},
		{wire(1, zz(1, 0), raw(1, 6)), int64(6)},
		{wire(1, zz(2, 1, 0), raw(2, 7)), int64(7)},
		{wire(1, zz(2, 1, 1), raw(3, 8)), int64(8)},
		{wire(1, zz(2, 1, 1)), int64(0)},
		{wire(2, []byte{0}, raw(1, raw(1, 5), 2, 9)), int64(9)},
		{wire(1, zz(1, 1), raw(1, "text")), CodeSchema}, // B.v is a string
		{wire(1, zz(1, 2)), CodeSchema},
		{wire(1, zz(2, 1, 2)), CodeSchema},
		{wire(1, zz(-1)), CodeSyntax},
		{wire(1, zz(1)), CodeSyntax},
		{wire(1), CodeSyntax},
		{wire(1, []byte{0x80, 0}), CodeSyntax},
		{wire(3, zz(2, 0, 2), raw(2, 5)), int64(5)},   // C, if entries count, and nothing if not
		{wire(3, zz(2, 0, 1), raw(2, 5)), CodeSchema}, // B or C
		{wire(4, []byte{0}), CodeSchema}, {wire(5, []byte{0}), CodeSchema}, {wire(50, []byte{0}), CodeSchema}, {wire(99, []byte{0}), CodeSchema},
		{&source.Record{Value: []byte{1, 0, 0, 0, 1, 0}}, CodeSyntax}, {&source.Record{Value: []byte{}}, CodeEmpty},
	} {
		cs.Reset()
		err := mapWire(t, m, cs, c.rec)
		if code, ok := c.want.(Code); ok {
			if codeOf(err) != code {
				t.Errorf("%d: got %v, want %s", i, err, code)
			}
		} else if err != nil || rowOf(cs, 0)[0] != c.want {
			t.Errorf("%d: got %v %v, want %v", i, rowsOf(cs), err, c.want)
		}
	}
	if err := m.Map(&source.Record{}, cs); !errors.Is(err, ErrFiltered) {
		t.Errorf("a tombstone gave %v", err)
	}
}

func TestProtoDescriptorSet(t *testing.T) {
	md := descriptorOf(t, protoOf("google.protobuf.Timestamp v = 1;"))
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(md.ParentFile())}}
	s := &Schema{Fields: []Field{{Name: "v", Type: Type{Kind: TimestampTz}}}}
	write := func() []byte {
		b, err := proto.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if _, err := NewProto(ProtoOptions{Schema: &ProtoSchema{DescriptorSet: write(), Message: "M"}})(s); err == nil || !strings.Contains(err.Error(), "--include_imports") {
		t.Errorf("got %v", err)
	}
	for i := range md.ParentFile().Imports().Len() {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(md.ParentFile().Imports().Get(i).FileDescriptor))
	}
	schema := &ProtoSchema{DescriptorSet: write(), Message: "M"}
	if err := schema.Validate(); err != nil {
		t.Fatal(err)
	}
	m, cs := mustProto(t, s, ProtoOptions{Schema: schema})
	if row, bad := mapAvro(t, m, cs, raw(1, raw(1, 5))); bad != nil || row[0] != int64(5000000) {
		t.Errorf("got %v %v", row, bad)
	}
	for _, bad := range []ProtoSchema{{}, {DescriptorSet: []byte("x")}, {DescriptorSet: []byte{}}, {DescriptorSet: write()}, {DescriptorSet: write(), Message: "X"}, {DescriptorSet: write(), Message: "E"}, {DescriptorSet: write(), Text: "x", Message: "M"}} {
		if bad.Validate() == nil {
			t.Errorf("%q %q was taken", bad.Text, bad.Message)
		}
	}
}

func TestProtoFullColumnsAreLeftAlone(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "e", Type: Type{Kind: String}}}}
	m, cs := mustProto(t, s, ProtoOptions{Schema: &ProtoSchema{Message: "M", Text: `syntax = "proto3"; enum E { ` + strings.Repeat("S", 60) + ` = 0; } message M { E e = 1; }`}})
	cs.limit = 100
	rec := &source.Record{Value: raw(1, 0)}
	if err := m.Map(rec, cs); err != nil {
		t.Fatal(err)
	}
	if err := m.Map(rec, cs); !errors.Is(err, ErrFull) {
		t.Fatalf("got %v", err)
	}
	checkInvariants(t, cs)
	cs.Reset()
	cs.limit = 50
	if err := m.Map(rec, cs); codeOf(err) != CodeSize {
		t.Fatalf("got %v", err)
	}
	if err := m.Map(rec, mustColumns(t, &Schema{Fields: []Field{{Name: "e", Type: Type{Kind: Long}}}})); !errors.Is(err, ErrSchema) {
		t.Fatalf("got %v", err)
	}
}

func TestProtoOptionsAreChecked(t *testing.T) {
	for _, o := range []ProtoOptions{{}, {Resolver: protoSchemas{}, Schema: &ProtoSchema{}}, {Resolver: protoSchemas{}, MaxDepth: -1}, {Resolver: protoSchemas{}, MaxDepth: 10001}, {Resolver: protoSchemas{}, Unknown: UnknownOptions{Policy: UnknownKeep, Column: "x"}}, {Schema: &ProtoSchema{Text: "{"}}} {
		if _, err := NewProto(o)(&Schema{}); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestSteadyProtoMappingAllocatesNothing(t *testing.T) {
	o := newProtoOracle(t)
	var recs []source.Record
	for _, b := range o.seeds(t)[1:] {
		recs = append(recs, source.Record{Value: b})
	}
	round := func() {
		for i := range recs {
			if err := o.m.Map(&recs[i], o.cs); err != nil {
				t.Fatal(err)
			}
		}
		o.cs.Reset()
	}
	round()
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}

// What the user drops is left out where unknown fields are refused, with all that is in it; what is beside it is refused still.
func TestProtoDroppedFieldsAreNotUnknown(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, err := WithRules(Rules{Drop: []Path{{"b"}, {"n"}, {"p"}}}, NewProto(ProtoOptions{Unknown: UnknownOptions{Policy: UnknownReject},
		Schema: protoOf("int64 a=1; int64 b=2; N n=3; repeated int32 p=4; int64 c=5;")}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	in := raw(1, 5, 2, 6, 3, raw(1, 7, 9, "new"), 4, []byte{1})
	if row, bad := mapAvro(t, m, cs, in); bad != nil || row[0] != int64(5) {
		t.Error(row, bad)
	}
	for _, more := range [][]byte{raw(5, 1), raw(9, 1)} {
		if _, bad := mapAvro(t, m, cs, append(slices.Clone(in), more...)); bad == nil || bad.Code != CodeUnknown {
			t.Errorf("%x: %v", more, bad)
		}
	}
}
