// Package replay maps rejects once more: those that fit become rows, in the same commit that marks them as replayed.
//
// Each file of rejects is replayed by itself, in a commit of the main table that no position moves with. The rejects' file
// is written anew, with the commit's id in the rows that fit; the commit names the new file and the one whose place it takes
// (committer.Committer.Replay), so that a record is taken in once, wherever a replay dies, and also where two run at the same
// time.
//
// Only rejects whose commit is on the main table's branch are replayed: after a rollback the others are read again by
// themselves. What was judged by one head of the branch is committed on heads that descend from it alone:
//
//	a reject is seen as current
//	the branch is set back to before its commit, and the record is read again and becomes a row
//	the replay lands on top: its row would be there twice
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/mapper"
)

// Config of a replay.
type Config struct {
	Topology string
	// Branch is that of the main table. Default main.
	Branch string
	// Mapper maps the records as it would map new ones.
	Mapper mapper.Factory
	// Main and Rejects load the two tables.
	Main, Rejects committer.Loader
	// Committer makes a committer of Topology for the main table that main loads, and for Rejects.
	Committer func(main committer.Loader) (*committer.Committer, error)
}

// Result counts rejects.
type Result struct {
	// Replayed became rows. Filtered are left out by today's rules, Left still can't become rows: both stay as they are.
	Replayed, Filtered, Left int64
	// Commits are those of the main table that took them in.
	Commits []string
}

// Run replays every reject of the topology that waits. With an error, the result counts what landed before it; it may be
// called again.
func Run(ctx context.Context, cfg Config) (Result, error) {
	var res Result
	if cfg.Branch == "" {
		cfg.Branch = table.MainBranch
	}
	done := map[string]bool{}
	var files []string // those that one reading of the rejects showed; each is judged anew, by what its own look shows
	for lost := 0; ; {
		s, err := look(ctx, &cfg)
		if err == nil && len(files) == 0 {
			files, err = s.waiting(ctx, done)
		}
		if len(files) == 0 || err != nil {
			return res, err
		}
		file := files[0]
		files = files[1:]
		n, err := s.replay(ctx, file)
		switch {
		case errors.Is(err, errMoved) && ctx.Err() == nil && lost < maxLost:
			lost++
			files = nil
			continue
		case err != nil:
			return res, err
		}
		lost, done[file] = 0, true
		for _, f := range n.files {
			done[f] = true
		}
		res.Replayed, res.Filtered, res.Left = res.Replayed+n.rows, res.Filtered+n.filtered, res.Left+n.left
		if n.rows > 0 {
			res.Commits = append(res.Commits, n.commit)
		}
	}
}

// maxLost bounds how often in a row somebody else may come first.
const maxLost = 20

// errMoved says that the tables are not as they were when a file was chosen: look again.
var errMoved = errors.New("the tables have changed meanwhile")

// state is both tables as one look showed them, the rejects first: the commits that they name have then landed.
type state struct {
	cfg           *Config
	main, rejects *table.Table
	line          *rejects.Line
}

func look(ctx context.Context, cfg *Config) (*state, error) {
	rej, err := cfg.Rejects.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the rejects table: %w", err)
	}
	if err := rejects.Check(rej); err != nil {
		return nil, err
	}
	if extra := others(rej); extra != "" {
		return nil, fmt.Errorf("the table %s has a column %q, which a replay would lose: it writes the rejects anew; drop the column first",
			strings.Join(rej.Identifier(), "."), extra)
	}
	main, err := cfg.Main.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &state{cfg, main, rej, rejects.NewLine(main, cfg.Branch)}, nil
}

// others names a column that is none of floe's.
func others(tbl *table.Table) string {
	for _, f := range tbl.Schema().Fields() {
		known := false
		for _, c := range rejects.Columns() {
			known = known || c.Name == f.Name
		}
		if !known {
			return f.Name
		}
	}
	return ""
}

// waiting gives the files with rejects that wait, in order, none of done.
func (s *state) waiting(ctx context.Context, done map[string]bool) ([]string, error) {
	open := map[string]bool{}
	mixed := map[string]bool{}
	err := rejects.Read(ctx, s.rejects, rejects.ReadOptions{}, func(st *rejects.Stored) error {
		mixed[st.File] = mixed[st.File] || st.Topology != s.cfg.Topology
		open[st.File] = open[st.File] || s.line.Open(st)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var files []string
	for f, is := range open {
		if is && !mixed[f] && !done[f] {
			files = append(files, f)
		}
	}
	slices.Sort(files)
	return files, nil
}

// replay replays one file. errMoved: look again, nothing has happened.
func (s *state) replay(ctx context.Context, file string) (*counts, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	com, err := s.cfg.Committer(&guard{s.cfg.Main, s.cfg.Branch, s.main.SnapshotByName(s.cfg.Branch), cancel})
	if err != nil {
		return nil, err
	}
	if _, err := com.Load(ctx); err != nil {
		return nil, moved(ctx, err)
	}
	n, d, err := s.write(ctx, file, uuid.New())
	if err != nil || n.rows == 0 {
		return n, err
	}
	o, err := com.Replay(ctx, uuid.MustParse(n.commit), d)
	switch {
	case o.Verdict == committer.Landed:
		return n, err
	case err != nil:
		return nil, moved(ctx, err)
	case o.Verdict == committer.Reread && o.Err == nil:
		return nil, errMoved
	case o.Err != nil:
		return nil, o.Err
	}
	return nil, fmt.Errorf("the replay of %s was answered with %v", file, o.Verdict)
}

// moved gives the reason of a context that was cancelled by a guard.
func moved(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errMoved) {
		return errMoved
	}
	return err
}

// guard is the main table as long as its branch descends from the head that rejects were judged by.
type guard struct {
	committer.Loader
	branch string
	judged *table.Snapshot
	cancel context.CancelCauseFunc
}

// Load gives the table, or ends the replay.
func (g *guard) Load(ctx context.Context) (*table.Table, error) {
	tbl, err := g.Loader.Load(ctx)
	if err != nil || g.judged == nil {
		return tbl, err
	}
	for s := tbl.Metadata().SnapshotByName(g.branch); s != nil; s = tbl.SnapshotByID(*s.ParentSnapshotID) {
		if s.SnapshotID == g.judged.SnapshotID {
			return tbl, nil
		}
		if s.ParentSnapshotID == nil {
			break
		}
	}
	g.cancel(errMoved)
	return nil, errMoved
}
