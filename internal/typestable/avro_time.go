package typestable

import (
	"strings"
)

func avroDecimals() []*Form {
	nines := strings.Repeat("9", 38)
	return []*Form{
		avro("decimal(10,2) (bytes)", `{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, writeDecimal, []string{"12.34"},
			Cell{"decimal(10,2)", Exact, []Case{{"0.00", "0.00"}, {"-0.01", "-0.01"}, {"99999999.99", "99999999.99"}, {"-99999999.99", "-99999999.99"}, {"100000000.00", "!range"},
				{"bytes 0x28" + strings.Repeat("00", 19) + "05", "0.05"}, {"bytes 0x24" + "0080" + strings.Repeat("00", 16), "!range"}, {"bytes 0x00", "!type"}, {"bytes 0x01", "!syntax"}}},
			Cell{"decimal(12,4)", Converted, []Case{{"12.34", "12.3400"}, {"-0.01", "-0.0100"}, {"99999999.99", "99999999.9900"}}},
			Cell{"decimal(10,4)", Converted, []Case{{"999999.99", "999999.9900"}, {"1000000.00", "!range"}}},
			Cell{"decimal(10,0)", Converted, []Case{{"1.00", "1"}, {"-1.00", "-1"}, {"1.01", "!precision"}}},
			Cell{"decimal(4,2)", Converted, []Case{{"99.99", "99.99"}, {"100.00", "!range"}}}),
		avro("decimal(38,1) (fixed of 16)", `{"type":"fixed","name":"F","size":16,"logicalType":"decimal","precision":38,"scale":1}`, writeDecimalFixed(16), []string{"1.5"},
			Cell{"decimal(38,1)", Exact, []Case{{nines[:37] + ".9", nines[:37] + ".9"}, {"-" + nines[:37] + ".9", "-" + nines[:37] + ".9"}, {"0.0", "0.0"}}},
			Cell{"decimal(38,2)", Converted, []Case{{nines[:36] + ".9", nines[:36] + ".90"}, {nines[:37] + ".9", "!range"}, {"bytes 0x30000000000000000000000000000001", "!range"}}},
			Cell{"decimal(38,0)", Converted, []Case{{nines[:37] + ".0", nines[:37]}, {"0.1", "!precision"}}}),
	}
}

func avroTimes() []*Form {
	plain := func(v string) []Cell {
		return []Cell{{"long", Converted, []Case{{v, v}, {"9223372036854775807", "9223372036854775807"}}}, {"int", Converted, []Case{{"7", "7"}, {"2147483648", "!range"}}}}
	}
	form := func(name string, cells ...Cell) *Form {
		return avro(name, logical("long", name), writeLong, []string{"7"}, append(plain("-1"), cells...)...)
	}
	const last, first = "253402300799", "-62135596800" // seconds
	out := []*Form{
		avro("date", logical("int", "date"), writeLong, []string{"7"},
			Cell{"int", Converted, []Case{{"2147483647", "2147483647"}}}, Cell{"long", Converted, []Case{{"-1", "-1"}}},
			Cell{"date", Exact, []Case{{"0", "1970-01-01"}, {"-1", "1969-12-31"}, {"-719162", "0001-01-01"}, {"-719163", "!range"}, {"2932896", "9999-12-31"}, {"2932897", "!range"}}}),
		avro("time-millis", logical("int", "time-millis"), writeLong, []string{"7"},
			Cell{"int", Converted, []Case{{"1", "1"}}}, Cell{"long", Converted, []Case{{"1", "1"}}},
			Cell{"time", Exact, []Case{{"0", "00:00:00.000000"}, {"86399999", "23:59:59.999000"}, {"86400000", "!range"}, {"-1", "!range"}}}),
		form("time-micros", Cell{"time", Exact, []Case{{"1", "00:00:00.000001"}, {"86399999999", "23:59:59.999999"}, {"86400000000", "!range"}, {"-9223372036854775808", "!range"}}}),
		form("time-nanos", Cell{"time", Converted, []Case{{"5000", "00:00:00.000005"}, {"5001", "!precision"}, {"86400000000000", "!range"}}}),
	}
	for _, local := range []bool{false, true} {
		prefix, z, tz := "", "Z", "tz"
		if local {
			prefix, z, tz = "local-", "", ""
		}
		micro, nano := "timestamp"+tz, "timestamp"+tz+"_ns"
		out = append(out,
			form(prefix+"timestamp-millis",
				Cell{micro, Widened, []Case{{"0", "1970-01-01T00:00:00.000000" + z}, {"-1", "1969-12-31T23:59:59.999000" + z}, {first + "000", "0001-01-01T00:00:00.000000" + z}, {"-62135596800001", "!range"},
					{last + "999", "9999-12-31T23:59:59.999000" + z}, {"253402300800000", "!range"}, {"9223372036854775807", "!range"}}},
				Cell{nano, Widened, []Case{{"1", "1970-01-01T00:00:00.001000000" + z}, {"9223372036854", "2262-04-11T23:47:16.854000000" + z}, {"9223372036855", "!range"}, {"-9223372036854", "1677-09-21T00:12:43.146000000" + z}, {"-9223372036855", "!range"}}}),
			form(prefix+"timestamp-micros",
				Cell{micro, Exact, []Case{{"1", "1970-01-01T00:00:00.000001" + z}, {"-1", "1969-12-31T23:59:59.999999" + z}, {first + "000000", "0001-01-01T00:00:00.000000" + z}, {last + "999999", "9999-12-31T23:59:59.999999" + z}, {"253402300800000000", "!range"}}},
				Cell{nano, Widened, []Case{{"1", "1970-01-01T00:00:00.000001000" + z}, {"9223372036854775", "2262-04-11T23:47:16.854775000" + z}, {"9223372036854776", "!range"}, {last + "999999", "!range"}}}),
			form(prefix+"timestamp-nanos",
				Cell{micro, Converted, []Case{{"-1000", "1969-12-31T23:59:59.999999" + z}, {"-1001", "!precision"}, {"9223372036854775000", "2262-04-11T23:47:16.854775" + z}, {"9223372036854775807", "!precision"}}},
				Cell{nano, Exact, []Case{{"-1", "1969-12-31T23:59:59.999999999" + z}, {"9223372036854775807", "2262-04-11T23:47:16.854775807" + z}, {"-9223372036854775808", "1677-09-21T00:12:43.145224192" + z}}}),
		)
	}
	return out
}

func avroNested() []*Form {
	names := []string{"int", "long", "double"}
	record := `{"type":"record","name":"N","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]}`
	recursive := `{"type":"record","name":"N","fields":[{"name":"a","type":["null","N"]}]}`
	return []*Form{
		avro("a union of `null` and `long`", `["null","long"]`, writeNullable(writeLong), []string{"7", "null"},
			Cell{"int", Converted, []Case{{"null", "null"}, {"5", "5"}, {"2147483648", "!range"}}},
			Cell{"long", Exact, []Case{{"null", "null"}, {"5", "5"}, {"bytes 0x04", "!syntax"}, {"bytes 0x01", "!syntax"}}},
			Cell{"float", Widened, []Case{{"null", "null"}, {"5", "5"}}}, Cell{"double", Widened, []Case{{"null", "null"}, {"5", "5"}}},
			Cell{"decimal(10,2)", Converted, []Case{{"null", "null"}, {"5", "5.00"}}}),
		avro("a union of `int`, `long`, `double`", `["int","long","double"]`, writeUnion(names, writeLong, writeLong, writeDouble), []string{"int 7", "double 7"},
			Cell{"float", Converted, []Case{{"int 1", "1"}, {"long 16777217", "!precision"}, {"double 0.5", "0.5"}, {"double 0.1", "!precision"}}},
			Cell{"double", Widened, []Case{{"int 1", "1"}, {"long 9007199254740993", "!precision"}, {"double 0.1", "0.1"}, {"bytes 0x06", "!syntax"}}}),
		avro("a union of `null`, `string` and `long`", `["null","string","long"]`, writeNullable(writeText), []string{"null", `"x"`},
			Cell{"decimal(10,2)", Converted, []Case{{"null", "null"}, {`"1.5"`, "1.50"}, {`"x"`, "!type"}, {"bytes 0x0404", "2.00"}}}),
		avro("`array` of `long`", `{"type":"array","items":"long"}`, writeList, []string{"[1]"},
			Cell{"list<long>", Exact, []Case{{"[]", "[]"}, {"[1, 2]", "[1, 2]"}, {"bytes 0x0304020400", "[1, 2]"}, {"bytes 0x0306020400", "!syntax"}, {"bytes 0xfeffffffffffffffff01", "!syntax"}, {"bytes 0x0402", "!syntax"}}},
			Cell{"list<int>", Converted, []Case{{"[1]", "[1]"}, {"[2147483648]", "!range"}}},
			Cell{"list<required decimal(4,0)>", Converted, []Case{{"[1]", "[1]"}, {"[10000]", "!range"}}},
			Cell{"list<string>", Refused, []Case{{"[1]", "!schema"}}}),
		avro("`map` of `long`", `{"type":"map","values":"long"}`, writeMap, []string{"k=1"},
			Cell{"map<string, long>", Exact, []Case{{" ", "[]"}, {"k=1 l=2", `["k" = 1, "l" = 2]`}, {"k=1 k=1", "!duplicate_key"}, {"bytes 0x0202ff0200", "!utf8"}, {"bytes 0xfeffffffffffffffff01", "!syntax"}}},
			Cell{"map<long, long>", Refused, []Case{{"k=1", "!schema"}}}),
		avro("`record` of a `long` and a `string`", record, writeStruct, []string{"1 x"},
			Cell{"struct<a: long, b: string>", Exact, []Case{{"1 x", `{a: 1, b: "x"}`}, {"-1 ", `{a: -1, b: ""}`}, {"bytes 0x02", "!syntax"}}},
			Cell{"struct<b: string, z: long>", Exact, []Case{{"1 x", `{b: "x", z: null}`}}},
			Cell{"struct<a: long, z: required long>", Refused, []Case{{"1 x", "!required"}}}),
		avro("a recursive `record`", recursive, writeNullable(writeNothing), []string{"null"}),
		avro("`array` of `null`", `{"type":"array","items":"null"}`, func(in string) []byte { return append(writeLong(in), 0) }, []string{"3"},
			Cell{"list<long>", Converted, []Case{{"3", "[null, null, null]"}, {"4097", "!size"}, {"9223372036854775807", "!size"}}}),
		avro("more than 100 levels", strings.Repeat(`{"type":"array","items":`, 100)+`"long"`+strings.Repeat("}", 100), writeList, []string{"[]"}),
	}
}
