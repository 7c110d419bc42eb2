package typestable

import (
	"fmt"
	"strings"

	"github.com/stormfloe/floe/mapper"
)

const avroIntro = "One Avro record, read as it was written; what a type does not take is refused with the schema, before a record is " +
	"read. Numbers are written below in decimal, decimals with all digits of their scale, `bytes` and `fixed` in hexadecimal, maps as `key=value`, " +
	"a branch of a union before its value; `bytes 0x…` are the bytes of the field as they stand in the record."

func avroFormat() *Format {
	f := &Format{Name: "Avro", Intro: avroIntro}
	f.Forms = append(f.Forms, avroNumbers()...)
	f.Forms = append(f.Forms, avroBytes()...)
	f.Forms = append(f.Forms, avroDecimals()...)
	f.Forms = append(f.Forms, avroTimes()...)
	f.Forms = append(f.Forms, avroNested()...)
	return f
}

// avro makes a form of an Avro type, whose schema is JSON or the bare name of a type.
func avro(name, schema string, write func(in string) []byte, samples []string, takes ...Cell) *Form {
	if !strings.ContainsAny(schema, `{["`) {
		schema = fmt.Sprintf("%q", schema)
	}
	record := `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"c","type":` + schema + `}]}`
	return &Form{
		Name: name, Samples: samples, Refusal: mapper.CodeSchema, Takes: takes,
		Factory: mapper.NewAvro(mapper.AvroOptions{Schema: &mapper.AvroSchema{Text: record}}),
		Record:  avroRecord(write),
	}
}

func logical(typ, name string) string { return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, typ, name) }

func avroNumbers() []*Form {
	return []*Form{
		avro("`null`", "null", writeNothing, nil, everyKind(Exact, []string{"variant"}, Case{"null", "null"})...),
		avro("`boolean`", "boolean", writeBoolean, []string{"true"},
			Cell{"boolean", Exact, []Case{{"true", "true"}, {"false", "false"}, {"bytes 0x02", "!syntax"}, {"bytes 0x", "!syntax"}}}),
		avro("`int`", "int", writeLong, []string{"7"},
			Cell{"int", Exact, []Case{{"0", "0"}, {"2147483647", "2147483647"}, {"-2147483648", "-2147483648"}, {"2147483648", "!syntax"}, {"bytes 0x80", "!syntax"}, {"bytes 0x808080808000", "!syntax"}}},
			Cell{"long", Widened, []Case{{"2147483647", "2147483647"}, {"-2147483648", "-2147483648"}, {"-2147483649", "!syntax"}}},
			Cell{"float", Widened, []Case{{"16777216", "1.6777216e+07"}, {"16777217", "!precision"}, {"-16777216", "-1.6777216e+07"}}},
			Cell{"double", Widened, []Case{{"2147483647", "2.147483647e+09"}, {"-1", "-1"}}},
			Cell{"decimal(10,2)", Converted, []Case{{"99999999", "99999999.00"}, {"100000000", "!range"}, {"-7", "-7.00"}}},
			Cell{"decimal(4,2)", Converted, []Case{{"-99", "-99.00"}, {"100", "!range"}}}),
		avro("`long`", "long", writeLong, []string{"7"},
			Cell{"int", Converted, []Case{{"2147483647", "2147483647"}, {"2147483648", "!range"}, {"-2147483648", "-2147483648"}, {"-9223372036854775808", "!range"}}},
			Cell{"long", Exact, []Case{{"9223372036854775807", "9223372036854775807"}, {"-9223372036854775808", "-9223372036854775808"}, {"bytes 0xffffffffffffffffffff", "!syntax"}, {"bytes 0xffffffffffffffffff02", "!syntax"}}},
			Cell{"float", Widened, []Case{{"16777216", "1.6777216e+07"}, {"16777217", "!precision"}, {"-9223372036854775808", "-9.223372e+18"}, {"9223372036854775807", "!precision"}}},
			Cell{"double", Widened, []Case{{"9007199254740992", "9.007199254740992e+15"}, {"9007199254740993", "!precision"}, {"-9223372036854775808", "-9.223372036854776e+18"}, {"9223372036854775807", "!precision"}}},
			Cell{"decimal(10,2)", Converted, []Case{{"-12", "-12.00"}, {"100000000", "!range"}}},
			Cell{"decimal(38,19)", Converted, []Case{{"-9223372036854775808", "-9223372036854775808." + strings.Repeat("0", 19)}}},
			Cell{"decimal(38,20)", Converted, []Case{{"1", "1." + strings.Repeat("0", 20)}, {"9223372036854775807", "!range"}}}),
		avro("`float`", "float", writeFloat, []string{"1.5", "2"},
			Cell{"float", Exact, []Case{{"0.1", "0.1"}, {"-0", "-0"}, {"NaN", "NaN"}, {"Inf", "+Infinity"}, {"-Inf", "-Infinity"}, {"3.4028235e38", "3.4028235e+38"}, {"1e-45", "1e-45"}, {"bytes 0x010203", "!syntax"}}},
			Cell{"double", Widened, []Case{{"0.1", "0.10000000149011612"}, {"NaN", "NaN"}, {"Inf", "+Infinity"}, {"-0", "-0"}}}),
		avro("`double`", "double", writeDouble, []string{"1.5", "2"},
			Cell{"float", Converted, []Case{{"0.5", "0.5"}, {"0.1", "!precision"}, {"1e300", "!range"}, {"NaN", "NaN"}, {"-Inf", "-Infinity"}, {"-0", "-0"}, {"1e-46", "!precision"}}},
			Cell{"double", Exact, []Case{{"0.1", "0.1"}, {"NaN", "NaN"}, {"Inf", "+Infinity"}, {"-Inf", "-Infinity"}, {"-0", "-0"}, {"5e-324", "5e-324"}, {"1.7976931348623157e308", "1.7976931348623157e+308"}, {"bytes 0x01020304050607", "!syntax"}}}),
	}
}

const avroUUID = `"00112233-4455-6677-8899-AABBCCDDEEFF"`

func avroBytes() []*Form {
	fixed := func(n int, logical string) string {
		if logical != "" {
			logical = `,"logicalType":"` + logical + `"`
		}
		return fmt.Sprintf(`{"type":"fixed","name":"F","size":%d%s}`, n, logical)
	}
	text := []Case{{`"hé\u0000"`, `"h\u00e9\u0000"`}, {`""`, `""`}, {`"\ufeffx"`, `"\ufeffx"`}, {`"😀"`, `"\ud83d\ude00"`}, {"bytes 0x02ff", "!utf8"}, {"bytes 0x06eda080", "!utf8"},
		{"bytes 0x01", "!syntax"}, {"bytes 0x066162", "!syntax"}}
	return []*Form{
		avro("`bytes`", "bytes", writeBytes, []string{"0x01"},
			Cell{"string", Converted, []Case{{"0x61", `"a"`}, {"0xff", "!utf8"}, {"0x", `""`}}},
			Cell{"fixed(3)", Converted, []Case{{"0x0001ff", "0x0001ff"}, {"0x00", "!length"}, {"0x00010203", "!length"}}},
			Cell{"binary", Exact, []Case{{"0xff00", "0xff00"}, {"0x", "0x"}, {"bytes 0x12", "!syntax"}}}),
		avro("`string`", "string", writeText, []string{`"7"`},
			Cell{"decimal(10,2)", Converted, []Case{{`"1.5"`, "1.50"}, {`"1.555"`, "!precision"}, {`"1e9"`, "!range"}, {`"x"`, "!type"}}},
			Cell{"date", Converted, []Case{{`"1969-12-31"`, "1969-12-31"}, {`"2023-02-29"`, "!range"}, {`"7"`, "!type"}}},
			Cell{"time", Converted, []Case{{`"23:59:59.5"`, "23:59:59.500000"}, {`"23:59:60"`, "!range"}}},
			Cell{"timestamp", Converted, []Case{{`"1969-12-31T23:59:59.5"`, "1969-12-31T23:59:59.500000"}, {`"1970-01-01T00:00:00Z"`, "!type"}}},
			Cell{"timestamptz", Converted, []Case{{`"1970-01-01T00:00:00-01:00"`, "1970-01-01T01:00:00.000000Z"}, {`"1970-01-01T00:00:00"`, "!type"}}},
			Cell{"timestamp_ns", Converted, []Case{{`"1970-01-01T00:00:00.000000001"`, "1970-01-01T00:00:00.000000001"}, {`"2300-01-01T00:00:00"`, "!range"}}},
			Cell{"timestamptz_ns", Converted, []Case{{`"1970-01-01T00:00:00.000000001Z"`, "1970-01-01T00:00:00.000000001Z"}, {`"1970-01-01T00:00:00.0000000001Z"`, "!precision"}}},
			Cell{"string", Exact, text},
			Cell{"uuid", Converted, []Case{{avroUUID, "00112233-4455-6677-8899-aabbccddeeff"}, {`"0"`, "!type"}}},
			Cell{"binary", Converted, []Case{{`"é"`, "0xc3a9"}, {`"AAEC"`, "0x41414543"}, {"bytes 0x02ff", "!utf8"}}}),
		avro("`enum`", `{"type":"enum","name":"E","symbols":["A","BEE"]}`, writeEnum, []string{"A 0"},
			Cell{"string", Exact, []Case{{"A 0", `"A"`}, {"BEE 1", `"BEE"`}, {"none 2", "!syntax"}, {"none -1", "!syntax"}, {"none 1099511627776", "!syntax"}}}),
		avro("`fixed` of 3", fixed(3, ""), writeFixed, []string{"0x010203"},
			Cell{"fixed(3)", Exact, []Case{{"0x0102ff", "0x0102ff"}, {"0x01", "!syntax"}}},
			Cell{"fixed(4)", Refused, []Case{{"0x010203", "!schema"}}},
			Cell{"binary", Converted, []Case{{"0x0102ff", "0x0102ff"}}}),
		avro("uuid (string)", logical("string", "uuid"), writeText, []string{avroUUID},
			Cell{"string", Exact, []Case{{avroUUID, avroUUID}, {`"anything"`, `"anything"`}}},
			Cell{"uuid", Exact, []Case{{avroUUID, "00112233-4455-6677-8899-aabbccddeeff"}, {`"anything"`, "!type"}}},
			Cell{"binary", Converted, []Case{{`"x"`, "0x78"}}}),
		avro("uuid (fixed)", fixed(16, "uuid"), writeFixed, []string{"0x00112233445566778899aabbccddeeff"},
			Cell{"uuid", Exact, []Case{{"0x00112233445566778899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff"}, {"0x00", "!syntax"}}},
			Cell{"fixed(16)", Exact, []Case{{"0x00112233445566778899aabbccddeeff", "0x00112233445566778899aabbccddeeff"}}},
			Cell{"binary", Converted, []Case{{"0x00112233445566778899aabbccddeeff", "0x00112233445566778899aabbccddeeff"}}}),
		avro("duration", fixed(12, "duration"), writeFixed, []string{"0x000102030405060708090a0b"},
			Cell{"fixed(12)", Converted, []Case{{"0x000102030405060708090a0b", "0x000102030405060708090a0b"}}},
			Cell{"binary", Converted, []Case{{"0x000102030405060708090a0b", "0x000102030405060708090a0b"}}}),
	}
}
