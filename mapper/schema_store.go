package mapper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The errors of whoever gives the schemas that records name. Any other one may pass: it holds the stream until a later
// call succeeds.
var (
	// ErrNoSchema says that there is no schema of an id. It makes the record bad.
	ErrNoSchema = errors.New("mapper: there is no schema of this id")
	// ErrWrongSchema says that the schema of an id is of another type than the records are. It makes the record bad.
	ErrWrongSchema = errors.New("mapper: a schema of another type")
	// ErrNoReference says that a schema is not complete: what it refers to is not there, and is not only late. It makes the record bad.
	ErrNoReference = errors.New("mapper: what the schema refers to is missing")
	// ErrRefused says that whoever was asked refuses to answer: wrong credentials, or no right to read. It holds the stream,
	// but mending the configuration ends it, and waiting hardly does.
	ErrRefused = errors.New("mapper: refused")
)

// NotReadyError says that something is not here yet without which a record is neither a row nor bad. The columns are as
// before. Call Fetch, again after a pause where it fails, and then Map with the same record.
type NotReadyError struct {
	// What is missing, such as "schema 7".
	What string
	// Fetch gets it. It may be called from any goroutine, also while others use the mapper.
	Fetch func(ctx context.Context) error
}

func (e *NotReadyError) Error() string { return e.What + " has yet to be fetched" }

// noSchema says that nobody knows the schema of a record.
func noSchema(id SchemaRef) string { return fmt.Sprintf("the schema registry has no schema %s", id) }

func badSchema(reason string) error { return &BadRecordError{Code: CodeSchema, Reason: reason} }

// An answer that there is no schema holds for a moment, for all mappers, so that a stream of such records asks for it about once a
// second. What a schema refers to is asked for twice before it is said to be missing, which takes its time, and holds longer.
const (
	unknownFor = time.Second
	missingFor = time.Minute
	// mostDenied bounds how many such answers are remembered.
	mostDenied = 1024
)

// schemaStore keeps the schemas for all mappers of a factory.
type schemaStore[T any] struct {
	// load gets a schema and reads its text. It is called for each id once, unless its error was another one than ErrWrongSchema.
	// What is wrong with the text is told in the result.
	load func(ctx context.Context, id SchemaRef) (readSchema[T], error)

	mu struct {
		sync.Mutex
		byID map[SchemaRef]*schemaEntry[T]
		// denied are those that there are not.
		denied map[SchemaRef]denial
	}
}

// denial is why there is no schema, and until when nobody asks again.
type denial struct {
	reason string
	until  time.Time
}

// readSchema is a schema, or why its text is none that can be read.
type readSchema[T any] struct {
	schema T
	err    error
}

// schemaEntry is a schema that is here or being fetched.
type schemaEntry[T any] struct {
	// turn is held by who fetches.
	turn chan struct{}
	got  atomic.Pointer[readSchema[T]]
}

func (s *schemaStore[T]) entry(id SchemaRef) *schemaEntry[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.mu.byID[id]
	if e == nil {
		e = &schemaEntry[T]{turn: make(chan struct{}, 1)}
		if s.mu.byID == nil {
			s.mu.byID = map[SchemaRef]*schemaEntry[T]{}
		}
		s.mu.byID[id] = e
	}
	return e
}

// get gives what is here, or why there is none; nothing where it must be asked for.
func (s *schemaStore[T]) get(id SchemaRef) (got *readSchema[T], denied string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.mu.byID[id]; e != nil {
		if got = e.got.Load(); got != nil {
			return got, ""
		}
	}
	if d, ok := s.mu.denied[id]; ok && time.Now().Before(d.until) {
		return nil, d.reason
	}
	return nil, ""
}

// fetch gets a schema unless it is here; one caller does, the others wait for it. It gives why there is none.
func (s *schemaStore[T]) fetch(ctx context.Context, id SchemaRef) (denied string, _ error) {
	e := s.entry(id)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-e.turn }()
	if got, denied := s.get(id); got != nil || denied != "" { // somebody else's question was answered meanwhile
		return denied, nil
	}
	got, err := s.load(ctx, id)
	switch {
	case errors.Is(err, ErrNoSchema):
		return s.deny(id, noSchema(id), unknownFor), nil
	case errors.Is(err, ErrNoReference):
		return s.deny(id, fmt.Sprintf("schema %s: %v", id, err), missingFor), nil
	case errors.Is(err, ErrWrongSchema):
		got.err = err
	case err != nil:
		return "", fmt.Errorf("fetch schema %s: %w", id, err)
	}
	e.got.Store(&got)
	return "", nil
}

// deny remembers for a while that there is no such schema. Ids that nobody knows take no memory beyond that.
func (s *schemaStore[T]) deny(id SchemaRef, reason string, d time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.byID, id)
	if s.mu.denied == nil || len(s.mu.denied) >= mostDenied {
		s.mu.denied = map[SchemaRef]denial{}
	}
	s.mu.denied[id] = denial{reason, time.Now().Add(d)}
	return reason
}

// schemaReader is a mapper's way to the store.
type schemaReader[T any] struct {
	store  *schemaStore[T]
	wanted *wantedSchema[T]
}

// get gives the schema of an id. Its errors are Map's: a *NotReadyError where it must be fetched first, a *BadRecordError where
// there is none.
func (r *schemaReader[T]) get(id SchemaRef) (*readSchema[T], error) {
	if w := r.wanted; w != nil && w.id == id {
		if denied := w.denied.Load(); denied != nil {
			r.wanted = nil // this record has its answer, however long that took to get here
			return nil, badSchema(*denied)
		}
	}
	if !id.possible() {
		return nil, badSchema(noSchema(id))
	}
	got, denied := r.store.get(id)
	switch {
	case denied != "":
		return nil, badSchema(denied)
	case got == nil:
		r.wanted = &wantedSchema[T]{store: r.store, id: id}
		return nil, &NotReadyError{What: fmt.Sprintf("schema %s", id), Fetch: r.wanted.fetch}
	}
	return got, nil
}

// wantedSchema is the schema that a mapper waits for.
type wantedSchema[T any] struct {
	store  *schemaStore[T]
	id     SchemaRef
	denied atomic.Pointer[string]
}

func (w *wantedSchema[T]) fetch(ctx context.Context) error {
	denied, err := w.store.fetch(ctx, w.id)
	if denied != "" {
		w.denied.Store(&denied)
	}
	return err
}
