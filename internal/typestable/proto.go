package typestable

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stormfloe/floe/mapper"
)

const protoIntro = "One message of proto3 where nothing else is said; what a type does not take is refused with the schema, before a record is read. Numbers are written " +
	"below in decimal, text in JSON's form, `none` is a field that is not written, and `bytes 0x…` are the bytes of the message behind its id, the field's tag included."

func protoFormat() *Format {
	f := &Format{Name: "Protobuf", Intro: protoIntro}
	f.Forms = append(f.Forms, protoNumbers()...)
	f.Forms = append(f.Forms, protoTexts()...)
	f.Forms = append(f.Forms, protoMessages()...)
	return f
}

// proto makes a form of a field's declaration. write gives the field as its tag and value.
func proto(name, typ string, write func(in string) []byte, samples []string, takes ...Cell) *Form {
	text := `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/wrappers.proto"; import "confluent/type/decimal.proto";
enum E { A = 0; BEE = 1; } message S { int64 a = 1; string b = 2; } message R { int64 id = 1; ` + typ + ` c = 2; }`
	return &Form{
		Name: name, Samples: samples, Refusal: mapper.CodeSchema, Takes: takes,
		Factory: mapper.NewProto(mapper.ProtoOptions{Schema: &mapper.ProtoSchema{Text: text, Message: "R"}}),
		Record: func(id int, in string) []byte {
			out := protowire.AppendVarint([]byte{1 << 3}, uint64(id))
			switch raw, ok := strings.CutPrefix(in, "bytes "); {
			case ok:
				return append(out, unhex(raw)...)
			case in == "none":
				return out
			}
			return append(out, write(in)...)
		},
	}
}

// protoVarint writes an integer, or with a sign's zigzag.
func protoVarint(in string) []byte {
	if v, err := strconv.ParseUint(in, 10, 64); err == nil {
		return protowire.AppendVarint([]byte{2 << 3}, v)
	}
	v, _ := strconv.ParseInt(in, 10, 64)
	return protowire.AppendVarint([]byte{2 << 3}, uint64(v))
}

func protoZigzag(in string) []byte {
	v, _ := strconv.ParseInt(in, 10, 64)
	return binary.AppendVarint([]byte{2 << 3}, v)
}

func protoFixed64(in string) []byte {
	v, err := strconv.ParseUint(in, 10, 64)
	if err != nil {
		n, _ := strconv.ParseInt(in, 10, 64)
		v = uint64(n)
	}
	return protowire.AppendFixed64([]byte{2<<3 | 1}, v)
}

func protoFloat(in string) []byte { return append([]byte{2<<3 | 5}, writeFloat(in)...) }

func protoDouble(in string) []byte {
	v, _ := strconv.ParseFloat(in, 64)
	return protowire.AppendFixed64([]byte{2<<3 | 1}, math.Float64bits(v))
}

func protoBytes(in string) []byte { return protowire.AppendBytes([]byte{2<<3 | 2}, unhex(in)) }

func protoText(in string) []byte {
	var s string
	if err := json.Unmarshal([]byte(in), &s); err != nil {
		s = "wrong input " + in
	}
	return protowire.AppendString([]byte{2<<3 | 2}, s)
}

// protoParts writes a message of integers from field 1 on, parted by blanks.
func protoParts(in string) []byte {
	var msg []byte
	for i, part := range strings.Fields(in) {
		v, _ := strconv.ParseInt(part, 10, 64)
		msg = protowire.AppendVarint(protowire.AppendTag(msg, protowire.Number(i+1), protowire.VarintType), uint64(v))
	}
	return protowire.AppendBytes([]byte{2<<3 | 2}, msg)
}

// protoList writes integers together.
func protoList(in string) []byte {
	var all []byte
	for _, part := range strings.Split(strings.Trim(in, "[]"), ", ") {
		v, _ := strconv.ParseInt(part, 10, 64)
		all = protowire.AppendVarint(all, uint64(v))
	}
	return protowire.AppendBytes([]byte{2<<3 | 2}, all)
}

// protoDecimal writes Confluent's decimal: its bytes and its scale.
func protoDecimal(in string) []byte {
	raw, scale, _ := strings.Cut(in, " scale ")
	n, _ := strconv.ParseInt(scale, 10, 32)
	msg := protowire.AppendBytes([]byte{1<<3 | 2}, unhex(raw))
	return protowire.AppendBytes([]byte{2<<3 | 2}, protowire.AppendVarint(append(msg, 3<<3), uint64(n)))
}

func protoNumbers() []*Form {
	const most = "18446744073709551615"
	long := []Case{{"9223372036854775807", "9223372036854775807"}, {"-9223372036854775808", "-9223372036854775808"}, {"none", "0"}}
	floats := []Cell{
		{"float", Widened, []Case{{"16777216", "1.6777216e+07"}, {"16777217", "!precision"}}},
		{"double", Widened, []Case{{"9007199254740992", "9.007199254740992e+15"}, {"9007199254740993", "!precision"}}},
		{"decimal(10,2)", Converted, []Case{{"12", "12.00"}, {"100000000", "!range"}}},
	}
	unsigned := append([]Cell{
		{"int", Converted, []Case{{"2147483647", "2147483647"}, {"2147483648", "!range"}, {most, "!range"}}},
		{"long", Converted, []Case{{"9223372036854775807", "9223372036854775807"}, {"9223372036854775808", "!range"}, {most, "!range"}}},
		{"decimal(20,0)", Converted, []Case{{most, most}}}}, floats...)
	signed := append([]Cell{{"int", Converted, []Case{{"-2147483648", "-2147483648"}, {"-2147483649", "!range"}}}, {"long", Exact, long}}, floats...)
	return []*Form{
		proto("`bool`", "bool", protoVarint, []string{"1"}, Cell{"boolean", Exact, []Case{{"1", "true"}, {"0", "false"}, {"none", "false"}, {"2", "!range"}, {"bytes 0x1201", "!type"}, {"bytes 0x10", "!syntax"}}}),
		proto("`optional bool`", "optional bool", protoVarint, []string{"1"}, Cell{"boolean", Exact, []Case{{"0", "false"}, {"none", "null"}}}),
		proto("`int32`", "int32", protoVarint, []string{"7"},
			Cell{"int", Exact, []Case{{"2147483647", "2147483647"}, {"-2147483648", "-2147483648"}, {"2147483648", "!range"}, {"none", "0"}}},
			Cell{"long", Widened, []Case{{"-1", "-1"}, {"4294967295", "!range"}}}, Cell{"float", Widened, []Case{{"16777217", "!precision"}, {"-1", "-1"}}},
			Cell{"double", Widened, []Case{{"2147483647", "2.147483647e+09"}}}, Cell{"decimal(10,2)", Converted, []Case{{"-7", "-7.00"}, {"100000000", "!range"}}}),
		proto("`int64`", "int64", protoVarint, []string{"7"}, signed...),
		proto("`sint64`", "sint64", protoZigzag, []string{"7"}, signed...),
		proto("`sfixed64`", "sfixed64", protoFixed64, []string{"7"}, signed...),
		proto("`uint64`", "uint64", protoVarint, []string{"7"}, unsigned...),
		proto("`fixed64`", "fixed64", protoFixed64, []string{"7"}, unsigned...),
		proto("`float`", "float", protoFloat, []string{"1.5"},
			Cell{"float", Exact, []Case{{"0.1", "0.1"}, {"-0", "-0"}, {"NaN", "NaN"}, {"-Inf", "-Infinity"}, {"none", "0"}}}, Cell{"double", Widened, []Case{{"0.1", "0.10000000149011612"}, {"NaN", "NaN"}}}),
		proto("`double`", "double", protoDouble, []string{"1.5"},
			Cell{"float", Converted, []Case{{"0.5", "0.5"}, {"0.1", "!precision"}, {"1e300", "!range"}}}, Cell{"double", Exact, []Case{{"0.1", "0.1"}, {"5e-324", "5e-324"}, {"Inf", "+Infinity"}}}),
	}
}

func protoTexts() []*Form {
	return []*Form{
		proto("`string`", "string", protoText, []string{`"7"`},
			Cell{"decimal(10,2)", Converted, []Case{{`"1.5"`, "1.50"}, {`"1.555"`, "!precision"}, {"none", "!type"}}},
			Cell{"date", Converted, []Case{{`"1969-12-31"`, "1969-12-31"}, {`"7"`, "!type"}}}, Cell{"time", Converted, []Case{{`"23:59:59.5"`, "23:59:59.500000"}}},
			Cell{"timestamp", Converted, []Case{{`"1969-12-31T23:59:59.5"`, "1969-12-31T23:59:59.500000"}}}, Cell{"timestamptz", Converted, []Case{{`"1970-01-01T00:00:00-01:00"`, "1970-01-01T01:00:00.000000Z"}, {`"1970-01-01T00:00:00"`, "!type"}}},
			Cell{"timestamp_ns", Converted, []Case{{`"1970-01-01T00:00:00.000000001"`, "1970-01-01T00:00:00.000000001"}}}, Cell{"timestamptz_ns", Converted, []Case{{`"1970-01-01T00:00:00.000000001Z"`, "1970-01-01T00:00:00.000000001Z"}}},
			Cell{"string", Exact, []Case{{`"hé\u0000"`, `"h\u00e9\u0000"`}, {"none", `""`}, {"bytes 0x1201ff", "!utf8"}, {"bytes 0x120361", "!syntax"}}},
			Cell{"uuid", Converted, []Case{{avroUUID, "00112233-4455-6677-8899-aabbccddeeff"}, {"none", "!type"}}}, Cell{"binary", Converted, []Case{{`"é"`, "0xc3a9"}}}),
		proto("`bytes`", "bytes", protoBytes, []string{"0x01"},
			Cell{"string", Converted, []Case{{"0x61", `"a"`}, {"0xff", "!utf8"}}}, Cell{"fixed(3)", Converted, []Case{{"0x0001ff", "0x0001ff"}, {"0x00", "!length"}, {"none", "!length"}}},
			Cell{"binary", Exact, []Case{{"0xff00", "0xff00"}, {"none", "0x"}}}),
		proto("enum", "E", protoVarint, []string{"1"},
			Cell{"int", Converted, []Case{{"1", "1"}, {"7", "7"}, {"2147483648", "!range"}}}, Cell{"long", Converted, []Case{{"-1", "-1"}, {"none", "0"}}},
			Cell{"string", Exact, []Case{{"1", `"BEE"`}, {"none", `"A"`}, {"7", "!type"}}}),
	}
}

func protoMessages() []*Form {
	// As any message they give a struct too, of the members that have their fields' names: none of a and b.
	members := func(in string) Cell {
		return Cell{"struct<a: long, b: string>", Converted, []Case{{in, "{a: null, b: null}"}}}
	}
	return []*Form{
		proto("message", "S", protoParts, []string{"7"}, Cell{"struct<a: long, b: string>", Exact, []Case{{"7", `{a: 7, b: ""}`}, {"none", "null"}, {"bytes 0x120208071203120178", `{a: 7, b: "x"}`}, {"bytes 0x120108", "!syntax"}}}),
		proto("`repeated`", "repeated int64", protoList, []string{"[7]"}, Cell{"list<long>", Exact, []Case{{"[1, -2]", "[1, -2]"}, {"none", "[]"}, {"bytes 0x10011002", "[1, 2]"}, {"bytes 0x120180", "!syntax"}}}),
		proto("`map`", "map<string, int64>", protoList, []string{"[7]"}, Cell{"map<string, long>", Exact, []Case{{"bytes 0x12050a01611007", `["a" = 7]`}, {"bytes 0x1200", `["" = 0]`}, {"none", "[]"}, {"bytes 0x12001200", "!duplicate_key"}}}),
		proto("`google.protobuf.Timestamp` (seconds, nanos)", "google.protobuf.Timestamp", protoParts, []string{"7"}, members("7"),
			Cell{"timestamptz", Exact, []Case{{"-1 999999000", "1969-12-31T23:59:59.999999Z"}, {"0 1", "!precision"}, {"0 -1", "!range"}, {"-62135596800", "0001-01-01T00:00:00.000000Z"}, {"-62135596801", "!range"}, {"253402300799 999999000", "9999-12-31T23:59:59.999999Z"}, {"253402300800", "!range"}, {"none", "null"}}},
			Cell{"timestamptz_ns", Exact, []Case{{"0 1", "1970-01-01T00:00:00.000000001Z"}, {"9223372037", "!range"}}}),
		proto("`google.protobuf.Duration` (seconds, nanos)", "google.protobuf.Duration", protoParts, []string{"7"}, members("7"),
			Cell{"decimal(10,2)", Converted, []Case{{"-1 -500000000", "-1.50"}, {"1 -1", "!range"}, {"0 1", "!precision"}, {"none", "null"}}}, Cell{"decimal(21,9)", Converted, []Case{{"315576000000 999999999", "315576000000.999999999"}, {"315576000001", "!range"}}}),
		proto("`google.protobuf.Int64Value`", "google.protobuf.Int64Value", protoParts, []string{"7"}, members("7"),
			Cell{"int", Converted, []Case{{"7", "7"}, {"2147483648", "!range"}}}, Cell{"long", Exact, []Case{{"7", "7"}, {"", "0"}, {"none", "null"}}}, Cell{"float", Widened, []Case{{"16777217", "!precision"}, {"2", "2"}}},
			Cell{"double", Widened, []Case{{"2", "2"}}}, Cell{"decimal(10,2)", Converted, []Case{{"2", "2.00"}}}),
		proto("`confluent.type.Decimal`", "confluent.type.Decimal", protoDecimal, []string{"0x07 scale 0"}, members("0x07 scale 0"),
			Cell{"decimal(10,2)", Exact, []Case{{"0xff scale 1", "-0.10"}, {"0x07 scale 0", "7.00"}, {"0x01 scale 3", "!precision"}, {"0x01 scale -7", "10000000.00"}, {"0x01 scale -8", "!range"}, {"none", "null"}, {"bytes 0x1200", "!type"}}}),
	}
}
