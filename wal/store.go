package wal

import (
	"context"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
)

// Store reads and writes the entries of one topology on one table. All methods may be called from any goroutine.
type Store struct{}

// New makes a store. namespace may be empty. Entries lie under
// <location>/metadata/_storm_wal/[<namespace>/]<topology>/<component>/<task>/<commit id>.json.
func New(namespace, topology string) *Store { panic("skeleton") }

// Put writes g's entry; when it returns nil the entry is durable. An existing entry of the same commit id is replaced.
// tbl gives the location, the FileIO and the specs to encode with.
func (s *Store) Put(ctx context.Context, tbl *table.Table, g *descriptor.Group) (path string, err error) {
	panic("skeleton")
}

// List finds the topology's entries of all components and tasks, oldest first. An entry that can't be read has Err set
// and is still listed; a missing folder is no entries.
func (s *Store) List(ctx context.Context, tbl *table.Table) ([]descriptor.Entry, error) {
	panic("skeleton")
}

// Delete removes an entry. One that is gone already is no error.
func (s *Store) Delete(ctx context.Context, tbl *table.Table, path string) error { panic("skeleton") }

// SetAside moves an entry that can't be read to <path>.corrupt, where List does not see it.
func (s *Store) SetAside(ctx context.Context, tbl *table.Table, path string) error {
	panic("skeleton")
}
