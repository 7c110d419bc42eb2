package committer

import (
	"context"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/source"
)

func TestStepsAreTheTopologysOwnNewestFirst(t *testing.T) {
	w := newWorld(t, iceberg.Properties{})
	if steps, err := Steps(w.table().Metadata(), "", "orders", 9); err != nil || len(steps) != 0 {
		t.Errorf("of an empty table: %v, %v", steps, err)
	}
	p := rng(0, 0, 1).Partition
	for i, of := range []string{"orders", "billing", "orders", "orders"} {
		c, err := New(Config{Topology: of, Instance: of + "-1"}, w.cat, nil)
		w.must(err)
		_, err = c.Load(context.Background())
		w.must(err)
		_, err = c.Set(context.Background(), map[source.Partition]source.Position{p: source.Position(10 * i)})
		w.must(err)
	}
	steps, err := Steps(w.table().Metadata(), "main", "orders", 2)
	if err != nil || len(steps) != 2 || steps[0].Next[p] != 30 || steps[1].Next[p] != 20 || steps[0].Instance != "orders-1" || time.Since(steps[0].At) > time.Hour {
		t.Errorf("got %+v, %v", steps, err)
	}
}
