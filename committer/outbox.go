package committer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
)

// outboxRoom is how many files the outbox holds: each is in the summary of every snapshot made until it is taken off.
const outboxRoom = 64

// boxed is what the outbox says of the rejects that one commit passed.
type boxed struct {
	// Commit is that commit's id, Seq the sequence number of its snapshot, AtMs when it was made.
	Commit uuid.UUID `json:"commit"`
	Seq    int64     `json:"seq"`
	AtMs   int64     `json:"at"`
	// Table is the rejects table's UUID.
	Table    uuid.UUID   `json:"table"`
	Files    []boxedFile `json:"files"`
	Replaces []string    `json:"replaces,omitempty"`
}

// boxedFile is what is needed to append a file: its metrics are left behind, so that the outbox stays small.
type boxedFile struct {
	Path  string `json:"path"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Spec  int    `json:"spec,omitempty"`
}

func (f boxedFile) dataFile() (iceberg.DataFile, error) {
	b, err := iceberg.NewDataFileBuilder(iceberg.NewPartitionSpecID(f.Spec), iceberg.EntryContentData, f.Path, iceberg.ParquetFile,
		nil, nil, nil, f.Rows, f.Bytes)
	if err != nil {
		return nil, fmt.Errorf("rejects file %s: %w", f.Path, err)
	}
	return b.Build(), nil
}

func (b boxed) dataFiles() ([]iceberg.DataFile, error) {
	out := make([]iceberg.DataFile, len(b.Files))
	for i, f := range b.Files {
		var err error
		if out[i], err = f.dataFile(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b boxed) rows() (n int64) {
	for _, f := range b.Files {
		n += f.Rows
	}
	return n
}

// outboxPart is the outbox in a topology's entry.
type outboxPart struct {
	Outbox []boxed `json:"outbox,omitempty"`
}

// outbox reads one topology's outbox, also where its positions are unclear.
func (v *value) outbox(topology string) ([]boxed, error) {
	raw := v.topologies[topology]
	if !bytes.Contains(raw, []byte(`"outbox"`)) {
		return nil, nil // as in every value without rejects
	}
	var part outboxPart
	if err := json.Unmarshal(raw, &part); err != nil {
		return nil, fmt.Errorf("outbox of topology %q: %w", topology, err)
	}
	for _, b := range part.Outbox {
		for _, f := range b.Files {
			if f.Path == "" || f.Rows < 0 || f.Bytes < 0 {
				return nil, fmt.Errorf("outbox of topology %q: commit %s has a file without a name or with a size below zero", topology, b.Commit)
			}
		}
		if b.Commit == uuid.Nil || b.Table == uuid.Nil || len(b.Files) == 0 {
			return nil, fmt.Errorf("outbox of topology %q: an entry lacks its commit, table or files", topology)
		}
	}
	return part.Outbox, nil
}

// setOutbox replaces a topology's outbox; all else in its entry stays.
func (v *value) setOutbox(topology string, box []boxed) error {
	fields := map[string]json.RawMessage{}
	if raw, ok := v.topologies[topology]; ok {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return fmt.Errorf("entry of topology %q: %w", topology, err)
		}
	}
	delete(fields, "outbox")
	if len(box) > 0 {
		s, err := compact(box)
		if err != nil {
			return err
		}
		fields["outbox"] = json.RawMessage(s)
	}
	s, err := compact(fields)
	v.topologies[topology] = json.RawMessage(s)
	return err
}

// unclearEntry marks an entry as unclear. What its outbox names is passed all the same.
func unclearEntry(old json.RawMessage) json.RawMessage {
	var part struct {
		unclear
		Outbox json.RawMessage `json:"outbox,omitempty"`
	}
	if json.Unmarshal(old, &part) != nil {
		part.Outbox = nil
	}
	part.Unclear = true
	s, err := compact(part)
	if err != nil {
		return json.RawMessage(`{"unclear":true}`)
	}
	return json.RawMessage(s)
}

// boxFiles counts the files of an outbox.
func boxFiles(box []boxed) (n int) {
	for _, b := range box {
		n += len(b.Files)
	}
	return n
}

// keptOutbox is what the next commit on v carries forward: what v's outbox names, without what was seen in the rejects table.
func (c *Committer) keptOutbox(v *view) []boxed {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []boxed
	for _, b := range v.outbox {
		if !c.mu.seen[b.Commit] {
			out = append(out, b)
		}
	}
	return out
}

// pack is the outbox's entry for what a commit passes; false where that is nothing.
func pack(id uuid.UUID, seq int64, at time.Time, rejects []*descriptor.Rejects) (boxed, bool) {
	b := boxed{Commit: id, Seq: seq, AtMs: at.UnixMilli()}
	for _, r := range rejects {
		b.Table = r.TableUUID
		for _, f := range r.Files {
			b.Files = append(b.Files, boxedFile{Path: f.FilePath(), Rows: f.Count(), Bytes: f.FileSizeBytes(), Spec: int(f.SpecID())})
		}
		b.Replaces = append(b.Replaces, r.Replaces...)
	}
	return b, len(b.Files) > 0
}
