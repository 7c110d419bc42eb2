package kafka

import (
	"testing"

	"github.com/stormfloe/floe/source"
)

func TestEpochsOfWhatWasRead(t *testing.T) {
	e := &epochs{}
	want := func(what string, by map[source.Position]int32) {
		t.Helper()
		for pos, epoch := range by {
			if got := e.at(pos); got != epoch {
				t.Errorf("%s: position %d stands behind epoch %d; %d was expected", what, pos, got, epoch)
			}
		}
	}
	want("nothing was read", map[source.Position]int32{0: -1, 10: -1})
	e.read(10, 3)
	want("one answer", map[source.Position]int32{9: -1, 10: 3, 11: -1})
	e.read(20, 3)
	want("another of the same epoch", map[source.Position]int32{9: -1, 10: 3, 15: 3, 20: 3, 21: -1})
	e.read(30, 5)
	want("another epoch, which began somewhere in the answer", map[source.Position]int32{20: 3, 21: -1, 29: -1, 30: 5})
	e.read(15, 3)
	e.read(40, 5)
	want("read again", map[source.Position]int32{12: 3, 35: 5, 40: 5})
	e.read(50, 4)
	want("an epoch that went back", map[source.Position]int32{15: -1, 40: -1, 50: 4})
	e.read(60, -1)
	want("a batch without an epoch", map[source.Position]int32{50: -1, 60: -1})
	for i := range int32(3 * maxEpochs) {
		e.read(source.Position(100+10*i), i)
	}
	want("many leaders", map[source.Position]int32{100: -1, 100 + 10*(3*maxEpochs-1): 3*maxEpochs - 1})
	if len(e.known) != maxEpochs {
		t.Errorf("%d ranges are kept", len(e.known))
	}
}
