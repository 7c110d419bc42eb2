package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/iceberg-go/catalog"

	"github.com/stormfloe/floe/internal/catalogs"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: readback DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "readback:", err)
		os.Exit(1)
	}
}

// run writes all tables below dir, which is made.
func run(ctx context.Context, dir string) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cat, closeCatalog, err := catalogs.Open(ctx, "types", map[string]string{
		"type": "sqlite", "uri": filepath.Join(dir, "catalog.db"), "warehouse": filepath.Join(dir, "warehouse")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeCatalog()) }()
	return write(ctx, cat, dir)
}

func write(ctx context.Context, cat catalog.Catalog, dir string) error {
	b := &builder{cat: cat}
	for i, typ := range types() {
		if err := b.table(ctx, "types", fmt.Sprintf("t%02d", i), typ, ""); err != nil {
			return fmt.Errorf("type %s: %w", typ, err)
		}
	}
	for i, p := range partitions {
		for j, transform := range p.transforms {
			if err := b.table(ctx, "parts", fmt.Sprintf("t%02d_%d", i, j), p.typ, transform); err != nil {
				return fmt.Errorf("%s partitioned by %s: %w", p.typ, transform, err)
			}
		}
	}
	return errors.Join(lines(filepath.Join(dir, "cells.jsonl"), b.cells), lines(filepath.Join(dir, "tables.jsonl"), b.tables))
}

// lines writes a JSON text a line.
func lines[T any](path string, values []T) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
