package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errShort says that a message ended before all that it announced.
var errShort = errors.New("the message is shorter than what it announces")

// wireReader reads one message of a known size from a connection. After an error all reads give zero values; err holds
// the first one. It never reads beyond the message.
type wireReader struct {
	r      io.Reader
	remain int
	err    error
	b      [8]byte
}

func (w *wireReader) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *wireReader) full(p []byte) bool {
	if w.err != nil {
		return false
	}
	if len(p) > w.remain {
		w.fail(errShort)
		return false
	}
	n, err := io.ReadFull(w.r, p)
	w.remain -= n
	if err != nil {
		w.fail(err)
	}
	return err == nil
}

func (w *wireReader) int8() int8 {
	if !w.full(w.b[:1]) {
		return 0
	}
	return int8(w.b[0])
}

func (w *wireReader) int16() int16 {
	if !w.full(w.b[:2]) {
		return 0
	}
	return int16(binary.BigEndian.Uint16(w.b[:2]))
}

func (w *wireReader) int32() int32 {
	if !w.full(w.b[:4]) {
		return 0
	}
	return int32(binary.BigEndian.Uint32(w.b[:4]))
}

func (w *wireReader) int64() int64 {
	if !w.full(w.b[:8]) {
		return 0
	}
	return int64(binary.BigEndian.Uint64(w.b[:8]))
}

func (w *wireReader) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		if !w.full(w.b[:1]) {
			return 0
		}
		v |= uint64(w.b[0]&0x7f) << shift
		if w.b[0] < 0x80 {
			return v
		}
	}
	w.fail(errors.New("a varint is longer than ten bytes"))
	return 0
}

// length checks a count of bytes or elements against what is left of the message, so that nothing hostile is allocated.
func (w *wireReader) length(n int64, least int) int {
	if w.err != nil {
		return 0
	}
	if n < 0 || n*int64(max(least, 1)) > int64(w.remain) {
		w.fail(fmt.Errorf("a length of %d does not fit into the %d bytes left: %w", n, w.remain, errShort))
		return 0
	}
	return int(n)
}

// count reads an array's length; nil arrays are empty. least is the least size of an element in bytes.
func (w *wireReader) count(flexible bool, least int) int {
	var n int64
	if flexible {
		n = int64(min(w.uvarint(), 1<<31)) - 1
	} else {
		n = int64(w.int32())
	}
	if n < 0 {
		return 0
	}
	return w.length(n, least)
}

// size reads the length of a byte string; -1 where it is nil.
func (w *wireReader) size(flexible bool) int {
	var n int64
	if flexible {
		n = int64(min(w.uvarint(), 1<<31)) - 1
	} else {
		n = int64(w.int32())
	}
	if n < 0 {
		return -1
	}
	return w.length(n, 1)
}

func (w *wireReader) string(flexible bool) string {
	var n int64
	if flexible {
		n = int64(min(w.uvarint(), 1<<31)) - 1
	} else {
		n = int64(w.int16())
	}
	if n < 0 {
		return ""
	}
	p := make([]byte, w.length(n, 1))
	w.full(p)
	return string(p)
}

func (w *wireReader) uuid() (id topicID) {
	w.full(id[:])
	return id
}

// tags skips the tagged fields at the end of a flexible structure.
func (w *wireReader) tags() { w.tagged(func(uint64) {}) }

// tagged reads the tagged fields at the end of a flexible structure. f may read from each; what it leaves is skipped.
func (w *wireReader) tagged(f func(tag uint64)) {
	n := w.length(int64(min(w.uvarint(), 1<<31)), 2)
	for i := 0; i < n && w.err == nil; i++ {
		tag := w.uvarint()
		size := w.length(int64(min(w.uvarint(), 1<<31)), 1)
		if w.err != nil {
			return
		}
		end := w.remain - size
		f(tag)
		if w.err == nil && w.remain < end {
			w.fail(errors.New("a tagged field is shorter than what it holds"))
		}
		w.skip(w.remain - end)
	}
}

func (w *wireReader) skip(n int) {
	if w.err != nil || n == 0 {
		return
	}
	if n > w.remain {
		w.fail(errShort)
		return
	}
	m, err := io.CopyN(io.Discard, w.r, int64(n))
	w.remain -= int(m)
	if err != nil {
		w.fail(err)
	}
}

// wireWriter builds one request. The first four bytes are its size.
type wireWriter struct{ b []byte }

// begin writes the request's header: version 2 where flexible, else version 1.
func (w *wireWriter) begin(key, version int16, correlation int32, clientID string, flexible bool) {
	w.b = append(w.b[:0], 0, 0, 0, 0)
	w.int16(key)
	w.int16(version)
	w.int32(correlation)
	w.string(clientID, false)
	if flexible {
		w.b = append(w.b, 0)
	}
}

func (w *wireWriter) finish() []byte {
	binary.BigEndian.PutUint32(w.b, uint32(len(w.b)-4))
	return w.b
}

func (w *wireWriter) int8(v int8)   { w.b = append(w.b, byte(v)) }
func (w *wireWriter) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *wireWriter) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *wireWriter) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *wireWriter) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *wireWriter) string(s string, flexible bool) {
	if flexible {
		w.b = binary.AppendUvarint(w.b, uint64(len(s))+1)
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

func (w *wireWriter) count(n int, flexible bool) {
	if flexible {
		w.b = binary.AppendUvarint(w.b, uint64(n)+1)
	} else {
		w.int32(int32(n))
	}
}

// tags writes the end of a structure: no tagged fields.
func (w *wireWriter) tags(flexible bool) {
	if flexible {
		w.b = append(w.b, 0)
	}
}
