package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// Move writes the rows of a file of rejects anew, as files of another rejects table, and gives those. They are found by the names of
// their columns: the two tables may have other field ids. No table names the new files yet. It is a committer.MoveRejects.
func Move(ctx context.Context, to *table.Table, path string, size int64) (_ []iceberg.DataFile, err error) {
	if err := rejects.Check(to); err != nil {
		return nil, err
	}
	fio, err := to.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the table's files: %w", err)
	}
	content, err := tableio.ReadFile(fio, path, size)
	if err != nil {
		return nil, err
	}
	if int64(len(content)) != size {
		return nil, fmt.Errorf("%s has %d bytes, and had %d when it was written", path, len(content), size)
	}
	m := &mover{}
	// The task's names are in no row: those say which topology they are of.
	cfg := writer.Config{Topology: "move", Name: "move", Unpositioned: true, SealBytes: math.MaxInt64, SealInterval: -1, Mapper: func(s *mapper.Schema) (mapper.Mapper, error) { return again(s, &m.cur) }}
	if m.task, err = writer.New(cfg); err != nil {
		return nil, err
	}
	m.task.Use(to)
	defer m.task.Discard(context.WithoutCancel(ctx))
	if err := m.read(ctx, content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d, err := m.task.Seal(ctx)
	switch {
	case err != nil:
		return nil, err
	case d == nil || d.Rows != m.rows:
		return nil, fmt.Errorf("%s could not be written anew with all of its %d rows", path, m.rows)
	}
	return d.Files, nil
}

// mover writes what it reads.
type mover struct {
	task *writer.Task
	cur  rejects.Reject
	rows int64
}

// read takes every row of a Parquet file.
func (m *mover) read(ctx context.Context, content []byte) error {
	pf, err := file.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 1024}, memory.DefaultAllocator)
	if err != nil {
		return errors.Join(err, pf.Close())
	}
	rr, err := fr.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return errors.Join(err, pf.Close())
	}
	defer rr.Release()
	for err == nil && rr.Next() {
		err = rejects.Each(rr.RecordBatch(), func(st *rejects.Stored) error { return m.take(ctx, st) })
	}
	return errors.Join(err, rr.Err(), pf.Close())
}

func (m *mover) take(ctx context.Context, st *rejects.Stored) error {
	m.rows++
	m.cur = st.Reject()
	at := st.Record.Position
	done, err := m.task.Append(ctx, &source.Batch{Range: source.Range{Partition: st.Partition, From: at, To: at + 1}, Records: []source.Record{st.Record}})
	if err == nil && !done {
		return errors.New("it is too large for one commit")
	}
	return err
}
