package explorer

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

const (
	keyPositions = "storm.iceberg.positions.main"
	keyCommitID  = "storm.iceberg.commit-id"
	keyTopology  = "storm.iceberg.topology"
	keyPicked    = "source-snapshot-id"
)

// foreign is an event of somebody else at the table. The catalog stands still meanwhile.
func (x *explorer) foreign(e Event) bool {
	if e.Op == Answer {
		return x.answer()
	}
	if e.Op == Orphans {
		return x.orphans()
	}
	if (e.Op == Rollback || e.Op == Forward) && x.heldUp(grace/2) {
		return false // a request is not on its way for so long; setting the branch back to its base is beyond what can be promised
	}
	inFlight := x.heldUp(0) || x.sending() > 1 // two may send one commit: the one who wrote it, and the one who adopts it
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.w.Catalog.Metadata()
	x.mu.inFlight = x.mu.inFlight || inFlight && (e.Op == Rollback || e.Op == Forward)
	switch e.Op {
	case Replace:
		return x.replaceLocked(m)
	case Rollback:
		return x.rollbackLocked(m, e.N)
	case Forward:
		return x.forwardLocked(m, e.N)
	case Expire:
		return x.expireLocked(m, e.N)
	case CherryPick:
		return x.pickLocked(m)
	case AddColumn, DropColumn:
		return x.columnLocked(m, e.Op == AddColumn)
	case Respec:
		return x.respecLocked(m, e.N%2 == 0)
	case LoseProperty, OldProperty:
		return x.propertyLocked(m, e)
	case WipeWAL:
		return x.w.RemoveWAL() == nil
	case Recreate:
		return x.recreateLocked(m)
	}
	return false
}

// changeLocked makes somebody else's commit.
func (x *explorer) changeLocked(what string, updates ...table.Update) bool {
	if err := x.w.Catalog.Apply(updates...); err != nil {
		x.findLocked("setup", "%s: %v", what, err)
		return false
	}
	x.auditLocked(what)
	return true
}

func setHead(id int64) table.Update {
	return table.NewSetSnapshotRefUpdate(table.MainBranch, id, table.BranchRef, -1, -1, -1)
}

func (x *explorer) replaceLocked(m table.Metadata) bool {
	head := m.CurrentSnapshot()
	if head == nil {
		return false
	}
	next := successor(m)
	next.ManifestList, next.Summary = head.ManifestList, &table.Summary{Operation: table.OpReplace}
	return x.changeLocked("replace", table.NewAddSnapshotUpdate(next), setHead(next.SnapshotID))
}

// successor is a snapshot on the head, without content.
func successor(m table.Metadata) *table.Snapshot {
	s := &table.Snapshot{SnapshotID: rand.Int64(), SequenceNumber: m.LastSequenceNumber() + 1,
		TimestampMs: max(time.Now().UnixMilli(), m.LastUpdatedMillis())}
	if head := m.CurrentSnapshot(); head != nil {
		s.ParentSnapshotID = &head.SnapshotID
	}
	id := m.CurrentSchema().ID
	s.SchemaID = &id
	return s
}

// foreignRoot makes an empty snapshot that is not floe's.
func (x *explorer) foreignRoot() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.w.Catalog.Metadata()
	next := successor(m)
	next.Summary = &table.Summary{Operation: table.OpAppend}
	if err := x.listLocked(m, next, nil); err != nil {
		return err
	}
	x.changeLocked("somebody's first snapshot", table.NewAddSnapshotUpdate(next), setHead(next.SnapshotID))
	return nil
}

// listLocked writes a snapshot's manifest list.
func (x *explorer) listLocked(m table.Metadata, s *table.Snapshot, manifests []iceberg.ManifestFile) error {
	var b bytes.Buffer
	if err := iceberg.WriteManifestList(2, &b, s.SnapshotID, s.ParentSnapshotID, &s.SequenceNumber, 0, manifests); err != nil {
		return err
	}
	s.ManifestList = m.Location() + "/metadata/snap-" + strconv.FormatInt(s.SnapshotID, 10) + "-foreign.avro"
	return x.w.Files.WriteFile(s.ManifestList, b.Bytes())
}

// line is the head and its ancestors, as far as they are retained.
func line(m table.Metadata) (out []*table.Snapshot) {
	for s := m.CurrentSnapshot(); s != nil; {
		out = append(out, s)
		if s.ParentSnapshotID == nil {
			break
		}
		s = m.SnapshotByID(*s.ParentSnapshotID)
	}
	return out
}

// off are the retained snapshots that are not on the branch, newest first.
func off(m table.Metadata) (out []table.Snapshot) {
	on := map[int64]bool{}
	for _, s := range line(m) {
		on[s.SnapshotID] = true
	}
	for _, s := range m.Snapshots() {
		if !on[s.SnapshotID] {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b table.Snapshot) int { return int(b.SequenceNumber - a.SequenceNumber) })
	return out
}

func (x *explorer) rollbackLocked(m table.Metadata, n int) bool {
	on := line(m)
	if len(on) < 2 {
		return false
	}
	return x.setLocked("rollback", on[min(n, len(on)-1)].SnapshotID)
}

func (x *explorer) forwardLocked(m table.Metadata, n int) bool {
	left := off(m)
	if n >= len(left) {
		return false
	}
	return x.setLocked("roll forward", left[n].SnapshotID)
}

// setLocked sets the branch to a snapshot that it has been at before.
func (x *explorer) setLocked(what string, id int64) bool {
	for _, topo := range x.topologies() {
		if len(x.mu.heads[id].at[topo]) == 0 && len(x.mu.held[topo]) > 0 || !x.mu.heads[id].told[topo] {
			x.mu.asks[topo] = true
		}
	}
	return x.changeLocked(what, setHead(id))
}

func (x *explorer) expireLocked(m table.Metadata, keep int) bool {
	kept := map[int64]bool{}
	for i, s := range line(m) {
		if i <= keep {
			kept[s.SnapshotID] = true
		}
	}
	var ids []int64
	for _, s := range m.Snapshots() {
		if !kept[s.SnapshotID] {
			ids = append(ids, s.SnapshotID)
		}
	}
	if len(ids) == 0 {
		return false
	}
	files := x.strayLocked(m, ids)
	x.mu.expired = true
	if !x.changeLocked("expire", table.NewRemoveSnapshotsUpdate(ids, false)) {
		return false
	}
	for _, f := range files {
		_ = x.w.Files.Remove(f) // it may name one file twice
		delete(x.mu.files, f)
	}
	clear(x.mu.manifests)
	x.auditLocked(strconv.Itoa(len(files)) + " files deleted")
	return true
}

// strayLocked are the files that Java's incremental clean-up deletes with snapshots: those that a snapshot off the branch added,
// whoever else has come to use them, unless it was cherry-picked. Where a request was under way when the branch was set
// back, no file is taken: it may have landed twice.
func (x *explorer) strayLocked(m table.Metadata, ids []int64) (out []string) {
	safe := map[int64]bool{}
	for _, s := range line(m) {
		safe[s.SnapshotID] = true
		if id, err := strconv.ParseInt(s.Summary.Properties[keyPicked], 10, 64); err == nil {
			safe[id] = true
		}
	}
	for _, id := range ids {
		if safe[id] || x.mu.inFlight {
			continue
		}
		s := m.SnapshotByID(id)
		manifests, err := s.Manifests(x.w.Files)
		if err != nil {
			x.findLocked("dangling", "%v", err)
		}
		for _, f := range manifests {
			if f.SnapshotID() != id {
				continue
			}
			for e, err := range f.Entries(x.w.Files, true) {
				if err == nil && e.SnapshotID() == id { // a merged manifest also names files of earlier snapshots
					out = append(out, e.DataFile().FilePath())
				}
			}
		}
	}
	return out
}

// pickLocked cherry-picks the newest snapshot off the branch whose rows are not there: the branch stands where its parent
// stood.
func (x *explorer) pickLocked(m table.Metadata) bool {
	now := m.CurrentSnapshot()
	for _, s := range off(m) {
		if s.ParentSnapshotID == nil || s.Summary == nil || s.Summary.Properties[keyCommitID] == "" {
			continue
		}
		topo, picked, at := s.Summary.Properties[keyTopology], x.mu.heads[s.SnapshotID], x.mu.heads[now.SnapshotID]
		base := x.mu.heads[*s.ParentSnapshotID]
		if base == nil || !maps.Equal(base.at[topo], at.at[topo]) || len(base.at[topo]) == 0 || maps.Equal(base.at[topo], picked.at[topo]) {
			continue
		}
		next := successor(m)
		next.Summary = &table.Summary{Operation: table.OpAppend,
			Properties: iceberg.Properties{keyPicked: strconv.FormatInt(s.SnapshotID, 10)}}
		manifests, err := x.pickedLocked(now, &s)
		if err == nil && manifests == nil {
			continue // merged with those of earlier snapshots: not to be had alone
		}
		if err == nil {
			err = x.listLocked(m, next, manifests)
		}
		if err != nil {
			x.findLocked("setup", "cherry-pick: %v", err)
			return false
		}
		h := &head{parent: &now.SnapshotID, at: maps.Clone(at.at), told: maps.Clone(at.told)}
		h.at[topo], h.told[topo] = maps.Clone(picked.at[topo]), false
		x.mu.heads[next.SnapshotID], x.mu.asks[topo] = h, true
		return x.changeLocked("cherry-pick of "+short(&s.SnapshotID), table.NewAddSnapshotUpdate(next), setHead(next.SnapshotID))
	}
	return false
}

// pickedLocked are the manifests of the head and those that s added, nil where one of these has more than s added.
func (x *explorer) pickedLocked(head, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	manifests, err := head.Manifests(x.w.Files)
	if err != nil {
		return nil, err
	}
	theirs, err := s.Manifests(x.w.Files)
	for _, f := range theirs {
		if f.SnapshotID() == s.SnapshotID {
			if f.ExistingDataFiles() > 0 {
				return nil, nil
			}
			manifests = append(manifests, f)
		}
	}
	return manifests, err
}

// columns are those that every row needs.
const columns = 4

func (x *explorer) columnLocked(m table.Metadata, add bool) bool {
	fields := slices.Clone(m.CurrentSchema().Fields())
	switch {
	case add:
		n := m.LastColumnID() + 1
		fields = append(fields, iceberg.NestedField{ID: n, Name: "extra" + strconv.Itoa(n), Type: iceberg.PrimitiveTypes.Int64})
	case len(fields) <= columns:
		return false
	default:
		fields = fields[:len(fields)-1]
	}
	id := 0
	for _, s := range m.Schemas() {
		id = max(id, s.ID+1)
	}
	return x.changeLocked("schema", table.NewAddSchemaUpdate(iceberg.NewSchema(id, fields...)), table.NewSetCurrentSchemaUpdate(-1))
}

func (x *explorer) respecLocked(m table.Metadata, byRegion bool) bool {
	spec := iceberg.NewPartitionSpecID(len(m.PartitionSpecs()) + 10)
	if byRegion {
		f, _ := m.CurrentSchema().FindFieldByName("region")
		spec = iceberg.NewPartitionSpecID(spec.ID(), iceberg.PartitionField{SourceIDs: []int{f.ID}, FieldID: 2000 + spec.ID(),
			Name: "region_" + strconv.Itoa(spec.ID()), Transform: iceberg.IdentityTransform{}})
	}
	return x.changeLocked("spec", table.NewAddPartitionSpecUpdate(&spec, false), table.NewSetDefaultSpecUpdate(-1))
}

func (x *explorer) propertyLocked(m table.Metadata, e Event) bool {
	n := len(x.mu.properties) - 1 - e.N
	if m.Properties()[keyPositions] == "" || e.Op == OldProperty && n < 0 {
		return false
	}
	x.mu.tampered = true
	if e.Op == LoseProperty {
		return x.changeLocked("property lost", table.NewRemovePropertiesUpdate([]string{keyPositions}))
	}
	return x.changeLocked("property put back", table.NewSetPropertiesUpdate(iceberg.Properties{keyPositions: x.mu.properties[n]}))
}

func (x *explorer) recreateLocked(m table.Metadata) bool {
	props := maps.Clone(m.Properties())
	delete(props, keyPositions)
	if err := x.w.Catalog.Recreate(); err != nil {
		x.findLocked("setup", "recreate: %v", err)
		return false
	}
	x.mu.recreated = true
	clear(x.mu.asks)
	clear(x.mu.heads)
	x.mu.properties = nil
	return x.changeLocked("recreate", table.NewSetPropertiesUpdate(props))
}
