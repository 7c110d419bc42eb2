package committer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/wal"
)

// copyRejects is a MoveRejects for the tests' files: the copy has the same name.
func copyRejects(_ context.Context, to *table.Table, path string, size int64) ([]iceberg.DataFile, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(tableDir(to.Location()), "t", "data", filepath.Base(path))
	err = errors.Join(os.MkdirAll(filepath.Dir(copied), 0o755), os.WriteFile(copied, content, 0o644))
	if err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentData, copied, iceberg.ParquetFile, nil, nil, nil, 1, size)
	if err != nil {
		return nil, err
	}
	return []iceberg.DataFile{b.Build()}, nil
}

// madeAgain is a pair whose outbox names rejects for a table that is gone; there is another one of its name.
func madeAgain(t *testing.T) *pair {
	t.Helper()
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	p.rej.away(errAway)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 10, 12))), Landed)
	r.end()
	p.rej.away(nil)
	p.rej.create(nil)
	return p
}

func TestRejectsForATableThatIsGoneAreAskedAbout(t *testing.T) {
	p := madeAgain(t)
	if err := p.loaded().finish(t.Context()); !isStop(err) || !strings.Contains(err.Error(), "floe rejects settle") {
		t.Errorf("got %v", err)
	}
	qs, err := p.loaded().RejectsQuestions(t.Context())
	p.must(err)
	if len(qs) != 2 {
		t.Fatalf("got %+v", qs)
	}
	for i, q := range qs {
		b := p.box("a")[i]
		if q.Commit != b.Commit || q.Rows != 1 || len(q.Files) != 1 || q.Files[0] != b.Files[0].Path || q.Other != b.Table || q.Other == uuid.Nil ||
			q.Why != "other table" || q.At.UnixMilli() != b.AtMs {
			t.Errorf("got %+v", q)
		}
	}
	if got := fmt.Sprint(qs[0].Ranges, qs[1].Ranges); got != fmt.Sprint([]RejectsRange{{rng(0, 0, 10), 1}}, []RejectsRange{{rng(0, 10, 12), 1}}) {
		t.Errorf("ranges %v", got)
	}
	if len(p.rej.paths()) != 0 || len(p.box("a")) != 2 {
		t.Error("a question has changed something")
	}
}

func TestRejectsForATableThatIsGoneAreCopiedOnce(t *testing.T) {
	p := madeAgain(t)
	if err := p.loaded().AnswerRejects(t.Context(), false, nil); err == nil || !strings.Contains(err.Error(), "MoveRejects") {
		t.Errorf("got %v", err)
	}
	for range 2 {
		p.must(p.loaded().AnswerRejects(t.Context(), false, copyRejects))
		if got := p.rej.paths(); len(got) != 2 || filepath.Dir(got[0]) != filepath.Join(p.rej.dir, "t", "data") {
			t.Errorf("the rejects table has %v", got)
		}
	}
	if box := p.box("a"); len(box) != 0 {
		t.Errorf("the outbox has %+v", box)
	}
	if n := p.rej.commits(); n != 1 {
		t.Errorf("%d appends", n)
	}
	p.goesOn(12)
}

func TestRejectsForATableThatIsGoneAreGivenUp(t *testing.T) {
	p := madeAgain(t)
	for range 2 {
		p.must(p.loaded().AnswerRejects(t.Context(), true, copyRejects))
	}
	if got, box := p.rej.paths(), p.box("a"); len(got) != 0 || len(box) != 0 {
		t.Errorf("the rejects table has %v, the outbox %v", got, box)
	}
	p.goesOn(12)
}

// goesOn runs another life, whose rejects get where they belong.
func (p *pair) goesOn(from int64) {
	p.t.Helper()
	before := len(p.rej.paths())
	r := p.committer(p.with(Config{}), newLog())
	pos, err := r.Load(p.t.Context())
	p.must(err)
	if next := pos.At[part(0)].Next; int64(next) != from {
		p.t.Fatalf("it stands at %d", next)
	}
	r.run()
	p.want(r.submit("w", 1, p.bad("a", rng(0, pos.At[part(0)].Next, pos.At[part(0)].Next+2))), Landed)
	r.emptied()
	r.end()
	if got := len(p.rej.paths()); got != before+1 {
		p.t.Errorf("%d rejects, %d before", got, before)
	}
}

// A file that is gone can't be copied: nothing is, and the other answer remains.
func TestRejectsThatAreGoneWithTheirTableCanBeGivenUp(t *testing.T) {
	p := madeAgain(t)
	p.must(os.Remove(p.box("a")[1].Files[0].Path))
	if err := p.loaded().AnswerRejects(t.Context(), false, copyRejects); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if got := p.rej.paths(); len(got) != 0 || len(p.box("a")) != 2 {
		t.Errorf("the rejects table has %v", got)
	}
	p.must(p.loaded().AnswerRejects(t.Context(), true, nil))
	p.goesOn(12)
}

// A replay that was not finished in the table that is gone: of what it replaced there nothing is copied.
func TestAReplayForATableThatIsGoneIsCopiedWithoutWhatItReplaced(t *testing.T) {
	p, path := rejected(t)
	d, r := p.replay(path), p.loaded()
	p.rej.lost(1, false)
	loads := 0
	p.rej.cat.mu.Lock()
	p.rej.cat.onLoad = func() error { // it can't see that what it is to replace is there, and leaves it in the outbox
		if loads++; loads == 1 {
			return errAway
		}
		return nil
	}
	p.rej.cat.mu.Unlock()
	if o, err := r.Replay(t.Context(), uuid.New(), d); o.Verdict != Landed || !errors.Is(err, errGateway) || len(p.box("a")) != 2 {
		t.Fatalf("%+v, %v, %v", o, err, p.box("a"))
	}
	p.rej.away(nil)
	p.rej.cat.hook(nil)
	p.rej.create(nil)
	p.must(p.loaded().AnswerRejects(t.Context(), false, copyRejects))
	if got := p.rej.paths(); len(got) != 1 || filepath.Base(got[0]) != filepath.Base(rejectPaths(d)[0]) || len(p.box("a")) != 0 {
		t.Errorf("the rejects table has %v", got)
	}
	p.once("a", 0, 10)
}

// Two people answer at the same time, whatever the answers.
func TestOfTwoAnswersOneCounts(t *testing.T) {
	for _, there := range []bool{false, true} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("the first says there %v, its answer is lost %v", there, lost), func(t *testing.T) {
				p := madeAgain(t)
				one, two := p.loaded(), p.loaded()
				p.rej.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
					p.rej.cat.hook(nil)
					p.must(two.AnswerRejects(t.Context(), there, copyRejects))
					m, loc, err := apply()
					switch {
					case lost:
						return nil, "", errGateway
					case err != nil:
						err = fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
					}
					return m, loc, err
				})
				if err := one.AnswerRejects(t.Context(), !there, copyRejects); lost != (err != nil) {
					t.Errorf("got %v", err)
				}
				p.must(one.AnswerRejects(t.Context(), !there, copyRejects))
				if want := map[bool]int{false: 2, true: 0}[there]; len(p.rej.paths()) != want || len(p.box("a")) != 0 {
					t.Errorf("the rejects table has %v, the outbox %v", p.rej.paths(), p.box("a"))
				}
				p.goesOn(12)
			})
		}
	}
}

// An answer where nothing can be told leaves what was appended before, and is off the outbox, in doubt: it is not taken for none.
func TestAnAnswerKeepsInDoubtWhatIsNotListed(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	r.emptied()
	named := p.table().CurrentSnapshot().SnapshotID
	p.want(r.submit("w", 1, p.bad("a", rng(0, 10, 12))), Landed)
	r.emptied()
	later := p.table().CurrentSnapshot().SnapshotID
	r.end()
	p.rej.foreign()
	p.rej.foreign()
	p.rej.expire()
	p.rej.loseLog()
	p.rollback(named)
	p.must(p.loaded().AnswerRejects(t.Context(), true, nil))
	p.rollback(later)
	if err := p.loaded().finish(t.Context()); !errors.Is(err, errUnclearShelf) {
		t.Errorf("got %v", err)
	}
	if got := p.rej.paths(); len(got) != 2 {
		t.Errorf("the rejects table has %v", got)
	}
}

// diesBeforeItsRejects is a world whose first life has left rejects in the outbox, and whose rejects table was then made again.
func diesBeforeItsRejects(t *testing.T) (*sqlWorld, string) {
	s := newSQLPair(t)
	s.live(fault.New(fault.On(fault.OpCommit, fault.Before, 3, fault.Crash)))
	s.sync()
	box := s.pair().box("a")
	if len(box) != 1 {
		t.Fatalf("outbox %+v", box)
	}
	s.must(s.real.DropTable(t.Context(), rejIdent))
	_, err := tableio.Ensure(t.Context(), s.real, rejIdent, tableio.Definition{Schema: schema()})
	s.must(err)
	s.rej.sync()
	return s, box[0].Files[0].Path
}

// answers is a process that answers.
func (s *sqlWorld) answers(plan *fault.Plan, there bool) error {
	s.t.Helper()
	ctx, cancel := untilDeath(plan)
	defer cancel()
	cfg := Config{Topology: "a", MaxBackoff: time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Rejects: tableio.New(fault.WrapCatalog(s.real, plan), rejIdent, tableio.WithIO(plan.IO))}
	c, err := New(cfg, tableio.New(fault.WrapCatalog(s.real, plan), ident, tableio.WithIO(plan.IO)), wal.New("", "a"))
	s.must(err)
	if _, err := c.Load(ctx); err != nil {
		return err
	}
	return c.AnswerRejects(ctx, there, copyRejects)
}

// answered checks what is there when all is done.
func (s *sqlWorld) answered(there bool, path string) {
	s.t.Helper()
	s.must(s.answers(fault.New(nil), there))
	s.live(fault.New(nil))
	s.sync()
	s.rej.sync()
	if !there {
		s.pair().settledRejects("a", 0, lifeEnd, true)
		return
	}
	if slices.ContainsFunc(s.rej.paths(), func(p string) bool { return filepath.Base(p) == filepath.Base(path) }) || len(s.rej.paths()) != 1 {
		s.t.Errorf("the rejects table has %v", s.rej.paths())
	}
	v, err := parseValue(s.table().CurrentSnapshot().Summary.Properties[keyPositions])
	s.must(err)
	if at, err := v.progress("a"); err != nil || at[part(0)].Next != lifeEnd || at[part(0)].Rejects != 2 {
		s.t.Errorf("progress %+v, %v", at, err)
	}
}

// A process that answers dies at every point around every effect, or an answer that it gets is lost, or its request comes late.
func TestAnAnswerEndsAtEveryStepAndEachRejectIsThereOnce(t *testing.T) {
	for _, there := range []bool{false, true} {
		count := fault.New(nil)
		s, _ := diesBeforeItsRejects(t)
		s.must(s.answers(count, there))
		commits := 0
		for _, p := range count.Trace() {
			if p.Op == fault.OpCommit && p.Phase == fault.Before {
				commits++
			}
		}
		if commits != 2 { // the answer, and what takes it off the outbox
			t.Fatalf("%d commits", commits)
		}
		step := 1
		if testing.Short() {
			step = 7
		} else if there {
			step = 3 // the way is the same, without the copies
		}
		for k := 1; k <= count.N(); k += step {
			t.Run(fmt.Sprintf("there %v, step %d of %d", there, k, count.N()), func(t *testing.T) {
				s, path := diesBeforeItsRejects(t)
				_ = s.answers(fault.New(fault.At(k, fault.Crash)), there)
				s.answered(there, path)
			})
		}
		for nth := 1; nth <= commits; nth++ {
			for _, a := range []struct {
				name string
				at   fault.Phase
				do   fault.Action
			}{{"not applied", fault.Before, fault.Fail(errGateway)}, {"answer lost", fault.After, fault.Fail(errGateway)}, {"late", fault.Before, fault.Late(errGateway)}} {
				t.Run(fmt.Sprintf("there %v, commit %d, %s", there, nth, a.name), func(t *testing.T) {
					s, path := diesBeforeItsRejects(t)
					plan := fault.New(fault.On(fault.OpCommit, a.at, nth, a.do))
					_ = s.answers(plan, there)
					_ = s.answers(fault.New(nil), there)
					_ = plan.Release()
					s.answered(there, path)
				})
			}
		}
	}
}
