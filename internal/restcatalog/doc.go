// Package restcatalog serves an iceberg-go catalog by the Iceberg REST protocol, for tests: what stands behind a REST
// client, in this process.
//
//	srv := httptest.NewServer(restcatalog.New(cat, restcatalog.Options{}))
//
// It serves as much as floe asks for: the configuration, tokens, namespaces (look, make), tables (look, make, drop) and the
// commit. Requirements and updates are decoded by iceberg-go's own types and judged by the catalog behind; errors have the
// shapes of the protocol's specification:
//
//	404 NoSuchTableException, NoSuchNamespaceException   409 CommitFailedException, AlreadyExistsException
//	400 BadRequestException                              500 CommitStateUnknownException
//	401 NotAuthorizedException                           406 UnsupportedOperationException
//
// It keeps no state but the tokens that it gave out. Nothing is locked: the catalog behind does the compare-and-swap.
package restcatalog
