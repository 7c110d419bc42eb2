package committer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/source"
)

// RejectsQuestion is what only a person can tell of the rejects that one commit of the main table passed: whether they are where
// they belong.
type RejectsQuestion struct {
	Commit uuid.UUID
	At     time.Time
	// Rows is how many rejects they are, in Files.
	Rows  int64
	Files []string
	// Other is the UUID of the table that they were written for, where that is not the rejects table; uuid.Nil where it is.
	Other uuid.UUID
	// Ranges are what the commit moved the positions by, where it passed rejects; none where its snapshot or the one before has
	// expired, or the source has no positions.
	Ranges []RejectsRange
	// Why is one of "expired", "set back" and "other table".
	Why string
}

// RejectsRange is a range that a commit passed, and how many rejects are in it.
type RejectsRange struct {
	source.Range
	Rejects int64
}

// MoveRejects writes the rows of a file of rejects, which was written for another table, anew as durable files of rejects table to. No
// table names those before the answer is committed; where it is not, they are for the orphan clean-up.
type MoveRejects func(ctx context.Context, to *table.Table, path string, bytes int64) ([]iceberg.DataFile, error)

// question is a RejectsQuestion about an entry of the outbox.
type question struct {
	boxed
	held  protocol.Holding
	other bool
}

// RejectsQuestions are what AnswerRejects answers. It is called after Load, in a committer that does not run, and appends what needs no
// answer.
func (c *Committer) RejectsQuestions(ctx context.Context) (out []RejectsQuestion, err error) {
	err = c.settleShelf(ctx, func(v *view, _ *shelf, asked []question) error {
		out = out[:0]
		for _, q := range asked {
			out = append(out, v.question(q, c.cfg.Topology))
		}
		return nil
	})
	return out, err
}

func (v *view) question(q question, topology string) RejectsQuestion {
	out := RejectsQuestion{Commit: q.Commit, At: time.UnixMilli(q.AtMs).UTC(), Rows: q.rows(), Why: "expired", Ranges: v.passedBy(q.Commit, topology)}
	for _, f := range q.Files {
		out.Files = append(out.Files, f.Path)
	}
	switch {
	case q.other:
		out.Other, out.Why = q.Table, "other table"
	case q.held == protocol.SetBack:
		out.Why = "set back"
	}
	return out
}

// passedBy compares the positions of a commit's snapshot with those of its parent.
func (v *view) passedBy(id uuid.UUID, topology string) (out []RejectsRange) {
	progress := func(s protocol.Snapshot) map[source.Partition]Progress {
		val, err := parseValue(s.Value)
		if err != nil {
			return nil
		}
		at, err := val.progress(topology)
		if err != nil {
			return nil
		}
		return at
	}
	for _, s := range v.hist.Snapshots {
		if s.CommitID != id.String() || s.Parent == nil {
			continue
		}
		before := progress(v.hist.Snapshots[*s.Parent])
		for p, after := range progress(s) {
			was, ok := before[p]
			if n := after.Rejects - was.Rejects; ok && n > 0 && was.Next < after.Next {
				out = append(out, RejectsRange{source.Range{Partition: p, From: was.Next, To: after.Next}, n})
			}
		}
	}
	slices.SortFunc(out, func(a, b RejectsRange) int {
		return cmp.Or(cmp.Compare(a.Partition.Topic, b.Partition.Topic), cmp.Compare(a.Partition.ID, b.Partition.ID))
	})
	return out
}

// AnswerRejects is a person's answer to all RejectsQuestions: the rejects are there, in the rejects table or wherever the person has
// put them or wants to do without them, and nothing is appended; or they are missing and are appended. Those that were written
// for another table are then copied with move; nil refuses that. What can be told is not asked about. It is called after Load,
// in a committer that does not run. After an error it may be called again.
func (c *Committer) AnswerRejects(ctx context.Context, there bool, move MoveRejects) error {
	others := false
	err := c.settleShelf(ctx, func(v *view, s *shelf, asked []question) error {
		for len(asked) > 0 {
			group := together(asked)
			if err := c.answerOne(ctx, v, s, group, there, move); err != nil {
				return err
			}
			if asked = asked[len(group):]; len(asked) == 0 {
				break
			}
			var err error
			if s, asked, err = c.asked(ctx, v); err != nil {
				return err
			}
		}
		// Also where an answer was written down before, and what follows it was not.
		others = slices.ContainsFunc(v.outbox, func(b boxed) bool { return b.Table != s.tbl.Metadata().TableUUID() })
		return nil
	})
	if err != nil || !others {
		return err
	}
	return c.takeOff(ctx)
}

// settleShelf appends what needs no answer and calls then with what does, anew where the rejects table moved on meanwhile.
func (c *Committer) settleShelf(ctx context.Context, then func(*view, *shelf, []question) error) error {
	if c.cfg.Rejects == nil || c.Table() == nil {
		return errors.New("committer: questions about rejects need a rejects table, and Load before")
	}
	letGo, err := c.holdShelf(ctx)
	if err != nil {
		return err
	}
	defer letGo()
	v, err := c.viewOf(ctx, c.Table())
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		// What can be told first: once an answer is written down, the table knows no more of what is not listed.
		err := c.empty(ctx, v)
		var other otherShelfError
		if err == nil || errors.Is(err, errUnclearShelf) || errors.As(err, &other) {
			var s *shelf
			var asked []question
			if s, asked, err = c.asked(ctx, v); err == nil {
				err = then(v, s, asked)
			}
		}
		if !errors.Is(err, errNotAppended) || n == maxRefusals || ctx.Err() != nil {
			return err
		}
	}
}

// asked gives what a person must tell of, on a rejects table that is looked at anew: those for other tables first, then replays.
func (c *Committer) asked(ctx context.Context, v *view) (*shelf, []question, error) {
	s, err := c.lookShelf(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out []question
	for _, b := range c.keptOutbox(v) {
		held, err := c.holds(ctx, s, v.uuid, b)
		if err != nil {
			return nil, nil, err
		}
		q := question{b, held, b.Table != s.tbl.Metadata().TableUUID()}
		switch {
		case held == protocol.There:
			c.sawThere(b)
		case held != protocol.NotThere || q.other:
			out = append(out, q)
		}
		s.lost = s.lost || held == protocol.Unclear
	}
	slices.SortStableFunc(out, func(a, b question) int { return a.rank() - b.rank() })
	return s, out, nil
}

func (q question) rank() int {
	switch {
	case q.other:
		return 0
	case len(q.Replaces) > 0:
		return 1
	}
	return 2
}

// together are those of asked, from the first, that one snapshot answers: a replay of this table takes the place of files.
func together(asked []question) []question {
	n := 1
	for n < len(asked) && asked[0].rank() != 1 && asked[n].rank() == asked[0].rank() {
		n++
	}
	return asked[:n]
}

// answerOne writes the answer for a group down, in one snapshot, pinned to the head that was asked about.
func (c *Committer) answerOne(ctx context.Context, v *view, s *shelf, group []question, there bool, move MoveRejects) error {
	entries := make([]boxed, len(group))
	for i, q := range group {
		entries[i] = q.boxed
	}
	since := int64(0)
	if s.lost {
		since = v.hist.Last + 1 // of all commits until now those alone are known that are listed
	}
	var files []iceberg.DataFile
	var err error
	switch {
	case there:
	case group[0].other:
		if entries, files, err = c.rehomed(ctx, s.tbl, entries, move); err != nil {
			return err
		}
	default:
		if files, err = c.shelved(ctx, s.tbl, entries); err != nil {
			return err
		}
	}
	return c.commitShelf(ctx, v, s, entries, files, since)
}

// rehomed copies the files of entries that were written for another table. What a replay among them has replaced there is left out; and
// as the files that it replaced are not in this table, it takes no file's place here.
func (c *Committer) rehomed(ctx context.Context, tbl *table.Table, entries []boxed, move MoveRejects) ([]boxed, []iceberg.DataFile, error) {
	if move == nil {
		return nil, nil, errors.New("committer: rejects that were written for another table can't be copied: there is no MoveRejects")
	}
	name := strings.Join(tbl.Identifier(), ".")
	replaced := map[string]bool{}
	for _, b := range entries {
		for _, path := range b.Replaces {
			replaced[path] = true
		}
	}
	out := make([]boxed, len(entries))
	var files []iceberg.DataFile
	for i, b := range entries {
		b.Files, b.Replaces = nil, nil
		for _, f := range entries[i].Files {
			if replaced[f.Path] {
				continue
			}
			moved, err := move(ctx, tbl, f.Path, f.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("copy the rejects of commit %s to table %s: %w", b.Commit, name, err)
			}
			files = append(files, moved...)
			for _, m := range moved {
				b.Files = append(b.Files, boxedFile{m.FilePath(), m.Count(), m.FileSizeBytes(), int(m.SpecID())})
				f.Rows -= m.Count()
				if spec := tbl.Metadata().PartitionSpecByID(int(m.SpecID())); spec == nil || !spec.IsUnpartitioned() {
					return nil, nil, fmt.Errorf("rejects table %s has no spec %d without partitions", name, m.SpecID())
				}
			}
			if f.Rows != 0 {
				return nil, nil, fmt.Errorf("copy the rejects of commit %s to table %s: file %s has not as many rows as the commit says", b.Commit, name, f.Path)
			}
		}
		out[i] = b
	}
	return out, files, nil
}

// takeOff commits an outbox without what was seen in the rejects table, so that the table which it was written for, should it be
// configured again, is not given it too.
func (c *Committer) takeOff(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	v, err := c.look(ctx)
	if err != nil || v.at == nil || v.stop != nil || len(c.keptOutbox(v)) == len(v.outbox) {
		return err // without positions the next commit does it
	}
	_, err = c.moveHeld(ctx, func(v *view) (map[source.Partition]Progress, error) {
		if v.stop != nil {
			return nil, v.stop
		}
		return progressOf(v), nil
	}, true)
	return err
}
