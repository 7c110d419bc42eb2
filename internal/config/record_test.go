package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEveryKeyOfAvroIsRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ca.pem", "app.pem", "app.key", "r.avsc", "w.avsc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(record string) *Config {
		t.Helper()
		cfg, err := Parse(filepath.Join(dir, "floe.yaml"), []byte(smallest+"record: {format: avro, "+record+"}\n"), env("PW", "s3cret-pw", "TOKEN", "t0ken-value"))
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := parse(`registry: {url: "https://r:8081/base", username: app, password: "${PW}", timeout: 3s, tls: {ca_file: ca.pem, cert_file: app.pem, key_file: app.key, server_name: k}}, avro: {reader_schema_file: r.avsc}`)
	r := cfg.Record.Registry
	if r.URL != "https://r:8081/base" || r.Username != "app" || r.Password.Reveal() != "s3cret-pw" || r.Timeout != 3*time.Second ||
		*r.TLS != (TLS{CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "app.pem"), KeyFile: filepath.Join(dir, "app.key"), ServerName: "k"}) ||
		cfg.Record.Avro.ReaderSchemaFile != filepath.Join(dir, "r.avsc") {
		t.Errorf("got %+v %+v %+v", r, r.TLS, cfg.Record.Avro)
	}
	if shown := fmt.Sprintf("%v %+v %#v", *r, *r, *r); strings.Contains(shown, "s3cret-pw") {
		t.Error(shown)
	}
	if r = parse(`registry: {url: "http://r", token: "${TOKEN}"}`).Record.Registry; r.Token.Reveal() != "t0ken-value" || r.Timeout != 10*time.Second {
		t.Errorf("got %+v", r)
	}
	if cfg = parse(`avro: {schema_file: w.avsc}`); cfg.Record.Registry != nil || cfg.Record.Avro.SchemaFile != filepath.Join(dir, "w.avsc") {
		t.Errorf("got %+v", cfg.Record)
	}
	cfg = parse(`registry: {url: "http://app:s3cret%2Dpw@r:8081"}`)
	for _, text := range []string{"the password is s3cret-pw", "http://app:s3cret%2Dpw@r:8081/schemas"} {
		if got := cfg.Redact(text); strings.Contains(got, "s3cret") {
			t.Error(got)
		}
	}
}

func TestJSONMayHaveARegistry(t *testing.T) {
	cfg, err := Parse("floe.yaml", []byte(smallest+"record: {format: json, registry: {url: \"http://r\"}}\n"), env())
	if err != nil || cfg.Record.Registry.URL != "http://r" || cfg.Record.Registry.Timeout != 10*time.Second {
		t.Errorf("got %+v %v", cfg, err)
	}
}

func TestEveryKeyOfProtobufIsRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "orders.binpb"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse(filepath.Join(dir, "floe.yaml"), []byte(smallest+"record: {format: protobuf, protobuf: {descriptor_file: orders.binpb, message: shop.Order}}\n"), env())
	if err != nil || cfg.Record.Protobuf != (Protobuf{filepath.Join(dir, "orders.binpb"), "shop.Order"}) {
		t.Errorf("got %+v %v", cfg, err)
	}
	if cfg, err = Parse("floe.yaml", []byte(smallest+"record: {format: protobuf, registry: {url: \"http://r\"}}\n"), env()); err != nil || cfg.Record.Registry.URL != "http://r" {
		t.Errorf("got %+v %v", cfg, err)
	}
}
