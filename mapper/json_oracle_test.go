package mapper

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The oracle is encoding/json (with UseNumber) and math/big: slow, and sharing no code with the mapper.

// oracleValid says whether b is one JSON text by RFC 8259 with valid Unicode, nested no deeper than the default.
func oracleValid(b []byte) bool {
	if !json.Valid(b) || !utf8.Valid(b) {
		return false
	}
	depth, inString, high := 0, false, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		wasHigh := high
		high = false
		switch {
		case inString && c == '\\':
			i++
			if b[i] != 'u' {
				break
			}
			v, _ := strconv.ParseUint(string(b[i+1:i+5]), 16, 32)
			i += 4
			low := v >= 0xdc00 && v < 0xe000
			if wasHigh != low {
				return false
			}
			high = v >= 0xd800 && v < 0xdc00
			continue
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > defaultDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
		if wasHigh {
			return false
		}
	}
	return true
}

// oracleObject reads an object's members in order, with duplicates.
func oracleObject(b []byte) (keys []string, values []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil, nil
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			panic(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			panic(err)
		}
		keys, values = append(keys, k.(string)), append(values, v)
	}
	return keys, values
}

// oracleRow is the row of a valid record, and whether it has one.
func oracleRow(fields []Field, b []byte) ([]any, bool) {
	keys, values := oracleObject(b)
	row := make([]any, len(fields))
	for i := range fields {
		f := &fields[i]
		var raw json.RawMessage
		n := 0
		for k, key := range keys {
			if key == f.Name {
				raw, n = values[k], n+1
			}
		}
		if n > 1 {
			return nil, false
		}
		v, ok := oracleValue(f, raw)
		if !ok {
			return nil, false
		}
		row[i] = v
	}
	return row, true
}

func oracleValue(f *Field, raw json.RawMessage) (any, bool) {
	if raw == nil || string(raw) == "null" {
		return nil, !f.Required
	}
	text, isText := "", raw[0] == '"'
	if isText {
		if err := json.Unmarshal(raw, &text); err != nil {
			panic(err)
		}
	}
	isNumber := raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	switch f.Type.Kind {
	case Boolean:
		return string(raw) == "true", string(raw) == "true" || string(raw) == "false"
	case String:
		return text, isText
	case Int, Long, Float, Double, Decimal:
		if f.Type.Kind == Decimal && isText && regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`).MatchString(text) {
			return oracleNumber(&f.Type, text)
		}
		if !isNumber {
			return nil, false
		}
		return oracleNumber(&f.Type, string(raw))
	case TimestampTz:
		return oracleStamp(text, isText, string(raw), isNumber)
	case Struct:
		if raw[0] != '{' {
			return nil, false
		}
		v, ok := oracleRow(f.Type.Fields, raw)
		return v, ok
	case List:
		if raw[0] != '[' {
			return nil, false
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			panic(err)
		}
		l := []any{}
		for _, e := range elements {
			v, ok := oracleValue(&f.Type.Fields[0], e)
			if !ok {
				return nil, false
			}
			l = append(l, v)
		}
		return l, true
	case Map:
		if raw[0] != '{' {
			return nil, false
		}
		return oracleMap(f, raw)
	}
	panic("no oracle for " + f.Type.Kind.String())
}

func oracleMap(f *Field, raw json.RawMessage) (any, bool) {
	keys, values := oracleObject(raw)
	seen := map[string]bool{}
	l := []any{}
	for i, k := range keys {
		v, ok := oracleValue(&f.Type.Fields[1], values[i])
		if !ok || seen[k] {
			return nil, false
		}
		seen[k] = true
		l = append(l, k, v)
	}
	return l, true
}

// oracleKeeps says that a float has all digits of an integer, or that these are the ones which tell it from its neighbours.
func oracleKeeps(v float64, size int, lit string) bool {
	whole, isWhole := new(big.Int).SetString(lit, 10)
	if !isWhole {
		return true
	}
	if exact, _ := big.NewFloat(v).Int(nil); exact.Cmp(whole) == 0 {
		return true
	}
	shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'e', -1, size))
	return shortest.Cmp(new(big.Rat).SetInt(whole)) == 0
}

// hugeExponent tells numbers whose exact value an oracle must not build: their exponent has more than three digits.
var hugeExponent = regexp.MustCompile(`[eE]([+-]?)0*([1-9][0-9]{3,})$`)

func oracleNumber(t *Type, lit string) (any, bool) {
	switch t.Kind {
	case Double:
		v, err := strconv.ParseFloat(lit, 64)
		return v, err == nil && oracleKeeps(v, 64, lit)
	case Float:
		v, err := strconv.ParseFloat(lit, 32)
		return float32(v), err == nil && oracleKeeps(v, 32, lit)
	}
	if hugeExponent.MatchString(lit) {
		mantissa, _, _ := strings.Cut(strings.ToLower(lit), "e")
		if strings.Trim(mantissa, "-0.") != "" {
			return nil, false // far too large, or far too fine; the inputs are short
		}
		lit = "0"
	}
	rat, ok := new(big.Rat).SetString(lit)
	if !ok {
		panic(lit)
	}
	if t.Kind == Decimal {
		rat.Mul(rat, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		if !rat.IsInt() || new(big.Int).Abs(rat.Num()).Cmp(limit) >= 0 {
			return nil, false
		}
		return dec(rat.Num().String()), true
	}
	if !rat.IsInt() || !rat.Num().IsInt64() {
		return nil, false
	}
	v := rat.Num().Int64()
	if t.Kind == Int {
		return int32(v), v >= math.MinInt32 && v <= math.MaxInt32
	}
	return v, true
}

var stampForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,6}0*)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func oracleStamp(text string, isText bool, lit string, isNumber bool) (any, bool) {
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	var at time.Time
	switch {
	case isText:
		m := stampForm.FindStringSubmatch(text)
		if m == nil || strings.HasPrefix(text, "0000") {
			return nil, false
		}
		frac := m[3]
		if len(frac) > 10 {
			frac = frac[:10]
		}
		var err error
		if at, err = time.Parse(time.RFC3339Nano, m[1]+"T"+m[2]+frac+strings.ToUpper(m[4])); err != nil {
			return nil, false
		}
	case isNumber:
		v, ok := oracleNumber(&Type{Kind: Long}, lit)
		if !ok {
			return nil, false
		}
		at = time.UnixMilli(v.(int64))
		if at.UnixMilli() != v.(int64) || v.(int64) > math.MaxInt64/1000 || v.(int64) < math.MinInt64/1000 {
			return nil, false
		}
	default:
		return nil, false
	}
	return at.UnixMicro(), !at.Before(first) && at.Before(end)
}
