package committer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
)

// rejected is a pair whose rejects table has one file, of which all that floe knows has been taken off the outbox.
func rejected(t *testing.T) (*pair, string) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	d := p.bad("a", rng(0, 0, 10))
	p.want(r.submit("w", 1, d), Landed)
	r.emptied()
	r.end()
	return p, d.Rejects.Files[0].FilePath()
}

// replay is a replay of one file of rejects: its row goes to the main table.
func (p *pair) replay(path string) *descriptor.Descriptor {
	p.t.Helper()
	d := p.bad("a")
	p.nr++
	d.Files, d.Rows, d.Bytes = append(d.Files, p.write(p.dir, "a-0_9_10", 1)), 1, 4
	d.Rejects.Files[0] = p.write(p.rej.dir, "a-replayed", 1)
	d.Rejects.Rows, d.Rejects.Replaces = 1, []string{path}
	return d
}

// replayed checks that the row is in the main table once, and that the rejects table has the file that says so alone.
func (p *pair) replayed(d *descriptor.Descriptor) {
	p.t.Helper()
	p.once("a", 0, 10)
	if got, want := p.rej.paths(), rejectPaths(d); len(got) != 1 || got[0] != want[0] {
		p.t.Errorf("the rejects table has %v, want %v", got, want)
	}
}

func TestAReplayTakesThePlaceOfItsRejects(t *testing.T) {
	p, path := rejected(t)
	d, id := p.replay(path), uuid.New()
	o, err := p.loaded().Replay(t.Context(), id, d)
	if err != nil || o.Verdict != Landed || o.SnapshotID == 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := p.table().CurrentSnapshot().Summary.Properties[keyCommitID]; got != id.String() {
		t.Errorf("commit id %s, want %s", got, id)
	}
	p.replayed(d)
	if op := p.rej.table().CurrentSnapshot().Summary.Operation; op != table.OpOverwrite {
		t.Errorf("operation %s", op)
	}
	pos, err := p.loaded().Load(t.Context())
	p.must(err)
	if g := pos.At[part(0)]; g.Next != 10 || g.Rows != 9 || g.Rejects != 1 {
		t.Errorf("progress %+v", g)
	}
}

// Two people replay the same rejects at the same time, whichever way their steps fall.
func TestOfTwoReplaysOfAFileOneIsCommitted(t *testing.T) {
	t.Run("the first is finished", func(t *testing.T) {
		p, path := rejected(t)
		d := p.replay(path)
		o, err := p.loaded().Replay(t.Context(), uuid.New(), d)
		p.must(err)
		late, err := p.loaded().Replay(t.Context(), uuid.New(), p.replay(path))
		p.must(err)
		if o.Verdict != Landed || late.Verdict != Reread {
			t.Errorf("%+v, %+v", o, late)
		}
		p.replayed(d)
	})
	t.Run("the first is in the outbox", func(t *testing.T) {
		p, path := rejected(t)
		one, two := p.loaded(), p.loaded()
		d := p.replay(path)
		p.rej.lost(1, false)
		o, err := one.Replay(t.Context(), uuid.New(), d)
		if o.Verdict != Landed || !errors.Is(err, errGateway) {
			t.Fatalf("%+v, %v", o, err)
		}
		late, err := two.Replay(t.Context(), uuid.New(), p.replay(path))
		p.must(err)
		if late.Verdict != Reread {
			t.Errorf("%+v", late)
		}
		p.must(p.committer(p.with(Config{}), nil).finishes())
		p.replayed(d)
	})
	for _, finished := range []bool{true, false} {
		t.Run(fmt.Sprintf("the first lands between the look and the request, finished %v", finished), func(t *testing.T) {
			p, path := rejected(t)
			one, two := p.loaded(), p.loaded()
			d := p.replay(path)
			p.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
				p.cat.hook(nil)
				if !finished {
					p.rej.lost(1, false)
				}
				o, err := one.Replay(t.Context(), uuid.New(), d)
				if o.Verdict != Landed || finished != (err == nil) {
					t.Errorf("%+v, %v", o, err)
				}
				return apply()
			})
			late, err := two.Replay(t.Context(), uuid.New(), p.replay(path))
			p.must(err)
			if late.Verdict != Reread {
				t.Errorf("%+v", late)
			}
			p.must(p.committer(p.with(Config{}), nil).finishes())
			p.replayed(d)
		})
	}
}

// The request of a replay is applied and its answer lost: it is found, and not made again.
func TestAReplayWhoseAnswerWasLostIsFound(t *testing.T) {
	for _, applied := range []bool{true, false} {
		p, path := rejected(t)
		d := p.replay(path)
		p.lost(1, applied)
		o, err := p.loaded().Replay(t.Context(), uuid.New(), d)
		if err != nil || o.Verdict != Landed {
			t.Fatalf("%+v, %v", o, err)
		}
		p.replayed(d)
	}
}

// Another engine rewrites the file between the commit and its finish. Neither is the replay appended, nor another one taken:
// the row would be in the main table twice.
func TestAReplayWhoseFileWasRewrittenMeanwhileWaits(t *testing.T) {
	p, path := rejected(t)
	before := p.rej.table().CurrentSnapshot().SnapshotID
	d := p.replay(path)
	p.rej.lost(1, false)
	o, err := p.loaded().Replay(t.Context(), uuid.New(), d)
	if o.Verdict != Landed || err == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	p.nr++
	compacted := p.write(p.rej.dir, "compacted", 1)
	p.rej.update(func(tx *table.Transaction) error {
		live, err := p.loaded().live(context.Background(), p.rej.table(), []string{path})
		p.must(err)
		return tx.ReplaceDataFilesWithDataFiles(context.Background(), []iceberg.DataFile{live[path]}, []iceberg.DataFile{compacted}, nil, table.WithoutAutoNameMapping())
	})
	if err := p.committer(p.with(Config{}), nil).finishes(); err == nil || !strings.Contains(err.Error(), "rewritten") {
		t.Errorf("got %v", err)
	}
	main := p.commits()
	again, err := p.loaded().Replay(t.Context(), uuid.New(), p.replay(compacted.FilePath()))
	if err != nil || again.Verdict != Reread || !strings.Contains(fmt.Sprint(again.Err), "rewritten") || p.commits() != main {
		t.Errorf("%+v, %v", again, err)
	}
	p.rej.rollback(before)
	p.must(p.committer(p.with(Config{}), nil).finishes())
	p.replayed(d)
}

// Files of an abandoned batch's rejects go with its data files, and by the same proof; those that an outbox names, or the
// rejects table has, stay.
func TestRejectsOfAnAbandonedBatchAreDeletedByProof(t *testing.T) {
	there := func(d *descriptor.Descriptor) bool {
		_, err := os.Stat(d.Rejects.Files[0].FilePath())
		return err == nil
	}
	for _, c := range []struct {
		name string
		make func(p *pair, log *memLog) (d *descriptor.Descriptor)
		want bool
	}{
		{"never committed", func(p *pair, log *memLog) *descriptor.Descriptor {
			d := p.bad("a", rng(0, 0, 10))
			p.oldEntry(log, d)
			p.life(nil).commitAll(p.batch("a", rng(0, 0, 10)))
			return d
		}, false},
		{"committed under another id, and in the outbox", func(p *pair, log *memLog) *descriptor.Descriptor {
			d := p.bad("a", rng(0, 0, 1))
			p.oldEntry(log, d)
			r := p.committer(p.with(Config{}), nil)
			_, err := r.Load(p.t.Context())
			p.must(err)
			p.seedShelf(r)
			p.rej.away(errAway)
			r.run()
			p.want(r.submit("w", 1, d), Landed)
			r.end()
			p.rej.away(nil)
			return d
		}, true},
		{"committed under another id, and appended", func(p *pair, log *memLog) *descriptor.Descriptor {
			d := p.bad("a", rng(0, 0, 1))
			p.oldEntry(log, d)
			r := p.committer(p.with(Config{}), nil)
			_, err := r.Load(p.t.Context())
			p.must(err)
			r.run()
			p.want(r.submit("w", 1, d), Landed)
			r.emptied()
			p.want(r.submit("w", 1, p.batch("a", rng(0, 1, 12))), Landed)
			r.end()
			return d
		}, true},
		{"not passed", func(p *pair, log *memLog) *descriptor.Descriptor {
			d := p.bad("a", rng(0, 5, 10))
			p.oldEntry(log, d)
			return d
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, log := newPair(t, nil), newLog()
			p.life(log) // first positions
			d := c.make(p, log)
			r := p.committer(p.with(Config{Grace: time.Hour}), log)
			_, err := r.Load(t.Context())
			p.must(err)
			p.must(r.Settle(t.Context(), nil))
			if got := there(d); got != c.want {
				t.Errorf("the file is there: %v, want %v", got, c.want)
			}
		})
	}
}

// An entry with rejects that died before its commit is adopted, rejects and all.
func TestAnEntryWithRejectsIsAdopted(t *testing.T) {
	for _, lost := range []bool{false, true} {
		p, log := newPair(t, nil), newLog()
		p.life(log)
		d := p.bad("a", rng(0, 0, 10))
		p.oldEntry(log, d)
		if lost {
			p.must(os.Remove(d.Rejects.Files[0].FilePath()))
		}
		r := p.committer(p.with(Config{}), log)
		_, err := r.Load(t.Context())
		p.must(err)
		p.must(r.Settle(t.Context(), nil))
		pos, err := r.Load(t.Context())
		p.must(err)
		if want := map[bool]int64{false: 10, true: 0}[lost]; int64(pos.At[part(0)].Next) != want {
			t.Errorf("positions %+v", pos.At)
		}
		p.must(r.finish(t.Context()))
		p.settledRejects("a", 0, int(pos.At[part(0)].Next), true)
	}
}
