package tableio

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// Definition is what a table is made from.
type Definition struct {
	Schema *iceberg.Schema
	// Spec may be nil: unpartitioned.
	Spec *iceberg.PartitionSpec
	// Properties of the table; format-version is 2 where it is not among them.
	Properties iceberg.Properties
	// Location may be empty: the catalog chooses.
	Location string
}

// Preview is the table that would be made, with nothing behind it, or says why it can't be made.
func (d Definition) Preview(ident table.Identifier) (*table.Table, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	spec := d.Spec
	if spec == nil {
		spec = iceberg.UnpartitionedSpec
	}
	location := d.Location
	if location == "" {
		location = "file:///" + strings.Join(ident, "/")
	}
	meta, err := table.NewMetadata(d.Schema, spec, table.UnsortedSortOrder, location, d.properties())
	if err != nil {
		return nil, err
	}
	return table.New(ident, meta, "", nil, nil), nil
}

// Ensure makes the table, and the namespaces it lies in, where it does not exist. Somebody else may make it at the same
// time: theirs is then taken. made says that it was this call that made it. The table that exists is not compared
// with def.
func Ensure(ctx context.Context, cat catalog.Catalog, ident table.Identifier, def Definition) (made bool, err error) {
	name := strings.Join(ident, ".")
	if len(ident) < 2 {
		return false, fmt.Errorf("table %q: a namespace is missing; write it as namespace.table", name)
	}
	switch exists, err := tableExists(ctx, cat, ident); {
	case err != nil:
		return false, fmt.Errorf("look for table %s: %w", name, err)
	case exists:
		return false, nil
	}
	if err := def.check(); err != nil {
		return false, fmt.Errorf("create table %s: %w", name, err)
	}
	if err := ensureNamespaces(ctx, cat, catalog.NamespaceFromIdent(ident)); err != nil {
		return false, err
	}
	opts := []catalog.CreateTableOpt{catalog.WithProperties(def.properties())}
	if def.Spec != nil {
		opts = append(opts, catalog.WithPartitionSpec(def.Spec))
	}
	if def.Location != "" {
		opts = append(opts, catalog.WithLocation(def.Location))
	}
	if _, err = cat.CreateTable(ctx, ident, def.Schema, opts...); err == nil {
		return true, nil
	}
	// Whatever the error says: what counts is whether there is a table now. Another process may have made it, or this
	// call has, and the answer was lost.
	if exists, lerr := tableExists(ctx, cat, ident); lerr == nil && exists {
		return false, nil
	}
	if strings.Contains(err.Error(), "no default path set") {
		err = fmt.Errorf("the catalog does not know where to put it; write catalog.warehouse: %w", err)
	}
	return false, fmt.Errorf("create table %s: %w", name, err)
}

func tableExists(ctx context.Context, cat catalog.Catalog, ident table.Identifier) (bool, error) {
	_, err := cat.LoadTable(ctx, ident)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		return false, nil
	}
	return err == nil, err
}

func ensureNamespaces(ctx context.Context, cat catalog.Catalog, ns table.Identifier) error {
	if exists, err := cat.CheckNamespaceExists(ctx, ns); err == nil && exists {
		return nil
	}
	// Catalogs differ in whether a namespace needs its parents; with them it works everywhere.
	for i := 1; i <= len(ns); i++ {
		if err := ensureNamespace(ctx, cat, ns[:i]); err != nil {
			return err
		}
	}
	return nil
}

func ensureNamespace(ctx context.Context, cat catalog.Catalog, ns table.Identifier) error {
	if exists, err := cat.CheckNamespaceExists(ctx, ns); err == nil && exists {
		return nil
	}
	err := cat.CreateNamespace(ctx, ns, nil)
	if err == nil || errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return nil
	}
	if exists, cerr := cat.CheckNamespaceExists(ctx, ns); cerr == nil && exists {
		return nil
	}
	return fmt.Errorf("create namespace %s: %w", strings.Join(ns, "."), err)
}

func (d Definition) properties() iceberg.Properties {
	// That manifests are merged is what the format's documentation says of a table that does not say, and not what
	// iceberg-go does: so that all who commit do the same, it is written down.
	out := iceberg.Properties{table.PropertyFormatVersion: "2", table.ManifestMergeEnabledKey: "true"}
	for k, v := range d.Properties {
		out[k] = v
	}
	return out
}

func (d Definition) check() error {
	if d.Schema == nil {
		return errors.New("it does not exist, and the configuration has no schema to make it from; write table.create.schema")
	}
	version := d.properties()[table.PropertyFormatVersion]
	if version != "2" && version != "3" {
		return fmt.Errorf("property %s is %q; floe writes format version 2 or 3", table.PropertyFormatVersion, version)
	}
	if name, typ := needsV3("", d.Schema.Fields()); name != "" && version != "3" {
		return fmt.Errorf("column %s: type %s needs format version 3; set the table property %s to \"3\"", name, typ,
			table.PropertyFormatVersion)
	}
	return nil
}

func needsV3(prefix string, fields []iceberg.NestedField) (name string, t iceberg.Type) {
	for _, f := range fields {
		switch typ := f.Type.(type) {
		case iceberg.TimestampNsType, iceberg.TimestampTzNsType, iceberg.UnknownType, iceberg.VariantType:
			return prefix + f.Name, typ
		case iceberg.NestedType:
			if name, t := needsV3(prefix+f.Name+".", typ.Fields()); name != "" {
				return name, t
			}
		}
	}
	return "", nil
}
