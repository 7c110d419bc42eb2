package proof

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxBlock bounds what a block may hold when it is inflated, in bytes.
const maxBlock = 1 << 30

// values are what was found of the fields that are wanted, by slot. One that its record leaves out is zero.
type values struct {
	numbers [6]int64
	texts   [6]string
}

// step reads one value, or passes over it.
type step func(in *input, v *values)

// avroKind is a kind of file: the fields that are wanted, each by its names from the outside in and with its slot.
type avroKind struct {
	slots map[string]int
	// need are those that every file of the kind has.
	need []string

	mu struct {
		sync.Mutex
		// compiled are the schemas that were seen: a table has few of them, and thousands of files.
		compiled map[string]step
	}
}

// maxCompiled bounds the schemas that are kept of a kind.
const maxCompiled = 256

// read calls f for each record of an object container file.
func (k *avroKind) read(file []byte, f func(v *values)) error {
	in := &input{b: file}
	if string(in.next(4)) != "Obj\x01" {
		return errors.New("it is no Avro file")
	}
	meta := map[string][]byte{}
	in.items(func() {
		key := string(in.bytes())
		meta[key] = in.bytes()
	})
	sync := in.next(16)
	if in.err != nil {
		return in.err
	}
	codec := string(meta["avro.codec"])
	if codec != "" && codec != "null" && codec != "deflate" {
		return fmt.Errorf("its codec is %q; null and deflate are read here", codec)
	}
	record, err := k.compile(string(meta["avro.schema"]))
	if err != nil {
		return err
	}
	for len(in.b) > 0 {
		count, data := in.long(), in.bytes()
		if !bytes.Equal(in.next(16), sync) && in.err == nil {
			return errors.New("a block does not end with the file's mark")
		}
		if in.err != nil {
			return in.err
		}
		if codec == "deflate" {
			if data, err = inflate(data); err != nil {
				return err
			}
		}
		if err := records(count, data, record, f); err != nil {
			return err
		}
	}
	return nil
}

func records(count int64, data []byte, record step, f func(v *values)) error {
	in := &input{b: data}
	if count < 0 || count > int64(len(data)) {
		return fmt.Errorf("a block of %d records in %d bytes", count, len(data))
	}
	for range count {
		var v values
		if record(in, &v); in.err != nil {
			return in.err
		}
		f(&v)
	}
	if len(in.b) > 0 {
		return fmt.Errorf("a block holds %d bytes behind its records", len(in.b))
	}
	return nil
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func inflate(b []byte) ([]byte, error) {
	r := inflaters.Get().(io.Reader)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(b), nil); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, maxBlock+1))
	if err == nil && len(out) > maxBlock {
		err = fmt.Errorf("a block holds more than %d bytes", maxBlock)
	}
	return out, err
}

// compile makes the step for a schema's records.
func (k *avroKind) compile(schema string) (step, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.mu.compiled[schema]; s != nil {
		return s, nil
	}
	var parsed any
	if err := json.Unmarshal([]byte(schema), &parsed); err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	c := compiler{slots: k.slots, found: map[string]bool{}}
	s, err := c.step(parsed, "")
	if err != nil {
		return nil, err
	}
	for _, name := range k.need {
		if !c.found[name] {
			return nil, fmt.Errorf("it has no %s", name)
		}
	}
	if k.mu.compiled == nil || len(k.mu.compiled) >= maxCompiled {
		k.mu.compiled = map[string]step{}
	}
	k.mu.compiled[schema] = s
	return s, nil
}

type compiler struct {
	slots map[string]int
	found map[string]bool
}

// step compiles a type at a path; what lies in arrays and maps has none.
func (c *compiler) step(typ any, path string) (step, error) {
	switch typ := typ.(type) {
	case string:
		return c.primitive(typ, path)
	case []any:
		return c.union(typ, path)
	case map[string]any:
		switch typ["type"] {
		case "record":
			return c.record(typ, path)
		case "array":
			item, err := c.step(typ["items"], "")
			return func(in *input, v *values) { in.items(func() { item(in, v) }) }, err
		case "map":
			value, err := c.step(typ["values"], "")
			return func(in *input, v *values) { in.items(func() { in.bytes(); value(in, v) }) }, err
		case "fixed":
			size, ok := typ["size"].(float64)
			if !ok || size < 0 || size > maxBlock {
				return nil, fmt.Errorf("a fixed type of size %v", typ["size"])
			}
			return func(in *input, _ *values) { in.next(int64(size)) }, nil
		case "enum":
			return func(in *input, _ *values) { in.long() }, nil
		}
		return c.step(typ["type"], path)
	}
	return nil, fmt.Errorf("its schema has a type that is none: %v", typ)
}

func (c *compiler) record(typ map[string]any, path string) (step, error) {
	fields, _ := typ["fields"].([]any)
	var steps []step
	for _, f := range fields {
		field, _ := f.(map[string]any)
		name, _ := field["name"].(string)
		at := name
		if path != "" {
			at = path + "." + name
		}
		s, err := c.step(field["type"], at)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return func(in *input, v *values) {
		for _, s := range steps {
			s(in, v)
		}
	}, nil
}

func (c *compiler) union(types []any, path string) (step, error) {
	var steps []step
	for _, t := range types {
		s, err := c.step(t, path)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return func(in *input, v *values) {
		i := in.long()
		if i < 0 || i >= int64(len(steps)) {
			in.fail("a union has no branch %d", i)
			return
		}
		steps[i](in, v)
	}, nil
}

func (c *compiler) primitive(typ, path string) (step, error) {
	slot, wanted := c.slots[path]
	wanted = wanted && path != ""
	switch typ {
	case "null":
		return func(*input, *values) {}, nil
	case "boolean":
		return func(in *input, _ *values) { in.next(1) }, nil
	case "float":
		return func(in *input, _ *values) { in.next(4) }, nil
	case "double":
		return func(in *input, _ *values) { in.next(8) }, nil
	case "int", "long":
		if !wanted {
			return func(in *input, _ *values) { in.long() }, nil
		}
		c.found[path] = true
		return func(in *input, v *values) { v.numbers[slot] = in.long() }, nil
	case "bytes", "string":
		if !wanted {
			return func(in *input, _ *values) { in.bytes() }, nil
		}
		c.found[path] = true
		return func(in *input, v *values) { v.texts[slot] = string(in.bytes()) }, nil
	}
	return nil, fmt.Errorf("its schema has the type %q, which is not known here", typ)
}

// input is what is left to read. After an error it gives zeros.
type input struct {
	b   []byte
	err error
}

func (in *input) fail(format string, args ...any) {
	if in.err == nil {
		in.b, in.err = nil, fmt.Errorf(format, args...)
	}
}

func (in *input) next(n int64) []byte {
	if n < 0 || n > int64(len(in.b)) {
		in.fail("it ends before its time: %d bytes more, %d are left", n, len(in.b))
		return nil
	}
	out := in.b[:n]
	in.b = in.b[n:]
	return out
}

func (in *input) long() int64 {
	v, n := binary.Varint(in.b)
	if n <= 0 {
		in.fail("it ends within a number")
		return 0
	}
	in.b = in.b[n:]
	return v
}

func (in *input) bytes() []byte { return in.next(in.long()) }

// items reads the blocks of an array or a map.
func (in *input) items(each func()) {
	for {
		n := in.long()
		if n < 0 {
			n = -n
			in.long() // the block's size
		}
		if n == 0 || in.err != nil {
			return
		}
		if n < 0 || n > int64(len(in.b)) {
			in.fail("%d items in %d bytes", n, len(in.b))
			return
		}
		for ; n > 0 && in.err == nil; n-- {
			each()
		}
	}
}
