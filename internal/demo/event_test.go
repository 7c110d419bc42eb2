package demo

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func TestEventsAreSpreadAndFollowFromTheirID(t *testing.T) {
	seen, byRegion, byDay := map[int64]bool{}, map[string]int{}, map[string]int{}
	const n = 8003
	for p := range int32(Partitions) {
		for off := range perPartition(n, p) {
			e := EventAt(p, off)
			if seen[e.ID] || e.ID < 0 || e.ID >= n {
				t.Fatalf("id %d of partition %d, offset %d", e.ID, p, off)
			}
			seen[e.ID] = true
			byRegion[e.Region]++
			byDay[time.UnixMicro(e.TimeMicros).UTC().Format(time.DateOnly)]++
			if e != EventOf(e.ID) {
				t.Fatalf("event %d does not follow from its id", e.ID)
			}
		}
	}
	if len(seen) != n || len(byRegion) != len(regions) || len(byDay) != Days {
		t.Errorf("%d events, regions %v, days %v", len(seen), byRegion, byDay)
	}
}

func TestEventJSON(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{EventOf(0), `{"id":0,"region":"ap-south","event_time":"2026-03-02T03:40:27.572685Z","user_id":28225,"event_type":"search","amount":9739.06,"page":"/"}`},
		{Event{ID: 7, Region: "r", Type: "t", AmountCents: 5}, `{"id":7,"region":"r","event_time":"1970-01-01T00:00:00.000000Z","user_id":0,"event_type":"t","amount":0.05}`},
	} {
		got := string(c.e.AppendJSON(nil))
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(got), &m); err != nil {
			t.Error(err)
		}
	}
}

func TestOneDemoAFolder(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil {
		t.Error("a second demo got in")
	}
	unlock()
	unlock, err = lock(dir)
	if err != nil {
		t.Fatal("the folder stays locked", err)
	}
	unlock()
}

// The text is YAML whatever the folder is called.
func TestFolderNamesAreQuoted(t *testing.T) {
	for in, want := range map[string]string{"/a b": `"/a b"`, `/a"b`: `"/a\"b"`, "/${HOME}": `"/$${HOME}"`} {
		if got := quote(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestCheckIsOnlyOKWhenEachEventIsThereOnce(t *testing.T) {
	ok := Check{Expected: 2, Rows: 2, Distinct: 2}
	if !ok.OK() {
		t.Error("a good table is refused")
	}
	for _, bad := range []Check{
		{Expected: 2, Rows: 3, Distinct: 2, Duplicate: 1}, {Expected: 2, Rows: 1, Distinct: 1, Missing: 1},
		{Expected: 2, Rows: 2, Distinct: 1, Missing: 1, Duplicate: 1}, {Expected: 2, Rows: 3, Distinct: 2, Foreign: 1},
		{Expected: 2, Rows: 2, Distinct: 2, Wrong: 1},
	} {
		if bad.OK() {
			t.Errorf("accepted: %s", bad)
		}
	}
	if s := fmt.Sprint(Check{Expected: 1, Missing: 1, FirstProblem: "x"}); s != "1 events expected, 0 rows, 0 distinct; 1 missing, 0 duplicate, 0 foreign, 0 wrong (x)" {
		t.Error(s)
	}
}
