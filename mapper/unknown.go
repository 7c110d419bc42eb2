package mapper

import "fmt"

// UnknownPolicy says what becomes of a record's fields that are no column.
type UnknownPolicy uint8

const (
	// UnknownIgnore checks them and leaves them out.
	UnknownIgnore UnknownPolicy = iota
	// UnknownReject makes the record bad (CodeUnknown), whatever their value is.
	UnknownReject
	// UnknownKeep collects those of the record itself in one column, UnknownOptions.Column; those of nested structs are left
	// out. JSON only.
	UnknownKeep
)

// UnknownOptions are a policy for fields that are no column. The zero value ignores them, which costs nothing.
type UnknownOptions struct {
	Policy UnknownPolicy
	// Column takes what UnknownKeep collects. It is of type string, and holds one JSON object of the fields as they were
	// written; or of map<string, string>, with text as its text and everything else as its JSON. A record without such
	// fields gives null; an empty object or map where the column is required. No field goes there by its name.
	Column string
}

// Validate names what is wrong with the options.
func (o *UnknownOptions) Validate() error {
	switch {
	case o.Policy > UnknownKeep:
		return fmt.Errorf("mapper: unknown fields: there is no policy %d", o.Policy)
	case o.Policy == UnknownKeep && o.Column == "":
		return fmt.Errorf("mapper: unknown fields: they are to be kept, and no column is named: set Column")
	case o.Policy != UnknownKeep && o.Column != "":
		return fmt.Errorf("mapper: unknown fields: the column %q is named, and they are not kept: set the policy to keep, or no column", o.Column)
	}
	return nil
}

const reasonUnknown = "a field that is no column of the table"

// longestShown is the longest name of a field that is shown.
const longestShown = 64

// shownName is the name of a field that is no column, for people: an identifier is a name, and anything else may be what the
// record holds.
func shownName(name []byte) string {
	if len(name) == 0 || len(name) > longestShown || name[0] >= '0' && name[0] <= '9' {
		return "?"
	}
	for _, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "?"
		}
	}
	return string(name)
}

// keeper collects the fields of a JSON record that are no column.
type keeper struct {
	at       int
	path     string
	required bool
	col      *Column
	// keys are those of the record, where the column is text: they must differ.
	keys *Column
	// found counts those of the record.
	found int
}

// newKeeper finds the column among fields.
func newKeeper(name string, fields []Field) (*keeper, error) {
	for i := range fields {
		f := &fields[i]
		if f.Name != name {
			continue
		}
		k := &keeper{at: i, path: name, required: f.Required}
		switch t := &f.Type; {
		case t.Kind == String:
			k.keys = newColumn(&Field{Name: "key", Type: Type{Kind: String}, Required: true})
			return k, nil
		case t.Kind == Map && t.Fields[0].Type.Kind == String && t.Fields[1].Type.Kind == String && !t.Fields[1].Required:
			return k, nil
		}
		return nil, fmt.Errorf("mapper: json: column %q is to take the fields that are no column, and is of type %s: it must be "+
			"of type string, or map<string, string> with values that may be null", name, &f.Type)
	}
	return nil, fmt.Errorf("mapper: json: there is no column %q, which is to take the fields that are no column", name)
}

// begin is called before a record.
func (k *keeper) begin() {
	k.found = 0
	switch {
	case k.keys == nil:
	case cap(k.keys.Data) > keepScratch:
		k.keys = newColumn(k.keys.Field)
	default:
		k.keys.truncate(0)
	}
}

// add keeps a field: raw is its key as it was written, with its quotes; key the text of it.
func (k *keeper) add(m *jsonMapper, raw, key, value []byte) int {
	k.found++
	if k.keys == nil {
		return k.addEntry(m, key, value)
	}
	if f := k.keys.appendKey(key); f != nil {
		return m.fail(nil, f)
	}
	c, lead := k.col, byte('{')
	if k.found > 1 {
		lead = ','
	}
	c.Data = append(c.Data, lead)
	c.Data = append(c.Data, raw...)
	c.Data = append(c.Data, ':')
	c.Data = append(c.Data, value...)
	return 0
}

func (k *keeper) addEntry(m *jsonMapper, key, value []byte) int {
	// The key may lie in the scratch that the value is about to use.
	if f := k.col.Kids[0].appendKey(key); f != nil {
		return m.fail(nil, f)
	}
	c := k.col.Kids[1]
	switch value[0] {
	case 'n':
		c.appendNull()
		return 0
	case '"':
		text, end := m.str(nil, value, 1)
		if end < 0 {
			return end
		}
		value = text
	}
	c.ensure(1)
	c.Data = append(c.Data, value...)
	c.Off = append(c.Off, int32(len(c.Data)))
	c.Len++
	return 0
}

// end completes the column's value.
func (k *keeper) end(m *jsonMapper) int {
	c, keys, from := k.col, k.keys, 0
	if k.found == 0 && !k.required {
		c.appendNull()
		return 0
	}
	if keys == nil {
		keys, from = c.Kids[0], int(c.Off[c.Len])
	}
	if k.found > 1 && keysTwice(keys, from, &m.order) {
		m.fail(nil, faultTwice)
		m.bad.Column = k.path
		return -1
	}
	c.ensure(1)
	switch {
	case k.keys == nil:
		c.Off = append(c.Off, int32(keys.Len))
	case k.found == 0:
		c.Data = append(c.Data, '{', '}')
		c.Off = append(c.Off, int32(len(c.Data)))
	default:
		c.Data = append(c.Data, '}')
		c.Off = append(c.Off, int32(len(c.Data)))
	}
	c.Len++
	return 0
}

// unknown reads the value of a member that is no column of n, whose key member has just read.
func (m *jsonMapper) unknown(n *jsonNode, b []byte, i, depth int) int {
	if n.rule != nil && (m.unknowns != UnknownIgnore || m.evolution.Add) && n.rule.ignores(string(m.key)) {
		return m.skip(b, i, depth)
	}
	if m.unknowns == UnknownReject || n.rule.refuses() {
		m.bad = BadRecordError{Code: CodeUnknown, Column: join(n.path, shownName(m.key)), Reason: reasonUnknown}
		return -1
	}
	if m.evolution.Add {
		m.strange = m.strange || !isNull(b, i) || m.evolution.untyped != nil
	}
	if m.keep == nil || n != &m.root {
		return m.skip(b, i, depth)
	}
	raw := m.rawKey
	i = skipSpace(b, i)
	end := m.skip(b, i, depth)
	if end < 0 {
		return end
	}
	if m.keep.add(m, raw, m.key, b[i:end]) < 0 {
		return -1
	}
	return end
}

// isNull says that the value at b[i:] begins as null does: it asks for nothing.
func isNull(b []byte, i int) bool {
	i = skipSpace(b, i)
	return i < len(b) && b[i] == 'n'
}
