package typestable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stormfloe/floe/mapper"
)

const jsonIntro = "One JSON object a record; a member goes to the column of its name. Beside the forms below: a byte order mark, " +
	"a key that is there twice, anything behind the object, and what RFC 8259 does not have, make a record bad, whatever the column."

func jsonFormat() *Format {
	f := &Format{Name: "JSON", Intro: jsonIntro}
	f.Forms = append(f.Forms, jsonLiterals()...)
	f.Forms = append(f.Forms, jsonNumbers()...)
	f.Forms = append(f.Forms, jsonTexts()...)
	f.Forms = append(f.Forms, jsonTimes()...)
	f.Forms = append(f.Forms, jsonNested()...)
	for _, form := range f.Forms {
		form.Factory = mapper.NewJSON(mapper.JSONOptions{})
		form.Record = jsonRecord
		if form.Refusal == "" {
			form.Refusal = mapper.CodeType
		}
	}
	return f
}

// jsonRecord leaves the member out where the input is empty.
func jsonRecord(id int, in string) []byte {
	if in == "" {
		return fmt.Appendf(nil, `{"id":%d}`, id)
	}
	return fmt.Appendf(nil, `{"id":%d,"c":%s}`, id, in)
}

// refusing makes cells that refuse all of the inputs.
func refusing(code mapper.Code, inputs []string, names ...string) []Cell {
	var cases []Case
	for _, in := range inputs {
		cases = append(cases, Case{in, "!" + string(code)})
	}
	var out []Cell
	for _, k := range kinds {
		if slices.Contains(names, k.name) {
			out = append(out, Cell{k.typ, Refused, cases})
		}
	}
	return out
}

// everyKind makes a cell of each kind but those of the names.
func everyKind(how How, but []string, cases ...Case) []Cell {
	var out []Cell
	for _, k := range kinds {
		if !slices.Contains(but, k.name) {
			out = append(out, Cell{k.typ, how, cases})
		}
	}
	return out
}

func jsonLiterals() []*Form {
	return []*Form{
		{Name: "null, or no member", Takes: everyKind(Exact, nil, Case{"null", "null"}, Case{"", "null"}, Case{"nul", "!syntax"}, Case{"NULL", "!syntax"})},
		{Name: "true, false", Samples: []string{"true", "false"}, Takes: []Cell{
			{"boolean", Exact, []Case{{"true", "true"}, {"false", "false"}, {"True", "!syntax"}, {"tru", "!syntax"}, {"truee", "!syntax"}}},
			{"variant", Exact, []Case{{"true", "true"}, {"false", "false"}, {"True", "!syntax"}}},
		}},
		{Name: "what is no JSON", Refusal: mapper.CodeSyntax, Samples: []string{"NaN", "Infinity", "+1", ".5", "'a'", "// note", "\ufeff1"}},
		{Name: "a number that JSON does not have", Samples: []string{"012", "1.", "1e", "0x10", "1_000", "-Infinity"},
			Takes: refusing(mapper.CodeSyntax, []string{"012", "-012", "1.", "1e", "1e+", "0x10", "1_000", "-Infinity", "-"},
				"int", "long", "float", "double", "decimal", "date", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "variant")},
		{Name: "text that is not closed, control characters in it, escapes that there are not", Samples: []string{`"abc`, "\"a\nb\"", `"\x"`},
			Takes: refusing(mapper.CodeSyntax, []string{`"abc`, "\"a\nb\"", "\"\x00\"", `"\x"`, `"\u12"`},
				"decimal", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "string", "uuid", "fixed", "binary", "variant")},
		{Name: "text that is no UTF-8, half of a surrogate pair", Samples: []string{"\"\xff\"", `"\ud800"`},
			Takes: refusing(mapper.CodeUTF8, []string{"\"a\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", `"\ud800"`, `"\udc00"`, `"\ud800x"`, `"\ud800\ud800"`},
				"decimal", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "string", "uuid", "fixed", "binary", "variant")},
	}
}

func jsonNumbers() []*Form {
	nines := strings.Repeat("9", 38)
	return []*Form{
		{Name: "a number that is an integer", Samples: []string{"7", "-1", "7.0", "70e-1"}, Takes: []Cell{
			{"int", Exact, []Case{{"0", "0"}, {"-0", "0"}, {"2147483647", "2147483647"}, {"-2147483648", "-2147483648"}, {"2147483648", "!range"}, {"-2147483649", "!range"},
				{"4294967296", "!range"}, {"18446744073709551616", "!range"}, {"1.0", "1"}, {"1e2", "100"}, {"120e-1", "12"}, {"1e10", "!range"}, {"0e99999999999999999999", "0"}}},
			{"long", Exact, []Case{{"9223372036854775807", "9223372036854775807"}, {"-9223372036854775808", "-9223372036854775808"}, {"9223372036854775808", "!range"},
				{"-9223372036854775809", "!range"}, {"18446744073709551615", "!range"}, {"18446744073709551617", "!range"}, {"9007199254740993", "9007199254740993"},
				{"9.223372036854775807e18", "9223372036854775807"}, {"9.223372036854775808e18", "!range"}, {"1e400", "!range"}, {"1e99999999999999999999999", "!range"}, {"100000000000000000000e-20", "1"}}},
			{"float", Widened, []Case{{"1", "1"}, {"16777216", "1.6777216e+07"}, {"16777217", "!precision"}, {"-0", "-0"}, {"1e39", "!range"}}},
			{"double", Widened, []Case{{"9007199254740992", "9.007199254740992e+15"}, {"9007199254740993", "!precision"}, {"-9007199254740993", "!precision"}, {"9223372036854775808", "9.223372036854776e+18"},
				{"9223372036854776000", "9.223372036854776e+18"}, {"9223372036854775807", "!precision"}, {"123456789012345678901234567890", "!precision"}, {"9007199254740993e0", "9.007199254740992e+15"}, {"1e400", "!range"}}},
			{"decimal(10,2)", Converted, []Case{{"12", "12.00"}, {"-0", "0.00"}, {"99999999", "99999999.00"}, {"100000000", "!range"}, {"1e8", "!range"}, {"1e3", "1000.00"}}},
			{"decimal(38,0)", Exact, []Case{{nines, nines}, {"-" + nines, "-" + nines}, {"1" + strings.Repeat("0", 38), "!range"}, {"1e37", "1" + strings.Repeat("0", 37)},
				{"1e38", "!range"}, {"18446744073709551615", "18446744073709551615"}, {"-9223372036854775809", "-9223372036854775809"}}},
			{"variant", Exact, []Case{{"0", "0"}, {"-128", "-128"}, {"32768", "32768"}, {"1.0", "1"}, {"1e3", "1000"}, {"9007199254740993", "9007199254740993"}, {"9223372036854775807", "9223372036854775807"},
				{"-9223372036854775808", "-9223372036854775808"}, {"18446744073709551615", "18446744073709551615"}, {"-" + nines, "-" + nines}, {"1" + strings.Repeat("0", 37) + "1", "!precision"}, {"1" + nines + "1", "!precision"}, {"1e400", "!range"}}},
			{"decimal(38,38)", Converted, []Case{{"0", "0." + strings.Repeat("0", 38)}, {"1", "!range"}}},
			{"date", Converted, []Case{{"0", "1970-01-01"}, {"-1", "1969-12-31"}, {"19782", "2024-02-29"}, {"-719162", "0001-01-01"}, {"-719163", "!range"}, {"2932896", "9999-12-31"}, {"2932897", "!range"}, {"4294967296", "!range"}}},
			{"timestamp", Converted, []Case{{"1700000000001", "2023-11-14T22:13:20.001000"}, {"-1", "1969-12-31T23:59:59.999000"}, {"1700000000000000", "!range"}}},
			{"timestamptz", Converted, []Case{{"0", "1970-01-01T00:00:00.000000Z"}, {"1.7e12", "2023-11-14T22:13:20.000000Z"}, {"-62135596800000", "0001-01-01T00:00:00.000000Z"},
				{"-62135596800001", "!range"}, {"253402300799999", "9999-12-31T23:59:59.999000Z"}, {"253402300800000", "!range"}, {"9223372036854775807", "!range"}, {"9223372036854775808", "!range"}}},
			{"timestamp_ns", Converted, []Case{{"1", "1970-01-01T00:00:00.001000000"}, {"9223372036854", "2262-04-11T23:47:16.854000000"}, {"9223372036855", "!range"}}},
			{"timestamptz_ns", Converted, []Case{{"1", "1970-01-01T00:00:00.001000000Z"}, {"-9223372036854", "1677-09-21T00:12:43.146000000Z"}, {"-9223372036855", "!range"}, {"253402300800000", "!range"}}},
		}},
		{Name: "a number with a fraction", Samples: []string{"1.5", "-0.25", "15e-1"}, Takes: []Cell{
			{"int", Refused, []Case{{"1.5", "!precision"}, {"1e-1", "!precision"}}},
			{"long", Refused, []Case{{"9007199254740993.5", "!precision"}, {"1e-400", "!precision"}, {"1e-99999999999999999999999", "!precision"}}},
			{"float", Exact, []Case{{"1.5", "1.5"}, {"0.1", "0.1"}, {"1.000000059604644775390626", "1.0000001"}, {"3.4028234663852886e38", "3.4028235e+38"}, {"3.5e38", "!range"}, {"1e-400", "0"}, {"-0.0", "-0"}, {"1e-45", "1e-45"}}},
			{"double", Exact, []Case{{"0.1", "0.1"}, {"0.30000000000000004", "0.30000000000000004"}, {"1.7976931348623157e308", "1.7976931348623157e+308"}, {"1.8e308", "!range"}, {"5e-324", "5e-324"}, {"1e-400", "0"}, {"2.2250738585072011e-308", "2.225073858507201e-308"}}},
			{"decimal(10,2)", Exact, []Case{{"12.34", "12.34"}, {"-12.34", "-12.34"}, {"12.340000", "12.34"}, {"1.234e1", "12.34"}, {"12.345", "!precision"}, {"0.001", "!precision"}, {"99999999.99", "99999999.99"}, {"0.29", "0.29"}, {"1e-400", "!precision"}}},
			{"decimal(38,38)", Exact, []Case{{"1e-38", "0." + strings.Repeat("0", 37) + "1"}, {"1e-39", "!precision"}, {"0." + nines, "0." + nines}, {"-0." + nines, "-0." + nines}, {"1.5", "!range"}}},
			{"variant", Exact, []Case{{"1.5", "1.5"}, {"-12.340", "-12.34"}, {"0.1", "0.1"}, {"0.12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678"}, {"1.5e300", "1.5e+300"}, {"1e-40", "1e-40"}, {"1.8e308", "!range"}}},
			{"date", Refused, []Case{{"19782.5", "!precision"}}},
			{"timestamp", Refused, []Case{{"1700000000000.5", "!precision"}}},
			{"timestamptz", Refused, []Case{{"1700000000000.5", "!precision"}}},
			{"timestamp_ns", Refused, []Case{{"1700000000000.5", "!precision"}}},
			{"timestamptz_ns", Refused, []Case{{"1700000000000.5", "!precision"}}},
		}},
	}
}

func jsonTexts() []*Form {
	return []*Form{
		{Name: "text", Samples: []string{`"a\u0000"`, `"né"`, `"\ufeff"`}, Takes: []Cell{
			{"string", Exact, []Case{{`"abc"`, `"abc"`}, {`""`, `""`}, {`"é€😀"`, `"\u00e9\u20ac\ud83d\ude00"`}, {`"\ud83d\ude00"`, `"\ud83d\ude00"`}, {`"\u0000"`, `"\u0000"`}, {`"\ufeffx"`, `"\ufeffx"`},
				{"\"\ufeff\"", `"\ufeff"`}, {`"\uFFFF"`, `"\uffff"`}, {`"\n\"\\\/\b\f\r\t"`, `"\u000a\"\\/\u0008\u000c\u000d\u0009"`}, {"\"\x7f\"", `"\u007f"`}}},
			{"variant", Exact, []Case{{`"abc"`, `"abc"`}, {`""`, `""`}, {`"é€😀"`, `"\u00e9\u20ac\ud83d\ude00"`}, {`"\u0000"`, `"\u0000"`}, {`"\n\"\\\/"`, `"\u000a\"\\/"`}}},
		}},
		{Name: "text with a number's form", Samples: []string{`"7.50"`, `"-1.5"`}, Takes: []Cell{
			{"variant", Exact, []Case{{`"7.50"`, `"7.50"`}}},
			{"decimal(10,2)", Converted, []Case{{`"12.34"`, "12.34"}, {`"-12.34"`, "-12.34"}, {`"12.340000"`, "12.34"}, {`"1234e-2"`, "12.34"}, {`"12.345"`, "!precision"}, {`"100000000"`, "!range"},
				{`"1e99999999999999999999"`, "!range"}, {`"0e-99999999999"`, "0.00"}, {`"+1"`, "!type"}, {`"01"`, "!type"}, {`" 1"`, "!type"}, {`"1,5"`, "!type"}, {`"NaN"`, "!type"}, {`""`, "!type"}}},
			{"decimal(38,0)", Converted, []Case{{`"18446744073709551616"`, "18446744073709551616"}, {`"1.5"`, "!precision"}}},
			{"string", Exact, []Case{{`"7.50"`, `"7.50"`}}},
		}},
		{Name: "text with a UUID's form", Samples: []string{`"00112233-4455-6677-8899-aabbccddeeff"`}, Takes: []Cell{
			{"variant", Exact, []Case{{`"00112233-4455-6677-8899-aabbccddeeff"`, `"00112233-4455-6677-8899-aabbccddeeff"`}}},
			{"string", Exact, []Case{{`"00112233-4455-6677-8899-AABBCCDDEEFF"`, `"00112233-4455-6677-8899-AABBCCDDEEFF"`}}},
			{"uuid", Converted, []Case{{`"00112233-4455-6677-8899-aAbBcCdDeEfF"`, "00112233-4455-6677-8899-aabbccddeeff"}, {`"00000000-0000-0000-0000-000000000000"`, "00000000-0000-0000-0000-000000000000"},
				{`"00112233445566778899aabbccddeeff"`, "!type"}, {`"{00112233-4455-6677-8899-aabbccddeeff}"`, "!type"}, {`"00112233-4455-6677-8899-aabbccddeefg"`, "!type"}, {`""`, "!type"}}},
		}},
		{Name: "text in base64", Samples: []string{`"AAEC"`, `"AA=="`}, Takes: []Cell{
			{"variant", Exact, []Case{{`"AAEC"`, `"AAEC"`}}},
			{"string", Exact, []Case{{`"AAEC"`, `"AAEC"`}}},
			{"fixed(3)", Converted, []Case{{`"AAEC"`, "0x000102"}, {`"////"`, "0xffffff"}, {`"AAE="`, "!length"}, {`"AAECAwQF"`, "!length"}, {`""`, "!length"}, {`"AAE"`, "!type"}}},
			{"binary", Converted, []Case{{`""`, "0x"}, {`"AAEC"`, "0x000102"}, {`"AA=="`, "0x00"}, {`"+/+/"`, "0xfbffbf"}, {`"AA"`, "!type"}, {`"AB=="`, "!type"}, {`"-_-_"`, "!type"}, {`"AA EC"`, "!type"}, {`"AA\nEC"`, "!type"}}},
		}},
	}
}
