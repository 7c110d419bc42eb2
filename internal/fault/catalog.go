package fault

import (
	"context"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// WrapCatalog gives cat with the plan's points around loading, committing and making. A table that is loaded through a
// tableio.Loader on it commits through it too. Optional interfaces of the catalog are gone, except its Close.
func WrapCatalog(cat catalog.Catalog, p *Plan) catalog.Catalog { return &faultyCatalog{cat, p} }

type faultyCatalog struct {
	catalog.Catalog
	plan *Plan
}

func dotted(ident table.Identifier) string { return strings.Join(ident, ".") }

func (c *faultyCatalog) LoadTable(ctx context.Context, ident table.Identifier) (t *table.Table, err error) {
	err = c.plan.around(OpLoad, dotted(ident), func() error {
		t, err = c.Catalog.LoadTable(ctx, ident)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (c *faultyCatalog) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement,
	updates []table.Update) (meta table.Metadata, location string, err error) {
	name := dotted(ident)
	a := c.plan.reach(OpCommit, Before, name)
	if a.kind == late {
		c.plan.hold(func() error {
			_, _, err := c.Catalog.CommitTable(context.WithoutCancel(ctx), ident, reqs, updates)
			return err
		})
	}
	if a.stops() {
		return nil, "", a.err
	}
	meta, location, err = c.Catalog.CommitTable(ctx, ident, reqs, updates)
	if err = c.plan.after(OpCommit, name, err); err != nil {
		return nil, "", err
	}
	return meta, location, nil
}

func (c *faultyCatalog) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema,
	opts ...catalog.CreateTableOpt) (t *table.Table, err error) {
	err = c.plan.around(OpCreateTable, dotted(ident), func() error {
		t, err = c.Catalog.CreateTable(ctx, ident, sc, opts...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (c *faultyCatalog) DropTable(ctx context.Context, ident table.Identifier) error {
	return c.plan.around(OpDropTable, dotted(ident), func() error { return c.Catalog.DropTable(ctx, ident) })
}

func (c *faultyCatalog) CreateNamespace(ctx context.Context, ns table.Identifier, props iceberg.Properties) error {
	return c.plan.around(OpNamespace, dotted(ns), func() error { return c.Catalog.CreateNamespace(ctx, ns, props) })
}

func (c *faultyCatalog) CheckTableExists(ctx context.Context, ident table.Identifier) (ok bool, err error) {
	err = c.plan.around(OpLoad, dotted(ident), func() error {
		ok, err = c.Catalog.CheckTableExists(ctx, ident)
		return err
	})
	return ok && err == nil, err
}

func (c *faultyCatalog) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (ok bool, err error) {
	err = c.plan.around(OpLoad, dotted(ns), func() error {
		ok, err = c.Catalog.CheckNamespaceExists(ctx, ns)
		return err
	})
	return ok && err == nil, err
}

// Close closes the catalog, also after a crash: it belongs to the test.
func (c *faultyCatalog) Close() error {
	if cl, ok := c.Catalog.(catalog.Closer); ok {
		return cl.Close()
	}
	return nil
}
