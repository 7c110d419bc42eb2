package typestable

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// What follows writes Avro by hand: the table must not depend on the library that reads schemas. An input "bytes 0x…"
// stands for these bytes, whatever the type.

// avroRecord writes a record of the fields id and c.
func avroRecord(write func(in string) []byte) func(id int, in string) []byte {
	return func(id int, in string) []byte {
		out := binary.AppendVarint(nil, int64(id))
		if raw, ok := strings.CutPrefix(in, "bytes "); ok {
			return append(out, unhex(raw)...)
		}
		return append(out, write(in)...)
	}
}

// unhex reads 0x0102. The inputs are written in this package: a wrong one is found by the tests.
func unhex(in string) []byte {
	b, err := hex.DecodeString(strings.TrimPrefix(in, "0x"))
	if err != nil {
		return fmt.Appendf(nil, "wrong input %s", in)
	}
	return b
}

func writeNothing(string) []byte { return nil }

func writeBoolean(in string) []byte {
	if in == "true" {
		return []byte{1}
	}
	return []byte{0}
}

func writeLong(in string) []byte {
	v, err := strconv.ParseInt(in, 10, 64)
	if err != nil {
		return fmt.Appendf(nil, "wrong input %s", in)
	}
	return binary.AppendVarint(nil, v)
}

func writeFloat(in string) []byte {
	f, _ := strconv.ParseFloat(in, 32)
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f)))
}

func writeDouble(in string) []byte {
	f, _ := strconv.ParseFloat(in, 64)
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
}

func withLength(b []byte) []byte { return append(binary.AppendVarint(nil, int64(len(b))), b...) }

// writeText reads JSON text.
func writeText(in string) []byte {
	var s string
	if json.Unmarshal([]byte(in), &s) != nil {
		return fmt.Appendf(nil, "wrong input %s", in)
	}
	return withLength([]byte(s))
}

func writeBytes(in string) []byte { return withLength(unhex(in)) }

func writeFixed(in string) []byte { return unhex(in) }

// writeEnum reads the number of the symbol behind its name: "BEE 1".
func writeEnum(in string) []byte { return writeLong(in[strings.LastIndexByte(in, ' ')+1:]) }

// twosComplement gives the unscaled value of a decimal that is written with all digits of its scale, big endian, in the
// fewest bytes, or in size bytes where that is not 0.
func twosComplement(in string, size int) []byte {
	v, ok := new(big.Int).SetString(strings.Replace(in, ".", "", 1), 10)
	if !ok {
		return fmt.Appendf(nil, "wrong input %s", in)
	}
	n := max(size, v.BitLen()/8+1)
	if v.Sign() < 0 {
		v.Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	return v.FillBytes(make([]byte, n))
}

func writeDecimal(in string) []byte { return withLength(twosComplement(in, 0)) }

func writeDecimalFixed(size int) func(in string) []byte {
	return func(in string) []byte { return twosComplement(in, size) }
}

// writeList reads [1, 2]: one block.
func writeList(in string) []byte {
	var vs []int64
	if json.Unmarshal([]byte(in), &vs) != nil {
		return fmt.Appendf(nil, "wrong input %s", in)
	}
	var out []byte
	if len(vs) > 0 {
		out = binary.AppendVarint(out, int64(len(vs)))
		for _, v := range vs {
			out = binary.AppendVarint(out, v)
		}
	}
	return append(out, 0)
}

// writeMap reads "k=1 l=2".
func writeMap(in string) []byte {
	var out []byte
	pairs := strings.Fields(in)
	if len(pairs) > 0 {
		out = binary.AppendVarint(out, int64(len(pairs)))
	}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		out = slices.Concat(out, withLength([]byte(k)), writeLong(v))
	}
	return append(out, 0)
}

// writeStruct reads "1 x": a long and a text.
func writeStruct(in string) []byte {
	a, b, _ := strings.Cut(in, " ")
	return append(writeLong(a), withLength([]byte(b))...)
}

// writeNullable writes a union of null and another.
func writeNullable(write func(in string) []byte) func(in string) []byte {
	return func(in string) []byte {
		if in == "null" {
			return []byte{0}
		}
		return append([]byte{2}, write(in)...)
	}
}

// writeUnion reads "int 5": the branch's name and its value.
func writeUnion(names []string, writes ...func(in string) []byte) func(in string) []byte {
	return func(in string) []byte {
		name, v, _ := strings.Cut(in, " ")
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Appendf(nil, "wrong input %s", in)
		}
		return append(binary.AppendVarint(nil, int64(i)), writes[i](v)...)
	}
}
