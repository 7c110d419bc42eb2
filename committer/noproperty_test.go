package committer

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A catalog that refuses table properties: the summaries alone hold the positions. They are found through foreign
// commits; where the history that held them is gone, nothing but a person can tell, and nothing is written again.
func TestWithoutThePropertyTheSummariesHoldThePositions(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{NoProperty: true}, nil)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.foreign()
	w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 15))), Landed)
	r.end()
	for k := range w.table().Properties() {
		if strings.HasPrefix(k, propertyPrefix) {
			t.Errorf("property %s was written", k)
		}
	}
	next := w.committer(Config{NoProperty: true}, nil)
	pos, err := next.Load(context.Background())
	w.must(err)
	if pos.At[part(0)].Next != 15 {
		t.Errorf("positions %+v", pos.At)
	}
	w.once("a", 0, 15)

	w.foreign()
	w.expire()
	w.loseLog()
	var stop *StopError
	if _, err := w.committer(Config{NoProperty: true}, nil).Load(context.Background()); !errors.As(err, &stop) {
		t.Errorf("lost history: %v, want to be asked", err)
	}
}
