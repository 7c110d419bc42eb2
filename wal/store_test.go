package wal_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

var update = flag.Bool("update", false, "write the golden files anew")

var tableUUID = uuid.MustParse("0d3e8f4c-7a55-4f6e-9f0e-1b2c3d4e5f60")

func newTable(t testing.TB, location string, fio iceio.IO, id uuid.UUID) *table.Table {
	t.Helper()
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.String})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	meta, err := table.NewMetadataWithUUID(sc, &spec, table.UnsortedSortOrder, location, iceberg.Properties{"format-version": "2"}, id)
	if err != nil {
		t.Fatal(err)
	}
	return table.New(table.Identifier{"db", "orders"}, meta, location+"/metadata/0.metadata.json",
		func(context.Context) (iceio.IO, error) { return fio, nil }, nil)
}

// places are the kinds of storage that every test of the store runs on.
func places(t *testing.T, f func(t *testing.T, tbl *table.Table, fio iceio.IO)) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		location string
		fio      iceio.IO
	}{
		"path":                   {filepath.Join(dir, "a b", "t"), tableio.Durable(iceio.LocalFS{})},
		"file URI":               {"file://" + filepath.Join(dir, "c%20d", "t"), tableio.Durable(iceio.LocalFS{})},
		"iceberg-go's local one": {"file://" + filepath.Join(dir, "e", "t"), iceio.LocalFS{}},
		"object store":           {"mem://bucket/wh/t", iceio.NewMemFS()},
	} {
		t.Run(name, func(t *testing.T) { f(t, newTable(t, c.location, c.fio, tableUUID), c.fio) })
	}
}

func group(t testing.TB, tbl *table.Table, commit string) *descriptor.Group {
	t.Helper()
	spec := tbl.Spec()
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, "f.parquet", iceberg.ParquetFile,
		map[int]any{1000: "eu"}, nil, nil, 3, 300)
	if err != nil {
		t.Fatal(err)
	}
	base := int64(77)
	r := source.Range{Partition: source.Partition{Cluster: "c", Topic: "orders", Incarnation: "i", ID: 3}, From: 10, To: 14}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &descriptor.Group{
		CommitID: uuid.MustParse(commit), Topology: "orders", Instance: "host-1", Component: "committer", Task: 0,
		TableUUID: tbl.Metadata().TableUUID(), Branch: "main", BaseSnapshot: &base, Moves: []source.Range{r}, CreatedAt: at,
		Descriptors: []*descriptor.Descriptor{{
			ID: uuid.MustParse("11111111-2222-4333-8444-555555555555"), Topology: "orders", Task: "writer/0",
			TableUUID: tbl.Metadata().TableUUID(), FormatVersion: 2, SealedAt: at, Rows: 3, Bytes: 300,
			Inputs: []descriptor.Input{{Range: r, Rows: 3, Filtered: 1, MaxTimestampMs: 5}}, Files: []iceberg.DataFile{b.Build()},
		}},
	}
}

const (
	commit1 = "aaaaaaaa-0000-4000-8000-000000000001"
	commit2 = "aaaaaaaa-0000-4000-8000-000000000002"
)

func put(t testing.TB, s *wal.Store, tbl *table.Table, g *descriptor.Group) string {
	t.Helper()
	p, err := s.Put(t.Context(), tbl, g)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return p
}

func list(t testing.TB, s *wal.Store, tbl *table.Table) []descriptor.Entry {
	t.Helper()
	es, err := s.List(t.Context(), tbl)
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return es
}

func TestAnEntryIsFoundAsItWasPut(t *testing.T) {
	places(t, func(t *testing.T, tbl *table.Table, _ iceio.IO) {
		s := wal.New("prod", "orders")
		if es := list(t, s, tbl); len(es) != 0 {
			t.Fatalf("a table without a WAL has entries: %v", es)
		}
		younger, older := group(t, tbl, commit1), group(t, tbl, commit2)
		older.CreatedAt, older.BaseSnapshot, older.Task = older.CreatedAt.Add(-time.Minute), nil, 1
		p := put(t, s, tbl, younger)
		put(t, s, tbl, older)
		if want := tbl.Location() + "/metadata/_storm_wal/prod/orders/committer/0/" + commit1 + ".json"; p != want {
			t.Errorf("it lies at %s, want %s", p, want)
		}
		put(t, wal.New("prod", "payments"), tbl, withTopology(group(t, tbl, commit1), "payments"))
		put(t, wal.New("", "orders"), tbl, group(t, tbl, commit1))

		es := list(t, s, tbl)
		if len(es) != 2 || es[0].Err != nil || es[1].Err != nil {
			t.Fatalf("got %+v", es)
		}
		for i, want := range []*descriptor.Group{older, younger} {
			checkGroup(t, es[i].Group, want)
			if es[i].ModifiedAt.IsZero() {
				t.Error("its age is not known")
			}
		}
		if es[1].Path != p {
			t.Errorf("listed at %s, put at %s", es[1].Path, p)
		}
	})
}

func withTopology(g *descriptor.Group, name string) *descriptor.Group {
	g.Topology, g.Descriptors[0].Topology = name, name
	return g
}

func checkGroup(t *testing.T, got, want *descriptor.Group) {
	t.Helper()
	a, b := *got, *want
	if a.BaseSnapshot != nil && b.BaseSnapshot != nil {
		b.BaseSnapshot = a.BaseSnapshot
		if *got.BaseSnapshot != *want.BaseSnapshot {
			t.Errorf("base %d, want %d", *got.BaseSnapshot, *want.BaseSnapshot)
		}
	}
	a.Descriptors, b.Descriptors = nil, nil
	if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
		t.Errorf("got  %s\nwant %s", x, y)
	}
	if len(got.Descriptors) != len(want.Descriptors) || got.Descriptors[0].Files[0].Partition()[1000] != "eu" ||
		got.Descriptors[0].Inputs[0] != want.Descriptors[0].Inputs[0] {
		t.Errorf("got descriptors %+v", got.Descriptors)
	}
}

func TestPuttingAgainReplaces(t *testing.T) {
	places(t, func(t *testing.T, tbl *table.Table, _ iceio.IO) {
		s := wal.New("", "orders")
		g := group(t, tbl, commit1)
		put(t, s, tbl, g)
		g.Instance = "host-2"
		put(t, s, tbl, g)
		if es := list(t, s, tbl); len(es) != 1 || es[0].Group.Instance != "host-2" {
			t.Errorf("got %+v", es)
		}
	})
}

func TestDeletingTwiceIsNoError(t *testing.T) {
	places(t, func(t *testing.T, tbl *table.Table, _ iceio.IO) {
		s := wal.New("", "orders")
		p := put(t, s, tbl, group(t, tbl, commit1))
		for range 2 {
			if err := s.Delete(t.Context(), tbl, p); err != nil {
				t.Fatal(err)
			}
		}
		if es := list(t, s, tbl); len(es) != 0 {
			t.Errorf("still there: %v", es)
		}
	})
}

func TestOnlyEntriesAreDeletedOrMoved(t *testing.T) {
	places(t, func(t *testing.T, tbl *table.Table, fio iceio.IO) {
		s := wal.New("", "orders")
		entry := put(t, s, tbl, group(t, tbl, commit1))
		for _, p := range []string{tbl.MetadataLocation(), tbl.Location(), "", strings.Replace(entry, "/orders/", "/payments/", 1),
			tbl.Location() + "/metadata/_storm_wal/orders/../../x/" + commit1 + ".json"} {
			if err := s.Delete(t.Context(), tbl, p); err == nil {
				t.Errorf("Delete(%q) did not refuse", p)
			}
			if err := s.SetAside(t.Context(), tbl, p); err == nil {
				t.Errorf("SetAside(%q) did not refuse", p)
			}
		}
	})
}

func TestWhatIsNoEntryIsLeftAlone(t *testing.T) {
	places(t, func(t *testing.T, tbl *table.Table, fio iceio.IO) {
		s := wal.New("", "orders")
		put(t, s, tbl, group(t, tbl, commit1))
		root := tbl.Location() + "/metadata/_storm_wal/orders/"
		for _, p := range []string{"note.txt", "committer/0/readme.json", "committer/0/." + commit2 + ".json.0011.tmp",
			"committer/0/" + commit2 + ".json.corrupt", "committer/0/deep/er/" + commit2 + ".json", "committer/x/" + commit2 + ".json",
			commit2 + ".json", "committer/0/" + strings.ToUpper(commit2) + ".JSON", "committer/-1/" + commit2 + ".json"} {
			if err := tableio.WriteFile(fio, root+p, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if es := list(t, s, tbl); len(es) != 1 || es[0].Err != nil {
			t.Errorf("got %+v", es)
		}
	})
}

func TestNamesThatAreNoFoldersAreRefused(t *testing.T) {
	tbl := newTable(t, "mem://b/t", iceio.NewMemFS(), tableUUID)
	for _, name := range []string{"..", ".", "a/b", "", "a b", "ä", strings.Repeat("x", 129), "a\x00"} {
		g := withTopology(group(t, tbl, commit1), name)
		if _, err := wal.New("", name).Put(t.Context(), tbl, g); err == nil {
			t.Errorf("topology %q was taken", name)
		}
		if _, err := wal.New("", name).List(t.Context(), tbl); err == nil {
			t.Errorf("topology %q was taken by List", name)
		}
		if err := wal.CheckNamespace(name); (err == nil) != (name == "") {
			t.Errorf("namespace %q: %v", name, err)
		}
		g = group(t, tbl, commit1)
		g.Component = name
		if _, err := wal.New("", "orders").Put(t.Context(), tbl, g); err == nil {
			t.Errorf("component %q was taken", name)
		}
	}
}

func TestAGroupOfAnotherTableIsNotPut(t *testing.T) {
	tbl := newTable(t, "mem://b/t", iceio.NewMemFS(), tableUUID)
	g := group(t, tbl, commit1)
	g.TableUUID = uuid.New()
	if _, err := wal.New("", "orders").Put(t.Context(), tbl, g); !errors.Is(err, descriptor.ErrOtherTable) {
		t.Errorf("got %v", err)
	}
}

func TestBytesOfVersion1StayAsTheyAre(t *testing.T) {
	fio := iceio.NewMemFS()
	tbl := newTable(t, "mem://b/t", fio, tableUUID)
	s := wal.New("", "orders")
	got, err := tableio.ReadFile(fio, put(t, s, tbl, group(t, tbl, commit1)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/wal_v1.json"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the bytes have changed; entries that an older floe left would not be read\n%s\n%s", got, want)
	}
}

func FuzzList(f *testing.F) {
	fio := iceio.NewMemFS()
	tbl := newTable(f, "mem://b/t", fio, tableUUID)
	s := wal.New("", "orders")
	p := put(f, s, tbl, group(f, tbl, commit1))
	good, err := tableio.ReadFile(fio, p, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, false)
	_, body, err := descriptor.OpenEnvelope("wal", 1, good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = descriptor.SealEnvelope("wal", 1, b)
		}
		if err := fio.WriteFile(p, b); err != nil {
			t.Fatal(err)
		}
		es := list(t, s, tbl)
		if len(es) != 1 || (es[0].Err == nil && es[0].Group == nil) {
			t.Fatalf("got %+v", es)
		}
		if es[0].Err == nil {
			// It names its own place, which may be another.
			if q := put(t, s, tbl, es[0].Group); q != p {
				if err := fio.Remove(q); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
