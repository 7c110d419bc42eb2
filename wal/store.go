package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/tableio"
)

// Folder is where the entries of all topologies lie, under a table's location.
const Folder = "metadata/_storm_wal"

// suffix of an entry's name, and what is added to it where the entry is set aside.
const (
	suffix  = ".json"
	corrupt = ".corrupt"
)

// Store reads and writes the entries of one topology on one table. All methods may be called from any goroutine.
type Store struct {
	namespace, topology string
	// invalid is why the names can't be used in a path; every method gives it.
	invalid error
}

var pathSafe = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// checkName refuses what would lie in another folder than it says.
func checkName(what, name string) error {
	if !pathSafe.MatchString(name) || strings.Trim(name, ".") == "" {
		return fmt.Errorf("%s %q can't be a folder of the WAL: write 1 to 128 letters, digits, dots, underscores and hyphens", what, name)
	}
	return nil
}

// CheckNamespace refuses a namespace that New's store would refuse to use. Empty is none.
func CheckNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	return checkName("namespace", namespace)
}

// New makes a store. namespace may be empty. Entries lie under
// <location>/metadata/_storm_wal/[<namespace>/]<topology>/<component>/<task>/<commit id>.json.
// A name that can't be a folder (other than 1 to 128 of A-Z, a-z, 0-9, '.', '_', '-') makes every method fail.
func New(namespace, topology string) *Store {
	return &Store{namespace: namespace, topology: topology,
		invalid: errors.Join(CheckNamespace(namespace), checkName("topology", topology))}
}

// root is the folder of the topology's entries.
func (s *Store) root(tbl *table.Table) string {
	return strings.TrimRight(tbl.Location(), "/") + "/" + path.Join(Folder, s.namespace, s.topology)
}

// Path is where g's entry lies, or would lie.
func (s *Store) Path(tbl *table.Table, g *descriptor.Group) (string, error) {
	if err := errors.Join(s.invalid, checkName("component", g.Component)); err != nil {
		return "", err
	}
	if g.Task < 0 {
		return "", fmt.Errorf("task %d can't be a folder of the WAL: it is below zero", g.Task)
	}
	return strings.Join([]string{s.root(tbl), g.Component, strconv.Itoa(g.Task), g.CommitID.String() + suffix}, "/"), nil
}

// Put writes g's entry; when it returns nil the entry is durable. An existing entry of the same commit id is replaced.
// tbl gives the location, the FileIO and the specs to encode with.
//
// On a local disk the FileIO must be package tableio's, which replaces the file in one step; an object store does so by
// itself. After an error the entry may be there or not.
func (s *Store) Put(ctx context.Context, tbl *table.Table, g *descriptor.Group) (path string, err error) {
	if path, err = s.Path(tbl, g); err != nil {
		return "", err
	}
	b, err := encode(g, tbl.Metadata())
	if err != nil {
		return "", fmt.Errorf("write WAL entry %s: %w", path, err)
	}
	fio, err := fileIO(ctx, tbl)
	if err != nil {
		return "", err
	}
	if err := tableio.WriteFile(tableio.Durable(fio), path, b); err != nil {
		return "", fmt.Errorf("WAL entry: %w", err)
	}
	return path, nil
}

// List finds the topology's entries of all components and tasks, oldest first. An entry that can't be read has Err set
// and is still listed; a missing folder is no entries.
//
// An entry's Err is one of package descriptor's errors: ErrFormat, ErrChecksum or ErrInvalid where it is damaged
// (descriptor.Damaged; set it aside), ErrVersion where a newer floe wrote it, ErrOtherTable, ErrUnknownSchema and ErrUnknownSpec where it is sound but
// does not fit the table's metadata; or the storage's, where it could not be fetched. Group is given as far as it could be
// read: with ErrOtherTable, ErrUnknownSchema and ErrUnknownSpec it is there and the descriptors concerned have no Files.
//
// An error of List itself says that the folder could not be listed: nothing is known of what is in it.
func (s *Store) List(ctx context.Context, tbl *table.Table) ([]descriptor.Entry, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	fio, err := fileIO(ctx, tbl)
	if err != nil {
		return nil, err
	}
	root := s.root(tbl)
	files, err := tableio.List(fio, root)
	if err != nil {
		return nil, fmt.Errorf("list the WAL: %w", err)
	}
	var entries []descriptor.Entry
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, ok := entryID(root, f.Path)
		if !ok {
			continue
		}
		if e, there := s.read(fio, tbl.Metadata(), f, id); there {
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b descriptor.Entry) int {
		return cmp.Or(made(a).Compare(made(b)), cmp.Compare(a.Path, b.Path))
	})
	return entries, nil
}

// Aside finds the files that SetAside has moved the topology's entries to.
func (s *Store) Aside(ctx context.Context, tbl *table.Table) (paths []string, err error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	fio, err := fileIO(ctx, tbl)
	if err != nil {
		return nil, err
	}
	files, err := tableio.List(fio, s.root(tbl))
	if err != nil {
		return nil, fmt.Errorf("list the WAL: %w", err)
	}
	for _, f := range files {
		if entry, ok := strings.CutSuffix(f.Path, corrupt); !ok {
			continue
		} else if _, ok := entryID(s.root(tbl), entry); ok {
			paths = append(paths, f.Path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// entryID says whether the path is <root>/<component>/<task>/<commit id>.json, and gives the commit id.
func entryID(root, p string) (uuid.UUID, bool) {
	rel, ok := strings.CutPrefix(p, root+"/")
	parts := strings.Split(rel, "/")
	if !ok || len(parts) != 3 {
		return uuid.Nil, false
	}
	if task, err := strconv.Atoi(parts[1]); err != nil || task < 0 || !pathSafe.MatchString(parts[0]) {
		return uuid.Nil, false
	}
	name, ok := strings.CutSuffix(parts[2], suffix)
	if !ok || len(name) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(name)
	return id, err == nil
}

// read gives the entry; there is false where it vanished since it was listed: another replica has settled it.
func (s *Store) read(fio iceio.IO, meta table.Metadata, f tableio.File, id uuid.UUID) (e descriptor.Entry, there bool) {
	e = descriptor.Entry{Path: f.Path, ModifiedAt: f.ModifiedAt}
	b, err := tableio.ReadFile(fio, f.Path, descriptor.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, false
	case errors.Is(err, tableio.ErrTooLarge):
		e.Err = fmt.Errorf("WAL entry %s: %w: %w", f.Path, descriptor.ErrFormat, err)
		return e, true
	case err != nil:
		e.Err = fmt.Errorf("WAL entry: %w", err)
		return e, true
	}
	e.Group, err = decode(b, meta)
	if err == nil && e.Group.CommitID != id {
		err = fmt.Errorf("%w: it is of commit %s", descriptor.ErrInvalid, e.Group.CommitID)
	}
	if err == nil && e.Group.Topology != s.topology {
		err = fmt.Errorf("%w: it is of topology %s", descriptor.ErrInvalid, e.Group.Topology)
	}
	if err != nil {
		e.Err = fmt.Errorf("WAL entry %s: %w", f.Path, err)
	}
	if e.ModifiedAt.IsZero() && e.Group != nil {
		e.ModifiedAt = e.Group.CreatedAt
	}
	return e, true
}

// Delete removes an entry. One that is gone already is no error.
func (s *Store) Delete(ctx context.Context, tbl *table.Table, path string) error {
	fio, err := s.own(ctx, tbl, path)
	if err != nil {
		return err
	}
	if err := tableio.Remove(fio, path); err != nil {
		return fmt.Errorf("WAL entry: %w", err)
	}
	return nil
}

// SetAside moves an entry that can't be read to <path>.corrupt, where List does not see it. One that is gone already is no
// error: another replica has moved it, or this one has before it was interrupted.
func (s *Store) SetAside(ctx context.Context, tbl *table.Table, path string) error {
	fio, err := s.own(ctx, tbl, path)
	if err != nil {
		return err
	}
	// Copy, then delete: object stores can't rename. Interrupted in between, both are there, and it is done again.
	b, err := tableio.ReadFile(fio, path, descriptor.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("set the WAL entry aside: %w", err)
	}
	if err := tableio.WriteFile(tableio.Durable(fio), path+corrupt, b); err != nil {
		return fmt.Errorf("set the WAL entry aside: %w", err)
	}
	if err := tableio.Remove(fio, path); err != nil {
		return fmt.Errorf("set the WAL entry aside: %w", err)
	}
	return nil
}

// own gives the FileIO to change path with, which must be an entry of this store: a slip must not delete a table's file.
func (s *Store) own(ctx context.Context, tbl *table.Table, path string) (iceio.IO, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	if _, ok := entryID(s.root(tbl), path); !ok {
		return nil, fmt.Errorf("%s is not an entry of the WAL under %s", path, s.root(tbl))
	}
	return fileIO(ctx, tbl)
}

func fileIO(ctx context.Context, tbl *table.Table) (iceio.IO, error) {
	fio, err := tbl.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("the WAL's storage: %w", err)
	}
	return fio, nil
}

// made is the time to sort by: the writer's, where it can be read.
func made(e descriptor.Entry) time.Time {
	if e.Group != nil {
		return e.Group.CreatedAt
	}
	return e.ModifiedAt
}
