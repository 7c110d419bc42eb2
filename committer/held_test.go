package committer

import (
	"errors"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// A stream that the rejects table holds keeps its positions and its outbox in sight of the next life, however much other engines
// commit and expire meanwhile.
func TestWhatIsHeldIsNotBuried(t *testing.T) {
	p := newPair(t, iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "4"})
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	p.rej.away(errAway)
	for i := range source.Position(outboxRoom) {
		p.want(r.submit("w", 1, p.bad("a", rng(0, 2*i, 2*i+2))), Landed)
	}
	at := source.Position(2 * outboxRoom)
	r.submit("w", 1, p.bad("a", rng(0, at, at+2)))
	for !errors.Is(r.obs.lastTrouble(), errOutboxFull) {
		<-r.obs.trouble
	}
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for range 3 {
		<-tick.C // buried is told by milliseconds
		p.foreign()
	}
	for end := time.Now().Add(time.Minute); len(p.box("a")) != outboxRoom; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("other engines' commits have buried the outbox")
		}
	}
	r.end()
	p.expire()
	p.loseLog()
	p.rej.away(nil)
	p.must(p.committer(p.with(Config{}), nil).finishes())
	if got := len(p.rej.paths()); got != outboxRoom {
		t.Errorf("the rejects table has %d files", got)
	}
}
