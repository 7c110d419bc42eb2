package parquetfile

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"

	"github.com/stormfloe/floe/mapper"
)

// values are some values of one leaf without any nulls: a part of a column, or a copy of the slots that hold a value.
type values struct {
	n     int
	bools []byte // one a value, 0 or 1
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	off   []int32 // n+1 positions in data; nil where all values have the same length
	data  []byte
}

// at gives the bytes of value i of a type whose values are bytes; width is their length where off is nil.
func (v *values) at(i, width int) []byte {
	if v.off != nil {
		return v.data[v.off[i]:v.off[i+1]]
	}
	return v.data[i*width : (i+1)*width]
}

// slotWidth is the number of bytes of a value in a column's Data.
func slotWidth(t *mapper.Type) int {
	if t.Kind == mapper.Fixed {
		return t.Length
	}
	return 16
}

// scratch are buffers to copy values into.
type scratch struct {
	bools, data, fixed []byte
	i32, off           []int32
	i64                []int64
	f32                []float32
	f64                []float64
}

func (s *scratch) memory() int64 {
	return int64(cap(s.bools)+cap(s.data)+cap(s.fixed)) + 4*int64(cap(s.i32)+cap(s.off)+cap(s.f32)) + 8*int64(cap(s.i64)+cap(s.f64))
}

// gather gives the values that lv names. They are good until the next call, and as long as the column.
func (s *scratch) gather(lf *leaf, c *mapper.Column, lv *levels) values {
	from, n := lv.first, lv.n
	if !lv.dense {
		n = len(lv.picks)
		if n > 0 {
			from = int(lv.picks[0])
		}
		if n > 0 && int(lv.picks[n-1])-from+1 != n {
			return s.copy(lf, c, lv.picks)
		}
	}
	v := values{n: n}
	if n == 0 {
		return v
	}
	switch lf.typ.Kind {
	case mapper.Boolean:
		s.bools = s.bools[:0]
		for i := from; i < from+n; i++ {
			s.bools = append(s.bools, c.Bits[i>>3]>>(i&7)&1)
		}
		v.bools = s.bools
	case mapper.Int, mapper.Date:
		v.i32 = c.I32[from : from+n]
	case mapper.Float:
		v.f32 = c.F32[from : from+n]
	case mapper.Double:
		v.f64 = c.F64[from : from+n]
	case mapper.String, mapper.Binary:
		v.off, v.data = c.Off[from:from+n+1], c.Data
	case mapper.Decimal, mapper.UUID, mapper.Fixed:
		w := slotWidth(&lf.typ)
		v.data = c.Data[from*w : (from+n)*w]
	default:
		v.i64 = c.I64[from : from+n]
	}
	return v
}

// copy gives the values of slots that do not lie one behind the other.
func (s *scratch) copy(lf *leaf, c *mapper.Column, slots []int32) values {
	v := values{n: len(slots)}
	switch lf.typ.Kind {
	case mapper.Boolean:
		s.bools = s.bools[:0]
		for _, i := range slots {
			s.bools = append(s.bools, c.Bits[i>>3]>>(i&7)&1)
		}
		v.bools = s.bools
	case mapper.Int, mapper.Date:
		s.i32 = pick(s.i32, c.I32, slots)
		v.i32 = s.i32
	case mapper.Float:
		s.f32 = pick(s.f32, c.F32, slots)
		v.f32 = s.f32
	case mapper.Double:
		s.f64 = pick(s.f64, c.F64, slots)
		v.f64 = s.f64
	case mapper.String, mapper.Binary:
		s.off, s.data = append(s.off[:0], 0), s.data[:0]
		for _, i := range slots {
			s.data = append(s.data, c.Data[c.Off[i]:c.Off[i+1]]...)
			s.off = append(s.off, int32(len(s.data)))
		}
		v.off, v.data = s.off, s.data
	case mapper.Decimal, mapper.UUID, mapper.Fixed:
		w := slotWidth(&lf.typ)
		s.data = s.data[:0]
		for _, i := range slots {
			s.data = append(s.data, c.Data[int(i)*w:(int(i)+1)*w]...)
		}
		v.data = s.data
	default:
		s.i64 = pick(s.i64, c.I64, slots)
		v.i64 = s.i64
	}
	return v
}

func pick[T any](dst, src []T, slots []int32) []T {
	dst = dst[:0]
	for _, s := range slots {
		dst = append(dst, src[s])
	}
	return dst
}

// raw gives the values of a type of fixed width as they lie in the file.
func (s *scratch) raw(lf *leaf, v *values) []byte {
	switch lf.typ.Kind {
	case mapper.Boolean:
		return v.bools
	case mapper.Int, mapper.Date:
		return bytesOf(v.i32)
	case mapper.Float:
		return bytesOf(v.f32)
	case mapper.Double:
		return bytesOf(v.f64)
	case mapper.UUID, mapper.Fixed:
		return v.data
	case mapper.Decimal:
		s.fixed = s.fixed[:0]
		for i := range v.n {
			s.fixed = lf.appendDecimal(s.fixed, v.data[16*i:16*i+16])
		}
		return s.fixed
	}
	return bytesOf(v.i64)
}

// appendDecimal turns a column's decimal (16 bytes, little endian) into the file's: an integer where it fits, otherwise
// big endian in as few bytes as the precision needs.
func (lf *leaf) appendDecimal(dst, v []byte) []byte {
	if lf.physical != parquet.Types.FixedLenByteArray {
		return append(dst, v[:lf.width]...)
	}
	for i := lf.width - 1; i >= 0; i-- {
		dst = append(dst, v[i])
	}
	return dst
}

// appendPlainText appends byte arrays, each behind its length; there must be room.
func (v *values) appendPlainText(dst []byte) []byte {
	for i := range v.n {
		s := v.data[v.off[i]:v.off[i+1]]
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
	}
	return dst
}

// textBytes is what appendPlainText appends.
func (v *values) textBytes() int {
	if v.n == 0 {
		return 0
	}
	return 4*v.n + int(v.off[v.n]-v.off[0])
}

// bytesOf shows numbers as their bytes. Like Arrow's, the columns' layout is the file's on little-endian machines only.
func bytesOf[T int32 | int64 | uint32 | float32 | float64](vs []T) []byte {
	if len(vs) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&vs[0])), len(vs)*int(unsafe.Sizeof(vs[0])))
}

// numbers shows bytes as numbers; the bytes must be aligned.
func numbers[T int32 | int64 | uint32](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(T(0))))
}
