package catalogs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// encodedSnapshots are snapshots with their JSON, in the order of the metadata they stood in.
type encodedSnapshots []encodedSnapshot

type encodedSnapshot struct {
	snapshot table.Snapshot
	json     []byte
}

// encode gives m as JSON. A snapshot that is among those encoded before, in the same order, is not encoded again.
func encode(m table.Metadata, before encodedSnapshots) ([]byte, encodedSnapshots, error) {
	bare, snapshots, ok := withoutSnapshots(m)
	if !ok || len(snapshots) == 0 {
		b, err := json.Marshal(m)
		return b, nil, err
	}
	head, err := json.Marshal(bare)
	if err != nil {
		return nil, nil, err
	}
	if bytes.Contains(head, []byte(`"snapshots":`)) { // they are somewhere else too: not as it is known to be
		b, err := json.Marshal(m)
		return b, nil, err
	}
	all := make(encodedSnapshots, len(snapshots))
	size, at := len(head)+16, 0
	for i, s := range snapshots {
		for at < len(before) && before[at].snapshot.SnapshotID != s.SnapshotID {
			at++
		}
		if at < len(before) && same(before[at].snapshot, s) {
			all[i] = encodedSnapshot{s, before[at].json}
		} else if b, err := json.Marshal(s); err != nil {
			return nil, nil, err
		} else {
			all[i] = encodedSnapshot{s, b}
		}
		size += len(all[i].json) + 1
	}
	out := append(make([]byte, 0, size), head[:len(head)-1]...)
	out = append(out, `,"snapshots":[`...)
	for i, s := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, s.json...)
	}
	return append(out, "]}"...), all, nil
}

// same says that two snapshots of one id are one. A snapshot never changes, and the name of its manifest list is its own,
// so that what its summary says need not be compared.
func same(a, b table.Snapshot) bool {
	return a.SequenceNumber == b.SequenceNumber && a.TimestampMs == b.TimestampMs && a.ManifestList == b.ManifestList &&
		a.ManifestList != "" && (a.Summary == nil) == (b.Summary == nil) &&
		(a.Summary == nil || len(a.Summary.Properties) == len(b.Summary.Properties))
}

// withoutSnapshots gives a copy of m that encodes to everything but its snapshots, and these. iceberg-go's metadata can't
// be built without them, so the copy is made by the field's name: false where there is no such field.
func withoutSnapshots(m table.Metadata) (bare any, snapshots []table.Snapshot, ok bool) {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, nil, false
	}
	c := reflect.New(v.Elem().Type())
	c.Elem().Set(v.Elem())
	f := c.Elem().FieldByName("SnapshotList")
	if !f.IsValid() || !f.CanSet() {
		return nil, nil, false
	}
	if snapshots, ok = f.Interface().([]table.Snapshot); !ok {
		return nil, nil, false
	}
	f.SetZero()
	return c.Interface(), snapshots, true
}

// detach gives m, which updates have just made, numbers of its own. iceberg-go has the snapshot that it adds point into the
// transaction, which holds the metadata before, whose last snapshot points into the transaction before that, and so on: metadata
// that is kept would keep all that ever was.
func detach(m table.Metadata, updates []table.Update) {
	_, snapshots, ok := withoutSnapshots(m)
	if !ok {
		return
	}
	added := 0
	for _, u := range updates {
		if u.Action() == table.UpdateAddSnapshot {
			added++
		}
	}
	for i := max(0, len(snapshots)-added); i < len(snapshots); i++ {
		s := &snapshots[i]
		s.ParentSnapshotID, s.SchemaID = own(s.ParentSnapshotID), own(s.SchemaID)
		s.FirstRowID, s.AddedRows = own(s.FirstRowID), own(s.AddedRows)
	}
	v := reflect.ValueOf(m).Elem()
	for _, name := range []string{"CurrentSnapshotID", "LastSequenceNumber", "NextRowID"} {
		if f := v.FieldByName(name); f.IsValid() && f.CanSet() {
			if n, ok := f.Interface().(*int64); ok {
				f.Set(reflect.ValueOf(own(n)))
			}
		}
	}
}

func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// writeMetadata writes m's file.
func writeMetadata(ctx context.Context, open table.FSysF, loc string, m table.Metadata, before encodedSnapshots) (encodedSnapshots, error) {
	b, snapshots, err := encode(m, before)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	fio, err := open(ctx)
	if err != nil {
		return nil, err
	}
	w, ok := fio.(iceio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("write metadata %s: this FileIO (%T) can't write", loc, fio)
	}
	f, err := w.Create(loc)
	if err != nil {
		return nil, fmt.Errorf("write metadata: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("write metadata %s: %w", loc, err)
	}
	return snapshots, nil
}
