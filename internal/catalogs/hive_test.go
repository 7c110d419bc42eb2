//go:build cloud

package catalogs

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// lonely is a catalog that bears one call at a time, and counts those that met another.
type lonely struct {
	catalog.Catalog
	inside, met atomic.Int32
	err         error
}

func (l *lonely) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	if l.inside.Add(1) > 1 {
		l.met.Add(1)
	}
	defer l.inside.Add(-1)
	return nil, l.err
}

// TestHiveIsAskedOneThingAtATime: iceberg-go's client has one connection, and two calls at once read each other's answers
// (a panic in its buffers).
func TestHiveIsAskedOneThingAtATime(t *testing.T) {
	broken, whole := &lonely{err: io.EOF}, &lonely{err: catalog.ErrNoSuchTable}
	c := newRenewing(broken, connectionBroken, &sync.Mutex{}, func(context.Context) (catalog.Catalog, error) { return whole, nil })
	if _, err := c.LoadTable(t.Context(), table.Identifier{"a", "t"}); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if _, err := c.LoadTable(t.Context(), table.Identifier{"a", "t"}); !errors.Is(err, catalog.ErrNoSuchTable) {
					t.Errorf("after the connection was made anew: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := whole.met.Load(); n > 0 {
		t.Errorf("%d calls met another", n)
	}
}
