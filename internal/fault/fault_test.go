package fault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
)

var ident = table.Identifier{"db", "t"}

// world is a catalog with one table in it, which outlives every process.
func world(t testing.TB) catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	cat, closeCatalog, err := catalogs.Open(context.Background(), "floe", map[string]string{
		"type": "sqlite", "uri": filepath.Join(dir, "c.db"), "warehouse": dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeCatalog() })
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "long"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tableio.Ensure(context.Background(), cat, ident, tableio.Definition{Schema: sc}); err != nil {
		t.Fatal(err)
	}
	return cat
}

// commit makes one empty snapshot, as a process under the plan.
func commit(ctx context.Context, cat catalog.Catalog, p *fault.Plan) error {
	tbl, err := tableio.New(fault.WrapCatalog(cat, p), ident, tableio.WithIO(p.IO)).Load(ctx)
	if err != nil {
		return err
	}
	tx := tbl.NewTransaction()
	if err := tx.AddFiles(ctx, nil, iceberg.Properties{"k": "v"}, false); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

func snapshots(t testing.TB, cat catalog.Catalog) int {
	t.Helper()
	tbl, err := cat.LoadTable(context.Background(), ident)
	if err != nil {
		t.Fatal(err)
	}
	return len(tbl.Metadata().Snapshots())
}

func TestEveryCrashLeavesTheSnapshotWholeOrNotThere(t *testing.T) {
	count := fault.New(nil)
	if err := commit(t.Context(), world(t), count); err != nil {
		t.Fatal(err)
	}
	if count.N() < 8 {
		t.Fatalf("only these points: %v", count.Trace())
	}
	for k, pt := range count.Trace() {
		t.Run(strings.ReplaceAll(fmt.Sprintf("%d %s %s", pt.N, pt.Phase, pt.Op), " ", "_"), func(t *testing.T) {
			cat := world(t)
			p := fault.New(fault.At(k+1, fault.Crash))
			if err := commit(t.Context(), cat, p); !errors.Is(err, fault.ErrCrashed) {
				t.Fatalf("got %v", err)
			}
			select {
			case <-p.Died():
			default:
				t.Error("Died is not closed")
			}
			want := 0
			if pt.Op == fault.OpCommit && pt.Phase == fault.After {
				want = 1
			}
			if got := snapshots(t, cat); got != want {
				t.Errorf("%d snapshots, want %d", got, want)
			}
			if err := commit(t.Context(), cat, p); !errors.Is(err, fault.ErrCrashed) {
				t.Errorf("the dead went on: %v", err)
			}
			if err := p.Step("ack"); !errors.Is(err, fault.ErrCrashed) {
				t.Errorf("the dead acked: %v", err)
			}
		})
	}
}

func TestALostAnswerIsACommitThatLanded(t *testing.T) {
	cat := world(t)
	lost := errors.New("502")
	err := commit(t.Context(), cat, fault.New(fault.On(fault.OpCommit, fault.After, 1, fault.Fail(lost))))
	if !errors.Is(err, lost) || snapshots(t, cat) != 1 {
		t.Errorf("%v, %d snapshots", err, snapshots(t, cat))
	}
	err = commit(t.Context(), cat, fault.New(fault.On(fault.OpCommit, fault.Before, 1, fault.Fail(lost))))
	if !errors.Is(err, lost) || snapshots(t, cat) != 1 {
		t.Errorf("%v, %d snapshots", err, snapshots(t, cat))
	}
}

func TestALateRequestLandsWhenItIsReleased(t *testing.T) {
	cat := world(t)
	timeout := errors.New("timed out")
	p := fault.New(fault.On(fault.OpCommit, fault.Before, 1, fault.Late(timeout)))
	if err := commit(t.Context(), cat, p); !errors.Is(err, timeout) || snapshots(t, cat) != 0 || p.Held() != 1 {
		t.Fatalf("%v, %d snapshots, %d held", err, snapshots(t, cat), p.Held())
	}
	p.Kill()
	if err := p.Release(); err != nil || snapshots(t, cat) != 1 || p.Held() != 0 {
		t.Errorf("%v, %d snapshots", err, snapshots(t, cat))
	}
}

func TestALateRequestOnAnOldBaseIsRefused(t *testing.T) {
	cat := world(t)
	p := fault.New(fault.On(fault.OpCommit, fault.Before, 1, fault.Late(fault.ErrInjected)))
	if err := commit(t.Context(), cat, p); !errors.Is(err, fault.ErrInjected) {
		t.Fatal(err)
	}
	if err := commit(t.Context(), cat, p); err != nil {
		t.Fatal(err)
	}
	if err := p.Release(); err == nil || snapshots(t, cat) != 1 {
		t.Errorf("%v, %d snapshots", err, snapshots(t, cat))
	}
}

func TestATornFileIsHalfThere(t *testing.T) {
	for _, op := range []fault.Op{fault.OpPut, fault.OpWrite} {
		mem := iceio.NewMemFS()
		p := fault.New(fault.On(op, fault.Before, 1, fault.Tear))
		fio := fault.WrapIO(mem, p).(iceio.WriteFileIO)
		if op == fault.OpPut {
			if err := fio.WriteFile("mem://b/f", []byte("abcdef")); !errors.Is(err, fault.ErrCrashed) {
				t.Fatal(err)
			}
			if b, err := tableio.ReadFile(mem, "mem://b/f", 10); err != nil || string(b) != "abc" {
				t.Errorf("%q, %v", b, err)
			}
			continue
		}
		w, err := fio.Create("mem://b/f")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := w.Write([]byte("abcdef")); n != 3 || !errors.Is(err, fault.ErrCrashed) {
			t.Errorf("%d, %v", n, err)
		}
		if err := w.Close(); !errors.Is(err, fault.ErrCrashed) {
			t.Error(err)
		}
		if _, exists, _ := tableio.Stat(mem, "mem://b/f"); exists {
			t.Error("a store that shows only whole files shows a part")
		}
	}
}

func TestCapabilitiesStayAsTheyAre(t *testing.T) {
	type all struct {
		*iceio.MemFS
		iceio.StatIO
		iceio.ReadFileIO
		iceio.BulkRemovableIO
	}
	_ = all{}
	local := fault.WrapIO(tableio.Durable(iceio.LocalFS{}), fault.New(nil))
	if _, ok := local.(iceio.StatIO); !ok {
		t.Error("stat is gone")
	}
	if _, ok := local.(iceio.ReadFileIO); !ok {
		t.Error("reading whole files is gone")
	}
	if _, ok := local.(iceio.BulkRemovableIO); ok {
		t.Error("bulk removal has come from nowhere")
	}
	mem := fault.WrapIO(iceio.NewMemFS(), fault.New(nil))
	if _, ok := mem.(iceio.StatIO); ok {
		t.Error("stat has come from nowhere")
	}
	for _, fio := range []iceio.IO{local, mem} {
		if _, ok := fio.(iceio.WriteFileIO); !ok {
			t.Error("writing is gone")
		}
		if _, ok := fio.(iceio.ListableIO); !ok {
			t.Error("listing is gone")
		}
	}
}

func TestFilesGoThroughUnharmed(t *testing.T) {
	dir := t.TempDir()
	fio := fault.WrapIO(tableio.Durable(iceio.LocalFS{}), fault.New(nil))
	w, err := fio.(iceio.WriteFileIO).Create(filepath.Join(dir, "a", "f"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, bytes.NewReader([]byte("hello"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := tableio.ReadFile(fio, filepath.Join(dir, "a", "f"), 10)
	if err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := fio.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAProcessThatIsHeldUpGoesOnWhereItWas(t *testing.T) {
	cat := world(t)
	resume, reached := make(chan struct{}), make(chan struct{})
	p := fault.New(func(pt fault.Point) fault.Action {
		if pt.Op == fault.OpCommit && pt.Phase == fault.Before {
			close(reached)
			return fault.Wait(resume)
		}
		return fault.Continue
	})
	done := make(chan error)
	go func() { done <- commit(context.Background(), cat, p) }()
	<-reached
	if err := commit(t.Context(), cat, fault.New(nil)); err != nil {
		t.Fatal(err)
	}
	close(resume)
	if err := <-done; err == nil || errors.Is(err, fault.ErrCrashed) || snapshots(t, cat) != 1 {
		t.Errorf("%v, %d snapshots: the catalog must refuse the stale one", err, snapshots(t, cat))
	}
}
