package wal_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/wal"
)

func TestAnEntryThatCantBeReadIsListedAndSetAside(t *testing.T) {
	places(t, func(t *testing.T, tbl *table.Table, fio iceio.IO) {
		s := wal.New("", "orders")
		good := put(t, s, tbl, group(t, tbl, commit1))
		b, err := tableio.ReadFile(fio, good, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		bad := strings.Replace(good, commit1, commit2, 1)
		for name, c := range map[string]struct {
			content []byte
			want    error
		}{
			"empty":           {nil, descriptor.ErrFormat},
			"torn":            {b[:len(b)/2], descriptor.ErrFormat},
			"flipped":         {bytes.Replace(b, []byte("host-1"), []byte("host-9"), 1), descriptor.ErrChecksum},
			"of another name": {b, descriptor.ErrInvalid},
		} {
			t.Run(name, func(t *testing.T) {
				if err := tableio.WriteFile(fio, bad, c.content); err != nil {
					t.Fatal(err)
				}
				es := list(t, s, tbl)
				if len(es) != 2 {
					t.Fatalf("got %+v", es)
				}
				var broken descriptor.Entry
				for _, e := range es {
					if e.Path == bad {
						broken = e
					}
				}
				if !errors.Is(broken.Err, c.want) || !descriptor.Damaged(broken.Err) {
					t.Errorf("got %v, want %v", broken.Err, c.want)
				}
				for range 2 {
					if err := s.SetAside(t.Context(), tbl, bad); err != nil {
						t.Fatal(err)
					}
				}
				if es := list(t, s, tbl); len(es) != 1 || es[0].Path != good {
					t.Errorf("after setting it aside: %+v", es)
				}
				kept, err := tableio.ReadFile(fio, bad+".corrupt", 1<<20)
				if err != nil || !bytes.Equal(kept, c.content) {
					t.Errorf("what was set aside is not what was there: %v", err)
				}
			})
		}
	})
}

func TestASoundEntryThatDoesNotFitTheTableTellsWhatItCovers(t *testing.T) {
	fio := iceio.NewMemFS()
	mine := newTable(t, "mem://b/t", fio, tableUUID)
	s := wal.New("", "orders")
	put(t, s, mine, group(t, mine, commit1))
	for name, c := range map[string]struct {
		tbl  *table.Table
		want error
	}{
		"another table": {newTable(t, "mem://b/t", fio, uuid.New()), descriptor.ErrOtherTable},
		"unknown spec":  {respecced(t, mine, fio), descriptor.ErrUnknownSpec},
	} {
		t.Run(name, func(t *testing.T) {
			es := list(t, s, c.tbl)
			if len(es) != 1 || !errors.Is(es[0].Err, c.want) || descriptor.Damaged(es[0].Err) {
				t.Fatalf("got %+v", es)
			}
			g := es[0].Group
			if g == nil || g.CommitID.String() != commit1 || len(g.Descriptors) != 1 || g.Descriptors[0].Files != nil ||
				g.Descriptors[0].Inputs[0].Range.To != 14 {
				t.Errorf("got %+v", g)
			}
		})
	}
}

// respecced is tbl as seen through metadata from which the spec has gone.
func respecced(t *testing.T, tbl *table.Table, fio iceio.IO) *table.Table {
	t.Helper()
	b, err := table.MetadataBuilderFromBase(tbl.Metadata(), "")
	if err != nil {
		t.Fatal(err)
	}
	spec := iceberg.NewPartitionSpecID(1)
	if err := errors.Join(b.AddPartitionSpec(&spec, false), b.SetDefaultSpecID(-1), b.RemovePartitionSpecs([]int{0})); err != nil {
		t.Fatal(err)
	}
	meta, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return table.New(tbl.Identifier(), meta, tbl.MetadataLocation(), func(context.Context) (iceio.IO, error) { return fio, nil }, nil)
}

func TestANewerEntryIsNotDamaged(t *testing.T) {
	fio := iceio.NewMemFS()
	tbl := newTable(t, "mem://b/t", fio, tableUUID)
	s := wal.New("", "orders")
	p := put(t, s, tbl, group(t, tbl, commit1))
	b, err := tableio.ReadFile(fio, p, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := fio.WriteFile(p, bytes.Replace(b, []byte(`"version":1`), []byte(`"version":2`), 1)); err != nil {
		t.Fatal(err)
	}
	es := list(t, s, tbl)
	if len(es) != 1 || !errors.Is(es[0].Err, descriptor.ErrVersion) || descriptor.Damaged(es[0].Err) {
		t.Errorf("got %+v", es)
	}
}

// troubled fails in the ways a test sets.
type troubled struct {
	*iceio.MemFS
	walk, open error
}

func (f *troubled) WalkDir(root string, fn fs.WalkDirFunc) error {
	if f.walk != nil {
		return f.walk
	}
	return f.MemFS.WalkDir(root, fn)
}

func (f *troubled) Open(name string) (iceio.File, error) {
	if f.open != nil {
		return nil, f.open
	}
	return f.MemFS.Open(name)
}

func TestTroubleWithTheStorageIsNotDamage(t *testing.T) {
	fio := &troubled{MemFS: iceio.NewMemFS()}
	tbl := newTable(t, "mem://b/t", fio, tableUUID)
	s := wal.New("", "orders")
	put(t, s, tbl, group(t, tbl, commit1))

	fio.open = &fs.PathError{Op: "open", Err: fs.ErrNotExist}
	if es := list(t, s, tbl); len(es) != 0 {
		t.Errorf("an entry that another replica deleted meanwhile is listed: %+v", es)
	}
	fio.open = errors.New("503 slow down")
	if es := list(t, s, tbl); len(es) != 1 || es[0].Err == nil || descriptor.Damaged(es[0].Err) {
		t.Errorf("got %+v", es)
	}
	fio.open, fio.walk = nil, errors.New("access denied")
	if _, err := s.List(t.Context(), tbl); !errors.Is(err, fio.walk) {
		t.Errorf("got %v", err)
	}
}
