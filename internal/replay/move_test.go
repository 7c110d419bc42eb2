package replay_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/replay"
	"github.com/stormfloe/floe/internal/tableio"
)

// text is all that a rejects table says of its rejects.
func text(t *testing.T, tbl *table.Table) (out []string) {
	t.Helper()
	err := rejects.Read(t.Context(), tbl, rejects.ReadOptions{Contents: true}, func(st *rejects.Stored) error {
		s := *st
		s.File, s.Commits, s.Moved = "", nil, false
		out = append(out, fmt.Sprintf("%#v", s))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// The other table has the same columns, in another order and with other field ids.
func TestMovedRejectsAreTheSameInATableWithOtherFieldIDs(t *testing.T) {
	w := newWorld(t)
	w.run(`{"id":1}`, `{"id":5000000000}`, `no JSON`, `{}`, ``)
	old, err := tableio.New(w.cat, rejectsName).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := text(t, old)
	columns := append(rejects.Columns(), tableio.Column{Name: "seen_by", Type: "string"})
	slices.Reverse(columns)
	sc, err := tableio.ParseSchema(columns)
	if err != nil {
		t.Fatal(err)
	}
	other := table.Identifier{"db", "other"}
	if _, err := tableio.Ensure(t.Context(), w.cat, other, tableio.Definition{Schema: sc, Properties: rejects.Properties()}); err != nil {
		t.Fatal(err)
	}
	to, err := tableio.New(w.cat, other).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := to.NewTransaction()
	tasks, err := old.Scan().PlanFiles(t.Context())
	if err != nil || len(tasks) == 0 {
		t.Fatal(len(tasks), err)
	}
	for _, task := range tasks {
		f := task.File
		if _, err := replay.Move(t.Context(), to, f.FilePath(), f.FileSizeBytes()-1); !errors.Is(err, tableio.ErrTooLarge) {
			t.Errorf("a file of another size: %v", err)
		}
		moved, err := replay.Move(t.Context(), to, f.FilePath(), f.FileSizeBytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.NewRowDelta(nil).AddRows(moved...).Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := replay.Move(t.Context(), to, old.Location()+"/data/none.parquet", 7); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	if to, err = tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := text(t, to); len(before) != 4 || !slices.Equal(before, after) {
		t.Errorf("before\n%v\nafter\n%v", before, after)
	}
}
