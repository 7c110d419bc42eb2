package tableio

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/protocol"
)

// AnswerOf says what the error of a commit request means, by itself. Whatever it says, the table is looked at afterwards,
// and what is seen there decides: a proxy that sends a request again gets a conflict for the copy of one that landed.
//
//   - A conflict is table.ErrCommitFailed from REST (409) and from the SQL catalog's compare-and-swap on the metadata
//     location. Where the SQL catalog (and by their code Glue, Hive and Hadoop) sees the conflict before it writes, it
//     is a bare error whose text begins with "requirement failed".
//   - A refusal for another reason is a status that the server gives before it applies anything: 400, 403, 405, 406, 411,
//     413 to 415, 422, 431.
//   - 401 and 419 (a token that has run out), 404 (the table is away), 429 and the like may be mended by waiting.
//   - Everything else, above all 5xx, a connection that breaks, an empty or torn 200, a deadline, says nothing.
func AnswerOf(err error) protocol.Answer {
	switch {
	case err == nil:
		return protocol.Landed
	case errors.Is(err, table.ErrCommitFailed):
		return protocol.Moved
	}
	for e := err; e != nil; e = unwrap(e) {
		if strings.HasPrefix(strings.ToLower(e.Error()), "requirement failed") {
			return protocol.Moved
		}
	}
	switch StatusOf(err) {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusLengthRequired, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return protocol.Refused
	}
	return protocol.Unknown
}

// Told puts the HTTP status behind an error that came with one: what a gateway answers often has no words of its own.
func Told(err error) error {
	if status := StatusOf(err); status != 0 {
		return fmt.Errorf("%w (HTTP %d)", err, status)
	}
	return err
}

// StatusOf finds the HTTP status in a REST catalog's error, 0 for none. iceberg-go gives sentinels for some statuses only,
// and importing its REST catalog for them would link a cloud SDK into every user of this package; so the fields of its
// error are read by name. A test holds it against the real one.
func StatusOf(err error) int {
	for ; err != nil; err = unwrap(err) {
		v := reflect.ValueOf(err)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || v.Type().Name() != "errorResponse" {
			continue
		}
		for _, name := range []string{"statusCode", "Code"} {
			if f := v.FieldByName(name); f.IsValid() && f.CanInt() && f.Int() != 0 {
				return int(f.Int())
			}
		}
	}
	return 0
}

// unwrap follows the first branch of an error tree.
func unwrap(err error) error {
	if m, ok := err.(interface{ Unwrap() []error }); ok {
		if all := m.Unwrap(); len(all) > 0 {
			return all[0]
		}
		return nil
	}
	return errors.Unwrap(err)
}
