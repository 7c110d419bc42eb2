//go:build rest || cloud

package catalogs

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest" // registers the type
)

func openREST(ctx context.Context, name string, p iceberg.Properties) (catalog.Catalog, func() error, error) {
	const hint = `write the address of the REST catalog, for example uri: "http://localhost:8181"`
	u, err := url.Parse(p["uri"])
	switch {
	case p["uri"] == "":
		return nil, nil, &ConfigError{"uri", "is missing", hint}
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, nil, &ConfigError{"uri", "is not an http or https address", hint}
	}
	cat, err := catalog.Load(ctx, name, p)
	if err != nil {
		return nil, nil, notReached("REST", fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.Path), err)
	}
	if p["credential"] != "" && p["token"] == "" {
		open := func(ctx context.Context) (catalog.Catalog, error) {
			next, err := catalog.Load(ctx, name, p)
			if err != nil {
				return nil, redact(err, p)
			}
			return next, nil
		}
		cat = newRenewing(cat, tokenRefused, together{}, open)
	}
	return cat, closer(cat), nil
}

func tokenRefused(err error) bool {
	return errors.Is(err, rest.ErrUnauthorized) || errors.Is(err, rest.ErrAuthorizationExpired)
}
