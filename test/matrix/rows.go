package matrix

// Row is one combination that is tried.
type Row struct {
	// Name is the test's.
	Name string
	// Kafka, Catalog and Store say what is used.
	Kafka, Catalog, Store string
}

// Rows is everything that TestMatrix tries.
var Rows = []Row{
	{"plain-sqlite-local", "one broker, plaintext", "SQLite", "local disk"},
	{"cluster-postgres-local", "three brokers, one killed", "Postgres", "local disk"},
	{"plain-rest-s3", "SASL/PLAIN", "REST", "S3"},
	{"scram256-oauth2-s3", "SASL/SCRAM-SHA-256", "REST, OAuth 2 with tokens of 8 s", "S3"},
	{"scram512-rest-vended", "SASL/SCRAM-SHA-512", "REST", "S3, vended keys of 12 s"},
	{"tls-postgres-azure", "TLS", "Postgres", "Azure (ADLS Gen2)"},
	{"mtls-sqlite-gcs", "mutual TLS", "SQLite", "Google Cloud Storage"},
	{"oauthbearer-glue-s3", "SASL/OAUTHBEARER, tokens of 5 s", "Glue", "S3"},
	{"plain-hive-local", "one broker, plaintext", "Hive", "local disk"},
}

// Programs are what stands behind the words of Rows: what, the program that stands in for it here, and its name among
// services.Versions.
var Programs = [][3]string{
	{"Kafka", "Apache Kafka, KRaft", "kafka"},
	{"REST", "Apache Iceberg's REST catalog (iceberg-open-api's test server over JDBC)", "rest"},
	{"OAuth 2, vended keys", "a gate of floe's own before the catalog and the store, `internal/services`", ""},
	{"Postgres", "Debian's", ""},
	{"Hive", "Hive standalone metastore over Derby", "hive"},
	{"Glue, S3", "moto", "moto"},
	{"Azure", "Azurite", "azure"},
	{"Google Cloud Storage", "fake-gcs-server", "gcs"},
	{"Spark", "pyspark with Iceberg's runtime", "spark"},
	{"Python", "PyIceberg", "pyiceberg"},
	{"DuckDB", "DuckDB with its iceberg extension", "duckdb"},
	{"JavaScript", "hyparquet", "hyparquet"},
}
