package committer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

// Keys of the snapshot summary, and the prefix of the table property that the branch's name completes.
const (
	keyCommitID     = "storm.iceberg.commit-id"
	keyTopology     = "storm.iceberg.topology"
	keyInstance     = "storm.iceberg.instance"
	keyValidThrough = "storm.iceberg.valid-through-ms"
	keyPositions    = "storm.iceberg.positions"
	propertyPrefix  = "storm.iceberg.positions."
	// keyPickedFrom is set by an engine that cherry-picks a snapshot.
	keyPickedFrom = "source-snapshot-id"
)

// view is the table as one load showed it, and where the topology stands in it. It does not change.
type view struct {
	tbl   *table.Table
	uuid  uuid.UUID
	hist  *protocol.History
	found protocol.Found
	// value is the newest positions value on the branch, never nil; at is this topology's part of it.
	value *value
	at    map[source.Partition]Progress
	// outbox is the topology's, also where its positions are unclear.
	outbox []boxed
	// stop is set where a person must decide.
	stop *StopError
}

// look loads the table and finds the positions. An error is trouble that may pass, or a *StopError for what no commit can
// be made on: another table, a format or a value that this version does not understand.
func (c *Committer) look(ctx context.Context) (*view, error) {
	lctx, cancel := context.WithTimeout(ctx, c.cfg.AttemptTimeout)
	tbl, err := c.loader.Load(lctx)
	cancel()
	if err != nil {
		return nil, err // the loader says which table, and that it was loaded
	}
	return c.viewOf(ctx, tbl)
}

// viewOf reads the positions in tbl.
func (c *Committer) viewOf(ctx context.Context, tbl *table.Table) (*view, error) {
	m := tbl.Metadata()
	if err := c.sameTable(tbl); err != nil {
		return nil, err
	}
	v := &view{tbl: tbl, uuid: m.TableUUID(), value: newValue()}
	values := map[string]*value{}
	var bad error
	parse := func(s string) *value {
		if p, ok := values[s]; ok {
			return p
		}
		p, err := parseValue(s)
		if err != nil {
			bad, p = err, newValue()
		}
		values[s] = p
		return p
	}
	var err error
	if v.hist, err = c.history(m, parse); err != nil {
		return nil, err
	}
	v.hist.Topologies = func(s string) (known, doubted []string) { return parse(s).list() }
	if v.found, err = c.find(ctx, tbl, v.hist); err != nil {
		return nil, err
	}
	v.value = parse(v.found.Value)
	if bad == nil {
		v.at, bad = v.value.progress(c.cfg.Topology)
	}
	if bad == nil {
		v.outbox, bad = v.value.outbox(c.cfg.Topology)
	}
	if bad != nil {
		return nil, c.badValue(tbl, bad)
	}
	if v.found.Place == protocol.Stop {
		v.stop = c.ask(tbl, v.found)
	}
	return v, nil
}

// sameTable refuses what nothing may be committed to.
func (c *Committer) sameTable(tbl *table.Table) error {
	m, name := tbl.Metadata(), strings.Join(tbl.Identifier(), ".")
	if m.Version() < 2 {
		return &StopError{
			Reason: fmt.Sprintf("table %s has format version %d", name, m.Version()),
			Hint:   "floe writes format version 2 and 3; upgrade the table (set its property format-version to 2)",
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.table == nil {
		return nil
	}
	if was := c.mu.table.Metadata().TableUUID(); was != m.TableUUID() {
		return &StopError{
			Reason: fmt.Sprintf("table %s is another one now: its UUID was %s and is %s; it was dropped and made again", name, was, m.TableUUID()),
			Hint:   "nothing was committed to the new table; start the topology again if it is the right one (`floe positions show` tells where it would start)",
		}
	}
	return nil
}

// history takes from the metadata what the protocol wants to know.
func (c *Committer) history(m table.Metadata, parse func(string) *value) (*protocol.History, error) {
	snapshots := snapshotsOf(m, keyPositions)
	h := &protocol.History{
		Snapshots: make(map[int64]protocol.Snapshot, len(snapshots)), NoProperty: c.cfg.NoProperty, Last: m.LastSequenceNumber(),
	}
	for _, s := range snapshots {
		h.Snapshots[s.ID] = s
	}
	for name, ref := range m.Refs() {
		if name == c.cfg.Branch {
			if ref.SnapshotRefType != table.BranchRef {
				return nil, &StopError{
					Reason: fmt.Sprintf("%q is a %s, not a branch", name, ref.SnapshotRefType),
					Hint:   "name another branch, or none for main",
				}
			}
			id := ref.SnapshotID
			h.Head = &id
		}
	}
	if h.Head == nil && c.cfg.Branch != table.MainBranch {
		// The first commit makes the branch, from where main is.
		if s := m.CurrentSnapshot(); s != nil {
			h.Head = &s.SnapshotID
		}
	}
	for k, v := range m.Properties() {
		branch, ok := strings.CutPrefix(k, propertyPrefix)
		if !ok || v == "" {
			continue
		}
		p := protocol.Property{Value: v, Snapshot: parse(v).snapshot}
		if branch == c.cfg.Branch {
			h.Own = &p
		} else {
			h.Others = append(h.Others, p)
		}
	}
	for range m.PreviousFiles() {
		h.LogLength++
	}
	return h, nil
}

// snapshotsOf is what m knows of snapshots. key is where a summary has the value that counts.
func snapshotsOf(m table.Metadata, key string) []protocol.Snapshot {
	all := tableio.Snapshots(m)
	out := make([]protocol.Snapshot, 0, len(all))
	for i := range all {
		s := &all[i]
		x := protocol.Snapshot{ID: s.SnapshotID, Parent: s.ParentSnapshotID, Sequence: s.SequenceNumber, Retained: true}
		if s.Summary != nil {
			p := s.Summary.Properties
			x.CommitID, x.Topology, x.Instance = p[keyCommitID], p[keyTopology], p[keyInstance]
			x.Value = p[key]
			if id, err := strconv.ParseInt(p[keyPickedFrom], 10, 64); err == nil {
				x.PickedFrom = &id
			}
		}
		out = append(out, x)
	}
	return out
}

// find asks the protocol, and reads earlier metadata files as far back as it wants.
func (c *Committer) find(ctx context.Context, tbl *table.Table, h *protocol.History) (protocol.Found, error) {
	var log []string
	for e := range tbl.Metadata().PreviousFiles() {
		log = append(log, e.MetadataFile)
	}
	return protocol.Search(h, c.cfg.Topology, func() ([]protocol.Snapshot, bool, error) {
		if len(log) == 0 {
			return nil, false, nil
		}
		path := log[len(log)-1]
		log = log[:len(log)-1]
		if err := ctx.Err(); err != nil {
			return nil, true, err
		}
		m, err := c.olderMetadata(ctx, tbl, path)
		if err != nil || m == nil || m.TableUUID() != tbl.Metadata().TableUUID() {
			return nil, true, err
		}
		return snapshotsOf(m, keyPositions), true, nil
	})
}

// olderMetadata reads an earlier metadata file, nil where it is gone.
func (c *Committer) olderMetadata(ctx context.Context, tbl *table.Table, path string) (table.Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.AttemptTimeout)
	defer cancel()
	old, err := table.NewFromLocation(ctx, tbl.Identifier(), path, tbl.FS, nil)
	if err == nil {
		return old.Metadata(), nil
	}
	if fio, ferr := tbl.FS(ctx); ferr == nil {
		if _, exists, serr := tableio.Stat(fio, path); serr == nil && !exists {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("read earlier metadata %s: %w", path, err)
}

// badValue: a value that can't be read is never taken for none, or everything would be read again.
func (c *Committer) badValue(tbl *table.Table, err error) error {
	name := strings.Join(tbl.Identifier(), ".")
	if errors.Is(err, errVersion) {
		return &StopError{
			Reason: fmt.Sprintf("table %s: %s", name, err),
			Hint:   "a newer floe has written to this table: use that version here too",
		}
	}
	return &StopError{
		Reason: fmt.Sprintf("table %s: the positions it holds can't be read: %s", name, err),
		Hint:   "somebody changed them; set the table back to the snapshot before, then check with `floe positions show` and, if need be, `floe positions set`",
	}
}

// ask words the question to a person.
func (c *Committer) ask(tbl *table.Table, f protocol.Found) *StopError {
	what := fmt.Sprintf("table %s, branch %s, topology %q: ", strings.Join(tbl.Identifier(), "."), c.cfg.Branch, c.cfg.Topology)
	switch f.Why {
	case protocol.RolledBack:
		what += "the branch was set back to before the topology's first commit, so it is not known where it stands"
	case protocol.CherryPicked:
		what += "a snapshot of the topology was cherry-picked onto the branch: its rows are there, without their positions"
	case protocol.Doubted:
		what += "its positions were unclear when another topology committed"
	default:
		what += fmt.Sprintf("snapshot %d has expired, and neither the table property nor the metadata log tells what it held", f.Need)
	}
	return &StopError{
		Reason: what,
		Hint:   "look at what the table holds (`floe positions show`) and say where to go on with `floe positions set`",
	}
}

// positions is what the view holds, as the contract gives it.
func (v *view) positions() Positions {
	p := Positions{Known: v.at != nil, SnapshotID: v.found.Snapshot, At: v.at}
	if p.At == nil {
		p.SnapshotID, p.At = 0, map[source.Partition]Progress{}
	}
	return p
}

// next gives the next positions alone, for the protocol.
func (v *view) next() protocol.Positions {
	out := make(protocol.Positions, len(v.at))
	for p, g := range v.at {
		out[p] = g.Next
	}
	return out
}
