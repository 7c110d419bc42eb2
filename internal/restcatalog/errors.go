package restcatalog

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/apache/iceberg-go/catalog"
)

// Error is an answer in the protocol's shape.
type Error struct {
	// Status is the HTTP status, also in the body.
	Status int
	// Type is the name of the exception, "CommitFailedException".
	Type string
	// Message is for people.
	Message string
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Body is the error as it goes over the line.
func (e *Error) Body() []byte {
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": e.Message, "type": e.Type, "code": e.Status}})
	if err != nil {
		panic(err) // strings and a number
	}
	return b
}

func badRequest(err error) error {
	return &Error{http.StatusBadRequest, "BadRequestException", err.Error()}
}

// errorOf gives an error of the catalog behind the shape that the specification has for it.
func errorOf(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	for _, k := range []struct {
		is     error
		status int
		name   string
	}{
		{catalog.ErrNoSuchTable, http.StatusNotFound, "NoSuchTableException"},
		{catalog.ErrNoSuchNamespace, http.StatusNotFound, "NoSuchNamespaceException"},
		{catalog.ErrTableAlreadyExists, http.StatusConflict, "AlreadyExistsException"},
		{catalog.ErrNamespaceAlreadyExists, http.StatusConflict, "AlreadyExistsException"},
		{catalog.ErrNamespaceNotEmpty, http.StatusConflict, "NamespaceNotEmptyException"},
	} {
		if errors.Is(err, k.is) {
			return &Error{k.status, k.name, err.Error()}
		}
	}
	return &Error{http.StatusInternalServerError, "InternalServerError", err.Error()}
}

func writeError(w http.ResponseWriter, err error) {
	e := errorOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(e.Body())
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
