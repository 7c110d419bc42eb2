// Package matrix runs floe against real services: each kind of security that Kafka has, each catalog and each object store at
// least once, and each time floe is killed while it works and started again.
//
//	go test -v -timeout 30m ./test/matrix -args -services              all rows
//	go test -v -timeout 30m ./test/matrix -args -services -write      and docs/compatibility.md anew
//	go test -v ./test/matrix -run 'TestMatrix/oauth' -args -services
//
// A row produces records in transactions, some aborted, starts `floe run`, sends SIGKILL after the first commit, starts it
// again until it has caught up, and has test/proof compare the table and each of its snapshots with what was produced. The
// services come from package internal/services. Without -services only the document is checked against the rows.
//
// Where a service can't be had a row is skipped and counted; with FLOE_CI=1 in the environment that is a failure.
package matrix
