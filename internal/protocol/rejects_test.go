package protocol

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// parseListing reads "since:id,id".
func parseListing(value string) Listing {
	var l Listing
	since, ids, _ := strings.Cut(value, ":")
	if _, err := fmt.Sscan(since, &l.Since); err != nil {
		panic(err)
	}
	l.IDs = strings.Split(ids, ",")
	return l
}

// shelf is a line of the rejects table, oldest first: each snapshot as "ids|value", "-" for one that has expired.
func shelf(line ...string) *History {
	h := &History{Snapshots: map[int64]Snapshot{}, LogLength: 1, LogRead: true}
	for i, text := range line {
		id := int64(i + 1)
		h.Head = &id
		if text == "-" {
			continue
		}
		ids, value, _ := strings.Cut(text, "|")
		s := Snapshot{ID: id, Sequence: id, CommitID: ids, Value: value, Retained: true}
		if i > 0 {
			parent := id - 1
			s.Parent = &parent
		}
		h.Snapshots[id] = s
	}
	return h
}

func (h *History) property(snapshot int64, value string) *History {
	h.Own = &Property{Snapshot: snapshot, Value: value}
	return h
}

func TestWhetherTheRejectsTableHoldsACommit(t *testing.T) {
	off := shelf("|", "|")
	off.Snapshots[9] = Snapshot{ID: 9, CommitID: "x", Retained: true}
	unread := shelf("-", "|")
	unread.LogRead = false
	alone := func(value string) *History {
		id := int64(7)
		return &History{Snapshots: map[int64]Snapshot{7: {ID: 7, Sequence: 7, Value: value, Retained: true}}, Head: &id}
	}
	// cut is a line whose only snapshot had a parent once.
	cut := func() *History {
		h := alone("")
		h.LogLength, h.LogRead = 1, true
		return h
	}
	cutUnread := cut().property(3, "0:y")
	cutUnread.LogRead = false
	forgetful := alone("")
	forgetful.NoProperty = true
	for _, c := range []struct {
		name string
		h    *History
		want Holding
	}{
		{"an empty table", shelf(), NotThere},
		{"the root is reached", shelf("|", "y|0:y", "|"), NotThere},
		{"a snapshot names it", shelf("|", "w,x|90:", "|"), There},
		{"a value names it", shelf("-", "y|50:x,y", "|"), There},
		{"a value names another from its sequence number on", shelf("-", "y|10:y", "|"), NotThere},
		{"a value lists only younger ones, and nothing is below", shelf("-", "y|11:y", "|"), Unclear},
		{"an older value lists it all", shelf("-", "v|3:v", "z|50:z"), NotThere},
		{"the line ends at an expired snapshot", shelf("-", "|"), Unclear},
		{"the property names the expired snapshot", shelf("-", "|").property(1, "0:x"), There},
		{"the property of the expired snapshot does not name it", shelf("-", "|").property(1, "0:y"), NotThere},
		{"the property is of another snapshot", shelf("-", "|").property(5, "0:y"), Unclear},
		{"the property lists more than the snapshot that it names", shelf("-", "y|11:y", "|").property(2, "4:y,w"), NotThere},
		{"the log has not been read", unread, Earlier},
		{"a snapshot off the line names it", off, SetBack},
		{"the property of a snapshot off the line names it", shelf("|", "|").property(9, "0:x"), SetBack},
		{"a root whose parent was taken off, and the property is of another snapshot", cut().property(3, "0:y"), Unclear},
		{"the same, and the property names it", cut().property(3, "0:x"), Unclear},
		{"the same before the log is read", cutUnread, Earlier},
		{"a first snapshot of a late number in a table without rejects", cut(), NotThere},
		{"a head alone that says so", alone("0:y"), NotThere},
		{"a head alone that lists only younger ones", alone("11:y"), Unclear},
		{"a head alone, and the property says so", alone("").property(3, "0:x"), There},
		{"a head alone, and nothing was ever appended", alone(""), NotThere},
		{"a head alone of a catalog that takes no properties", forgetful, Unclear},
	} {
		if got, _ := c.h.Holds(Reject{ID: "x", Sequence: 10}, parseListing); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheNewestValueIsTheOneToCarryForward(t *testing.T) {
	for _, c := range []struct {
		h    *History
		want string
	}{
		{shelf("|", "|"), ""},
		{shelf("y|0:y", "z|0:y,z", "|"), "0:y,z"},
		{shelf("y|0:y", "z|5:z", "|").property(2, "0:y,z"), "0:y,z"},
		{shelf("y|0:y", "z|5:z", "|").property(9, "0:q"), "5:z"},
		{shelf("-", "|").property(1, "0:y"), "0:y"},
	} {
		if got := c.h.Newest(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestAListingForgetsTheOldestAndSaysSo(t *testing.T) {
	in := []Reject{{"b", 5}, {"d", 9}, {"a", 2}, {"c", 7}}
	since, kept := Forget(0, in, 2)
	if since != 6 || !reflect.DeepEqual(kept, []Reject{{"d", 9}, {"c", 7}}) {
		t.Errorf("%d %v", since, kept)
	}
	if since, kept = Forget(3, in, 4); since != 3 || len(kept) != 4 {
		t.Errorf("%d %v", since, kept)
	}
	if since, _ = Forget(8, in, 2); since != 8 {
		t.Errorf("%d", since)
	}
}

func TestHowMuchOfAGroupTheOutboxTakes(t *testing.T) {
	for _, c := range []struct {
		used  int
		files []int
		want  int
	}{
		{0, []int{1, 0, 2}, 3},
		{8, []int{1, 1, 1}, 2},
		{10, []int{0, 1, 0}, 1},
		{10, []int{1}, 0},
		{0, []int{11}, 1},
		{0, []int{0, 11, 1}, 2},
		{1, []int{11}, 0},
		{11, []int{0}, 1},
	} {
		if got := Fits(c.used, 10, c.files); got != c.want {
			t.Errorf("%d used, %v: %d, want %d", c.used, c.files, got, c.want)
		}
	}
}

func TestAReplayIsCommittedOnlyOnWhatIsLive(t *testing.T) {
	live := func(path string) bool { return path != "gone" }
	for _, c := range []struct {
		boxed, paths []string
		want         bool
	}{
		{nil, []string{"f", "g"}, true},
		{nil, []string{"f", "gone"}, false},
		{[]string{"f"}, []string{"f"}, false},
		{[]string{"other"}, []string{"f"}, false},
	} {
		if got := Replaceable(c.boxed, live, c.paths); got != c.want {
			t.Errorf("%v in the outbox, %v: %v", c.boxed, c.paths, got)
		}
	}
}
