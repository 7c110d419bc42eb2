package restcatalog_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/stormfloe/floe/internal/restcatalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ident  = table.Identifier{"a", "b", "t"}
	schema = iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.String})
)

// behind is a catalog that can do everything.
func behind(t *testing.T) catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+dir+"/cat.db")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	cat, err := icesql.NewCatalog("c", db, icesql.SQLite, iceberg.Properties{"warehouse": "file://" + dir + "/wh"})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// serve gives iceberg-go's client on a server.
func serve(t *testing.T, cat catalog.Catalog, opts restcatalog.Options, with ...rest.Option) (*rest.Catalog, *restcatalog.Server, string) {
	t.Helper()
	s := restcatalog.New(cat, opts)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	client, err := rest.NewCatalog(context.Background(), "r", srv.URL, with...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, s, srv.URL
}

// What iceberg-go's client makes of the server, from the namespace to the commit and back.
func TestIcebergGosClient(t *testing.T) {
	ctx := context.Background()
	cat, _, _ := serve(t, behind(t), restcatalog.Options{})
	if _, err := cat.LoadTable(ctx, ident); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("a table that is not there: %v", err)
	}
	ok, err := cat.CheckNamespaceExists(ctx, ident[:2])
	if ok || err != nil {
		t.Errorf("a namespace that is not there: %v %v", ok, err)
	}
	if err := cat.CreateNamespace(ctx, ident[:2], iceberg.Properties{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateNamespace(ctx, ident[:2], nil); !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		t.Errorf("a namespace that is there is made: %v", err)
	}
	if ok, err := cat.CheckNamespaceExists(ctx, ident[:2]); !ok || err != nil {
		t.Errorf("a namespace that is there: %v %v", ok, err)
	}
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	made, err := cat.CreateTable(ctx, ident, schema, catalog.WithPartitionSpec(&spec),
		catalog.WithProperties(iceberg.Properties{"format-version": "2", "a": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cat.CreateTable(ctx, ident, schema); !errors.Is(err, catalog.ErrTableAlreadyExists) {
		t.Errorf("a table that is there is made: %v", err)
	}
	tbl, err := cat.LoadTable(ctx, ident)
	if err != nil {
		t.Fatal(err)
	}
	got := tbl.Spec()
	if !tbl.Metadata().Equals(made.Metadata()) || tbl.Properties()["a"] != "1" || got.NumFields() != 1 || tbl.Metadata().Version() != 2 {
		t.Errorf("the table is %+v", tbl.Metadata())
	}
	if ok, err := cat.CheckTableExists(ctx, ident); !ok || err != nil {
		t.Errorf("a table that is there: %v %v", ok, err)
	}
	wantCommits(t, cat, tbl)
	if err := cat.DropTable(ctx, ident); err != nil {
		t.Fatal(err)
	}
	if err := cat.DropTable(ctx, ident); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("a table that is not there is dropped: %v", err)
	}
	if err := appendNothing(tbl); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("a commit to a table that is not there: %v", err)
	}
}

// wantCommits: of two on one base, the second is refused, and the table shows the first.
func wantCommits(t *testing.T, cat *rest.Catalog, tbl *table.Table) {
	t.Helper()
	if err := appendNothing(tbl); err != nil {
		t.Fatal(err)
	}
	if err := appendNothing(tbl); !errors.Is(err, table.ErrCommitFailed) {
		t.Errorf("a commit on a base that has moved: %v", err)
	}
	now, err := cat.LoadTable(context.Background(), ident)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(now.Metadata().Snapshots()); n != 1 {
		t.Errorf("%d snapshots", n)
	}
}

func appendNothing(tbl *table.Table) error {
	tx := tbl.NewTransaction()
	if err := tx.AddFiles(context.Background(), nil, nil, true); err != nil {
		return err
	}
	_, err := tx.Commit(context.Background())
	return err
}

// raw asks without a client and gives status and body.
func raw(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	tr := &http.Transport{DisableKeepAlives: true}
	rsp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rsp.Body.Close() }()
	data, err := io.ReadAll(rsp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rsp.StatusCode, string(data)
}

// Errors have the shapes of the specification, and a commit is refused whole.
func TestShapesOfErrors(t *testing.T) {
	ctx := context.Background()
	cat, _, url := serve(t, behind(t), restcatalog.Options{})
	if err := cat.CreateNamespace(ctx, ident[:2], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := cat.CreateTable(ctx, ident, schema); err != nil {
		t.Fatal(err)
	}
	const ns, good = "/v1/namespaces/a%1Fb", `{"action":"set-properties","updates":{"x":"1"}}`
	for _, c := range []struct {
		method, path, body string
		status             int
		name               string
	}{
		{"GET", ns + "/tables/other", "", 404, "NoSuchTableException"},
		{"GET", "/v1/namespaces/other", "", 404, "NoSuchNamespaceException"},
		{"GET", "/v1/views", "", 406, "UnsupportedOperationException"},
		{"POST", ns + "/tables", `{"name":"t2"}`, 400, "BadRequestException"},
		{"POST", ns + "/tables", `{"name":"t2","stage-create":true,"schema":{"type":"struct","fields":[]}}`, 406, "UnsupportedOperationException"},
		{"POST", "/v1/namespaces", `{}`, 400, "BadRequestException"},
		{"POST", ns + "/tables/t", `<html>`, 400, "BadRequestException"},
		{"POST", ns + "/tables/other", `{"requirements":[],"updates":[` + good + `]}`, 404, "NoSuchTableException"},
		{"POST", ns + "/tables/t", `{"requirements":[{"type":"no-such"}],"updates":[]}`, 400, "BadRequestException"},
		{"POST", ns + "/tables/t", `{"requirements":[],"updates":[` + good + `,{"action":"set-current-schema","schema-id":99}]}`, 400, "BadRequestException"},
		{"POST", ns + "/tables/t", `{"requirements":[{"type":"assert-table-uuid","uuid":"9e1b4d60-0000-4000-8000-000000000000"}],"updates":[` + good + `]}`, 409, "CommitFailedException"},
		{"POST", ns + "/tables/t", `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":7}],"updates":[` + good + `]}`, 409, "CommitFailedException"},
	} {
		status, body := raw(t, c.method, url+c.path, c.body)
		if status != c.status || !strings.Contains(body, `"type":"`+c.name+`"`) || !strings.HasPrefix(body, `{"error":{`) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	tbl, err := cat.LoadTable(ctx, ident)
	if err != nil || tbl.Properties()["x"] != "" {
		t.Errorf("a refused commit was applied: %v %v", tbl.Properties(), err)
	}
}

// failing fails a commit after the look, as a catalog does that two ask at once.
type failing struct {
	catalog.Catalog
	err error
}

func (f failing) CommitTable(context.Context, table.Identifier, []table.Requirement, []table.Update) (table.Metadata, string, error) {
	return nil, "", f.err
}

func TestWhatTheCatalogBehindSaysOfACommit(t *testing.T) {
	ctx := context.Background()
	under := behind(t)
	if err := under.CreateNamespace(ctx, ident[:2], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := under.CreateTable(ctx, ident, schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ err, want error }{
		{table.ErrCommitFailed, table.ErrCommitFailed},
		{errors.New("requirement failed: the branch has moved"), table.ErrCommitFailed},
		{catalog.ErrNoSuchTable, catalog.ErrNoSuchTable},
		{errors.New("disk full"), rest.ErrCommitStateUnknown},
	} {
		cat, _, _ := serve(t, failing{under, c.err}, restcatalog.Options{})
		tbl, err := cat.LoadTable(ctx, ident)
		if err != nil {
			t.Fatal(err)
		}
		if err := appendNothing(tbl); !errors.Is(err, c.want) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
}

func TestTokens(t *testing.T) {
	ctx := context.Background()
	under := behind(t)
	opts := restcatalog.Options{Credential: "app:hunter2", TokenTTL: time.Hour}
	cat, srv, url := serve(t, under, opts, rest.WithCredential("app:hunter2"))
	if _, err := cat.LoadTable(ctx, ident); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("with a token: %v", err)
	}
	issued := srv.TokensIssued()
	srv.RevokeTokens()
	if _, err := cat.LoadTable(ctx, ident); !errors.Is(err, rest.ErrUnauthorized) || srv.TokensIssued() != issued {
		t.Errorf("with a token that was revoked: %v; %d tokens, then %d", err, issued, srv.TokensIssued())
	}
	again, err := rest.NewCatalog(ctx, "r", url, rest.WithCredential("app:hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if _, err := again.LoadTable(ctx, ident); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("with a new token: %v", err)
	}
	if _, err := rest.NewCatalog(ctx, "r", url, rest.WithCredential("app:wrong")); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong secret: %v", err)
	}
	if status, body := raw(t, "GET", url+"/v1/config", "", "Authorization", "Bearer x"); status != 401 || !strings.Contains(body, "NotAuthorizedException") {
		t.Errorf("with a wrong token: %d %s", status, body)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	if status, body := raw(t, "POST", url+"/v1/oauth/tokens", "grant_type=password", form...); status != 400 || !strings.Contains(body, "unsupported_grant_type") {
		t.Errorf("another grant: %d %s", status, body)
	}
}
