package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/wal"
	"github.com/stormfloe/floe/writer"
)

// validateStorage writes a file where data files go, and one where the write-ahead log lies, reads them and deletes them again.
func (p *parts) validateStorage(ctx context.Context, r *validateReport, tbl *table.Table) {
	folders := []string{writer.DataFolder(tbl), strings.TrimRight(tbl.Location(), "/") + "/" + wal.Folder}
	_, err := ask(ctx, func(ctx context.Context) (struct{}, error) {
		fio, err := tbl.FS(ctx)
		for i := 0; err == nil && i < len(folders); i++ {
			err = tableio.Probe(fio, folders[i])
		}
		return struct{}{}, err
	})
	if err != nil {
		r.add("storage", "failed", "%s", explain(err))
		return
	}
	r.add("storage", "ok", "files can be written, read and deleted below %s", strings.Join(folders, " and "))
}

// describer is a source that knows its rights.
type describer interface {
	Describe(ctx context.Context) (kafka.Description, error)
}

// validateRights says what floe may not do with the topics and the consumer group. Topics that are not there are told of elsewhere.
func (p *parts) validateRights(ctx context.Context, r *validateReport, there map[string]bool) {
	s, ok := p.source.(describer)
	if !ok {
		return
	}
	d, err := ask(ctx, s.Describe)
	if err != nil {
		r.add("kafka", "failed", "%s", explain(err))
	}
	for _, t := range d.Topics {
		if t.Err != nil && there[t.Name] {
			r.add("kafka", "failed", "%s", explain(t.Err))
		}
	}
}

// reasonsOf counts bad records by the code of their reason.
func reasonsOf(n map[mapper.Code]int64) string {
	var out []string
	for _, code := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d %s", n[code], code))
	}
	return strings.Join(out, ", ")
}
