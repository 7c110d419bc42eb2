package wal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// Version is the newest version of an entry's bytes, which Put writes.
const Version = 1

const envelopeName = "wal"

// body is version 1.
type body struct {
	CommitID     uuid.UUID              `json:"commit"`
	Topology     string                 `json:"topology"`
	Instance     string                 `json:"instance"`
	Component    string                 `json:"component"`
	Task         int                    `json:"task"`
	TableUUID    uuid.UUID              `json:"table"`
	Branch       string                 `json:"branch"`
	BaseSnapshot *int64                 `json:"base,omitempty"`
	CreatedAt    time.Time              `json:"created_at"`
	Moves        []descriptor.RangeJSON `json:"moves,omitempty"`
	Descriptors  []json.RawMessage      `json:"descriptors,omitempty"`
}

func encode(g *descriptor.Group, meta table.Metadata) ([]byte, error) {
	if g.TableUUID != meta.TableUUID() {
		return nil, fmt.Errorf("%w: of UUID %s, and this one is %s", descriptor.ErrOtherTable, g.TableUUID, meta.TableUUID())
	}
	out := body{
		CommitID: g.CommitID, Topology: g.Topology, Instance: g.Instance, Component: g.Component, Task: g.Task,
		TableUUID: g.TableUUID, Branch: g.Branch, BaseSnapshot: g.BaseSnapshot, CreatedAt: g.CreatedAt.UTC(),
	}
	for _, m := range g.Moves {
		out.Moves = append(out.Moves, descriptor.NewRangeJSON(m))
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	for _, d := range g.Descriptors {
		b, err := descriptor.Encode(d, meta)
		if err != nil {
			return nil, err
		}
		out.Descriptors = append(out.Descriptors, b)
	}
	b, err := descriptor.EncodeBody(out)
	if err != nil {
		return nil, err
	}
	return descriptor.SealEnvelope(envelopeName, Version, b), nil
}

// decode reads an entry. Where the entry is sound but its files can't be read against meta (descriptor.ErrOtherTable,
// ErrUnknownSchema, ErrUnknownSpec, or a descriptor of a newer version or with damaged files), the group comes with the
// error, and those descriptors have no Files.
func decode(b []byte, meta table.Metadata) (*descriptor.Group, error) {
	_, raw, err := descriptor.OpenEnvelope(envelopeName, Version, b)
	if err != nil {
		return nil, err
	}
	var in body
	if err := descriptor.DecodeStrict(envelopeName, raw, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	g := &descriptor.Group{
		CommitID: in.CommitID, Topology: in.Topology, Instance: in.Instance, Component: in.Component, Task: in.Task,
		TableUUID: in.TableUUID, Branch: in.Branch, BaseSnapshot: in.BaseSnapshot, CreatedAt: in.CreatedAt,
	}
	for _, m := range in.Moves {
		g.Moves = append(g.Moves, m.Range())
	}
	var errs []error
	if in.TableUUID != meta.TableUUID() {
		errs = append(errs, fmt.Errorf("%w: of UUID %s, and this one is %s", descriptor.ErrOtherTable, in.TableUUID, meta.TableUUID()))
	}
	for i, raw := range in.Descriptors {
		d, err := decodeDescriptor(raw, meta)
		if err != nil {
			errs = append(errs, fmt.Errorf("descriptor %d of %d: %w", i+1, len(in.Descriptors), err))
		}
		if d != nil {
			g.Descriptors = append(g.Descriptors, d)
		}
	}
	return g, errors.Join(errs...)
}

// decodeDescriptor gives at least what the descriptor covers, if that can be known.
func decodeDescriptor(raw []byte, meta table.Metadata) (*descriptor.Descriptor, error) {
	d, err := descriptor.Decode(raw, meta)
	if err == nil {
		return d, nil
	}
	if h, perr := descriptor.Peek(raw); perr == nil {
		return h.Descriptor, err
	}
	return nil, err
}

func (b *body) check() error {
	for _, s := range []string{b.Topology, b.Instance, b.Component, b.Branch} {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%w: name %q is not valid UTF-8", descriptor.ErrInvalid, s)
		}
	}
	if b.CommitID == uuid.Nil {
		return fmt.Errorf("%w: it has no commit id", descriptor.ErrInvalid)
	}
	seen := make(map[source.Partition]struct{}, len(b.Moves))
	for _, m := range b.Moves {
		if err := m.Check(); err != nil {
			return err
		}
		p := m.Range().Partition
		if _, twice := seen[p]; twice {
			return fmt.Errorf("%w: partition %s moves twice", descriptor.ErrInvalid, p)
		}
		seen[p] = struct{}{}
	}
	return nil
}
