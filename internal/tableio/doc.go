// Package tableio is floe's way to a table: loading it with a FileIO that lives as long as the process, files that are
// durable when a call says so, listing and looking at files in one way whatever the store, and making a table that does
// not exist from the schema and partitioning a user wrote.
//
//	loader := tableio.New(cat, table.Identifier{"db", "orders"})
//	tbl, err := loader.Load(ctx)
//
// # The FileIO
//
// iceberg-go builds a FileIO, with a new client and new connections, each time a table's FileIO is asked for, and binds
// it to the context of that call. A Loader keeps one, bound to a context that outlives every batch, and gives it to
// every table it loads. It looks for another one when the table's location changes, and every few minutes because
// catalogs hand out storage credentials that expire.
//
// # Durability
//
// On a local disk a file is durable (its bytes, its name, and the names of the directories made for it) when Close of
// what Create gave, or WriteFile, has returned nil. WriteFile is atomic as well: a reader sees the old file, or the
// new one, or none. Object stores promise both by themselves.
package tableio
