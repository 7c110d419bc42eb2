// Package catalogs opens the catalog that a configuration names, from the user's keys as they are.
//
//	cat, closeCatalog, err := catalogs.Open(ctx, "floe", map[string]string{
//		"type": "sqlite", "uri": "catalog.db", "warehouse": "/data/warehouse",
//	})
//
// The keys are iceberg-go's own, and three forms of their own make the usual cases short:
//
//	type: rest        uri: "http://localhost:8181"                        (build tag rest)
//	type: sqlite      uri: catalog.db                                     a file, made where it is missing
//	type: postgres    uri: "postgres://user:${PW}@host:5432/db"
//	type: sql         uri, sql.driver ("sqlite" or "pg"), sql.dialect     handed to the driver as it is
//	type: hive        uri: "thrift://localhost:9083"                      (build tag cloud)
//	type: glue        glue.region and so on                               (build tag cloud)
//
// An SQLite catalog is opened so that several processes can share it (write-ahead log, a busy timeout), and PyIceberg's
// SqlCatalog reads it under the same catalog name.
//
// # What is linked in
//
// The REST catalog and the object stores bring cloud SDKs that take longer to compile than everything else together. They
// are behind the build tags rest, s3 and cloud (both, and Hive, Glue, Azure and Google Cloud Storage); without one, Open and
// the table's storage answer with the command that builds it in. SQLite, Postgres and local files are always there.
//
// # Secrets
//
// Passwords, tokens and keys among the properties never appear in an error of Open.
package catalogs
