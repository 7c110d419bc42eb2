package writer

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// faultIO fails the n-th call of an operation, and counts what is open.
type faultIO struct {
	icebergio.WriteFileIO
	op   string // "create", "write", "close"
	left atomic.Int64
	open atomic.Int64

	mu      sync.Mutex
	created []string
}

var errFault = errors.New("injected fault")

func (f *faultIO) hit(op string) error {
	if f.op == op && f.left.Add(-1) == 0 {
		return errFault
	}
	return nil
}

func (f *faultIO) Create(name string) (icebergio.FileWriter, error) {
	if err := f.hit("create"); err != nil {
		return nil, err
	}
	w, err := f.WriteFileIO.Create(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.created = append(f.created, name)
	f.mu.Unlock()
	f.open.Add(1)
	return &faultFile{w, f}, nil
}

type faultFile struct {
	icebergio.FileWriter
	io *faultIO
}

func (w *faultFile) Write(p []byte) (int, error) {
	if err := w.io.hit("write"); err != nil {
		return 0, err
	}
	return w.FileWriter.Write(p)
}

func (w *faultFile) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{w}, r) }

func (w *faultFile) Close() error {
	w.io.open.Add(-1)
	err := w.FileWriter.Close()
	return errors.Join(w.io.hit("close"), err)
}

// onFaults gives the table on a FileIO that fails.
func onFaults(t testing.TB, tbl *table.Table, op string, n int64) (*table.Table, *faultIO) {
	t.Helper()
	fs, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &faultIO{WriteFileIO: fs.(icebergio.WriteFileIO), op: op}
	f.left.Store(n)
	out := table.New(tbl.Identifier(), tbl.Metadata(), tbl.MetadataLocation(),
		func(context.Context) (icebergio.IO, error) { return f, nil }, nil)
	return out, f
}

func TestFailuresOfTheStorage(t *testing.T) {
	sc := eventSchema()
	for _, parallel := range []int{1, 3} {
		for _, op := range []string{"create", "write", "close"} {
			for _, n := range []int64{1, 5} {
				if testing.Short() && (parallel == 1 || n == 5) {
					continue // the race detector's share
				}
				plain, _ := newTable(t, sc, specOf(t, sc, "user_id bucket[20]"), nil)
				tbl, faults := onFaults(t, plain, op, n)
				task := newTask(t, tbl, func(c *Config) {
					c.MaxBufferedBytes = 1 << 20
					c.GroupBy, c.Parallel = []string{"user_id"}, parallel
				})
				err := writeAndSeal(t, task, 30000)
				if !errors.Is(err, errFault) || !strings.Contains(err.Error(), op) || !strings.Contains(err.Error(), ".parquet") {
					t.Errorf("%d encoders, %s %d: error %v, want one that names the operation and the path", parallel, op, n, err)
				}
				if _, err := task.Append(t.Context(), eventBatch(0, 1)); err == nil {
					t.Error("Append after a failure succeeds")
				}
				if _, err := task.Seal(t.Context()); err == nil {
					t.Error("Seal after a failure succeeds")
				}
				task.Discard(t.Context())
				if n := faults.open.Load(); n != 0 {
					t.Errorf("%d encoders, %s: %d files left open", parallel, op, n)
				}
				if left := filesUnder(t, plain); len(left) != 0 {
					t.Errorf("%d encoders, %s: files left over: %v", parallel, op, left)
				}
				// After the fault has passed, the same records are written once.
				if err := writeAndSeal(t, task, 30000); err != nil {
					t.Errorf("%d encoders, %s: after the discard: %v", parallel, op, err)
				}
				seen := map[string]bool{}
				for _, name := range faults.created {
					if seen[name] {
						t.Errorf("file %s was made twice", name)
					}
					seen[name] = true
				}
			}
		}
	}
}

func writeAndSeal(t *testing.T, task *Task, n int) error {
	if done, err := task.Append(t.Context(), eventBatch(0, n)); err != nil || !done {
		return err
	}
	d, err := task.Seal(t.Context())
	if err == nil && d.Rows != int64(n) {
		t.Errorf("%d rows, want %d", d.Rows, n)
	}
	return err
}

func TestCancelledSealFails(t *testing.T) {
	sc := eventSchema()
	tbl, _ := newTable(t, sc, specOf(t, sc, "user_id bucket[20]"), nil)
	for _, parallel := range []int{1, 2} {
		task := newTask(t, tbl, func(c *Config) { c.GroupBy, c.Parallel = []string{"id"}, parallel })
		appendAll(t, task, eventBatch(0, 100))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d, err := task.Seal(ctx); !errors.Is(err, context.Canceled) || d != nil {
			t.Errorf("Seal gives %v, %v", d, err)
		}
		task.Discard(context.Background())
		if left := filesUnder(t, tbl); len(left) != 0 {
			t.Errorf("files left over: %v", left)
		}
		appendAll(t, task, eventBatch(0, 100))
		for _, f := range seal(t, task).Files {
			fs, err := tbl.FS(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := fs.Remove(f.FilePath()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestCloseDropsTheOpenBatch(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, map[string]string{propTargetSize: "50000"})
	task, err := New(Config{Topology: "t", Mapper: jsonMapper(), GroupBy: []string{"id"}, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	task.Use(tbl)
	task.Open(t.Context(), map[source.Partition]source.Position{testPartition: 0})
	appendAll(t, task, eventBatch(0, 120000))
	if err := task.Close(); err != nil {
		t.Error(err)
	}
	if left := filesUnder(t, tbl); len(left) != 0 {
		t.Errorf("files left over: %v", left)
	}
}
