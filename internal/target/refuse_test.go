package target

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/source"
)

// TestATableOfAnotherEngineThatCantBeWrittenIsRefused holds that its own properties count, that they are named, and that
// it is not waited for.
func TestATableOfAnotherEngineThatCantBeWrittenIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"version": {"format-version", "1", "the table db.orders: the table has format version 1; floe writes 2 and 3: upgrade the table"},
		"wap":     {"write.wap.enabled", "true", `the table db.orders: the table's property write.wap.enabled is "true"`},
		"orc":     {"write.format.default", "orc", `the table db.orders: the table's property write.format.default is "orc": floe writes Parquet only`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			cfg := config(t.TempDir())
			cat, closeCatalog, err := catalogs.Open(ctx, "", cfg.Catalog)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := closeCatalog(); err != nil {
					t.Error(err)
				}
			}()
			if err := cat.CreateNamespace(ctx, table.Identifier{"db"}, nil); err != nil {
				t.Fatal(err)
			}
			sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true})
			if _, err := cat.CreateTable(ctx, table.Identifier{"db", "orders"}, sc,
				catalog.WithProperties(iceberg.Properties{c.key: c.value})); err != nil {
				t.Fatal(err)
			}
			_, err = open(t, cfg).Load(ctx)
			var fatal *source.FatalError
			if !errors.As(err, &fatal) || !strings.HasPrefix(err.Error(), c.want) || ConfigError(err) != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestATableThatCouldNotBeWrittenIsNotMade(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.Create.Properties = map[string]string{"write.wap.enabled": "true"}
	if _, err := open(t, cfg).Load(context.Background()); ConfigError(err) == nil {
		t.Errorf("got %v", err)
	}
	if _, err := open(t, cfg).Look(context.Background()); !IsMissing(err) {
		t.Errorf("the table was made: %v", err)
	}
}
