package typestable

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Count says what the page holds: pairs of a form and a type, and inputs that were tried.
func Count() (pairs, inputs int) {
	for _, f := range Formats() {
		for _, form := range f.Forms {
			pairs += len(kinds)
			for _, c := range form.AllCells() {
				inputs += len(c.Cases)
			}
		}
	}
	return pairs, inputs
}

const head = `# Types

What each type and form of the input formats gives in a column of each Iceberg type. This page is made from the table that
the tests run (internal/typestable; ` + "`go test ./internal/typestable -args -write`" + ` writes it anew): %d pairs, tried with %d inputs.
What is taken is also written to tables and read back with PyIceberg and DuckDB, and each value compared (` + "`.ci/cells`" + `).

- **exact**: the same value in the same kind of type.
- **widened**: the same value in a wider type.
- **converted**: the same value in a type of another kind, by a rule; what would lose something is refused.
- · (**refused**): every value of that form is a bad record, or the format's schema is refused before a record is read.

Nothing wraps, is cut or guessed. Times and timestamps of Iceberg have no leap seconds: in their columns a second 60 is refused
(range), as is the hour 24. The codes behind ✗ are those of bad records: they are in the errors, the metrics and the rejects. Values are written here as: fractions of a second to the type's unit, bytes in hexadecimal, structs as
` + "`{member: value}`, lists as `[value]`, maps as `[key = value]`, text in JSON's ASCII form, variants as JSON" + `.

`

// Page is docs/types.md.
func Page() string {
	var b strings.Builder
	pairs, inputs := Count()
	fmt.Fprintf(&b, head, pairs, inputs)
	for _, f := range Formats() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", f.Name, f.Intro)
		matrix(&b, f)
		for _, form := range f.Forms {
			details(&b, form)
		}
	}
	b.WriteString(tail)
	return b.String()
}

// matrix has a row for each type and a column for each form, where there are few forms, or the other way round.
func matrix(b *strings.Builder, f *Format) {
	b.WriteString("| |")
	for _, k := range kinds {
		b.WriteString(" " + k.name + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(kinds)) + "|\n")
	for _, form := range f.Forms {
		b.WriteString("| " + form.Name + " |")
		for _, k := range kinds {
			how := form.Cells(k.name)[0].How
			if how == Refused {
				how = "·"
			}
			b.WriteString(" " + string(how) + " |")
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func details(b *strings.Builder, form *Form) {
	fmt.Fprintf(b, "### %s\n\n", form.Name)
	for _, l := range lines(form) {
		fmt.Fprintf(b, "- %s, %s: %s\n", strings.Join(l.types, ", "), l.how, l.cases)
	}
	b.WriteByte('\n')
}

// line tells of cells that have everything but the type in common.
type line struct {
	types []string
	how   How
	cases string
}

func lines(form *Form) []line {
	var out []line
	for _, c := range form.Takes {
		l := line{[]string{code(c.Type)}, c.How, cases(c.Cases)}
		i := slices.IndexFunc(out, func(o line) bool { return o.how == l.how && o.cases == l.cases })
		if i < 0 {
			out = append(out, l)
			continue
		}
		out[i].types = append(out[i].types, l.types...)
	}
	for _, k := range kinds {
		if c := form.Cells(k.name)[0]; !slices.ContainsFunc(form.Takes, func(t Cell) bool { return t.Type == c.Type }) {
			return append(out, line{[]string{"all others"}, c.How, cases(c.Cases)})
		}
	}
	return out
}

// cases lists inputs and what comes of them; where all have one outcome it is said once.
func cases(list []Case) string {
	var parts []string
	same := !slices.ContainsFunc(list, func(c Case) bool { return c.Want != list[0].Want || !c.Refused() })
	for i, c := range list {
		text := code(c.In)
		switch {
		case !c.Refused():
			text += " → " + code(c.Want)
		case !same || i == len(list)-1:
			text += " ✗ " + c.Want[1:]
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// code is a text as Markdown's code; what can't be printed is told by its code.
func code(s string) string {
	if s == "" {
		return "(left out)"
	}
	s = strings.NewReplacer("|", `\|`).Replace(shorten(s))
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			fmt.Fprintf(&b, "<%02X>", s[i]) // a byte that is no UTF-8
		case r < ' ' || r == 0x7f || r == 0xfeff:
			fmt.Fprintf(&b, "<%02X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return "`" + b.String() + "`"
}
