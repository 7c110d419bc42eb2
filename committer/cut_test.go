package committer

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/apache/iceberg-go/table"
)

// cutExpire expires all but the head of main as PyIceberg does where it writes the metadata itself: the parent goes too.
func (w *world) cutExpire() {
	w.t.Helper()
	w.expire()
	b, err := json.Marshal(w.table().Metadata())
	w.must(err)
	m, err := table.ParseMetadataBytes(regexp.MustCompile(`"parent-snapshot-id":\d+,`).ReplaceAll(b, nil))
	w.must(err)
	w.cat.mu.Lock()
	defer w.cat.mu.Unlock()
	_, _, err = w.cat.put(m)
	w.must(err)
}

// An expiry that takes the parent off as well makes no root of what is left: what the outbox names is not there twice, also
// after other rejects were appended.
func TestASearchThatEndsAtASnapshotWithoutItsParentIsNoNo(t *testing.T) {
	for _, loseLog := range []bool{false, true} {
		p := newPair(t, nil)
		r := p.start(p.with(Config{}), newLog())
		p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
		r.emptied()
		r.end()
		p.rej.foreign()
		p.rej.cutExpire()
		if loseLog {
			p.rej.loseLog()
		}
		r = p.start(p.with(Config{}), newLog())
		p.want(r.submit("w", 1, p.bad("a", rng(0, 10, 20))), Landed)
		if loseLog {
			if r.told() == nil {
				t.Error("nobody is told")
			}
		} else {
			r.emptied()
		}
		r.end()
		_ = p.committer(p.with(Config{}), nil).finishes()
		_ = p.committer(p.with(Config{}), nil).finishes()
		p.settledRejects("a", 0, 20, !loseLog)
	}
}
