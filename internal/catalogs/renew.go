//go:build rest || cloud

package catalogs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
)

// renewEvery is how often a catalog is opened anew at most.
const renewEvery = 10 * time.Second

// renewing is a REST catalog that is opened anew when its token is refused. The client keeps a token for as long as the
// server said that it lives (for good, where it said nothing), and does not ask for another when it is refused: one that was
// revoked, or that a restarted server with other keys does not know, would end its use until the process is started again.
// The request that was refused is not repeated; whoever sent it tries again anyway.
type renewing struct {
	open func(context.Context) (catalog.Catalog, error)
	now  func() time.Time

	mu struct {
		sync.Mutex
		cat catalog.Catalog
		// last is when the last renewal began.
		last time.Time
	}
}

func newRenewing(cat catalog.Catalog, open func(context.Context) (catalog.Catalog, error)) *renewing {
	c := &renewing{open: open, now: time.Now}
	c.mu.cat = cat
	return c
}

func (c *renewing) current() catalog.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.cat
}

// renew opens the catalog anew where err is a refused token of the one that was used.
func (c *renewing) renew(ctx context.Context, used catalog.Catalog, err error) error {
	if !errors.Is(err, rest.ErrUnauthorized) && !errors.Is(err, rest.ErrAuthorizationExpired) {
		return err
	}
	if !c.due(used) {
		return err
	}
	next, oerr := c.open(ctx)
	if oerr != nil {
		return fmt.Errorf("%w (and a new token can't be had: %s)", err, oerr)
	}
	c.mu.Lock()
	c.mu.cat = next
	c.mu.Unlock()
	_ = closer(used)() // its idle connections; what is on its way ends by itself
	return err
}

// due says that the one that was used is to be opened anew, by whoever asks first.
func (c *renewing) due(used catalog.Catalog) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.cat != used || c.now().Sub(c.mu.last) < renewEvery {
		return false
	}
	c.mu.last = c.now()
	return true
}

func (c *renewing) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	cat := c.current()
	t, err := cat.LoadTable(ctx, ident)
	if err != nil {
		return nil, c.renew(ctx, cat, err)
	}
	return t, nil
}

func (c *renewing) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement,
	updates []table.Update) (table.Metadata, string, error) {
	cat := c.current()
	meta, loc, err := cat.CommitTable(ctx, ident, reqs, updates)
	if err != nil {
		return nil, "", c.renew(ctx, cat, err)
	}
	return meta, loc, nil
}

// Close closes the newest.
func (c *renewing) Close() error { return closer(c.current())() }

func (c *renewing) CatalogType() catalog.Type { return c.current().CatalogType() }

func (c *renewing) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema, opts ...catalog.CreateTableOpt) (*table.Table, error) {
	return c.current().CreateTable(ctx, ident, sc, opts...)
}

func (c *renewing) ListTables(ctx context.Context, ns table.Identifier) iter.Seq2[table.Identifier, error] {
	return c.current().ListTables(ctx, ns)
}

func (c *renewing) DropTable(ctx context.Context, ident table.Identifier) error {
	return c.current().DropTable(ctx, ident)
}

func (c *renewing) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	return c.current().RenameTable(ctx, from, to)
}

func (c *renewing) CheckTableExists(ctx context.Context, ident table.Identifier) (bool, error) {
	return c.current().CheckTableExists(ctx, ident)
}

func (c *renewing) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	return c.current().ListNamespaces(ctx, parent)
}

func (c *renewing) CreateNamespace(ctx context.Context, ns table.Identifier, props iceberg.Properties) error {
	return c.current().CreateNamespace(ctx, ns, props)
}

func (c *renewing) DropNamespace(ctx context.Context, ns table.Identifier) error {
	return c.current().DropNamespace(ctx, ns)
}

func (c *renewing) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (bool, error) {
	return c.current().CheckNamespaceExists(ctx, ns)
}

func (c *renewing) LoadNamespaceProperties(ctx context.Context, ns table.Identifier) (iceberg.Properties, error) {
	return c.current().LoadNamespaceProperties(ctx, ns)
}

func (c *renewing) UpdateNamespaceProperties(ctx context.Context, ns table.Identifier, removals []string,
	updates iceberg.Properties) (catalog.PropertiesUpdateSummary, error) {
	return c.current().UpdateNamespaceProperties(ctx, ns, removals, updates)
}
