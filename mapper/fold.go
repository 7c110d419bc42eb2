package mapper

import (
	"unicode"
	"unicode/utf8"
)

// appendFold appends name so that names which differ in case only come out the same (Unicode's simple case folding): each
// rune becomes the least of those that it folds with.
func appendFold(dst, name []byte) []byte {
	for i := 0; i < len(name); {
		c := name[i]
		if c < utf8.RuneSelf && c|0x20 != 'k' && c|0x20 != 's' { // these two fold with runes that are not ASCII
			if c-'a' < 26 {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(name[i:])
		dst = utf8.AppendRune(dst, leastFold(r))
		i += n
	}
	return dst
}

func foldName(name string) string { return string(appendFold(nil, []byte(name))) }

func leastFold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// nameIndex finds columns by the names of records' fields.
type nameIndex struct {
	at   map[string]int
	rule *fieldRule
}

// indexFields indexes the members of a struct, or of a row, whose own rule in is.
func indexFields(in *fieldRule, fields []Field) nameIndex {
	x := nameIndex{make(map[string]int, len(fields)), in}
	for i := range fields {
		if !fields[i].hidden() {
			x.at[in.key(fields[i].source())] = i
		}
	}
	return x
}

// find is the number of the column that takes a field, -1 where none does.
func (x nameIndex) find(name string) int {
	if i, ok := x.at[x.rule.key(name)]; ok {
		return i
	}
	return -1
}
