//go:build s3 || cloud

package wal_test

import (
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/services"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/wal"
)

// TestTheWALOnS3 runs where FLOE_TEST_S3 is the address of an S3 server with a bucket "floe" that takes any key, such as
// moto: http://127.0.0.1:5005
func TestTheWALOnS3(t *testing.T) {
	endpoint := services.Address(t, "FLOE_TEST_S3")
	cat, closeCatalog, err := catalogs.Open(t.Context(), "floe", map[string]string{
		"type": "sqlite", "uri": filepath.Join(t.TempDir(), "c.db"), "warehouse": "s3://floe/" + filepath.Base(t.TempDir()) + t.Name(),
		"s3.endpoint": endpoint, "s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.region": "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeCatalog() }()
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "long"}, {Name: "region", Type: "string"}})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := tableio.ParsePartition(sc, []string{"region"})
	if err != nil {
		t.Fatal(err)
	}
	ident := table.Identifier{"db", "t"}
	if _, err := tableio.Ensure(t.Context(), cat, ident, tableio.Definition{Schema: sc, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	loader := tableio.New(cat, ident)
	tbl, err := loader.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := wal.New("ns", "orders")
	if es := list(t, s, tbl); len(es) != 0 {
		t.Fatalf("got %+v", es)
	}
	p := put(t, s, tbl, group(t, tbl, commit1))
	es := list(t, s, tbl)
	if len(es) != 1 || es[0].Err != nil || es[0].Path != p || es[0].ModifiedAt.IsZero() {
		t.Fatalf("got %+v", es)
	}
	for range 2 {
		if err := s.SetAside(t.Context(), tbl, p); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, tbl, group(t, tbl, commit1))
	for range 2 {
		if err := s.Delete(t.Context(), tbl, p); err != nil {
			t.Fatal(err)
		}
	}
	if es := list(t, s, tbl); len(es) != 0 {
		t.Fatalf("got %+v", es)
	}
	fio, err := loader.IO(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if size, exists, err := tableio.Stat(fio, p+".corrupt"); size == 0 || !exists || err != nil {
		t.Errorf("%d, %v, %v", size, exists, err)
	}
	if _, exists, err := tableio.Stat(fio, p); exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
}
