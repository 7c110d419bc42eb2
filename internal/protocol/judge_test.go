package protocol

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

func r(p int, from, to source.Position) source.Range {
	return source.Range{Partition: mPart(p), From: from, To: to}
}

func rs(x ...source.Range) []source.Range { return x }

func TestJudge(t *testing.T) {
	at := Positions{mPart(0): 10, mPart(1): 20}
	other := r(0, 10, 15)
	other.Partition.Incarnation = "made again"
	cluster := r(0, 10, 15)
	cluster.Partition.Cluster = "another"
	for _, c := range []struct {
		name   string
		ranges []source.Range
		want   Fate
	}{
		{"starts where the table stands", rs(r(0, 10, 15)), Commit},
		{"so do all of them", rs(r(0, 10, 15), r(1, 20, 21)), Commit},
		{"no ranges: a source without positions", nil, Commit},
		{"the table is exactly at its end", rs(r(0, 5, 10)), AlreadyThere},
		{"the table has passed all of them", rs(r(0, 0, 3), r(1, 10, 20)), AlreadyThere},
		// A zombie committed its first part: is the table at or beyond my end? No. At my start? No.
		{"the table is in the middle", rs(r(0, 5, 15)), Reread},
		{"a gap", rs(r(0, 11, 15)), Reread},
		{"one is there, one starts: committing doubles, dropping loses", rs(r(0, 5, 10), r(1, 20, 25)), Reread},
		{"one is there, one has a gap", rs(r(0, 5, 10), r(1, 21, 25)), Reread},
		{"a partition without a position equals nothing, not even 0", rs(r(2, 0, 5)), Reread},
		{"also beside one that starts", rs(r(0, 10, 15), r(2, 0, 5)), Reread},
		{"also beside one that is there", rs(r(0, 5, 10), r(2, 0, 5)), Reread},
		{"another incarnation of the topic", rs(other), Reread},
		{"another cluster", rs(cluster), Reread},
		{"no range at all", rs(r(0, 10, 10)), Reread},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Judge(at, c.ranges); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestJudgeGroupInOrderOnWhatTheOnesBeforeLeave(t *testing.T) {
	at := Positions{mPart(0): 0, mPart(1): 0}
	w := Owner{"writer/0", 1}
	for _, c := range []struct {
		name   string
		group  []Batch
		usable func(int) bool
		want   []Fate
		after  source.Position
	}{
		{"they join up", []Batch{{rs(r(0, 0, 5)), w}, {rs(r(0, 5, 9)), w}}, nil, []Fate{Commit, Commit}, 9},
		{"the wrong way round", []Batch{{rs(r(0, 5, 9)), Owner{}}, {rs(r(0, 0, 5)), Owner{}}}, nil, []Fate{Reread, Commit}, 5},
		{"twice the same: the second is there when the first has landed, and not before",
			[]Batch{{rs(r(0, 0, 5)), w}, {rs(r(0, 0, 5)), w}}, nil, []Fate{Commit, Reread}, 5},
		{"one that the table holds is there, whatever comes before it",
			[]Batch{{rs(r(1, 0, 5)), w}, {rs(source.Range{Partition: mPart(0), From: -3, To: 0}), w}}, nil, []Fate{Commit, AlreadyThere}, 0},
		{"behind one that is read again comes nothing of its owner",
			[]Batch{{rs(r(0, 3, 5)), w}, {rs(r(1, 0, 5)), w}, {rs(r(1, 0, 5)), Owner{"writer/1", 1}}}, nil,
			[]Fate{Reread, Reread, Commit}, 0},
		{"another life of the owner is not meant", []Batch{{rs(r(0, 3, 5)), w}, {rs(r(0, 0, 5)), Owner{"writer/0", 2}}}, nil,
			[]Fate{Reread, Commit}, 5},
		{"one that can't be used takes its followers along", []Batch{{rs(r(0, 0, 5)), w}, {rs(r(0, 5, 9)), Owner{}}},
			func(i int) bool { return i != 0 }, []Fate{Reread, Reread}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, after := JudgeGroup(at, c.group, c.usable)
			if !slices.Equal(got, c.want) || after[mPart(0)] != c.after {
				t.Errorf("got %v and %d, want %v and %d", got, after[mPart(0)], c.want, c.after)
			}
			if at[mPart(0)] != 0 {
				t.Fatal("the table's positions were changed")
			}
		})
	}
}

func TestAfterLookBelievesWhatItSees(t *testing.T) {
	for _, a := range []Answer{Landed, Moved, Refused, NotSent, Unknown} {
		for _, s := range []Sight{{}, {On: true}, {Off: true}, {On: true, Off: true}, {Hidden: true}, {On: true, Hidden: true}} {
			want := Again
			switch {
			case s.On || a == Landed:
				want = Settled
			case s.Off || s.Hidden:
				want = Never
			case a == Refused:
				want = GiveBack
			}
			if got := AfterLook(a, s); got != want {
				t.Errorf("%s, seen %+v: %d, want %d", a, s, got, want)
			}
		}
	}
}

func TestJudgeEntry(t *testing.T) {
	at := Positions{mPart(0): 10}
	whole, broken := func() bool { return true }, func() bool { return false }
	walked, lost := true, false
	old, young := time.Hour, time.Minute
	for _, c := range []struct {
		name    string
		e       Entry
		low     bool
		want    EntryFate
		batches []BatchFate
	}{
		{"can't be read", Entry{}, walked, SetAside, nil},
		{"landed", Entry{Readable: true, SameTable: true, Seen: Sight{On: true}}, walked, Delete, nil},
		{"joins up and is whole: adopted, however old", Entry{Readable: true, SameTable: true, Age: 100 * old,
			Batches: []EntryBatch{{rs(r(0, 10, 15)), whole}}}, walked, Adopt, []BatchFate{BatchAdopt}},
		{"batch by batch", Entry{Readable: true, SameTable: true, Age: young,
			Batches: []EntryBatch{{rs(r(0, 5, 10)), whole}, {rs(r(0, 10, 15)), whole}, {rs(r(0, 15, 20)), broken}, {rs(r(0, 20, 25)), whole}}},
			walked, Adopt, []BatchFate{BatchWait, BatchAdopt, BatchWait, BatchWait}},
		{"a file is gone: wait for the positions to pass it", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{rs(r(0, 10, 15)), broken}}}, walked, Leave, []BatchFate{BatchWait}},
		{"young: its owner may be alive", Entry{Readable: true, SameTable: true, Age: young,
			Batches: []EntryBatch{{rs(r(0, 5, 10)), whole}}}, walked, Leave, []BatchFate{BatchWait}},
		{"passed, walked, old: files deleted", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{rs(r(0, 5, 10)), whole}}}, walked, Abandon, []BatchFate{BatchDelete}},
		{"passed in part: no attempt is contiguous any more", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{rs(r(0, 5, 15)), whole}}}, walked, Abandon, []BatchFate{BatchDelete}},
		{"passed, but the walk is broken: it may have landed", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{rs(r(0, 5, 10)), whole}}}, lost, Abandon, []BatchFate{BatchKeep}},
		{"not passed: it may yet be contiguous", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{rs(r(0, 15, 20)), whole}}}, walked, Leave, []BatchFate{BatchWait}},
		{"a partition that the table does not know never passes", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{rs(r(3, 15, 20)), whole}}}, walked, Abandon, []BatchFate{BatchKeep}},
		{"without positions there is no proof, and no adoption", Entry{Readable: true, SameTable: true, Age: old,
			Batches: []EntryBatch{{nil, whole}}}, walked, Abandon, []BatchFate{BatchKeep}},
		{"without positions, young", Entry{Readable: true, SameTable: true, Age: young,
			Batches: []EntryBatch{{nil, whole}}}, walked, Leave, []BatchFate{BatchWait}},
		{"rolled back: the expiry of that snapshot looks after its files", Entry{Readable: true, SameTable: true, Seen: Sight{Off: true}, Age: old,
			Batches: []EntryBatch{{rs(r(0, 10, 15)), whole}}}, walked, Abandon, []BatchFate{BatchKeep}},
		{"out of sight since: it may have landed, been rolled back and expired", Entry{Readable: true, SameTable: true, Seen: Sight{Hidden: true}, Age: old,
			Batches: []EntryBatch{{rs(r(0, 10, 15)), whole}}}, walked, Leave, []BatchFate{BatchWait}},
		{"passed, but it may have landed out of sight, below what is still there on another line", Entry{Readable: true, SameTable: true, Seen: Sight{Hidden: true}, Age: old,
			Batches: []EntryBatch{{rs(r(0, 5, 10)), whole}}}, walked, Abandon, []BatchFate{BatchKeep}},
		{"another table's", Entry{Readable: true, Age: old, Seen: Sight{On: true},
			Batches: []EntryBatch{{rs(r(0, 10, 15)), whole}}}, walked, Abandon, []BatchFate{BatchKeep}},
		{"another table's, young", Entry{Readable: true, Age: young,
			Batches: []EntryBatch{{rs(r(0, 10, 15)), whole}}}, walked, Leave, []BatchFate{BatchWait}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.e.Grace = time.Hour
			fate, batches := JudgeEntry(c.e, at, func([]source.Range) bool { return c.low })
			if fate != c.want || !slices.Equal(batches, c.batches) {
				t.Errorf("got %s %v, want %s %v", fate, batches, c.want, c.batches)
			}
		})
	}
}

func TestLowNeedsAnUnbrokenWalk(t *testing.T) {
	pos := func(v string) (Positions, bool) {
		var n source.Position
		_, err := fmt.Sscan(v, &n)
		return Positions{mPart(0): n}, err == nil
	}
	for _, c := range []struct {
		name string
		h    *History
		want bool
	}{
		{"a snapshot at the start of the range", hist(3, "1 =0", "2<1 =5", "3<2 =10"), true},
		{"the walk ends above", hist(3, "2<1 =6", "3<2 =10"), false},
		{"at the root nothing was there", hist(3, "2 =6", "3<2 =10"), true},
		{"an expired snapshot breaks it", hist(3, "1 =0 x", "2<1 =6", "3<2 =10"), false},
		{"other engines' snapshots do not", hist(3, "1 =5", "2<1", "3<2 =10"), true},
		{"a value that can't be read does", hist(3, "1 =5", "2<1 =?", "3<2 =10"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Low(c.h, 3, rs(r(0, 5, 10)), pos); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	h := hist(7, "7 =10")
	h.LogLength = 0
	if Low(h, 7, rs(r(0, 5, 10)), pos) {
		t.Error("where the catalog keeps no history, the head is not the root")
	}
}

// A person set the position back to the start of what is looked for, above the commit whose snapshot has expired: its rows
// are live, and only a snapshot that is not younger than its first attempt could show that it never landed.
func TestLowDoesNotTakeWhatAPersonSetForWhereItBegan(t *testing.T) {
	pos := func(v string) (Positions, bool) { return Positions{mPart(0): source.Position(v[0] - '0')}, true }
	h := hist(5, "2 =0", "4<3 =0", "5<4 =1")
	if Low(h, h.Since(base(2)), rs(r(0, 0, 1)), pos) {
		t.Error("a snapshot that a person made later was taken for the beginning")
	}
	if !Low(hist(4, "2 =0", "3<2", "4<3 =1"), 2, rs(r(0, 0, 1)), pos) {
		t.Error("down to the base nothing was found, and that is no proof")
	}
	if Low(h, h.Since(base(1)), rs(r(0, 0, 1)), pos) {
		t.Error("the base has expired, and nothing below can be told")
	}
}

// Of an earlier life's entry a part alone was adopted, and landed under the commit id of all of it.
func TestHeldAsksThePositions(t *testing.T) {
	at := Positions{mPart(0): 10}
	for _, c := range []struct {
		name   string
		ranges []source.Range
		want   bool
	}{
		{"covered", rs(r(0, 5, 10)), true},
		{"covered in part", rs(r(0, 5, 15)), false},
		{"one of two", rs(r(0, 5, 10), r(1, 0, 5)), false},
		{"not reached", rs(r(0, 10, 15)), false},
		{"a source without positions", nil, true},
	} {
		if got := Held(at, c.ranges); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
