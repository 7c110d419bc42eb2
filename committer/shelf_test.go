package committer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
)

var (
	aTable  = uuid.MustParse("0d3e8f4c-7a55-4f6e-9f0e-1b2c3d4e5f60")
	aShelf  = uuid.MustParse("8a1c0f2e-33b0-4a7e-b9d4-6f5e4d3c2b1a")
	aCommit = uuid.MustParse("5f0c1d2e-0000-4000-8000-000000000001")
)

func anOutbox() []boxed {
	return []boxed{
		{Commit: aCommit, Seq: 12, AtMs: 1_700_000_000_000, Table: aShelf, Files: []boxedFile{{Path: "s3://lake/r/data/a.parquet", Rows: 3, Bytes: 2048}}},
		{Commit: uuid.MustParse("5f0c1d2e-0000-4000-8000-000000000002"), Seq: 15, AtMs: 1_700_000_005_000, Table: aShelf,
			Files:    []boxedFile{{Path: "s3://lake/r/data/c.parquet", Rows: 3, Bytes: 2048, Spec: 1}},
			Replaces: []string{"s3://lake/r/data/b.parquet"}},
	}
}

func TestOutboxBytes(t *testing.T) {
	v := newValue()
	if err := errors.Join(v.set("orders", someProgress()), v.setOutbox("orders", anOutbox())); err != nil {
		t.Fatal(err)
	}
	s, err := v.encode(0)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "outbox.json", s)
	back, err := parseValue(s)
	if err != nil {
		t.Fatal(err)
	}
	box, err := back.outbox("orders")
	if err != nil || fmt.Sprint(box) != fmt.Sprint(anOutbox()) {
		t.Errorf("%+v, %v", box, err)
	}
	if at, err := back.progress("orders"); err != nil || len(at) != len(someProgress()) {
		t.Errorf("%v, %v", at, err)
	}
}

func TestShelfBytesAndBounds(t *testing.T) {
	v, err := parseShelf("")
	if err != nil {
		t.Fatal(err)
	}
	two := v.with(aTable, "orders", anOutbox(), 0, listedInSummary)
	s, err := compact(two)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shelf.json", s)
	back, err := parseShelf(s)
	if err != nil {
		t.Fatal(err)
	}
	if l := back.listing(aTable, "orders"); l.Since != 0 || len(l.IDs) != 2 {
		t.Errorf("%+v", l)
	}
	// Other topologies' parts are carried forward, within the same bound, and every commit that is let go is said to be.
	for i := range 600 {
		back = back.with(aTable, "billing", []boxed{{Commit: uuid.New(), Seq: int64(100 + i)}}, 0, listedInProperty)
	}
	small := back.with(aTable, "orders", nil, 0, listedInSummary)
	if l := back.listing(aTable, "billing"); len(l.IDs) != listedInProperty || l.Since != 100+600-listedInProperty {
		t.Errorf("property: %d since %d", len(l.IDs), l.Since)
	}
	if l := small.listing(aTable, "billing"); len(l.IDs) != listedInSummary || l.Since != 100+600-listedInSummary {
		t.Errorf("summary: %d since %d", len(l.IDs), l.Since)
	}
	if s, _ := compact(small); len(s) > 2000 {
		t.Errorf("a summary of %d bytes", len(s))
	}
}

func TestWhatCantBeReadIsRefused(t *testing.T) {
	for _, s := range []string{`[]`, `{}`, `{"v":2}`, `{"v":1,"tables":{"x":{}}}`, `{"v":1,"tables":{"` + aTable.String() + `":{"a":{"ids":[[1]]}}}}`} {
		if _, err := parseShelf(s); err == nil {
			t.Errorf("%s was read", s)
		}
	}
	for _, s := range []string{`{"outbox":1}`, `{"outbox":[{}]}`, `{"outbox":[{"commit":"` + aCommit.String() + `","table":"` + aShelf.String() + `","files":[{"rows":1}]}]}`} {
		v := newValue()
		v.topologies["a"] = []byte(s)
		if _, err := v.outbox("a"); err == nil {
			t.Errorf("%s was read", s)
		}
	}
}

// A value of the rejects table that a newer floe wrote, or that was damaged, stops: it is never taken for none.
func TestAShelfThatCantBeReadStops(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 2))), Landed)
	r.emptied()
	r.end()
	p.rej.apply(table.NewSetPropertiesUpdate(map[string]string{keyRejects: `{"v":2}`}))
	if err := p.committer(p.with(Config{}), nil).finishes(); !isStop(err) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("got %v", err)
	}
}

func FuzzShelfAndOutbox(f *testing.F) {
	f.Add(`{"v":1,"snapshot":4,"tables":{"` + aTable.String() + `":{"orders":{"since":3,"ids":[[12,"x"]]}}}}`)
	f.Add(`{"v":1,"topologies":{"a":{"outbox":[{"commit":"` + aCommit.String() + `","seq":1,"at":2,"table":"` + aShelf.String() + `","files":[{"path":"f","rows":1,"bytes":2}]}]}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := parseShelf(s); err == nil {
			if _, err := compact(v.with(aTable, "orders", anOutbox(), 0, 4)); err != nil {
				t.Fatal(err)
			}
		}
		v, err := parseValue(s)
		if err != nil {
			return
		}
		box, err := v.outbox("a")
		if err != nil {
			return
		}
		if err := v.setOutbox("a", box); err != nil {
			t.Fatal(err)
		}
		for _, b := range box {
			if _, err := b.dataFiles(); err != nil {
				t.Logf("%v", err)
			}
		}
		if again, err := v.outbox("a"); err != nil || len(again) != len(box) {
			t.Fatalf("%v, %v", again, err)
		}
	})
}

// The wire form of a batch's rejects keeps what the outbox needs.
func TestWhatIsPackedIsWhatIsAppended(t *testing.T) {
	p := newPair(t, nil)
	one, two := p.bad("a", rng(0, 0, 2)), p.bad("a", rng(0, 2, 4))
	b, ok := pack(aCommit, 7, one.SealedAt, []*descriptor.Rejects{one.Rejects, two.Rejects})
	files, err := b.dataFiles()
	if !ok || err != nil || len(files) != 2 || b.rows() != 2 || files[1].FilePath() != two.Rejects.Files[0].FilePath() || files[1].FileSizeBytes() != 4 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, ok := pack(aCommit, 7, one.SealedAt, nil); ok {
		t.Error("nothing was packed")
	}
}
