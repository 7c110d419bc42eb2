package committer

import (
	"context"
	"testing"

	"github.com/apache/iceberg-go/table"
)

func TestCommitMovesPositionsWithTheData(t *testing.T) {
	w := newWorld(t, nil)
	log := newLog()
	r := w.start(Config{Instance: "me"}, log)
	a := r.submit("writer/0", 1, w.batch("a", rng(0, 0, 10), rng(1, 0, 5)))
	b := r.submit("writer/0", 1, w.batch("a", rng(0, 10, 12)))
	w.want(a, Landed)
	if o := w.want(b, Landed); o.Positions[part(0)] != 12 || o.SnapshotID == 0 {
		t.Errorf("outcome %+v", o)
	}
	w.once("a", 0, 12)
	w.once("a", 1, 5)
	if log.len() != 0 {
		t.Error("a WAL entry is left of a commit that landed")
	}
	s := w.table().CurrentSnapshot()
	p := s.Summary.Properties
	for _, k := range []string{keyCommitID, keyTopology, keyInstance, keyPositions, keyValidThrough} {
		if p[k] == "" {
			t.Errorf("summary lacks %s", k)
		}
	}
	v, err := parseValue(w.table().Properties()[propertyPrefix+"main"])
	if err != nil || v.snapshot != s.SnapshotID {
		t.Errorf("property names snapshot %d, the head is %d (%v)", v.snapshot, s.SnapshotID, err)
	}
	if _, ok := w.table().Properties()[table.DefaultNameMappingKey]; ok {
		t.Error("the empty append left a name mapping on the table")
	}
	pos, err := r.Load(context.Background())
	w.must(err)
	if g := pos.At[part(0)]; g != (Progress{Next: 12, Rows: 12, MaxTimestampMs: 1012}) {
		t.Errorf("progress %+v", g)
	}
}
