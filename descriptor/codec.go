package descriptor

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/codec"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/source"
)

// Version is the newest version of the bytes. Encode writes the oldest that can say it all: 1 without rejects.
const Version = 2

const envelopeName = "descriptor"

// Why a whole descriptor does not fit the table at hand. Each is wrapped with the detail.
var (
	// ErrOtherTable: it was written for a table of another UUID.
	ErrOtherTable = errors.New("belongs to another table")
	// ErrUnknownSchema: the table's metadata has no schema of its id. Newer metadata may.
	ErrUnknownSchema = errors.New("schema is not in the table's metadata")
	// ErrUnknownSpec: the table's metadata has no partition spec of its id. Newer metadata may.
	ErrUnknownSpec = errors.New("partition spec is not in the table's metadata")
)

// body is version 2, and without rejects version 1.
type body struct {
	ID            uuid.UUID `json:"id"`
	Topology      string    `json:"topology"`
	Task          string    `json:"task"`
	TableUUID     uuid.UUID `json:"table"`
	SchemaID      int       `json:"schema"`
	SpecID        int       `json:"spec"`
	FormatVersion int       `json:"format"`
	SealedAt      time.Time `json:"sealed_at"`
	Rows          int64     `json:"rows"`
	Bytes         int64     `json:"bytes"`
	Inputs        []input   `json:"inputs,omitempty"`
	Files         [][]byte  `json:"files,omitempty"`
	Rejects       *rejects  `json:"rejects,omitempty"`
}

type input struct {
	RangeJSON
	Rows           int64 `json:"rows,omitempty"`
	Rejects        int64 `json:"rejects,omitempty"`
	Filtered       int64 `json:"filtered,omitempty"`
	Skipped        int64 `json:"skipped,omitempty"`
	MaxTimestampMs int64 `json:"max_timestamp_ms"`
}

// RangeJSON is how a range of positions is written down, here and in a WAL entry.
type RangeJSON struct {
	Cluster     string          `json:"cluster,omitempty"`
	Topic       string          `json:"topic"`
	Incarnation string          `json:"incarnation,omitempty"`
	Partition   int32           `json:"partition"`
	From        source.Position `json:"from"`
	To          source.Position `json:"to"`
}

// NewRangeJSON writes r down.
func NewRangeJSON(r source.Range) RangeJSON {
	p := r.Partition
	return RangeJSON{p.Cluster, p.Topic, p.Incarnation, p.ID, r.From, r.To}
}

// Range is the range that was written down.
func (r RangeJSON) Range() source.Range {
	p := source.Partition{Cluster: r.Cluster, Topic: r.Topic, Incarnation: r.Incarnation, ID: r.Partition}
	return source.Range{Partition: p, From: r.From, To: r.To}
}

// Check refuses a range that can't be, and names that are not valid UTF-8, which JSON can't hold.
func (r RangeJSON) Check() error {
	if r.From > r.To {
		return fmt.Errorf("%w: range %s ends before it begins", ErrInvalid, r.Range())
	}
	return checkText(r.Cluster, r.Topic, r.Incarnation)
}

func checkText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return fmt.Errorf("%w: name %q is not valid UTF-8", ErrInvalid, t)
		}
	}
	return nil
}

// Encode gives d as bytes that any process with the table's metadata can read. meta must be of d's table and hold its
// schema and spec: the metadata that the writer used, or any newer.
//
// Errors: ErrOtherTable, ErrUnknownSchema, ErrUnknownSpec; ErrInvalid where d says something that can't be, such as sums
// that are not those of its files.
func Encode(d *Descriptor, meta table.Metadata) ([]byte, error) {
	schema, spec, err := written(d, meta)
	if err != nil {
		return nil, fmt.Errorf("encode descriptor %s: %w", d.ID, err)
	}
	out := body{
		ID: d.ID, Topology: d.Topology, Task: d.Task, TableUUID: d.TableUUID, SchemaID: d.SchemaID, SpecID: d.SpecID,
		FormatVersion: d.FormatVersion, SealedAt: d.SealedAt.UTC(), Rows: d.Rows, Bytes: d.Bytes,
	}
	for _, in := range d.Inputs {
		out.Inputs = append(out.Inputs, input{NewRangeJSON(in.Range), in.Rows, in.Rejects, in.Filtered, in.Skipped, in.MaxTimestampMs})
	}
	for _, f := range d.Files {
		if f.SpecID() != int32(d.SpecID) {
			return nil, fmt.Errorf("encode descriptor %s: %w: a file is of spec %d, the batch of spec %d", d.ID, ErrInvalid,
				f.SpecID(), d.SpecID)
		}
		b, err := codec.EncodeDataFile(f, spec, schema, d.FormatVersion)
		if err != nil {
			return nil, fmt.Errorf("encode descriptor %s: file %s: %w", d.ID, f.FilePath(), err)
		}
		out.Files = append(out.Files, b)
	}
	if out.Rejects, err = encodeRejects(d.Rejects); err != nil {
		return nil, fmt.Errorf("encode descriptor %s: %w", d.ID, err)
	}
	if err := errors.Join(out.check(), checkFiles(d.Files, d.Rows, d.Bytes)); err != nil {
		return nil, fmt.Errorf("encode descriptor %s: %w", d.ID, err)
	}
	b, err := EncodeBody(out)
	if err != nil {
		return nil, fmt.Errorf("encode descriptor %s: %w", d.ID, err)
	}
	return SealEnvelope(envelopeName, out.version(), b), nil
}

// version is the oldest that can say it.
func (b *body) version() int {
	if b.Rejects != nil {
		return 2
	}
	return 1
}

// Decode reads what Encode wrote. meta must be of the same table, and new enough to hold the schema and the spec.
//
// Errors: ErrFormat, ErrVersion, ErrChecksum, ErrInvalid say that the bytes are no good (to this floe); ErrOtherTable,
// ErrUnknownSchema, ErrUnknownSpec that they are good and do not fit meta. Hostile bytes cost memory in proportion to
// their length and never panic.
func Decode(b []byte, meta table.Metadata) (*Descriptor, error) {
	_, in, err := open(b)
	if err != nil {
		return nil, err
	}
	d := in.descriptor()
	schema, spec, err := written(d, meta)
	if err != nil {
		return nil, fmt.Errorf("descriptor %s: %w", d.ID, err)
	}
	d.Files = make([]iceberg.DataFile, len(in.Files))
	for i, f := range in.Files {
		if d.Files[i], err = decodeFile(f, spec, schema, d.FormatVersion); err != nil {
			return nil, fmt.Errorf("descriptor %s: file %d: %w: %w", d.ID, i, ErrInvalid, err)
		}
	}
	if len(d.Files) == 0 {
		d.Files = nil
	}
	if err := errors.Join(checkFiles(d.Files, d.Rows, d.Bytes), in.Rejects.decode(d.Rejects)); err != nil {
		return nil, fmt.Errorf("descriptor %s: %w", d.ID, err)
	}
	return d, nil
}

// Header is what can be known of a descriptor without the table's metadata.
type Header struct {
	// Version is that of the bytes.
	Version int
	// Descriptor is everything but its Files and those of its Rejects.
	Descriptor *Descriptor
	// Files is how many it has.
	Files int
}

// Peek reads a descriptor without its files, so that it can be told whose it is and what it covers.
//
// Errors: ErrFormat, ErrVersion, ErrChecksum, ErrInvalid.
func Peek(b []byte) (Header, error) {
	version, in, err := open(b)
	if err != nil {
		return Header{}, err
	}
	return Header{Version: version, Descriptor: in.descriptor(), Files: len(in.Files)}, nil
}

func open(b []byte) (version int, _ *body, _ error) {
	version, raw, err := OpenEnvelope(envelopeName, Version, b)
	if err != nil {
		return 0, nil, err
	}
	var in body
	if err := DecodeStrict(envelopeName, raw, &in); err != nil {
		return 0, nil, err
	}
	err = in.check()
	if in.version() > version {
		err = fmt.Errorf("%w: it has rejects, which version %d can't say", ErrInvalid, version)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("descriptor %s: %w", in.ID, err)
	}
	return version, &in, nil
}

func (b *body) descriptor() *Descriptor {
	d := &Descriptor{
		ID: b.ID, Topology: b.Topology, Task: b.Task, TableUUID: b.TableUUID, SchemaID: b.SchemaID, SpecID: b.SpecID,
		FormatVersion: b.FormatVersion, SealedAt: b.SealedAt, Rows: b.Rows, Bytes: b.Bytes,
		Rejects: b.Rejects.header(),
	}
	for _, in := range b.Inputs {
		d.Inputs = append(d.Inputs, Input{in.Range(), in.Rows, in.Rejects, in.Filtered, in.Skipped, in.MaxTimestampMs})
	}
	return d
}

// check refuses what no writer makes.
func (b *body) check() error {
	if err := checkText(b.Topology, b.Task); err != nil {
		return err
	}
	if b.FormatVersion < 2 || b.FormatVersion > 3 {
		return fmt.Errorf("%w: format version %d is not 2 or 3", ErrInvalid, b.FormatVersion)
	}
	seen := make(map[source.Partition]struct{}, len(b.Inputs))
	for _, in := range b.Inputs {
		if err := in.Check(); err != nil {
			return err
		}
		if in.Rows < 0 || in.Rejects < 0 || in.Filtered < 0 || in.Skipped < 0 {
			return fmt.Errorf("%w: range %s has a count below zero", ErrInvalid, in.Range())
		}
		p := in.Range().Partition
		if _, twice := seen[p]; twice {
			return fmt.Errorf("%w: partition %s is there twice", ErrInvalid, p)
		}
		seen[p] = struct{}{}
	}
	return b.Rejects.check(b.Inputs)
}

// written finds the schema and the spec that d's files were written against.
func written(d *Descriptor, meta table.Metadata) (*iceberg.Schema, iceberg.PartitionSpec, error) {
	var none iceberg.PartitionSpec
	if d.TableUUID != meta.TableUUID() {
		return nil, none, fmt.Errorf("%w: of UUID %s, and this one is %s", ErrOtherTable, d.TableUUID, meta.TableUUID())
	}
	var schema *iceberg.Schema
	for _, s := range meta.Schemas() {
		if s.ID == d.SchemaID {
			schema = s
		}
	}
	if schema == nil {
		return nil, none, fmt.Errorf("%w: schema %d", ErrUnknownSchema, d.SchemaID)
	}
	for _, s := range meta.PartitionSpecs() {
		if s.ID() == d.SpecID {
			return schema, s, nil
		}
	}
	return nil, none, fmt.Errorf("%w: spec %d", ErrUnknownSpec, d.SpecID)
}

// decodeFile guards against panics of the Avro decoder: its input comes from outside.
func decodeFile(b []byte, spec iceberg.PartitionSpec, schema *iceberg.Schema, version int) (f iceberg.DataFile, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, fmt.Errorf("the Avro decoder failed: %v", r)
		}
	}()
	return codec.DecodeDataFile(b, spec, schema, version)
}

// checkFiles compares sums with the files; it would also catch files read with the wrong spec.
func checkFiles(files []iceberg.DataFile, rows, bytes int64) error {
	var r, b int64
	for _, f := range files {
		if f.Count() < 0 || f.FileSizeBytes() < 0 {
			return fmt.Errorf("%w: file %s has a size below zero", ErrInvalid, f.FilePath())
		}
		r += f.Count()
		b += f.FileSizeBytes()
	}
	if r != rows || b != bytes {
		return fmt.Errorf("%w: its files hold %d rows in %d bytes, and it says %d in %d", ErrInvalid, r, b, rows, bytes)
	}
	return nil
}
