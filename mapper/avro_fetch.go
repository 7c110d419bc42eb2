package mapper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// AvroSchema is the text of a schema, in JSON.
type AvroSchema struct {
	Text string
	// References are the texts of the schemas whose types Text names, each behind those that it names itself.
	References []string
}

// SchemaResolver gives the schemas that records name by id. It is called by several goroutines, for each id once, unless it
// failed. Its errors: ErrNoSchema and ErrNotAvro make the record bad; any other one holds the stream until a later call
// succeeds. ErrRefused marks those that mending the configuration ends and waiting hardly does.
type SchemaResolver interface {
	ResolveSchema(ctx context.Context, id uint32) (AvroSchema, error)
}

var (
	// ErrNoSchema says that there is no schema of an id.
	ErrNoSchema = errors.New("mapper: there is no schema of this id")
	// ErrNotAvro says that the schema of an id is none that Avro has.
	ErrNotAvro = errors.New("mapper: no Avro schema")
	// ErrRefused says that whoever was asked refuses to answer: wrong credentials, or no right to read.
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

// avroStore keeps the schemas for all mappers of a factory.
type avroStore struct {
	resolver SchemaResolver
	depth    int

	mu struct {
		sync.Mutex
		byID map[uint32]*avroEntry
	}
}

// avroEntry is a schema that is here or being fetched.
type avroEntry struct {
	// turn is held by who fetches.
	turn chan struct{}
	got  atomic.Pointer[avroFetched]
}

// avroFetched is a parsed schema, or why the text is none that can be read.
type avroFetched struct {
	schema *avroSchema
	err    error
}

func (s *avroStore) entry(id uint32) *avroEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.mu.byID[id]
	if e == nil {
		e = &avroEntry{turn: make(chan struct{}, 1)}
		if s.mu.byID == nil {
			s.mu.byID = map[uint32]*avroEntry{}
		}
		s.mu.byID[id] = e
	}
	return e
}

// get gives what is here; nil where nothing is.
func (s *avroStore) get(id uint32) *avroFetched {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.mu.byID[id]; e != nil {
		return e.got.Load()
	}
	return nil
}

// fetch gets a schema unless it is here; one caller does, the others wait for it.
func (s *avroStore) fetch(ctx context.Context, id uint32) error {
	e := s.entry(id)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-e.turn }()
	if e.got.Load() != nil {
		return nil
	}
	text, err := s.resolver.ResolveSchema(ctx, id)
	if errors.Is(err, ErrNoSchema) {
		s.forget(id)
		return err
	}
	got := &avroFetched{err: err}
	switch {
	case err == nil:
		got.schema, got.err = parseAvro(text, s.depth, false)
	case !errors.Is(err, ErrNotAvro):
		return fmt.Errorf("fetch schema %d: %w", id, err)
	}
	e.got.Store(got)
	return nil
}

// forget keeps ids that nobody knows from taking memory.
func (s *avroStore) forget(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.byID, id)
}

// avroWanted is the schema that a mapper waits for.
type avroWanted struct {
	store   *avroStore
	id      uint32
	unknown atomic.Bool
}

func (w *avroWanted) fetch(ctx context.Context) error {
	err := w.store.fetch(ctx, w.id)
	if errors.Is(err, ErrNoSchema) {
		w.unknown.Store(true)
		return nil
	}
	return err
}
