package catalogs

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/services"
	"github.com/stormfloe/floe/internal/tableio"
)

// TestPostgresCatalog runs where FLOE_TEST_POSTGRES names a database that may be filled:
// postgres://user:password@127.0.0.1:5432/db?sslmode=disable
func TestPostgresCatalog(t *testing.T) {
	uri := services.Address(t, "FLOE_TEST_POSTGRES")
	props := map[string]string{"type": "postgres", "uri": uri, "warehouse": t.TempDir()}
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "long"}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			cat, closeCatalog, err := Open(context.Background(), "floe", props)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer func() { _ = closeCatalog() }()
			ident := table.Identifier{"db", "t"}
			if _, err := tableio.Ensure(context.Background(), cat, ident, tableio.Definition{Schema: sc}); err != nil {
				t.Errorf("Ensure: %v", err)
			}
			if _, err := tableio.New(cat, ident).Load(context.Background()); err != nil {
				t.Errorf("Load: %v", err)
			}
		})
	}
	wg.Wait()
	wrong := strings.Replace(uri, "://", "://nobody:hunter2@", 1)
	if at := strings.LastIndex(uri, "@"); at >= 0 {
		wrong = "postgres://nobody:hunter2" + uri[at:]
	}
	_, _, err = Open(context.Background(), "floe", map[string]string{"type": "postgres", "uri": wrong})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	t.Log(err)
}
