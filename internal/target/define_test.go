package target

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/source"
)

// inferring is config, with columns that answer gives.
func inferring(dir string, answer func() (*iceberg.Schema, error)) (cfg Config, asked *int) {
	cfg, asked = config(dir), new(int)
	cfg.Create.Columns = nil
	cfg.Create.Infer = func(context.Context) (*iceberg.Schema, error) {
		*asked++
		return answer()
	}
	return cfg, asked
}

func regions() (*iceberg.Schema, error) {
	return iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "region", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 2, Name: "tags", Type: &iceberg.ListType{ElementID: 3, Element: iceberg.PrimitiveTypes.Int64}}), nil
}

func TestColumnsAreInferredWhereTheTableIsMissing(t *testing.T) {
	dir := t.TempDir()
	cfg, asked := inferring(dir, regions)
	first := open(t, cfg)
	if first.Schema() != nil || first.DDL() != "" || *asked != 0 {
		t.Errorf("asked %d times before anything", *asked)
	}
	if err := first.Define(context.Background()); err != nil {
		t.Fatal(err)
	}
	const want = "CREATE TABLE db.orders (\n  region string,\n  tags list<long>\n)\nPARTITIONED BY (region)\nTBLPROPERTIES ('write.target-file-size-bytes' = '1048576')"
	if got := first.DDL(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := first.Look(context.Background()); !IsMissing(err) {
		t.Errorf("Define made the table: %v", err)
	}
	tbl, err := first.Load(context.Background())
	if err != nil || tbl.Schema().NumFields() != 2 || *asked != 1 {
		t.Fatalf("asked %d times: %v", *asked, err)
	}
	cfg, asked = inferring(dir, regions)
	if _, err := open(t, cfg).Load(context.Background()); err != nil || *asked != 0 {
		t.Errorf("the table is there, and was asked about %d times: %v", *asked, err)
	}
}

func TestColumnsThatCantBeInferredMakeNoTable(t *testing.T) {
	away := errors.New("broker: topic authorization failed: forbidden")
	for _, c := range []struct {
		name          string
		answer        func() (*iceberg.Schema, error)
		fatal, config bool
		want          string
	}{
		{"away", func() (*iceberg.Schema, error) { return nil, away }, false, false, away.Error()},
		{"final", func() (*iceberg.Schema, error) { return nil, &source.FatalError{Err: away} }, true, false, away.Error()},
		{"partition", func() (*iceberg.Schema, error) {
			return iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64}), nil
		}, true, true, "table.create.partition_by: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, asked := inferring(t.TempDir(), c.answer)
			tbl := open(t, cfg)
			for n := 1; n <= 2; n++ {
				_, err := tbl.Load(context.Background())
				var fatal *source.FatalError
				if err == nil || !strings.HasPrefix(err.Error(), c.want) || errors.As(err, &fatal) != c.fatal || (ConfigError(err) != nil) != c.config || *asked != n {
					t.Errorf("asked %d times: %v", *asked, err)
				}
			}
			if _, err := tbl.Look(context.Background()); !IsMissing(err) {
				t.Errorf("the table was made: %v", err)
			}
		})
	}
}
