package committer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/tableio"
)

// lookers is how many files are looked at at a time: on an object store each is a request.
const lookers = 16

// whole reports whether every file of d is there with its size. An error means that nobody could look.
func whole(ctx context.Context, tbl *table.Table, d *descriptor.Descriptor) (bool, error) {
	gone, err := missing(ctx, tbl, d.Files)
	return err == nil && len(gone) == 0, err
}

// missing gives the paths of those files that are not there with their size. An error means that nobody could look at one
// of them.
func missing(ctx context.Context, tbl *table.Table, files []iceberg.DataFile) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	fio, err := tbl.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the table's files: %w", err)
	}
	lost := make([]bool, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookers)
	for i, f := range files {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			size, exists, err := tableio.Stat(fio, f.FilePath())
			if err != nil {
				return err // it says what was looked at
			}
			lost[i] = !exists || size != f.FileSizeBytes()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var gone []string
	for i, f := range files {
		if lost[i] {
			gone = append(gone, f.FilePath())
		}
	}
	return gone, nil
}

// fits reports whether the table still has the specs and the schema that d's files were written against.
func fits(tbl *table.Table, d *descriptor.Descriptor) error {
	m := tbl.Metadata()
	if d.TableUUID != m.TableUUID() {
		return fmt.Errorf("batch %s was written for table %s, this is %s", d.ID, d.TableUUID, m.TableUUID())
	}
	if len(d.Files) == 0 {
		// Rows without files would move the positions past what nobody wrote.
		for _, in := range d.Inputs {
			if in.Rows != 0 {
				return fmt.Errorf("batch %s holds rows of %s and names no file", d.ID, in.Range)
			}
		}
		return nil
	}
	has := false
	for _, s := range m.Schemas() {
		has = has || s.ID == d.SchemaID
	}
	if !has {
		return fmt.Errorf("batch %s was written against schema %d, which the table no longer has", d.ID, d.SchemaID)
	}
	for _, f := range d.Files {
		if m.PartitionSpecByID(int(f.SpecID())) == nil {
			return fmt.Errorf("batch %s was written against partition spec %d, which the table no longer has", d.ID, f.SpecID())
		}
	}
	return keepsRequired(m, d)
}

// removeFiles deletes data files, those under the table's location or its data path alone: a WAL entry is no reason to
// touch anything else. A file that is gone is no error.
func removeFiles(ctx context.Context, tbl *table.Table, files []iceberg.DataFile) (int, error) {
	fio, err := tbl.FS(ctx)
	if err != nil {
		return 0, fmt.Errorf("open the table's files: %w", err)
	}
	roots := []string{tbl.Location()}
	if p := tbl.Properties()["write.data.path"]; p != "" {
		roots = append(roots, p)
	}
	n := 0
	var errs []error
	for _, f := range files {
		under := false
		for _, r := range roots {
			under = under || strings.HasPrefix(f.FilePath(), strings.TrimSuffix(r, "/")+"/")
		}
		if !under {
			continue
		}
		if err := tableio.Remove(fio, f.FilePath()); err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}
