package committer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/protocol"
)

// keyRejects is the key of what the rejects table holds, in a snapshot's summary and as a table property.
const keyRejects = "storm.iceberg.rejects"

const (
	// listedInProperty is how many commits of a topology the property lists: it is there once.
	listedInProperty = 256
	// listedInSummary is how many a snapshot's summary lists, beside those that the snapshot itself appended.
	listedInSummary = 16
)

// shelfValue is what the rejects table says that it holds, by the main table's UUID and the topology.
//
//	{"v":1,"tables":{"0d3e8f4c-…":{"orders":{"since":0,"ids":[[12,"5f0c…"],[15,"71aa…"]]}}}}
//
// An id stands with its sequence number in the main table; every commit from since on that is held is among them. In the
// table property "snapshot" names the snapshot whose commit wrote it. "lost" says that a person has answered for one topology where
// nothing could be told of any: of those that are not listed nobody knows.
type shelfValue struct {
	Version  int                                `json:"v"`
	Snapshot int64                              `json:"snapshot,omitempty"`
	Lost     bool                               `json:"lost,omitempty"`
	Tables   map[uuid.UUID]map[string]shelfPart `json:"tables"`
}

type shelfPart struct {
	Since int64      `json:"since"`
	IDs   []shelfRef `json:"ids"`
}

// shelfRef is a commit: [sequence number, id].
type shelfRef protocol.Reject

func (r shelfRef) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{r.Sequence, r.ID}) }

func (r *shelfRef) UnmarshalJSON(b []byte) error {
	pair := []any{&r.Sequence, &r.ID}
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 || r.ID == "" {
		return errors.New("a commit is [sequence number, id]")
	}
	return nil
}

func parseShelf(s string) (*shelfValue, error) {
	v := &shelfValue{Version: valueVersion}
	if s != "" {
		v.Version = 0
		if err := json.Unmarshal([]byte(s), v); err != nil {
			return nil, fmt.Errorf("it is not as floe writes it: %w", err)
		}
	}
	if v.Version != valueVersion {
		return nil, fmt.Errorf("it is of version %d, this floe reads version %d", v.Version, valueVersion)
	}
	if v.Tables == nil {
		v.Tables = map[uuid.UUID]map[string]shelfPart{}
	}
	return v, nil
}

func (v *shelfValue) listing(main uuid.UUID, topology string) protocol.Listing {
	part, ok := v.Tables[main][topology]
	l := protocol.Listing{Since: part.Since}
	if !ok && v.Lost {
		l.Since = math.MaxInt64
	}
	for _, r := range part.IDs {
		l.IDs = append(l.IDs, r.ID)
	}
	return l
}

// with is v after commits were appended, listing at most most of them beside those.
func (v *shelfValue) with(main uuid.UUID, topology string, appended []boxed, since int64, most int) *shelfValue {
	out := &shelfValue{Version: valueVersion, Lost: v.Lost, Tables: map[uuid.UUID]map[string]shelfPart{}}
	for id, topologies := range v.Tables {
		out.Tables[id] = map[string]shelfPart{}
		for name, part := range topologies {
			// Those of other topologies fit the summary too; a sequence number tells which are let go.
			out.Tables[id][name] = part.upTo(most)
		}
	}
	if out.Tables[main] == nil {
		out.Tables[main] = map[string]shelfPart{}
	}
	part := v.Tables[main][topology]
	part.Since = max(part.Since, since)
	for _, b := range appended {
		part.IDs = append(part.IDs[:len(part.IDs):len(part.IDs)], shelfRef{b.Commit.String(), b.Seq})
	}
	out.Tables[main][topology] = part.upTo(max(most, len(appended)))
	return out
}

func (p shelfPart) upTo(most int) shelfPart {
	all := make([]protocol.Reject, len(p.IDs))
	for i, r := range p.IDs {
		all[i] = protocol.Reject(r)
	}
	since, kept := protocol.Forget(p.Since, all, most)
	out := shelfPart{Since: since, IDs: []shelfRef{}}
	for _, r := range kept {
		out.IDs = append(out.IDs, shelfRef(r))
	}
	return out
}

// shelf is the rejects table as one load showed it.
type shelf struct {
	tbl *table.Table
	// hist grows by what earlier metadata files tell.
	hist *protocol.History
	// lost says that a person is asked, as the line does not tell what it held.
	lost bool
}

// lookShelf loads the rejects table.
func (c *Committer) lookShelf(ctx context.Context) (*shelf, error) {
	lctx, cancel := context.WithTimeout(ctx, c.cfg.AttemptTimeout)
	tbl, err := c.cfg.Rejects.Load(lctx)
	cancel()
	if err != nil {
		return nil, err // the loader says which table, and that it was loaded
	}
	m := tbl.Metadata()
	h := &protocol.History{Snapshots: map[int64]protocol.Snapshot{}, NoProperty: c.cfg.NoProperty, Last: m.LastSequenceNumber()}
	for _, s := range snapshotsOf(m, keyRejects) {
		h.Snapshots[s.ID] = s
	}
	if s := m.CurrentSnapshot(); s != nil {
		h.Head = &s.SnapshotID
	}
	if p := tbl.Properties()[keyRejects]; p != "" {
		v, err := parseShelf(p)
		if err != nil {
			return nil, c.badShelf(tbl, err)
		}
		h.Own = &protocol.Property{Value: p, Snapshot: v.Snapshot}
	}
	for range m.PreviousFiles() {
		h.LogLength++
	}
	c.mu.Lock()
	c.mu.shelf = tbl
	c.mu.Unlock()
	return &shelf{tbl: tbl, hist: h}, nil
}

func (c *Committer) badShelf(tbl *table.Table, err error) *StopError {
	return &StopError{
		Reason: fmt.Sprintf("rejects table %s: what it says that it holds (%s) can't be read: %s", strings.Join(tbl.Identifier(), "."), keyRejects, err),
		Hint:   "use the floe that wrote it, or set the table and its property back to what they were",
	}
}

// holds looks for one commit's rejects, reading earlier metadata files as far back as that takes.
func (c *Committer) holds(ctx context.Context, s *shelf, main uuid.UUID, b boxed) (protocol.Holding, error) {
	var bad error
	list := func(value string) protocol.Listing {
		v, err := parseShelf(value)
		if err != nil {
			bad = c.badShelf(s.tbl, err)
			return protocol.Listing{Since: b.Seq + 1}
		}
		return v.listing(main, c.cfg.Topology)
	}
	var log []string
	for e := range s.tbl.Metadata().PreviousFiles() {
		log = append(log, e.MetadataFile)
	}
	for {
		held, need := s.hist.Holds(protocol.Reject{ID: b.Commit.String(), Sequence: b.Seq}, list)
		if bad != nil || held != protocol.Earlier {
			return held, bad
		}
		if err := c.readBack(ctx, s, need, &log); err != nil {
			return 0, err
		}
	}
}

// readBack adds to the history what earlier metadata files tell, until they tell of a snapshot and its parent.
func (c *Committer) readBack(ctx context.Context, s *shelf, need int64, log *[]string) error {
	for {
		if s.hist.LogRead || s.hist.Tells(need) {
			return nil
		}
		n := len(*log)
		if n == 0 {
			s.hist.LogRead = true
			return nil
		}
		path := (*log)[n-1]
		*log = (*log)[:n-1]
		m, err := c.olderMetadata(ctx, s.tbl, path)
		if err != nil {
			return err
		}
		if m == nil || m.TableUUID() != s.tbl.Metadata().TableUUID() {
			continue
		}
		for _, x := range snapshotsOf(m, keyRejects) {
			s.hist.Learn(x)
		}
	}
}

// shelfProperty stages the table property, with the id of the snapshot that the transaction makes.
func (c *Committer) shelfProperty(tx *table.Transaction, v *shelfValue) error {
	if c.cfg.NoProperty {
		return nil
	}
	id, err := stagedID(tx, table.MainBranch)
	if err != nil {
		return err
	}
	v.Snapshot = id
	s, err := compact(v)
	if err != nil {
		return err
	}
	return tx.SetProperties(iceberg.Properties{keyRejects: s})
}
