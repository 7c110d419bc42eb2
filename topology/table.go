package topology

import (
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
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
