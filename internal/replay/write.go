package replay

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// counts are what became of the open rejects of one file.
type counts struct {
	rows, filtered, left int64
	// commit is the id of the commit that takes the rows in.
	commit string
	// files take the place of the one that was replayed.
	files []string
}

// writers write the rows that fit, and the file of rejects anew.
type writers struct {
	s       *state
	main    *writer.Task
	rejects *writer.Task
	// stored is what the second task's mapper makes a row of.
	stored rejects.Reject
	counts
	all int64
}

// write maps the open rejects of a file, and writes what a commit under id would make visible. The descriptor is nil where
// nothing fits; nothing is left behind then.
func (s *state) write(ctx context.Context, file string, id uuid.UUID) (*counts, *descriptor.Descriptor, error) {
	w := &writers{s: s, counts: counts{commit: id.String()}}
	if err := w.open(); err != nil {
		return nil, nil, err
	}
	defer w.close(ctx)
	err := rejects.Read(ctx, s.rejects, rejects.ReadOptions{Contents: true, File: file}, func(st *rejects.Stored) error { return w.take(ctx, st) })
	if err != nil || w.rows == 0 {
		return &w.counts, nil, err
	}
	d, err := w.seal(ctx, file)
	if err == nil {
		for _, f := range d.Rejects.Files {
			w.files = append(w.files, f.FilePath())
		}
	}
	return &w.counts, d, err
}

func (w *writers) open() (err error) {
	cfg := writer.Config{Topology: w.s.cfg.Topology, Name: "replay", Unpositioned: true, SealBytes: math.MaxInt64, SealInterval: -1}
	cfg.Mapper = w.s.cfg.Mapper
	if w.main, err = writer.New(cfg); err != nil {
		return err
	}
	cfg.Mapper = func(s *mapper.Schema) (mapper.Mapper, error) { return again(s, &w.stored) }
	if w.rejects, err = writer.New(cfg); err != nil {
		return err
	}
	w.main.Use(w.s.main)
	w.rejects.Use(w.s.rejects)
	return nil
}

// again makes rows of the reject at hand, whatever the record is.
func again(s *mapper.Schema, at *rejects.Reject) (mapper.Mapper, error) {
	rows, err := rejects.NewRows(s)
	return mapperFunc(func(dst *mapper.Columns) error { return rows.Append(at, dst) }), err
}

type mapperFunc func(dst *mapper.Columns) error

func (f mapperFunc) Map(_ *source.Record, dst *mapper.Columns) error { return f(dst) }

// take maps a reject, if it waits, and writes it anew.
func (w *writers) take(ctx context.Context, st *rejects.Stored) error {
	w.all++
	if st.Topology != w.s.cfg.Topology {
		return errMoved
	}
	replayed := st.Replayed
	if w.s.line.Open(st) {
		replayed = ""
		fits, err := w.fits(ctx, st)
		if err != nil {
			return err
		}
		if fits {
			replayed = w.commit
		}
	}
	w.stored = st.Reject()
	w.stored.Replayed = replayed
	return w.add(ctx, w.rejects, st)
}

// fits adds the reject's row to the main table's files where it has one now.
func (w *writers) fits(ctx context.Context, st *rejects.Stored) (bool, error) {
	before := w.main.Stats()
	err := w.add(ctx, w.main, st)
	var wait *mapper.NotReadyError
	for errors.As(err, &wait) {
		if err := wait.Fetch(ctx); err != nil {
			return false, err
		}
		wait = nil
		err = w.add(ctx, w.main, st)
	}
	var bad *writer.BadRecord
	switch after := w.main.Stats(); {
	case errors.As(err, &bad):
		w.left++
		return false, nil
	case err != nil:
		return false, err
	case after.Rows > before.Rows:
		w.rows++
		return true, nil
	}
	w.filtered++
	return false, nil
}

// add gives a task the record as a batch of its own.
func (w *writers) add(ctx context.Context, t *writer.Task, st *rejects.Stored) error {
	at := st.Record.Position
	done, err := t.Append(ctx, &source.Batch{Range: source.Range{Partition: st.Partition, From: at, To: at + 1}, Records: []source.Record{st.Record}})
	if err == nil && !done {
		return fmt.Errorf("the rejects file %s is too large, or falls into too many partitions, for one commit", st.File)
	}
	return err
}

// seal makes the descriptor.
func (w *writers) seal(ctx context.Context, file string) (*descriptor.Descriptor, error) {
	r, err := w.rejects.Seal(ctx)
	if err != nil {
		return nil, err
	}
	if r == nil || r.Rows != w.all {
		return nil, fmt.Errorf("the rejects file %s could not be written anew with all of its %d rows", file, w.all)
	}
	d, err := w.main.Seal(ctx)
	if err != nil {
		return nil, err
	}
	d.Rejects = &descriptor.Rejects{TableUUID: r.TableUUID, SchemaID: r.SchemaID, SpecID: r.SpecID, FormatVersion: r.FormatVersion,
		Files: r.Files, Rows: r.Rows, Bytes: r.Bytes, Replaces: []string{file}}
	return d, nil
}

// close removes what was not sealed.
func (w *writers) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	w.main.Discard(ctx)
	w.rejects.Discard(ctx)
}
