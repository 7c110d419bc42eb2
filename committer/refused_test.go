package committer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// refusal is what iceberg-go's REST catalog makes of a 400.
type errorResponse struct {
	Code       int
	statusCode int
}

func (e errorResponse) Error() string { return "the schema is not to my taste" }

func TestARefusedBatchIsReadAgainOnceAndThenFails(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	var mu sync.Mutex
	refuse := true
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		mu.Lock()
		defer mu.Unlock()
		if refuse {
			return nil, "", fmt.Errorf("commit: %w", errorResponse{statusCode: 400})
		}
		return apply()
	})
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Reread)
	o := w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Failed)
	if o.Err == nil || !strings.Contains(o.Err.Error(), "not to my taste") {
		t.Errorf("error %v", o.Err)
	}
	mu.Lock()
	refuse = false
	mu.Unlock()
	w.want(r.submit("w", 3, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
}

func TestARefusalOfAStaleRequestIsAMovedHead(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if n++; n == 1 {
			w.cat.hook(nil)
			w.foreign()
			return nil, "", errorResponse{statusCode: 400}
		}
		return apply()
	})
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
}

// One writer's bad batch does not take the others down with it.
func TestARefusedOwnerIsCommittedAlone(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{Interval: time.Hour}, newLog())
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := func() (table.Metadata, string, error) {
			if w.bad() {
				return nil, "", errorResponse{statusCode: 400}
			}
			return apply()
		}()
		return m, loc, err
	})
	good := func(epoch uint64) <-chan Outcome { return r.submit("good", epoch, w.batch("a", rng(0, 0, 10))) }
	bad := func(epoch uint64) <-chan Outcome { return r.submit("bad", epoch, w.batch("a", rng(1, 0, 10))) }
	w.refuse("a-1_0_10")
	g, b := good(1), bad(1)
	r.Flush()
	w.want(g, Reread)
	w.want(b, Reread)
	g, b = good(2), bad(2)
	r.Flush()
	w.want(g, Landed)
	w.want(b, Failed)
}

func TestASchemaOrSpecThatIsGone(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	d := w.batch("a", rng(0, 0, 10))
	d.SchemaID = 99
	w.want(r.submit("w", 1, d), Reread)
	d = w.batch("a", rng(0, 0, 10))
	d.SchemaID = 99
	if o := w.want(r.submit("w", 2, d), Failed); !strings.Contains(o.Err.Error(), "schema 99") {
		t.Errorf("error %v", o.Err)
	}
}

func TestFilesOfAnOlderSpecAndSchemaAreCommitted(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	old := w.batch("a", rng(0, 0, 10))
	w.update(func(tx *table.Transaction) error {
		if err := tx.UpdateSpec(true).AddIdentity("region").Commit(); err != nil {
			return err
		}
		return tx.UpdateSchema(true, false).AddColumn([]string{"more"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
	})
	w.want(r.submit("w", 1, old), Landed)
	w.once("a", 0, 10)
	ms, err := w.table().CurrentSnapshot().Manifests(mustFS(t, w.table()))
	w.must(err)
	if len(ms) != 1 || ms[0].PartitionSpecID() != 0 || w.table().Metadata().DefaultPartitionSpec() == 0 {
		t.Errorf("the file is not in a manifest of its own spec")
	}
}

func TestFormatVersionsAndBranches(t *testing.T) {
	for _, c := range []struct{ version, branch string }{{"2", "main"}, {"3", "main"}, {"2", "audit"}, {"3", "audit"}} {
		t.Run("v"+c.version+" "+c.branch, func(t *testing.T) {
			w := newWorld(t, iceberg.Properties{"format-version": c.version})
			w.foreign()
			r := w.start(Config{Branch: c.branch}, newLog())
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
			w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
			e := r.submit("w", 1, w.empty("a", rng(0, 20, 30)))
			r.Flush()
			w.want(e, Landed)
			if w.table().SnapshotByName(c.branch).Summary.Properties["total-data-files"] != "2" {
				t.Errorf("summary %v", w.table().SnapshotByName(c.branch).Summary)
			}
			if c.branch != "main" && w.table().CurrentSnapshot().Summary.Properties[keyCommitID] != "" {
				t.Error("main was moved")
			}
			pos, err := r.Load(context.Background())
			w.must(err)
			if pos.At[part(0)].Next != 30 {
				t.Errorf("positions %+v", pos)
			}
		})
	}
	w := newWorld(t, iceberg.Properties{"format-version": "1"})
	var stop *StopError
	if _, err := w.committer(Config{}, nil).Load(context.Background()); !errors.As(err, &stop) || !strings.Contains(stop.Reason, "format version 1") {
		t.Errorf("format version 1: %v", err)
	}
}

// On a table that others commit to all the time no refusal is ever of the newest metadata: it counts after a while, and is
// told of meanwhile.
func TestARefusalOnABusyTableIsNotTriedForEver(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{MaxBackoff: 5 * time.Millisecond}, newLog())
	var refuse func(func() (table.Metadata, string, error)) (table.Metadata, string, error)
	refuse = func(func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		w.cat.hook(nil)
		w.foreign()
		w.cat.hook(refuse)
		return nil, "", errorResponse{statusCode: 400}
	}
	w.cat.hook(refuse)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Reread)
	w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Failed)
	if n := r.obs.count("refused"); n != 2*maxRefusals {
		t.Errorf("refused %d times, want %d", n, 2*maxRefusals)
	}
}
