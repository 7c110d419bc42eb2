package harness_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/topology"
)

// shape is a way to run the sink, and what the table looks like.
type shape struct {
	name string
	by   []string
	// live runs one life under a plan until everything has been committed or the plan has ended it.
	live func(t *testing.T, w *harness.World, plan *fault.Plan) error
}

// shapes are one and three writers, by source partition and by fields, with a committer for all and one for each, and the
// stages for other engines: a sink, and writer and committer that exchange bytes.
var shapes = []shape{
	ofVariant("one writer, split", variant{tasks: 1}),
	ofVariant("one writer, one stage", variant{tasks: 1, oneStage: true, by: []string{"region"}}),
	ofVariant("three writers, split", variant{tasks: 3, by: []string{"region"}}),
	ofVariant("three writers, one stage", variant{tasks: 3, oneStage: true}),
	ofVariant("by fields, one writer, split", variant{tasks: 1, groupBy: []string{"region"}, by: []string{"region"}}),
	ofVariant("by fields, one writer, one stage", variant{tasks: 1, oneStage: true, groupBy: []string{"region"}}),
	ofVariant("by fields, three writers, split", variant{tasks: 3, groupBy: []string{"region"}, by: []string{"region"}}),
	ofVariant("by fields, three writers, one stage", variant{tasks: 3, oneStage: true, groupBy: []string{"region"}, by: []string{"region"}}),
	{name: "sink stage", live: liveSink},
	{name: "writer and committer stages", by: []string{"region"}, live: liveStages},
}

func ofVariant(name string, v variant) shape {
	return shape{name: name, by: v.by, live: func(t *testing.T, w *harness.World, plan *fault.Plan) error {
		cfg := v.apply(w.Config(plan))
		cfg.Committer.Interval, cfg.Committer.MaxDataFiles = 5*time.Millisecond, 4 // groups of several batches, several of them
		return w.Live(t, cfg, plan)
	}}
}

// liveSink is a life of the stage that writes and commits.
func liveSink(t *testing.T, w *harness.World, plan *fault.Plan) error {
	cfg := stageConfig(w, plan, true)
	cfg.ShutdownTimeout = 50 * time.Millisecond // the dead can't commit any more
	s, err := topology.NewSink(cfg)
	if err != nil {
		return err
	}
	return drive(t, w, plan, s, s.Run)
}

// liveStages is a life of a writer stage and a committer stage in one process.
func liveStages(t *testing.T, w *harness.World, plan *fault.Plan) error {
	cfg := stageConfig(w, plan, true)
	cfg.ShutdownTimeout = 50 * time.Millisecond
	c, err := topology.NewCommitterStage(cfg)
	if err != nil {
		return err
	}
	s, err := topology.NewWriterStage(cfg, c.Commit)
	if err != nil {
		return err
	}
	return drive(t, w, plan, s, s.Run, c.Run)
}

// drive runs stages, brings them everything, and ends them in the order given, or all at once where the plan ends them.
func drive(t *testing.T, w *harness.World, plan *fault.Plan, s stageWriter, runs ...func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-plan.Died():
			cancel()
		case <-ctx.Done():
		}
	}()
	var stops []func() error
	for _, run := range runs {
		stops = append(stops, runStage(t, run))
	}
	err := feed(ctx, w, s)
	if plan.Crashed() {
		err = fault.ErrCrashed // whatever the engine heard last
	}
	cancel()
	<-over
	for _, stop := range stops {
		_ = stop() // everything was acknowledged, or nothing can be any more
	}
	return err
}

// bubble runs f on a clock of its own: what waits costs nothing.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func (s shape) world(t *testing.T) *harness.World {
	return harness.New(t, harness.Shape{Partitions: 3, PartitionBy: s.by, Rejects: true})
}

// lives runs a life that must catch up.
func (s shape) lives(t *testing.T, w *harness.World) {
	t.Helper()
	if err := s.live(t, w, fault.New(nil)); err != nil {
		t.Fatalf("the life without faults failed: %v", err)
	}
}

// kind names the effect of a point: what the process was about to do, or had just done.
func kind(p fault.Point) string {
	switch {
	case strings.HasSuffix(p.Target, ".corrupt"):
		return fmt.Sprintf("%s WAL set aside (%s)", p.Phase, p.Op)
	case strings.Contains(p.Target, "/_storm_wal"):
		return fmt.Sprintf("%s WAL %s", p.Phase, p.Op)
	case strings.Contains(p.Target, "/data/"):
		return fmt.Sprintf("%s data file %s", p.Phase, p.Op)
	case strings.HasSuffix(p.Target, ".avro"):
		return fmt.Sprintf("%s manifest %s", p.Phase, p.Op)
	case p.Target == "":
		return string(p.Op) // a step
	}
	return fmt.Sprintf("%s %s", p.Phase, p.Op)
}

// counts is a table of what a test did: by row and column.
type counts struct {
	mu   sync.Mutex
	rows map[string]map[string]int
}

func (c *counts) add(row, column string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[string]map[string]int{}
	}
	if c.rows[row] == nil {
		c.rows[row] = map[string]int{}
	}
	c.rows[row][column] += n
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, row := range slices.Sorted(maps.Keys(c.rows)) {
		fmt.Fprintf(&b, "\n%-40s", row)
		for _, col := range slices.Sorted(maps.Keys(c.rows[row])) {
			fmt.Fprintf(&b, " %s=%d", col, c.rows[row][col])
		}
	}
	return b.String()
}

// logAtEnd shows the table when the test and its subtests are over.
func (c *counts) logAtEnd(t *testing.T, title string) {
	t.Cleanup(func() { t.Logf("%s:%s", title, c) })
}
