package committer

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/source"
)

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
