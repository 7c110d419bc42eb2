package main

import (
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/config"
)

// look loads the table of a configuration, without making it.
func (w *world) look(cfg string) (*table.Table, error) {
	w.t.Helper()
	tbl, err := newTable(w.load(cfg))
	if err != nil {
		w.t.Fatal(err)
	}
	return tbl.Look(w.t.Context())
}

// table is the table of a configuration as it is now.
func (w *world) table(cfg string) *table.Table {
	w.t.Helper()
	tbl, err := w.look(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return tbl
}

// catalog opens the catalog of a configuration, for another engine's hands.
func (w *world) catalog(cfg string) (catalog.Catalog, func() error) {
	w.t.Helper()
	cat, closeCatalog, err := catalogs.Open(w.t.Context(), "", w.load(cfg).Catalog.Properties)
	if err != nil {
		w.t.Fatal(err)
	}
	return cat, closeCatalog
}

func (w *world) load(cfg string) *config.Config {
	w.t.Helper()
	loaded, err := config.Load(cfg, noEnv)
	if err != nil {
		w.t.Fatal(err)
	}
	return loaded
}
