package mapper

import "reflect"

// putReflect appends what put does not know by its type: pointers, types built on the known ones, slices, arrays, maps.
func (r *Row) putReflect(c *Column, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer {
		// Pointers are followed a few steps only: they may lead in a circle.
		for range 8 {
			if rv.Kind() != reflect.Pointer && rv.Kind() != reflect.Interface {
				break
			}
			if rv.IsNil() {
				return putNull(c)
			}
			rv = rv.Elem()
		}
		if k := rv.Kind(); k == reflect.Pointer || k == reflect.Interface {
			return asError(faultGoType)
		}
		return r.put(c, rv.Interface())
	}
	switch rv.Kind() {
	case reflect.Bool:
		return asError(c.putBool(rv.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return asError(c.putInt(rv.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return asError(c.putUint(rv.Uint()))
	case reflect.Float32, reflect.Float64:
		return asError(c.putFloat(rv.Float()))
	case reflect.String:
		return r.putString(c, rv.String())
	case reflect.Slice, reflect.Array:
		return r.putSlice(c, rv)
	case reflect.Map:
		return r.putMap(c, rv)
	}
	return asError(faultGoType)
}

func (r *Row) putSlice(c *Column, rv reflect.Value) error {
	if rv.Kind() == reflect.Slice && rv.IsNil() {
		return putNull(c)
	}
	switch c.kind {
	case List:
		return r.putList(c, rv)
	case Binary, Fixed, UUID:
		if rv.Type().Elem().Kind() != reflect.Uint8 {
			return asError(faultGoType)
		}
		if rv.Kind() == reflect.Slice {
			return r.putBytes(c, rv.Bytes())
		}
		b := make([]byte, rv.Len())
		reflect.Copy(reflect.ValueOf(b), rv)
		return r.putBytes(c, b)
	}
	return asError(faultGoType)
}

func (r *Row) putList(c *Column, rv reflect.Value) error {
	n := rv.Len()
	if err := r.room(n); err != nil {
		return err
	}
	element := c.Kids[0]
	for i := range n {
		element.ensure(1)
		if err := r.put(element, rv.Index(i).Interface()); err != nil {
			return under("element", err)
		}
	}
	c.ensure(1)
	c.Off = append(c.Off, int32(element.Len))
	c.Len++
	return nil
}

func (r *Row) putMap(c *Column, rv reflect.Value) error {
	if c.kind != Map && c.kind != Struct {
		return asError(faultGoType)
	}
	if rv.IsNil() {
		return putNull(c)
	}
	if c.kind == Struct {
		return r.putStruct(c, rv)
	}
	if err := r.room(rv.Len()); err != nil {
		return err
	}
	key, value := c.Kids[0], c.Kids[1]
	from := key.Len
	for it := rv.MapRange(); it.Next(); {
		key.ensure(1)
		value.ensure(1)
		if err := r.putKey(key, it.Key().Interface()); err != nil {
			return under("key", err)
		}
		if err := r.put(value, it.Value().Interface()); err != nil {
			return under("value", err)
		}
	}
	if keysTwice(key, from, &r.order) {
		return under("key", asError(faultTwice))
	}
	c.ensure(1)
	c.Off = append(c.Off, int32(key.Len))
	c.Len++
	return nil
}

// putKey appends a map's key. Text stands for any primitive kind, since map[string]any has no other keys.
func (r *Row) putKey(c *Column, v any) error {
	if s, ok := v.(string); ok && c.kind != String && c.kind != Struct && c.kind != List && c.kind != Map {
		if c.kind == Binary {
			if err := r.room(len(s)); err != nil {
				return err
			}
		}
		return asError(c.appendKey([]byte(s)))
	}
	if v == nil {
		return asError(faultMapKeyIsNull)
	}
	return r.put(c, v)
}

func (r *Row) putStruct(c *Column, rv reflect.Value) error {
	if rv.Type().Key().Kind() != reflect.String {
		return asError(faultGoType)
	}
	row, found := c.Len, 0
	for _, k := range c.Kids {
		v := rv.MapIndex(reflect.ValueOf(k.Field.Name).Convert(rv.Type().Key()))
		if !v.IsValid() {
			continue
		}
		found++
		k.ensure(1)
		if err := r.put(k, v.Interface()); err != nil {
			return under(k.Field.Name, err)
		}
	}
	if found < rv.Len() {
		return asError(faultNoMember)
	}
	for _, k := range c.Kids {
		if k.Len > row {
			continue
		}
		if !k.appendMissing() {
			return under(k.Field.Name, asError(faultMissing))
		}
	}
	c.ensure(1)
	c.Len++
	return nil
}
