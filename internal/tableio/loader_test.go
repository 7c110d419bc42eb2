package tableio

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// fakeCatalog gives a table whose FileIO the test makes.
type fakeCatalog struct {
	location string
	err      error
	// fs is called for each FileIO, with the context it is bound to.
	fs    func(ctx context.Context) (iceio.IO, error)
	bound []context.Context
	loads int
}

func (c *fakeCatalog) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.loads++
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	meta, err := table.NewMetadata(sc, nil, table.UnsortedSortOrder, c.location, nil)
	if err != nil {
		return nil, err
	}
	return table.New(ident, meta, c.location+"/metadata/0.json", func(ctx context.Context) (iceio.IO, error) {
		c.bound = append(c.bound, ctx)
		if c.fs != nil {
			return c.fs(ctx)
		}
		return iceio.NewMemFS(), nil
	}, c), nil
}

func (c *fakeCatalog) CommitTable(context.Context, table.Identifier, []table.Requirement, []table.Update) (table.Metadata, string, error) {
	return nil, "", errors.New("not here")
}

func load(t *testing.T, l *Loader) (*table.Table, iceio.IO) {
	t.Helper()
	tbl, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fio, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tbl, fio
}

func TestTheFileIOIsKeptBetweenLoads(t *testing.T) {
	c := &fakeCatalog{location: "mem://a/t"}
	l := New(c, table.Identifier{"db", "t"})
	_, first := load(t, l)
	_, second := load(t, l)
	if first != second || len(c.bound) != 1 || c.loads != 2 {
		t.Errorf("%d FileIOs for %d loads", len(c.bound), c.loads)
	}
}

func TestTheFileIOOutlivesTheContextOfALoad(t *testing.T) {
	c := &fakeCatalog{location: "mem://a/t"}
	l := New(c, table.Identifier{"db", "t"})
	ctx, cancel := context.WithCancel(t.Context())
	tbl, err := l.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.FS(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.bound[0].Err(); err != nil {
		t.Errorf("the FileIO is bound to the context of one call: %v", err)
	}
}

func TestAnotherLocationGetsAnotherFileIO(t *testing.T) {
	c := &fakeCatalog{location: "mem://a/t"}
	l := New(c, table.Identifier{"db", "t"})
	old, first := load(t, l)
	c.location = "mem://b/t"
	_, second := load(t, l)
	if first == second {
		t.Error("the FileIO of the old bucket is still in use")
	}
	if fio, err := old.FS(t.Context()); err != nil || fio != second {
		t.Errorf("a table loaded before has a FileIO of its own: %v", err)
	}
}

func TestStorageCredentialsAreRenewed(t *testing.T) {
	now := time.Unix(0, 0)
	c := &fakeCatalog{location: "mem://a/t"}
	l := New(c, table.Identifier{"db", "t"}, WithClock(func() time.Time { return now }))
	tbl, first := load(t, l)
	now = now.Add(refreshIO - 1)
	if fio, _ := tbl.FS(t.Context()); fio != first {
		t.Error("renewed too early")
	}
	now = now.Add(1)
	second, err := tbl.FS(t.Context())
	if err != nil || second == first {
		t.Errorf("not renewed, though old: %v", err)
	}

	// The catalog is away: the old one goes on, and it is tried again a little later, not at each use.
	now = now.Add(refreshIO)
	asked := len(c.bound)
	c.fs = func(context.Context) (iceio.IO, error) { return nil, errors.New("401") }
	for range 3 {
		if fio, err := tbl.FS(t.Context()); err != nil || fio != second {
			t.Fatalf("got %v", err)
		}
	}
	if len(c.bound) != asked+1 {
		t.Errorf("asked %d times", len(c.bound)-asked)
	}
	c.fs = nil
	now = now.Add(retryIO)
	if fio, err := tbl.FS(t.Context()); err != nil || fio == second {
		t.Errorf("not tried again: %v", err)
	}
}

func TestACatalogThatKeepsItsFileIOIsTakenAtItsWord(t *testing.T) {
	now, kept, decorated := time.Unix(0, 0), iceio.NewMemFS(), 0
	c := &fakeCatalog{location: "mem://a/t", fs: func(context.Context) (iceio.IO, error) { return kept, nil }}
	l := New(c, table.Identifier{"db", "t"}, WithClock(func() time.Time { return now }),
		WithIO(func(fio iceio.IO) iceio.IO { decorated++; return fio }))
	load(t, l)
	now = now.Add(refreshIO)
	load(t, l)
	if decorated != 1 || len(c.bound) != 2 {
		t.Errorf("decorated %d times, asked %d times", decorated, len(c.bound))
	}
	if c.bound[0].Err() != nil {
		t.Error("what is in use was cancelled")
	}
}

// TestShortCredentialsAreRenewedInTime: a catalog that says when its credentials expire makes another FileIO after half of their
// time; floe used the first one for five minutes, whatever the catalog said.
func TestShortCredentialsAreRenewedInTime(t *testing.T) {
	const half = 30 * time.Second
	now := time.Unix(0, 0)
	var ios []iceio.IO
	c := &fakeCatalog{location: "mem://a/t", fs: func(context.Context) (iceio.IO, error) {
		for len(ios) <= int(now.Sub(time.Unix(0, 0))/half) {
			ios = append(ios, iceio.NewMemFS())
		}
		return ios[len(ios)-1], nil
	}}
	l := New(c, table.Identifier{"db", "t"}, WithClock(func() time.Time { return now }))
	tbl, _ := load(t, l)
	for range 400 {
		now = now.Add(time.Second)
		fio, err := tbl.FS(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		good := int(now.Add(-checkIO).Sub(time.Unix(0, 0)) / half)
		if fio != ios[len(ios)-1] && (good < 0 || fio != ios[good]) {
			t.Fatalf("at %s an old FileIO is in use", now)
		}
		if _, err := l.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.bound); n > 400/int(checkIO/time.Second)+2 {
		t.Errorf("asked %d times", n)
	}
}

// TestCredentialsThatCantBeRenewedComeWithTheNextTable: not every catalog has an endpoint for them.
func TestCredentialsThatCantBeRenewedComeWithTheNextTable(t *testing.T) {
	now, kept := time.Unix(0, 0), iceio.NewMemFS()
	c := &fakeCatalog{location: "mem://a/t", fs: func(context.Context) (iceio.IO, error) { return kept, nil }}
	l := New(c, table.Identifier{"db", "t"}, WithClock(func() time.Time { return now }))
	load(t, l)
	now = now.Add(checkIO)
	load(t, l)
	fresh, calls := iceio.NewMemFS(), 0
	c.fs = func(context.Context) (iceio.IO, error) {
		if calls++; calls == 1 {
			return nil, errors.New("404")
		}
		return fresh, nil
	}
	now = now.Add(checkIO)
	if _, fio := load(t, l); fio != fresh {
		t.Error("the keys of the newest table are not in use")
	}
}

func TestDecoratorsWrapInOrder(t *testing.T) {
	type layer struct {
		iceio.IO
		name string
	}
	wrap := func(name string) Option {
		return WithIO(func(fio iceio.IO) iceio.IO { return layer{fio, name} })
	}
	l := New(&fakeCatalog{location: "/t", fs: func(context.Context) (iceio.IO, error) { return iceio.LocalFS{}, nil }},
		table.Identifier{"db", "t"}, wrap("inner"), wrap("outer"))
	_, fio := load(t, l)
	outer := fio.(layer)
	inner := outer.IO.(layer)
	if _, durable := inner.IO.(*localIO); outer.name != "outer" || inner.name != "inner" || !durable {
		t.Errorf("got %v", fio)
	}
}

func TestMakingAFileIOEndsWithTheCallersContext(t *testing.T) {
	started := make(chan struct{}, 1)
	c := &fakeCatalog{location: "mem://a/t", fs: func(ctx context.Context) (iceio.IO, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	l := New(c, table.Identifier{"db", "t"})
	tbl, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := tbl.FS(ctx); done <- err }()
	<-started
	waiting, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := tbl.FS(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("who waits for another can't give up: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsNameTheTable(t *testing.T) {
	l := New(&fakeCatalog{err: errors.New("boom")}, table.Identifier{"db", "t"})
	if _, err := l.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "db.t") {
		t.Errorf("got %v", err)
	}
	if _, err := l.IO(t.Context()); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("got %v", err)
	}
	l = New(&fakeCatalog{location: "s3://b/t", fs: func(context.Context) (iceio.IO, error) {
		return nil, iceio.ErrIOSchemeNotFound
	}}, table.Identifier{"db", "t"})
	tbl, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.FS(t.Context()); !errors.Is(err, iceio.ErrIOSchemeNotFound) || !strings.Contains(err.Error(), "-tags cloud") {
		t.Errorf("got %v", err)
	}
}
