package proof

import (
	"maps"
	"strings"
	"testing"
)

// TestTheDescribedFormatIsRead takes the value from the committer's description of it.
func TestTheDescribedFormatIsRead(t *testing.T) {
	v, err := decode(`{"v":1,"snapshot":4711,"topologies":{
	  "orders":{"cluster":"5L6g3nSh","topics":{
	    "orders":{"incarnation":"AAAB","next":[[120,2],98],"skipped":[2,[0,2]],"latest":1700000000000,"behind":[0,5,0]}}},
	  "billing":{"unclear":true}}}`, "orders", 3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n, rows int64) place {
		return place{next: n, top: n, rows: rows, skipped: n - rows, life: "5L6g3nSh/AAAB"}
	}
	if want := map[int32]place{0: at(120, 118), 1: at(120, 120), 2: at(98, 98)}; v.snapshot != 4711 || !maps.Equal(v.topologies["orders"].at, want) {
		t.Errorf("got %+v", v)
	}
	if b := v.topologies["billing"]; !b.unclear || len(b.at) != 0 {
		t.Errorf("billing is %+v", b)
	}
	// Other topics are not looked at, null is no position, and what lies beyond the partitions asked for is left out.
	v, err = decode(`{"v":1,"topologies":{"a":{"topics":{"x":{"next":[1]},"orders":{"next":[null,[7,3],9],"start":[[null,2],3]}}}}}`, "orders", 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[int32]place{1: {next: 7, top: 7, rows: 7, life: "/"}, 2: {next: 7, top: 7, rows: 4, start: 3, life: "/"}}; !maps.Equal(v.topologies["a"].at, want) {
		t.Errorf("got %+v", v)
	}
}

func TestAValueThatCannotBeRead(t *testing.T) {
	for in, want := range map[string]string{
		``:         "positions value",
		`[]`:       "positions value",
		`{"v":2}`:  "version 2",
		`{"v":1,"`: "positions value",
		`{"v":1,"topologies":{"a":{"topics":{"orders":{"next":["x"]}}}}}`:         "next",
		`{"v":1,"topologies":{"a":{"topics":{"orders":{"next":[[1]]}}}}}`:         "a run of 1",
		`{"v":1,"topologies":{"a":{"topics":{"orders":{"next":[[1,0]]}}}}}`:       "no length",
		`{"v":1,"topologies":{"a":{"topics":{"orders":{"next":[[1,"x"]]}}}}}`:     "next",
		`{"v":1,"topologies":{"a":{"topics":{"orders":{"next":[1],"start":7}}}}}`: "positions value",
	} {
		if _, err := decode(in, "orders", 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something with %q", in, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"v":1,"topologies":{"a":{"topics":{"orders":{"next":[[1,99999999],null,3],"start":[0]}}}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := decode(s, "orders", 10)
		if err != nil {
			return
		}
		for _, e := range v.topologies {
			for id := range e.at {
				if id < 0 || id >= 10 {
					t.Errorf("partition %d", id)
				}
			}
		}
	})
}
