package topology

import (
	"context"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/tableio"
)

// LoadFrom gives the table of that name, namespaces first, to Config and StageConfig. cat is any catalog of iceberg-go's,
// and must stay open for as long as the topology runs. The table need not exist before Run.
//
// It does more than cat.LoadTable: files on a local disk are durable and atomic, also those that the catalog writes (this
// replaces iceberg-go's local file system for the whole process), and the storage's client is kept between loads and
// renewed before its credentials expire.
func LoadFrom(cat table.CatalogIO, name ...string) committer.Loader {
	tableio.UseDurableFiles()
	return tableio.New(cat, name)
}

// SchemaChanger is a committer.Loader whose table can be changed. Its methods may be called from any goroutine.
type SchemaChanger interface {
	committer.Loader
	// Change sends a commit of its own with these requirements and updates. What its error says is not relied on: the table
	// is loaded again.
	Change(ctx context.Context, reqs []table.Requirement, updates []table.Update) error
}

// RejectsFrom is LoadFrom for Config.Rejects. The table is made where it does not exist, with the columns that rejects need; one
// that exists is looked at when the topology starts.
func RejectsFrom(ctx context.Context, cat catalog.Catalog, name ...string) (committer.Loader, error) {
	l := LoadFrom(cat, name...)
	if _, err := rejects.Ensure(ctx, cat, name); err != nil {
		return nil, err
	}
	return l, nil
}
