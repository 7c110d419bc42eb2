package descriptor

import (
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/codec"
	"github.com/google/uuid"
)

// Rejects are the records of a batch that can't become rows, as rows of the topology's rejects table.
type Rejects struct {
	// TableUUID, SchemaID, SpecID and FormatVersion are what the files were written against: the rejects table's, which is
	// not partitioned.
	TableUUID     uuid.UUID
	SchemaID      int
	SpecID        int
	FormatVersion int
	// Files are durable, and at least one. Until the batch is committed no table names them.
	Files []iceberg.DataFile
	// Rows and Bytes are the sums over Files. Where the batch has inputs, Rows is the sum of their Rejects.
	Rows, Bytes int64
	// Replaces are the paths of live files of the rejects table that Files take the place of. Only a replay of rejects has
	// them, whose batch has no inputs.
	Replaces []string
}

// rejects is a batch's rejects in version 2.
type rejects struct {
	TableUUID     uuid.UUID `json:"table"`
	SchemaID      int       `json:"schema"`
	SpecID        int       `json:"spec"`
	FormatVersion int       `json:"format"`
	Rows          int64     `json:"rows"`
	Bytes         int64     `json:"bytes"`
	Files         [][]byte  `json:"files"`
	Replaces      []string  `json:"replaces,omitempty"`
}

// A file of an unpartitioned table can be read and written without that table's schema: it serves the partition's types.
func (r *rejects) spec() (iceberg.PartitionSpec, *iceberg.Schema) {
	return iceberg.NewPartitionSpecID(r.SpecID), iceberg.NewSchema(r.SchemaID)
}

func encodeRejects(d *Rejects) (*rejects, error) {
	if d == nil {
		return nil, nil
	}
	r := &rejects{d.TableUUID, d.SchemaID, d.SpecID, d.FormatVersion, d.Rows, d.Bytes, nil, d.Replaces}
	spec, schema := r.spec()
	for _, f := range d.Files {
		if f.SpecID() != int32(d.SpecID) || len(f.Partition()) > 0 {
			return nil, fmt.Errorf("%w: rejects file %s is of spec %d or has a partition; it must be of spec %d, without one", ErrInvalid,
				f.FilePath(), f.SpecID(), d.SpecID)
		}
		b, err := codec.EncodeDataFile(f, spec, schema, d.FormatVersion)
		if err != nil {
			return nil, fmt.Errorf("rejects file %s: %w", f.FilePath(), err)
		}
		r.Files = append(r.Files, b)
	}
	return r, checkFiles(d.Files, d.Rows, d.Bytes)
}

// header is all but the files.
func (r *rejects) header() *Rejects {
	if r == nil {
		return nil
	}
	return &Rejects{r.TableUUID, r.SchemaID, r.SpecID, r.FormatVersion, nil, r.Rows, r.Bytes, r.Replaces}
}

func (r *rejects) decode(d *Rejects) (err error) {
	if r == nil {
		return nil
	}
	spec, schema := r.spec()
	d.Files = make([]iceberg.DataFile, len(r.Files))
	for i, b := range r.Files {
		if d.Files[i], err = decodeFile(b, spec, schema, d.FormatVersion); err != nil {
			return fmt.Errorf("rejects file %d: %w: %w", i, ErrInvalid, err)
		}
	}
	return checkFiles(d.Files, d.Rows, d.Bytes)
}

// check refuses what no writer makes.
func (r *rejects) check(ins []input) error {
	var sum int64
	for _, in := range ins {
		sum += in.Rejects
	}
	switch {
	case r == nil && sum != 0:
		return fmt.Errorf("%w: its ranges have %d rejects, and it has no file of rejects", ErrInvalid, sum)
	case r == nil:
		return nil
	case len(ins) > 0 && sum != r.Rows:
		return fmt.Errorf("%w: its ranges have %d rejects, and its files of rejects %d rows", ErrInvalid, sum, r.Rows)
	case r.TableUUID == uuid.Nil:
		return fmt.Errorf("%w: its rejects are of no table", ErrInvalid)
	case r.FormatVersion < 2 || r.FormatVersion > 3:
		return fmt.Errorf("%w: format version %d of its rejects is not 2 or 3", ErrInvalid, r.FormatVersion)
	case len(r.Files) == 0:
		return fmt.Errorf("%w: its rejects are in no file", ErrInvalid)
	case len(ins) > 0 && len(r.Replaces) > 0:
		return fmt.Errorf("%w: it covers ranges and takes the place of files of rejects", ErrInvalid)
	}
	for i, path := range r.Replaces {
		if path == "" || slices.Contains(r.Replaces[:i], path) {
			return fmt.Errorf("%w: its rejects take the place of file %q, which is no name or there twice", ErrInvalid, path)
		}
	}
	return checkText(r.Replaces...)
}
