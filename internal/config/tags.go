package config

import (
	"reflect"
	"strings"
)

// The tags of a field: yaml is its key; oneof are the words that its text, or each text of its list, is one of; required
// says that the key must be written wherever what it belongs to is.
const (
	tagKey      = "yaml"
	tagOneOf    = "oneof"
	tagRequired = "required"
)

// wordsOf gives the words of a dotted key. It panics where the key has none: validations name keys that do.
func wordsOf(key string) []string {
	t := reflect.TypeFor[Config]()
	var words []string
	for _, part := range strings.Split(key, ".") {
		name, _, _ := strings.Cut(part, "[")
		f, ok := fieldOf(t, name)
		if !ok {
			panic("there is no key " + key)
		}
		t, words = element(f.Type), strings.Fields(f.Tag.Get(tagOneOf))
	}
	if len(words) == 0 {
		panic("the key " + key + " has no words")
	}
	return words
}

// fieldOf gives the field of a struct that has the key.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get(tagKey) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// element is what a pointer points to and a list holds, or the type itself.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// either lists words as a sentence does.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
