//go:build rest || cloud

package catalogs

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/restcatalog"
)

// noTables has none.
type noTables struct{ catalog.Catalog }

func (noTables) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return nil, catalog.ErrNoSuchTable
}

// A token that the server revoked, or that it lost when it was started again, is replaced.
func TestARefusedTokenIsReplaced(t *testing.T) {
	srv := restcatalog.New(noTables{}, restcatalog.Options{Credential: "app:hunter2"})
	front := httptest.NewServer(srv)
	defer front.Close()
	cat := open(t, map[string]string{"type": "rest", "uri": front.URL, "credential": "app:hunter2"})
	clock := time.Now()
	cat.(*renewing).now = func() time.Time { return clock }
	load := func() error {
		_, err := cat.LoadTable(context.Background(), table.Identifier{"a", "t"})
		return err
	}
	if err := load(); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Fatalf("with the first token: %v", err)
	}
	srv.RevokeTokens()
	if err := load(); !errors.Is(err, rest.ErrUnauthorized) {
		t.Errorf("with a token that was revoked: %v", err)
	}
	if err := load(); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("the next time: %v", err)
	}
	// Not at every request: the catalog may refuse every token.
	issued := srv.TokensIssued()
	srv.RevokeTokens()
	for range 3 {
		if err := load(); !errors.Is(err, rest.ErrUnauthorized) || srv.TokensIssued() != issued {
			t.Errorf("right after: %v, %d tokens, before %d", err, srv.TokensIssued(), issued)
		}
	}
	clock = clock.Add(renewEvery)
	if _, _, err := cat.CommitTable(context.Background(), table.Identifier{"a", "t"}, nil, nil); !errors.Is(err, rest.ErrUnauthorized) {
		t.Errorf("a commit: %v", err)
	}
	if err := load(); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("after a commit that was refused: %v", err)
	}
	// A catalog that is away then is told of, too.
	srv.RevokeTokens()
	clock = clock.Add(renewEvery)
	cat.(*renewing).open = func(context.Context) (catalog.Catalog, error) { return nil, errors.New("503 of the token server") }
	if err := load(); !errors.Is(err, rest.ErrUnauthorized) || !strings.Contains(err.Error(), "503 of the token server") {
		t.Errorf("without a new token: %v", err)
	}
}
