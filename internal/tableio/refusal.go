package tableio

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"reflect"
	"strings"

	"github.com/stormfloe/floe/internal/protocol"
)

// Refusal is what a catalog's error says of a request that changes the schema and nothing else.
type Refusal int

const (
	// NoRefusal is everything that does not prove one.
	NoRefusal Refusal = iota
	// Refuses says that the catalog won't do it, and that the same request would be answered the same.
	Refuses
	// Forbids says that somebody has to change something first, whatever the change: floe has no right to, the storage of the
	// metadata refuses it, a trigger freezes the catalog, a quota is used up.
	Forbids
)

// RefusalOf finds a proven refusal of a change of the schema. Beside the statuses of AnswerOf, those are what a database or
// a service answers to the request itself, with nothing applied:
//
//   - Postgres: no right to (42501), a trigger (P0001); a value that the catalog's own table can't hold (classes 22, 23, 44).
//   - SQLite: no right to write the file or the table (PERM, READONLY, AUTH), a trigger; another constraint, TOOBIG.
//   - Glue: AccessDeniedException, ResourceNumberLimitExceededException; InvalidInputException and ValidationException.
//   - Hive: InvalidOperationException where it says that types are incompatible: its metastore keeps columns of its own.
//   - The storage, where the client writes the metadata itself: S3's AccessDenied, a file system's "permission denied".
//
// A lock, a deadline, a connection that breaks, a server that starts or ends, and a database that can't be written just now
// (a standby, a full disk) are none.
func RefusalOf(err error) Refusal {
	if AnswerOf(err) == protocol.Moved {
		return NoRefusal
	}
	if AnswerOf(err) == protocol.Refused {
		return forbidsIf(StatusOf(err) == http.StatusForbidden)
	}
	if op := (*net.OpError)(nil); errors.Is(err, fs.ErrPermission) && !errors.As(err, &op) { // a firewall says it, too
		return Forbids
	}
	for e := err; e != nil; e = unwrap(e) {
		if r := refusalOf(e); r != NoRefusal {
			return r
		}
	}
	return NoRefusal
}

func forbidsIf(yes bool) Refusal {
	if yes {
		return Forbids
	}
	return Refuses
}

// refusalOf looks at one error of a chain. The types are told by their methods and names: importing the drivers and SDKs would link
// them into every user of this package.
func refusalOf(err error) Refusal {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch e := err.(type) { //nolint:errorlint // the caller unwraps
	case interface{ Field(byte) string }: // bun's pgdriver
		return postgresRefusal(e.Field('C'))
	case interface{ SQLState() string }: // pgx and lib/pq
		return postgresRefusal(e.SQLState())
	case interface{ Code() int }:
		if t.PkgPath() == "modernc.org/sqlite" {
			return sqliteRefusal(e.Code())
		}
	case interface{ ErrorCode() string }: // smithy's
		switch e.ErrorCode() {
		case "AccessDeniedException", "AccessDenied", "ResourceNumberLimitExceededException":
			return Forbids
		case "InvalidInputException", "ValidationException":
			return Refuses
		}
	}
	if t.Name() == "InvalidOperationException" && strings.Contains(err.Error(), "incompatible") {
		return Refuses
	}
	return NoRefusal
}

// postgresRefusal goes by the SQLSTATE. Class 25 (a standby, a transaction that is read-only) ends with a switch of servers.
func postgresRefusal(state string) Refusal {
	switch {
	case state == "42501", state == "P0001":
		return Forbids
	case strings.HasPrefix(state, "22"), strings.HasPrefix(state, "23"), strings.HasPrefix(state, "44"):
		return Refuses
	}
	return NoRefusal
}

// sqliteRefusal goes by the result code. Of READONLY only the plain one says that the file may not be written: those with more to
// say are about a journal that another process leaves.
func sqliteRefusal(code int) Refusal {
	const perm, readonly, tooBig, constraint, auth, trigger = 3, 8, 18, 19, 23, 19 | 7<<8
	switch {
	case code == readonly, code == trigger, code&0xff == perm, code&0xff == auth:
		return Forbids
	case code&0xff == constraint, code&0xff == tooBig:
		return Refuses
	}
	return NoRefusal
}
