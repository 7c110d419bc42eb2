package typestable

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stormfloe/floe/mapper"
)

const csvIntro = "One record of CSV a message; a field goes to the column of its name. Everything is text, and the rules are those that JSON has for " +
	"numbers, booleans and text; what looks like a number may be base64. Beside the forms below, a byte order mark and anything behind the record make it bad. Structs, lists, maps and variants can't be filled."

func csvFormat() *Format {
	f := &Format{Name: "CSV", Intro: csvIntro}
	f.Forms = append(f.Forms, csvLiterals()...)
	f.Forms = append(f.Forms, csvNumbers()...)
	for _, form := range append(jsonTexts(), jsonTimes()...) {
		if form.Name != "text with a number's form" {
			f.Forms = append(f.Forms, csvText(form))
		}
	}
	for _, form := range f.Forms {
		form.Factory = mapper.NewCSV(mapper.CSVOptions{Columns: []string{"id", "c"}})
		form.Record = func(id int, in string) []byte { return fmt.Appendf(nil, "%d,%s", id, in) }
		if form.Refusal == "" {
			form.Refusal = mapper.CodeType
		}
		form.Takes = slices.DeleteFunc(form.Takes, func(c Cell) bool { return c.Type == "variant" }) // JSON's
		form.Takes = append(form.Takes, refusing(mapper.CodeSchema, form.Samples, "struct", "list", "map", "variant")...)
	}
	return f
}

func csvLiterals() []*Form {
	null := &Form{Name: "an empty field without quotes", Samples: []string{""}}
	for _, k := range kinds {
		if k.name != "struct" && k.name != "list" && k.name != "map" && k.name != "variant" {
			null.Takes = append(null.Takes, Cell{k.typ, Exact, []Case{{"", "null"}}})
		}
	}
	return []*Form{
		null,
		{Name: "true, false", Samples: []string{"false", "False"}, Takes: []Cell{
			{"boolean", Converted, []Case{{"true", "true"}, {`"false"`, "false"}, {"True", "!type"}, {"1", "!type"}, {"yes", "!type"}, {" true", "!type"}}},
			{"string", Exact, []Case{{"true", `"true"`}}},
			{"binary", Converted, []Case{{"true", "0xb6bb9e"}, {"false", "!type"}}},
			{"fixed(3)", Converted, []Case{{"true", "0xb6bb9e"}, {"false", "!type"}}},
		}},
		{Name: "what is no CSV", Refusal: mapper.CodeSyntax, Samples: []string{`"a`, `a"b`, `"a"b`, ` "a"`, "a\rb", "a\r", "a\nb", "a\n\n"}},
		{Name: "a field too many", Refusal: mapper.CodeWidth, Samples: []string{"a,b", ","}},
		{Name: "text that is no UTF-8", Refusal: mapper.CodeUTF8, Samples: []string{"a\xff", "\"\xc0\x80\"", "\xed\xa0\x80"}},
	}
}

// csvNumbers are JSON's, as text. Numbers go to no dates and timestamps.
func csvNumbers() []*Form {
	out := []*Form{{Name: "a number that JSON does not have", Samples: []string{"012", "1.", "1e", "1_000", "-Infinity", "NaN", "+1", ".5", " 1"}, Takes: []Cell{
		{"string", Exact, []Case{{"012", `"012"`}, {" 1", `" 1"`}}},
		{"binary", Converted, []Case{{"0012", "0xd34d76"}, {"012", "!type"}}},
		{"fixed(3)", Converted, []Case{{"0012", "0xd34d76"}, {"012", "!type"}}},
	}}}
	for _, form := range jsonNumbers() {
		var takes []Cell
		for _, c := range form.Takes {
			if !slices.Contains([]string{"int", "long", "float", "double", "decimal"}, kindOf(c.Type)) {
				continue
			}
			if c.How != Refused {
				c.How = Converted
			}
			takes = append(takes, c)
		}
		text := form.Samples[0]
		form.Takes = append(takes, Cell{"string", Exact, []Case{{text, `"` + text + `"`}}})
		if form.Name == "a number that is an integer" {
			// Four digits are base64 too.
			form.Takes = append(form.Takes, Cell{"binary", Converted, []Case{{"1234", "0xd76df8"}, {"7", "!type"}}}, Cell{"fixed(3)", Converted, []Case{{"1234", "0xd76df8"}, {"7", "!type"}}})
		}
		out = append(out, form)
	}
	return out
}

// csvText is a form of JSON's text, in CSV's quotes.
func csvText(form *Form) *Form {
	for i, s := range form.Samples {
		form.Samples[i] = csvQuoted(s)
	}
	for _, c := range form.Takes {
		for i := range c.Cases {
			c.Cases[i].In = csvQuoted(c.Cases[i].In)
		}
	}
	return form
}

func csvQuoted(text string) string {
	var s string
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(fmt.Sprintf("%s is no text of JSON: %v", text, err))
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
