package config

import _ "embed"

// schema is made from the types of this package by its tests (-rewrite), which hold it against them.
//
//go:embed schema.json
var schema []byte

// Schema is the configuration as JSON Schema (draft 2020-12), for editors: every key with its type, text, default and
// words. What Load accepts is valid by it; what is valid by it may still be wrong for Load, which looks at more than one
// key at a time. The caller owns the bytes.
func Schema() []byte { return append([]byte(nil), schema...) }

// example is the first configuration in docs/configuration.md; a test of cmd/floe holds the two against each other.
//
//go:embed example.yaml
var example []byte

// Example is a configuration with every key, commented, that Load accepts. The caller owns the bytes.
func Example() []byte { return append([]byte(nil), example...) }
