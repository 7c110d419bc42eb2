package committer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

// sqlWorld is a world on the SQL catalog, with durable files and the WAL as it is. Its reading side sees what lives do.
type sqlWorld struct {
	*world
	real   catalog.Catalog
	loader *tableio.Loader
	// rej, if not nil, is its rejects table: every batch has one.
	rej *sqlWorld
}

func newSQLWorld(t *testing.T) *sqlWorld {
	cat, loader := sqlite(t)
	s := &sqlWorld{world: &world{t: t, cat: &memCat{}}, real: cat, loader: loader}
	s.sync()
	s.dir = tableDir(s.table().Location())
	return s
}

func tableDir(location string) string {
	p, _ := tableio.LocalPath(location)
	return p[:len(p)-len("/t")]
}

// sync shows the reading side the table as it is now.
func (s *sqlWorld) sync() {
	s.t.Helper()
	tbl, err := s.loader.Load(context.Background())
	s.must(err)
	s.cat.mu.Lock()
	defer s.cat.mu.Unlock()
	s.cat.meta, s.cat.loc = tbl.Metadata(), tbl.MetadataLocation()
}

const lifeEnd = 6

// untilDeath gives a context that ends with a plan's process, or after a minute.
func untilDeath(plan *fault.Plan) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	go func() {
		select {
		case <-plan.Died():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// live runs one life of a topology with one partition, from wherever the table stands to its end, until it is done or
// has crashed.
func (s *sqlWorld) live(plan *fault.Plan) {
	s.t.Helper()
	ctx, cancel := untilDeath(plan)
	defer cancel()
	obs := newRecorder()
	cfg := Config{Topology: "a", MaxBackoff: time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: obs}
	if s.rej != nil {
		cfg.Rejects = tableio.New(fault.WrapCatalog(s.real, plan), rejIdent, tableio.WithIO(plan.IO))
	}
	c, err := New(cfg, tableio.New(fault.WrapCatalog(s.real, plan), ident, tableio.WithIO(plan.IO)), wal.New("", "a"))
	s.must(err)
	if _, err := c.Load(ctx); err != nil {
		return
	}
	if err := c.Settle(ctx, []source.Partition{part(0)}); err != nil {
		return
	}
	pos, err := c.Begin(ctx, map[source.Partition]source.Position{part(0): 0})
	if err != nil {
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	next, epoch := pos.At[part(0)].Next, uint64(1)
	for next < lifeEnd && ctx.Err() == nil {
		to := min(next+4, lifeEnd)
		done := make(chan Outcome, 1)
		if c.Submit(ctx, Submission{Descriptor: s.next(next, to), Owner: "w", Epoch: epoch, Done: func(o Outcome) { done <- o }}) != nil {
			break
		}
		select {
		case o := <-done:
			switch o.Verdict {
			case Landed, AlreadyThere:
				next = to
				s.finished(ctx, c, obs)
			case Reread:
				next, epoch = o.Positions[part(0)], epoch+1
			default:
				s.t.Fatal(o.Err)
			}
		case <-ctx.Done():
		}
	}
	_ = c.Finish(ctx) // as a graceful end does
	cancel()
	<-ended
}

// end lets a last life finish the work, and compares the table with what must be in it.
func (s *sqlWorld) end() {
	s.t.Helper()
	s.live(fault.New(nil))
	s.sync()
	s.once("a", 0, lifeEnd)
	c, err := New(Config{Topology: "a"}, s.loader, wal.New("", "a"))
	s.must(err)
	pos, err := c.Load(context.Background())
	s.must(err)
	if g := pos.At[part(0)]; g.Next != lifeEnd || g.Rows != lifeEnd {
		s.t.Errorf("progress %+v", g)
	}
}

// crashAtEveryStep has the process die at every point around every effect on files and catalog, in short runs at one of so many; end
// lives once more, and checks.
func crashAtEveryStep(t *testing.T, short int, world func(*testing.T) *sqlWorld, end func(*sqlWorld)) {
	t.Helper()
	count := fault.New(nil)
	world(t).live(count)
	step := 1
	if testing.Short() {
		step = short
	}
	for k := 1; k <= count.N(); k += step {
		t.Run(fmt.Sprintf("step %d", k), func(t *testing.T) {
			w := world(t)
			plan := fault.New(fault.At(k, fault.Crash))
			w.live(plan)
			end(w)
			if t.Failed() {
				t.Log(plan.Trace()[len(plan.Trace())-1])
			}
		})
	}
}

func TestACrashAtEveryStepLosesAndDoublesNothing(t *testing.T) {
	crashAtEveryStep(t, 7, newSQLWorld, (*sqlWorld).end)
}

// A request of a dead process is applied while the next life works, or after it.
func TestALateRequestOfADeadProcess(t *testing.T) {
	for nth := range 3 {
		for _, when := range []string{"before the next life", "after it"} {
			t.Run(fmt.Sprintf("commit %d, %s", nth, when), func(t *testing.T) {
				s := newSQLWorld(t)
				n := 0
				plan := fault.New(func(p fault.Point) fault.Action {
					if p.Op != fault.OpCommit || p.Phase != fault.Before {
						return fault.Continue
					}
					switch n++; {
					case n == nth+1:
						return fault.Late(errGateway)
					case n > nth+1:
						return fault.Crash
					}
					return fault.Continue
				})
				s.live(plan)
				if when == "before the next life" {
					_ = plan.Release()
				}
				s.live(fault.New(nil))
				_ = plan.Release() // refused: the head has moved
				s.end()
			})
		}
	}
}

// Losing the WAL folder costs work and nothing else.
func TestTheWALFolderIsDeletedBetweenLives(t *testing.T) {
	s := newSQLWorld(t)
	n := 0
	s.live(fault.New(func(p fault.Point) fault.Action {
		if p.Op == fault.OpCommit && p.Phase == fault.Before {
			if n++; n == 3 {
				return fault.Crash
			}
		}
		return fault.Continue
	}))
	s.must(os.RemoveAll(s.dir + "/t/metadata/_storm_wal"))
	s.end()
}
