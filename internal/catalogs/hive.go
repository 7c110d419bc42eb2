//go:build cloud

package catalogs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/hive" // registers the type
	"github.com/apache/thrift/lib/go/thrift"
)

// openHive opens the catalog so that one call runs at a time: iceberg-go's client has one connection, and two calls on it read
// each other's answers.
func openHive(ctx context.Context, name string, p iceberg.Properties) (catalog.Catalog, func() error, error) {
	u, err := url.Parse(p["uri"])
	if err != nil || u.Scheme != "thrift" || u.Host == "" {
		return nil, nil, &ConfigError{"uri", "is not the address of a Hive metastore", `write one such as uri: "thrift://localhost:9083"`}
	}
	open := func(ctx context.Context) (catalog.Catalog, error) { return catalog.Load(ctx, name, p) }
	cat, err := open(ctx)
	if err != nil {
		return nil, nil, notReached("Hive", fmt.Sprintf("%s://%s", u.Scheme, u.Host), err)
	}
	cat = newRenewing(cat, connectionBroken, &sync.Mutex{}, open)
	return cat, closer(cat), nil
}

// connectionBroken says that the client's connection can't be used again: it is gone, or an answer was left on it.
func connectionBroken(err error) bool {
	var transport thrift.TTransportException
	var protocol thrift.TProtocolException
	var application thrift.TApplicationException
	var network net.Error
	return errors.As(err, &transport) || errors.As(err, &protocol) || errors.As(err, &application) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
