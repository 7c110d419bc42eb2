package committer

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

// What iceberg-go's REST catalog makes of each answer, over a real connection. An upgrade that changes it fails here.
func TestAnswersOfARESTCatalog(t *testing.T) {
	w := newWorld(t, nil)
	tbl := w.table()
	meta, err := json.Marshal(tbl.Metadata())
	w.must(err)
	var asked atomic.Value // what the server is to answer
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/v1/config") {
			_, _ = rw.Write([]byte(`{"defaults":{},"overrides":{}}`))
			return
		}
		if r.Method == http.MethodGet {
			_, _ = rw.Write([]byte(`{"metadata-location":"` + tbl.MetadataLocation() + `","metadata":` + string(meta) + `}`))
			return
		}
		var status int
		var html bool
		switch mode := asked.Load().(string); mode {
		case "reset":
			conn, _, _ := rw.(http.Hijacker).Hijack()
			_ = conn.Close()
			return
		case "torn 200":
			_, _ = rw.Write([]byte(`{"metadata-location": "x", "meta`))
			return
		case "empty 200":
			return
		default:
			html = strings.HasSuffix(mode, " html")
			_, _ = fmt.Sscan(mode, &status)
		}
		if html {
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte("<html>a proxy speaks</html>"))
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		_, _ = fmt.Fprintf(rw, `{"error":{"message":"no","type":"X","code":%d}}`, status)
	}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	cat, err := rest.NewCatalog(context.Background(), "r", srv.URL)
	w.must(err)
	want := map[string]protocol.Answer{
		"409": protocol.Moved, "409 html": protocol.Moved,
		"400": protocol.Refused, "403": protocol.Refused, "413": protocol.Refused, "422": protocol.Refused,
		"400 html": protocol.Refused, "413 html": protocol.Refused,
	}
	for _, mode := range []string{
		"400", "403", "409", "413", "422", "400 html", "409 html", "413 html",
		"401", "404", "419", "429", "500", "501", "502", "503", "504", "500 html", "502 html", "reset", "torn 200", "empty 200",
	} {
		asked.Store(mode)
		rt, err := cat.LoadTable(context.Background(), ident)
		w.must(err)
		tx := rt.NewTransaction()
		w.must(tx.SetProperties(iceberg.Properties{"a": mode}))
		_, err = tx.Commit(context.Background())
		expect, ok := want[mode]
		if !ok {
			expect = protocol.Unknown
		}
		if got := tableio.AnswerOf(err); got != expect {
			t.Errorf("%s: %s, want %s (%v)", mode, got, expect, err)
		}
	}
}

func sqlite(t *testing.T) (catalog.Catalog, *tableio.Loader) {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+dir+"/cat.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	cat, err := icesql.NewCatalog("c", db, icesql.SQLite, iceberg.Properties{"warehouse": "file://" + dir + "/wh"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tableio.Ensure(context.Background(), cat, ident, tableio.Definition{Schema: schema()}); err != nil {
		t.Fatal(err)
	}
	return cat, tableio.New(cat, ident)
}

// raced lets somebody else commit between the SQL catalog's look and its compare-and-swap.
type raced struct {
	table.CatalogIO
	before func()
}

func (r *raced) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, ups []table.Update) (table.Metadata, string, error) {
	if f := r.before; f != nil {
		r.before = nil
		f()
	}
	return r.CatalogIO.CommitTable(ctx, id, reqs, ups)
}

func TestAnswersOfASQLCatalog(t *testing.T) {
	cat, loader := sqlite(t)
	ctx := context.Background()
	load := func() *table.Table {
		tbl, err := loader.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return tbl
	}
	commit := func(tbl *table.Table) error {
		tx := tbl.NewTransaction()
		if err := tx.AddFiles(ctx, nil, nil, true); err != nil {
			return err
		}
		_, err := tx.Commit(ctx)
		return err
	}
	stale := load()
	if err := commit(load()); err != nil {
		t.Fatal(err)
	}
	// The conflict is seen before anything is written: a bare error.
	err := commit(stale)
	if tableio.AnswerOf(err) != protocol.Moved || errors.Is(err, table.ErrCommitFailed) {
		t.Errorf("stale base: %s (%v)", tableio.AnswerOf(err), err)
	}
	if err := cat.DropTable(ctx, ident); err != nil {
		t.Fatal(err)
	}
	if err = commit(stale); tableio.AnswerOf(err) == protocol.Landed || tableio.AnswerOf(err) == protocol.Refused {
		t.Errorf("dropped table: %s (%v)", tableio.AnswerOf(err), err)
	}
}

// The whole path on the SQL catalog and durable local files.
func TestOnASQLiteCatalog(t *testing.T) {
	cat, loader := sqlite(t)
	ctx := context.Background()
	r := &raced{CatalogIO: cat}
	w := &world{t: t, dir: t.TempDir(), cat: &memCat{}}
	tbl, err := loader.Load(ctx)
	w.must(err)
	w.cat.meta, w.cat.loc = tbl.Metadata(), tbl.MetadataLocation()
	mine := &runner{w: w, obs: newRecorder(), done: make(chan error, 1)}
	mine.Committer, err = New(Config{Topology: "a", Observer: mine.obs}, tableio.New(r, ident), newLog())
	w.must(err)
	_, err = mine.Load(ctx)
	w.must(err)
	_, err = mine.Begin(ctx, map[source.Partition]source.Position{part(0): 0})
	w.must(err)
	mine.run()
	r.before = func() {
		tbl, err := loader.Load(ctx)
		w.must(err)
		tx := tbl.NewTransaction()
		w.must(tx.AddFiles(ctx, nil, nil, true))
		_, err = tx.Commit(ctx)
		w.must(err)
	}
	w.want(mine.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(mine.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
	pos, err := mine.Load(ctx)
	w.must(err)
	if pos.At[part(0)].Next != 20 || mine.obs.count("refused") != 1 || mine.obs.troubles != 0 {
		t.Errorf("positions %+v, outcomes %v, troubles %d", pos, mine.obs.outcomes, mine.obs.troubles)
	}
	mine.end()
}
