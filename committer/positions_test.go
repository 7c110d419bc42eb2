package committer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormfloe/floe/source"
)

// golden compares with a file; FLOE_REWRITE=1 writes it anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("FLOE_REWRITE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.TrimSpace(string(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func someProgress() map[source.Partition]Progress {
	at := map[source.Partition]Progress{}
	for i := range int32(4) {
		at[part(i)] = Progress{Next: 100, Start: 40, Rows: 57, Filtered: 2, Skipped: 1, MaxTimestampMs: 1_700_000_000_000 - int64(i)}
	}
	at[part(7)] = Progress{Next: 12, Rows: 12, MaxTimestampMs: -1}
	other := source.Partition{Cluster: "c", Topic: `odd "name", a.b/3`, ID: 0}
	at[other] = Progress{Next: 5, Start: 5, MaxTimestampMs: -1}
	return at
}

func TestPositionsValueBytes(t *testing.T) {
	v := newValue()
	if err := v.set("orders", someProgress()); err != nil {
		t.Fatal(err)
	}
	v.doubt([]string{"lost"})
	s, err := v.encode(0)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "positions.json", s)
	p, err := v.encode(4711)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "positions_property.json", p)
	back, err := parseValue(p)
	if err != nil || back.snapshot != 4711 {
		t.Fatalf("snapshot %d, %v", back.snapshot, err)
	}
	at, err := back.progress("orders")
	if err != nil || !maps.Equal(at, someProgress()) {
		t.Errorf("got %+v, %v", at, err)
	}
	known, doubted := back.list()
	if fmt.Sprint(known, doubted) != "[orders] [lost]" {
		t.Errorf("lists %v %v", known, doubted)
	}
	if at, err := back.progress("lost"); at != nil || err != nil {
		t.Errorf("an unclear topology has no positions: %v %v", at, err)
	}
}

func TestOtherTopologiesAreCarriedForwardVerbatim(t *testing.T) {
	other := `{"cluster":"<x>&","future":{"b":[1,2.50,null]},"topics":{}}`
	v, err := parseValue(`{"v":1,"new":[1,2],"topologies":{"b":` + other + `,"a":{"cluster":"c","hint":7,"topics":{}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.set("a", map[source.Partition]Progress{part(0): begin(3)}); err != nil {
		t.Fatal(err)
	}
	s, err := v.encode(9)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"b":` + other, `"new":[1,2]`, `"hint":7`, `"snapshot":9`} {
		if !strings.Contains(s, want) {
			t.Errorf("%s\nlacks %s", s, want)
		}
	}
}

func TestAThousandPartitionsStaySmall(t *testing.T) {
	at := map[source.Partition]Progress{}
	for i := range int32(1000) {
		at[part(i)] = Progress{Next: 1_000_000, Rows: 1_000_000, MaxTimestampMs: 1_700_000_000_000}
	}
	size := func() int {
		v := newValue()
		if err := v.set("a", at); err != nil {
			t.Fatal(err)
		}
		s, err := v.encode(0)
		if err != nil {
			t.Fatal(err)
		}
		return len(s)
	}
	if n := size(); n > 200 {
		t.Errorf("in step: %d bytes", n)
	}
	for p, g := range at {
		g.Next = source.Position(rand.N(int64(2_000_000_000)))
		g.Rows = int64(g.Next)
		g.MaxTimestampMs -= rand.N(int64(5000))
		at[p] = g
	}
	if n := size(); n > 20_000 {
		t.Errorf("out of step: %d bytes", n)
	} else {
		t.Log(n, "bytes")
	}
}

func TestAValueThatCannotBeReadIsRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"newer", `{"v":2,"topologies":{}}`, "version 2"},
		{"no version", `{}`, "version"},
		{"no object", `[]`, "not a JSON object"},
		{"torn", `{"v":1,"topolog`, "not a JSON object"},
		{"topologies", `{"v":1,"topologies":7}`, "topologies"},
		{"next", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":["x"]}}}}}`, `topology "a"`},
		{"a run of none", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":[[1,0]]}}}}}`, "how often"},
		{"a run that unfolds without end", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":[[1,2000000000]]}}}}}`, "more than"},
		{"too many in all", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":[[null,2147483647],5,5]}}}}}`, "partition numbers"},
		{"overflow", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":[[null,9223372036854775807],[null,9223372036854775807]]}}}}}`, "partition numbers"},
		{"start without next", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":[5],"start":[1,2]}}}}}`, "no next position"},
		{"counts", `{"v":1,"topologies":{"a":{"topics":{"t":{"next":[5],"skipped":[6]}}}}}`, "do not add up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parseValue(c.in)
			if err == nil {
				_, err = v.progress("a")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
	if _, err := parseValue(`{"v":2}`); !errors.Is(err, errVersion) {
		t.Error("an unknown version is not told from garbage")
	}
}

func TestTwoClustersOrIncarnationsDoNotFit(t *testing.T) {
	a, b := part(0), part(1)
	b.Cluster = "another"
	if err := newValue().set("a", map[source.Partition]Progress{a: begin(0), b: begin(0)}); err == nil {
		t.Error("two clusters were taken")
	}
	b = part(1)
	b.Incarnation = "another"
	if err := newValue().set("a", map[source.Partition]Progress{a: begin(0), b: begin(0)}); err == nil {
		t.Error("two incarnations of a topic were taken")
	}
}

func TestPositionsComeBackAsTheyWentIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := map[source.Partition]Progress{}
		for i := range rapid.IntRange(0, 20).Draw(t, "partitions") {
			p := source.Partition{Cluster: "c", Topic: rapid.SampledFrom([]string{"x", "x.y", "é/\"\\", ""}).Draw(t, "topic"),
				Incarnation: "i", ID: int32(i * rapid.IntRange(1, 3).Draw(t, "gap"))}
			g := begin(source.Position(rapid.Int64Range(0, 1<<60).Draw(t, "start")))
			n := rapid.Int64Range(0, 1<<40)
			g.Rows, g.Filtered, g.Skipped, g.Rejects = n.Draw(t, "rows"), n.Draw(t, "filtered"), n.Draw(t, "skipped"), n.Draw(t, "rejects")
			g.Next += source.Position(g.Rows + g.Filtered + g.Skipped + g.Rejects)
			g.MaxTimestampMs = rapid.Int64Range(-1, 1<<41).Draw(t, "time")
			at[p] = g
		}
		v := newValue()
		if err := v.set("a", at); err != nil {
			t.Fatal(err)
		}
		s, err := v.encode(1)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseValue(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := back.progress("a")
		if err != nil || !maps.Equal(got, at) {
			t.Fatalf("%s\ngot %v\nwant %v\n%v", s, got, at, err)
		}
	})
}

func FuzzPositionsValue(f *testing.F) {
	f.Add(`{"v":1,"topologies":{"a":{"cluster":"c","topics":{"t":{"incarnation":"i","next":[[1,3],null,5],"start":[1]}}}}}`)
	f.Add(`{"v":1,"topologies":{"a":{"unclear":true}},"snapshot":5}`)
	f.Add(`{"v":1,"topologies":{"a":{"topics":{"t":{"next":[1],"latest":5,"behind":[2]}}}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseValue(s)
		if err != nil {
			return
		}
		at, err := v.progress("a")
		if err != nil || at == nil {
			return
		}
		// What can be read can be written, and reads the same.
		if err := v.set("a", at); err != nil {
			return // several incarnations can't be told apart in what JSON lets through twice
		}
		out, err := v.encode(v.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseValue(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		again, err := back.progress("a")
		if err != nil || !maps.Equal(at, again) {
			t.Fatalf("%s\n%v\n%v\n%v", out, at, again, err)
		}
		if !json.Valid([]byte(out)) {
			t.Fatal("not JSON")
		}
	})
}
