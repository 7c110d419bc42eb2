package mapper

// jsonCast reads a column's values by a rule.
type jsonCast struct {
	Cast
	zone *zone
	// variable is the plan of a decimal that brings its scale along.
	variable *jsonNode
}

// setCast has the node read its values by the field's rule, or in its time zone.
func (n *jsonNode) setCast(f *Field, m *jsonMapper) error {
	k := f.cast()
	if k.rule == castNone && f.zone() == nil {
		return nil
	}
	if k.rule == castNone {
		k.rule = castZoned
	}
	n.casts = &jsonCast{Cast: k, zone: newZone(f.zone())}
	n.kind = Invalid // no case of value but the last
	n.shortcut = shortcutOf(f.Type.Kind)
	switch k.rule {
	case castUnitless:
		n.shortcut = (*Column).plainStampText
	case castEpoch, castDays:
		n.shortcut = noShortcut
	case castVariable:
		v, err := m.node(&variableField, n.path, 1)
		if err != nil {
			return err
		}
		v.bindTo(newColumn(&variableField))
		n.casts.variable = v
	}
	return nil
}

// variableField is Debezium's VariableScaleDecimal.
var variableField = Field{Name: "decimal", Type: Type{Kind: Struct, Fields: []Field{
	{Name: "scale", Type: Type{Kind: Int}, Required: true}, {Name: "value", Type: Type{Kind: Binary}, Required: true}}}}

func (n *jsonNode) bindTo(c *Column) {
	n.col = c
	n.bind(c.Kids)
}

func noShortcut(*Column, []byte, int) int { return 0 }

// plainStampText is plainStamp without numbers.
func (c *Column) plainStampText(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return 0
	}
	return c.plainStamp(b, i)
}

// cast reads a value by the node's rule.
func (m *jsonMapper) cast(n *jsonNode, b []byte, i int) int {
	k := n.casts
	if k.rule == castVariable && b[i] == '{' {
		return m.variable(n, b, i)
	}
	t, form, end := m.scalar(n, b, i)
	if end < 0 {
		return end
	}
	var f *fault
	switch {
	case k.rule == castVariable:
		f = faultVariable
	case k.rule == castZoned && form == formText:
		f = n.col.putStampText(t, k.zone)
	case k.rule == castZoned:
		return m.zonedNumber(n, b, i)
	default:
		f = k.put(n.col, t, form, k.zone)
	}
	if f != nil {
		return m.fail(n, f)
	}
	return end
}

var faultVariable = &fault{CodeType, "not a decimal with its scale: a struct of scale and value"}

// zonedNumber reads a number of milliseconds.
func (m *jsonMapper) zonedNumber(n *jsonNode, b []byte, i int) int {
	if b[i] != '-' && b[i]-'0' > 9 {
		return m.mismatch(n, b, i, faultNotStamp)
	}
	ms, end := m.integer(n, b, i)
	if end < 0 {
		return end
	}
	v, f := stampMillis(ms, n.col.kind)
	if f != nil {
		return m.fail(n, f)
	}
	n.col.appendI64(v)
	return end
}

// scalar gives a string, a number or a boolean as it is written.
func (m *jsonMapper) scalar(n *jsonNode, b []byte, i int) (t []byte, form castForm, end int) {
	switch b[i] {
	case '"':
		t, end = m.str(n, b, i+1)
		return t, formText, end
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if end = numberEnd(b, i); end < 0 {
			return nil, 0, m.syntax(b, i, "a number that JSON does not have")
		}
		return b[i:end], formNumber, end
	case 't', 'f':
		for _, word := range [2]string{"true", "false"} {
			if hasWord(b, i, word) {
				end = i + len(word)
				return b[i:end], formBoolean, end
			}
		}
	}
	return nil, 0, m.mismatch(n, b, i, faultNotScalar)
}

var faultNotScalar = &fault{CodeType, "neither text nor a number nor a boolean"}

// variable reads a decimal that brings its scale along.
func (m *jsonMapper) variable(n *jsonNode, b []byte, i int) int {
	v := n.casts.variable
	end := m.object(v, b, i, 0, 1)
	if end >= 0 {
		if f := n.col.putVariable(v.col); f != nil {
			end = m.fail(n, f)
		}
	} else if m.bad.Column != "" {
		m.bad.Column = n.path
	}
	v.col.truncate(0)
	return end
}

// putVariable appends the decimal whose scale and value are the first of a column of variableField.
func (c *Column) putVariable(v *Column) *fault {
	scale := v.Kids[0].I32[0]
	if scale < -1000 || scale > 1000 {
		return faultDecimalDigits
	}
	c.ensure(1)
	return c.unscaled(v.Kids[1].Slot(0), c.Field.Type.Scale-int(scale))
}
