package committer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/source"
)

type reply = func() (table.Metadata, string, error)

// An answer that is lost after the commit was applied: writing again would double the rows, dropping it would be right
// by luck.
func TestLostAnswerIsFoundOnTheBranch(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.start(Config{}, log)
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := apply()
		if n++; n == 1 {
			return nil, "", errGateway
		}
		return m, loc, err
	})
	o := w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	if o.SnapshotID != w.table().CurrentSnapshot().SnapshotID {
		t.Errorf("snapshot %d is not the head", o.SnapshotID)
	}
	w.once("a", 0, 10)
	if r.obs.count("settled_landed") != 1 || log.len() != 0 {
		t.Errorf("outcomes %v, %d entries", r.obs.outcomes, log.len())
	}
}

func TestAnErrorThatWasNotAppliedIsTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if n++; n < 4 {
			return nil, "", errGateway
		}
		return apply()
	})
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
	if r.obs.count("pinned_retry") != 3 || r.obs.last != nil {
		t.Errorf("outcomes %v, trouble %v", r.obs.outcomes, r.obs.last)
	}
}

// The first request is answered with an error, nothing is seen of it, the same files are sent again; then the first one
// is applied. Pinned to one head, the two can't both land.
func TestALateFirstAttemptAndItsRetryDoNotBothLand(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	var late reply
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		switch n++; n {
		case 1:
			late = apply
			return nil, "", errGateway
		case 2:
			if _, _, err := late(); err != nil {
				t.Errorf("late request: %v", err)
			}
		}
		return apply()
	})
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 12))), Landed)
	w.once("a", 0, 12)
	if r.obs.count("refused") != 1 || r.obs.count("settled_landed") != 1 {
		t.Errorf("outcomes %v", r.obs.outcomes)
	}
}

func TestAMovedHeadIsNoTrouble(t *testing.T) {
	for _, retries := range []string{"", "5"} {
		t.Run("commit.retry.num-retries="+retries, func(t *testing.T) {
			props := iceberg.Properties{}
			if retries != "" {
				props[table.CommitNumRetriesKey], props[table.CommitMinRetryWaitMsKey] = retries, "1"
			}
			w := newWorld(t, props)
			r := w.start(Config{}, newLog())
			moves := 7
			w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
				if moves--; moves >= 0 {
					w.cat.hook(nil)
					w.foreign()
					m, loc, err := apply()
					w.cat.hook(w.movesLeft(&moves))
					return m, loc, err
				}
				return apply()
			})
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
			w.once("a", 0, 10)
			if r.obs.troubles != 0 || r.obs.count("refused") < 7 {
				t.Errorf("outcomes %v, troubles %d", r.obs.outcomes, r.obs.troubles)
			}
		})
	}
}

// movesLeft is a hook that lets another engine commit before each request, as often as n says.
func (w *world) movesLeft(n *int) func(func() (table.Metadata, string, error)) (table.Metadata, string, error) {
	var hook func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error)
	hook = func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if *n--; *n >= 0 {
			w.cat.hook(nil)
			w.foreign()
			m, loc, err := apply()
			w.cat.hook(hook)
			return m, loc, err
		}
		return apply()
	}
	return hook
}

// Two instances under one name read the same records: one gets them in, the other learns of it and changes nothing.
func TestAZombieIsHarmless(t *testing.T) {
	w := newWorld(t, nil)
	one, two := w.start(Config{Instance: "one"}, newLog()), w.start(Config{Instance: "two"}, newLog())
	w.want(one.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(two.submit("w", 1, w.batch("a", rng(0, 0, 10))), AlreadyThere)
	o := w.want(two.submit("w", 1, w.batch("a", rng(0, 5, 15))), Reread)
	if !o.Foreign || o.Positions[part(0)] != 10 {
		t.Errorf("outcome %+v", o)
	}
	w.want(two.submit("w", 2, w.batch("a", rng(0, 10, 15))), Landed)
	w.once("a", 0, 15)
}

func TestTopologiesOfOneTableNeitherLoseNorDouble(t *testing.T) {
	w := newWorld(t, nil)
	const n = 12
	var wg sync.WaitGroup
	names := []string{"a", "b", "c"}
	runners := map[string]*runner{}
	batches := map[string][]Submission{}
	for _, name := range names {
		runners[name] = w.start(Config{Topology: name}, newLog())
		for i := range source.Position(n) {
			batches[name] = append(batches[name], Submission{Owner: "w", Descriptor: w.batch(name, rng(0, i, i+1))})
		}
	}
	for _, name := range names {
		wg.Go(func() {
			for _, s := range batches[name] {
				done := make(chan Outcome, 1)
				s.Done = func(o Outcome) { done <- o }
				if err := runners[name].Submit(context.Background(), s); err != nil {
					t.Error(err)
					return
				}
				if o := <-done; o.Verdict != Landed {
					t.Errorf("topology %s: %+v", name, o)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		w.once(name, 0, n)
		pos, err := runners[name].Load(context.Background())
		w.must(err)
		if pos.At[part(0)].Next != n {
			t.Errorf("topology %s: position %d", name, pos.At[part(0)].Next)
		}
	}
}

func TestARollbackRewindsTheStream(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	first := w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
	w.rollback(first.SnapshotID)
	o := w.want(r.submit("w", 1, w.batch("a", rng(0, 20, 30))), Reread)
	if o.Foreign || o.Positions[part(0)] != 10 {
		t.Errorf("outcome %+v", o)
	}
	w.want(r.submit("w", 2, w.batch("a", rng(0, 10, 30))), Landed)
	w.once("a", 0, 30)
}

// A commit whose answer was lost landed and was rolled back before the look: the expiry of that snapshot may delete its
// files, so they are never used again.
func TestFilesOfARolledBackCommitAreNotUsedAgain(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	base := w.table().CurrentSnapshot().SnapshotID
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := apply()
		if n++; n == 1 {
			w.rollback(base)
			return nil, "", errGateway
		}
		return m, loc, err
	})
	o := w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Reread)
	if o.Positions[part(0)] != 0 {
		t.Errorf("outcome %+v", o)
	}
	w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
}

func TestWhatAPersonMustDecideStopsTheCommitter(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
		want string
	}{
		{"the branch is set back to before the first commit", func(w *world) {
			w.rollback(w.table().Metadata().Snapshots()[0].SnapshotID)
		}, "before the topology's first commit"},
		{"a commit of the topology is cherry-picked", func(w *world) {
			s := w.table().CurrentSnapshot()
			w.rollback(*s.ParentSnapshotID)
			w.update(func(tx *table.Transaction) error {
				return tx.AddFiles(context.Background(), nil, iceberg.Properties{keyPickedFrom: fmt.Sprint(s.SnapshotID)}, true)
			})
		}, "cherry-picked"},
		{"everything that told is gone", func(w *world) {
			w.rollback(w.table().Metadata().Snapshots()[2].SnapshotID)
			w.foreign()
			w.expire()
			w.loseLog()
		}, "has expired"},
		{"the table was dropped and made again", func(w *world) { w.create(nil) }, "another one now"},
		{"a newer floe wrote the positions", func(w *world) {
			w.update(func(tx *table.Transaction) error {
				return tx.AddFiles(context.Background(), nil, iceberg.Properties{keyPositions: `{"v":9}`}, true)
			})
		}, "version 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.foreign()
			r := w.start(Config{}, newLog())
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
			w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
			next := w.batch("a", rng(0, 20, 30))
			c.do(w)
			before := w.table().MetadataLocation()
			o := w.want(r.submit("w", 1, next), Failed)
			var stop *StopError
			if !errors.As(o.Err, &stop) || !strings.Contains(stop.Reason, c.want) || stop.Hint == "" {
				t.Errorf("outcome %v", o.Err)
			}
			if err := <-r.done; !errors.As(err, &stop) {
				t.Errorf("Run ended with %v", err)
			}
			r.stop()
			r.stop = nil
			if w.table().MetadataLocation() != before {
				t.Error("something was committed")
			}
			if err := r.Submit(context.Background(), Submission{Descriptor: next}); !errors.Is(err, ErrEnded) {
				t.Errorf("a submission after the end: %v", err)
			}
		})
	}
}

func TestAPersonsAnswerIsWritten(t *testing.T) {
	w := newWorld(t, nil)
	w.foreign()
	r := w.start(Config{}, newLog())
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	r.end()
	w.rollback(w.table().Metadata().Snapshots()[0].SnapshotID)
	two := w.committer(Config{}, newLog())
	var stop *StopError
	if _, err := two.Load(context.Background()); !errors.As(err, &stop) {
		t.Fatalf("load: %v", err)
	}
	if err := two.Settle(context.Background(), nil); !errors.As(err, &stop) {
		t.Fatalf("settle: %v", err)
	}
	if _, err := two.Begin(context.Background(), map[source.Partition]source.Position{part(0): 0}); !errors.As(err, &stop) {
		t.Fatalf("begin: %v", err)
	}
	pos, err := two.Set(context.Background(), map[source.Partition]source.Position{part(0): 3, part(1): 0})
	w.must(err)
	if !pos.Known || pos.At[part(0)].Next != 3 {
		t.Errorf("positions %+v", pos)
	}
	two.run()
	w.want(two.submit("w", 1, w.batch("a", rng(0, 3, 10))), Landed)
}

// Without the mark, the person's answer for one topology would hide from the other that it must ask: it would start over.
func TestAnAnswerForOneTopologyLeavesTheOthersQuestionOpen(t *testing.T) {
	w := newWorld(t, nil)
	w.foreign()
	for _, name := range []string{"a", "b"} {
		r := w.start(Config{Topology: name}, newLog())
		w.want(r.submit("w", 1, w.batch(name, rng(0, 0, 10))), Landed)
		r.end()
	}
	w.rollback(w.table().Metadata().Snapshots()[0].SnapshotID)
	a := w.committer(Config{Topology: "a"}, nil)
	_, err := a.Set(context.Background(), map[source.Partition]source.Position{part(0): 0})
	w.must(err)
	a.run()
	w.want(a.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	b := w.committer(Config{Topology: "b"}, nil)
	var stop *StopError
	if _, err := b.Load(context.Background()); !errors.As(err, &stop) || !strings.Contains(stop.Reason, "unclear") {
		t.Errorf("topology b: %v", err)
	}
}

func TestPositionsSurviveExpiryAndOtherEngines(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
	}{
		{"the property names the expired parent", func(w *world) { w.foreign(); w.expire() }},
		{"the metadata log tells", func(w *world) { w.foreign(); w.foreign(); w.foreign(); w.expire() }},
		{"the log tells, of what a rollback left", func(w *world) {
			t := w.table()
			w.want(w.start(Config{}, nil).submit("x", 1, w.batch("a", rng(0, 10, 15))), Landed)
			w.rollback(t.CurrentSnapshot().SnapshotID)
			w.foreign()
			w.expire()
		}},
		{"every snapshot left is another engine's replace", func(w *world) {
			w.update(func(tx *table.Transaction) error {
				_, err := tx.RewriteManifests(context.Background())
				return err
			})
			w.foreign()
			w.expire()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := w.start(Config{}, newLog())
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 5))), Landed)
			w.want(r.submit("w", 1, w.batch("a", rng(0, 5, 10))), Landed)
			c.do(w)
			two := w.committer(Config{}, nil)
			pos, err := two.Load(context.Background())
			w.must(err)
			if pos.At[part(0)].Next != 10 {
				t.Errorf("position %d", pos.At[part(0)].Next)
			}
			w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
			w.once("a", 0, 20)
		})
	}
}

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

func TestBatchesWithoutPositionsAreTrackedByCommitID(t *testing.T) {
	w := newWorld(t, nil)
	r := w.committer(Config{}, newLog())
	_, err := r.Load(context.Background())
	w.must(err)
	r.run()
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := apply()
		if n++; n == 1 {
			return nil, "", errGateway
		}
		return m, loc, err
	})
	w.want(r.submit("w", 1, w.batch("a")), Landed)
	w.want(r.submit("w", 1, w.batch("a")), Landed)
	if len(w.paths()) != 2 {
		t.Errorf("files %v", w.paths())
	}
	if p, ok := w.table().CurrentSnapshot().Summary.Properties[keyPositions]; ok {
		t.Errorf("positions out of nothing: %s", p)
	}
}

func TestAFileThatIsGoneAfterALongStopIsReadAgain(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{Grace: time.Hour}, newLog())
	d := w.batch("a", rng(0, 0, 10))
	d.SealedAt = time.Now().Add(-31 * time.Minute)
	w.must(os.Remove(d.Files[0].FilePath()))
	w.want(r.submit("w", 1, d), Reread)
	w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
}

func TestAWALThatFailsCostsOnlyItsUse(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	log.err = errors.New("no space")
	r := w.start(Config{}, log)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	if r.obs.troubles == 0 {
		t.Error("nobody was told")
	}
	w.must(r.Settle(context.Background(), nil))
}

func TestSubmissionsThatNoTableCouldTakeAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, nil)
	twice := w.batch("a", rng(0, 0, 10), rng(0, 10, 20))
	short := w.batch("a", rng(0, 0, 10))
	short.Inputs[0].Rows = 9
	hollow := w.batch("a", rng(0, 5, 5))
	for name, s := range map[string]Submission{
		"nil": {}, "another topology": {Descriptor: w.batch("b", rng(0, 0, 1))}, "one partition twice": {Descriptor: twice},
		"counts": {Descriptor: short}, "files of no range": {Descriptor: hollow},
	} {
		if err := r.Submit(context.Background(), s); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestBeginKeepsWhatIsThereAndRefusesAnotherLife(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, nil)
	commits := w.cat.commits
	pos, err := r.Begin(context.Background(), map[source.Partition]source.Position{part(0): 77})
	w.must(err)
	if pos.At[part(0)].Next != 0 || w.cat.commits != commits {
		t.Error("a position that was there was moved, or committed again")
	}
	again := part(0)
	again.Incarnation = "another"
	var stop *StopError
	if _, err := r.Begin(context.Background(), map[source.Partition]source.Position{again: 0}); !errors.As(err, &stop) {
		t.Errorf("another incarnation: %v", err)
	}
	pos, err = r.Set(context.Background(), map[source.Partition]source.Position{again: 5})
	w.must(err)
	if _, old := pos.At[part(1)]; old || pos.At[again].Next != 5 {
		t.Errorf("set does not replace the other life: %+v", pos.At)
	}
}

func TestBeginSurvivesALostAnswer(t *testing.T) {
	w := newWorld(t, nil)
	r := w.committer(Config{}, nil)
	_, err := r.Load(context.Background())
	w.must(err)
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := apply()
		if n++; n == 1 {
			return nil, "", errGateway
		}
		return m, loc, err
	})
	pos, err := r.Begin(context.Background(), map[source.Partition]source.Position{part(0): 7})
	w.must(err)
	if pos.At[part(0)].Next != 7 || w.cat.commits != 1 {
		t.Errorf("%+v after %d commits", pos, w.cat.commits)
	}
	if _, err := uuid.Parse(w.table().CurrentSnapshot().Summary.Properties[keyCommitID]); err != nil {
		t.Error(err)
	}
}
