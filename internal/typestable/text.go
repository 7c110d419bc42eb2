package typestable

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stormfloe/floe/internal/variant"
	"github.com/stormfloe/floe/mapper"
)

// Text gives a value as the page has it, and as .ci/cells.py makes it anew of what engines read.
func Text(c *mapper.Column, i int) string {
	if c.IsNull(i) {
		return "null"
	}
	switch t := c.Field.Type; t.Kind {
	case mapper.Boolean:
		return strconv.FormatBool(c.Bool(i))
	case mapper.Int:
		return strconv.FormatInt(int64(c.I32[i]), 10)
	case mapper.Long:
		return strconv.FormatInt(c.I64[i], 10)
	case mapper.Float:
		return float(float64(c.F32[i]), 32)
	case mapper.Double:
		return float(c.F64[i], 64)
	case mapper.Decimal:
		return decimal(c.Slot(i), t.Scale)
	case mapper.Date:
		return time.Unix(int64(c.I32[i])*86400, 0).UTC().Format("2006-01-02")
	case mapper.Time:
		return time.UnixMicro(c.I64[i]).UTC().Format("15:04:05.000000")
	case mapper.Timestamp:
		return time.UnixMicro(c.I64[i]).UTC().Format("2006-01-02T15:04:05.000000")
	case mapper.TimestampTz:
		return time.UnixMicro(c.I64[i]).UTC().Format("2006-01-02T15:04:05.000000Z")
	case mapper.TimestampNs:
		return time.Unix(0, c.I64[i]).UTC().Format("2006-01-02T15:04:05.000000000")
	case mapper.TimestampTzNs:
		return time.Unix(0, c.I64[i]).UTC().Format("2006-01-02T15:04:05.000000000Z")
	case mapper.String:
		return quote(string(c.Slot(i)))
	case mapper.UUID:
		h := hex.EncodeToString(c.Slot(i))
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case mapper.Fixed, mapper.Binary:
		return "0x" + hex.EncodeToString(c.Slot(i))
	case mapper.Variant:
		v, err := variant.Decode(c.Kids[0].Slot(i), c.Kids[1].Slot(i))
		if err != nil {
			return err.Error()
		}
		return variantText(v)
	}
	return nested(c, i)
}

// variantText gives a variant as JSON: the members by their keys, a number without zeros at its end.
func variantText(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quote(v)
	case float64:
		return float(v, 64)
	case *big.Rat:
		places, _ := v.FloatPrec()
		return v.FloatString(places)
	case []any:
		for _, e := range v {
			parts = append(parts, variantText(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quote(k)+": "+variantText(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

func nested(c *mapper.Column, i int) string {
	var parts []string
	if c.Field.Type.Kind == mapper.Struct {
		for _, k := range c.Kids {
			parts = append(parts, k.Field.Name+": "+Text(k, i))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for j := int(c.Off[i]); j < int(c.Off[i+1]); j++ {
		text := Text(c.Kids[0], j)
		if len(c.Kids) == 2 {
			text += " = " + Text(c.Kids[1], j)
		}
		parts = append(parts, text)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func float(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strconv.FormatFloat(f, 'g', -1, bits)[:1] + "Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// decimal reads two's complement, little endian.
func decimal(slot []byte, scale int) string {
	be := slices.Clone(slot)
	slices.Reverse(be)
	v := new(big.Int).SetBytes(be)
	if be[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	digits := new(big.Int).Abs(v).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	sign := ""
	if v.Sign() < 0 {
		sign = "-"
	}
	if scale == 0 {
		return sign + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// quote writes text as ASCII, by JSON's rules.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
