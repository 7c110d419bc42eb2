//go:build rest || cloud

package catalogs

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// renewEvery is how often a catalog is opened anew at most.
const renewEvery = 10 * time.Second

// renewing is a catalog that is opened anew when it says that it is of no more use.
//
// REST: the client keeps a token for as long as the server said that it lives (for good, where it said nothing), and does not
// ask for another when it is refused: one that was revoked, or that a restarted server with other keys does not know, would end
// its use until the process is started again. Hive: the client has one connection, which is not made again when it breaks.
//
// The request that has failed is not repeated; whoever sent it tries again anyway.
type renewing struct {
	open func(context.Context) (catalog.Catalog, error)
	// stale says of an error that the catalog that gave it must be opened anew.
	stale func(error) bool
	// calls is held during each call.
	calls sync.Locker
	now   func() time.Time

	mu struct {
		sync.Mutex
		cat catalog.Catalog
		// last is when the last renewal began.
		last time.Time
	}
}

// together lets calls run side by side.
type together struct{}

func (together) Lock()   {}
func (together) Unlock() {}

func newRenewing(cat catalog.Catalog, stale func(error) bool, calls sync.Locker, open func(context.Context) (catalog.Catalog, error)) *renewing {
	c := &renewing{open: open, stale: stale, calls: calls, now: time.Now}
	c.mu.cat = cat
	return c
}

func (c *renewing) current() catalog.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.cat
}

// renew opens the catalog anew where err says that the one that was used must be.
func (c *renewing) renew(ctx context.Context, used catalog.Catalog, err error) error {
	if !c.stale(err) || !c.due(used) {
		return err
	}
	next, oerr := c.open(ctx)
	if oerr != nil {
		return fmt.Errorf("%w (and the catalog can't be opened anew: %s)", err, oerr)
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

// call makes one call.
func call[T any](ctx context.Context, c *renewing, f func(catalog.Catalog) (T, error)) (T, error) {
	c.calls.Lock()
	defer c.calls.Unlock()
	cat := c.current()
	v, err := f(cat)
	if err != nil {
		err = c.renew(ctx, cat, err)
	}
	return v, err
}

// do is call for what gives an error alone.
func (c *renewing) do(ctx context.Context, f func(catalog.Catalog) error) error {
	_, err := call(ctx, c, func(cat catalog.Catalog) (struct{}, error) { return struct{}{}, f(cat) })
	return err
}

func (c *renewing) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	return call(ctx, c, func(cat catalog.Catalog) (*table.Table, error) { return cat.LoadTable(ctx, ident) })
}

func (c *renewing) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement,
	updates []table.Update) (meta table.Metadata, loc string, err error) {
	err = c.do(ctx, func(cat catalog.Catalog) (err error) {
		meta, loc, err = cat.CommitTable(ctx, ident, reqs, updates)
		return err
	})
	return meta, loc, err
}

// Close closes the newest.
func (c *renewing) Close() error { return closer(c.current())() }

func (c *renewing) CatalogType() catalog.Type { return c.current().CatalogType() }

func (c *renewing) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema, opts ...catalog.CreateTableOpt) (*table.Table, error) {
	return call(ctx, c, func(cat catalog.Catalog) (*table.Table, error) { return cat.CreateTable(ctx, ident, sc, opts...) })
}

// ListTables asks for all tables before it gives the first.
func (c *renewing) ListTables(ctx context.Context, ns table.Identifier) iter.Seq2[table.Identifier, error] {
	return func(yield func(table.Identifier, error) bool) {
		all, err := call(ctx, c, func(cat catalog.Catalog) (all []table.Identifier, err error) {
			for ident, err := range cat.ListTables(ctx, ns) {
				if err != nil {
					return all, err
				}
				all = append(all, ident)
			}
			return all, nil
		})
		for _, ident := range all {
			if !yield(ident, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (c *renewing) DropTable(ctx context.Context, ident table.Identifier) error {
	return c.do(ctx, func(cat catalog.Catalog) error { return cat.DropTable(ctx, ident) })
}

func (c *renewing) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	return call(ctx, c, func(cat catalog.Catalog) (*table.Table, error) { return cat.RenameTable(ctx, from, to) })
}

func (c *renewing) CheckTableExists(ctx context.Context, ident table.Identifier) (bool, error) {
	return call(ctx, c, func(cat catalog.Catalog) (bool, error) { return cat.CheckTableExists(ctx, ident) })
}

func (c *renewing) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	return call(ctx, c, func(cat catalog.Catalog) ([]table.Identifier, error) { return cat.ListNamespaces(ctx, parent) })
}

func (c *renewing) CreateNamespace(ctx context.Context, ns table.Identifier, props iceberg.Properties) error {
	return c.do(ctx, func(cat catalog.Catalog) error { return cat.CreateNamespace(ctx, ns, props) })
}

func (c *renewing) DropNamespace(ctx context.Context, ns table.Identifier) error {
	return c.do(ctx, func(cat catalog.Catalog) error { return cat.DropNamespace(ctx, ns) })
}

func (c *renewing) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (bool, error) {
	return call(ctx, c, func(cat catalog.Catalog) (bool, error) { return cat.CheckNamespaceExists(ctx, ns) })
}

func (c *renewing) LoadNamespaceProperties(ctx context.Context, ns table.Identifier) (iceberg.Properties, error) {
	return call(ctx, c, func(cat catalog.Catalog) (iceberg.Properties, error) { return cat.LoadNamespaceProperties(ctx, ns) })
}

func (c *renewing) UpdateNamespaceProperties(ctx context.Context, ns table.Identifier, removals []string,
	updates iceberg.Properties) (catalog.PropertiesUpdateSummary, error) {
	return call(ctx, c, func(cat catalog.Catalog) (catalog.PropertiesUpdateSummary, error) {
		return cat.UpdateNamespaceProperties(ctx, ns, removals, updates)
	})
}
