package proof

import (
	"encoding/json"
	"testing"
)

func TestGeneratedRecordsFollowFromTheSeed(t *testing.T) {
	g := Generated{Seed: 7, Ends: []int64{100, 3}}
	if g.End(0) != 100 || g.End(1) != 3 || g.End(2) != 0 || g.End(-1) != 0 {
		t.Errorf("ends %d %d %d %d", g.End(0), g.End(1), g.End(2), g.End(-1))
	}
	regions, seen := map[string]int{}, map[string]bool{}
	for off := range int64(100) {
		var r struct {
			Part            int32
			Off             int64
			Payload, Region string
		}
		if err := json.Unmarshal(g.Value(0, off), &r); err != nil {
			t.Fatal(err)
		}
		want, row := g.Payload(0, off)
		if !row || r.Part != 0 || r.Off != off || r.Payload != want || seen[want] {
			t.Errorf("%+v, want payload %q", r, want)
		}
		regions[r.Region]++
		seen[want] = true
	}
	if len(regions) != Regions {
		t.Errorf("regions %v", regions)
	}
	for _, p := range []struct {
		part int32
		off  int64
	}{{0, 100}, {0, -1}, {1, 3}, {2, 0}} {
		if _, row := g.Payload(p.part, p.off); row {
			t.Errorf("%v is a row", p)
		}
	}
	other := Generated{Seed: 8, Ends: g.Ends}
	if a, b := string(g.Value(0, 5)), string(other.Value(0, 5)); a == b {
		t.Error("two seeds give one record")
	}
	if a, b := string(g.Value(0, 2)), string(Generated{Seed: 7}.Value(0, 2)); a != b {
		t.Error("the end changes a record")
	}
}
