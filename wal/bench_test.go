package wal_test

import (
	"context"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/wal"
)

// many is a group of a dozen batches.
func many(b *testing.B) (*wal.Store, *descriptor.Group, iceio.IO) {
	b.Helper()
	fio := iceio.NewMemFS()
	g := group(b, newTable(b, "mem://bucket/wh/t", fio, tableUUID), uuid.NewString())
	for one := g.Descriptors[0]; len(g.Descriptors) < 12; {
		d := *one
		d.ID = uuid.New()
		g.Descriptors = append(g.Descriptors, &d)
	}
	return wal.New("", g.Topology), g, fio
}

// BenchmarkPut writes the entry of a group, in memory.
func BenchmarkPut(b *testing.B) {
	s, g, fio := many(b)
	tbl := newTable(b, "mem://bucket/wh/t", fio, tableUUID)
	b.ReportAllocs()
	size := int64(0)
	for b.Loop() {
		path, err := s.Put(context.Background(), tbl, g)
		if err != nil {
			b.Fatal(err)
		}
		if size == 0 {
			if size, _, err = tableio.Stat(fio, path); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(size), "entry-B")
}

// BenchmarkList reads the entry of a group, in memory.
func BenchmarkList(b *testing.B) {
	s, g, fio := many(b)
	tbl := newTable(b, "mem://bucket/wh/t", fio, tableUUID)
	if _, err := s.Put(context.Background(), tbl, g); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if es, err := s.List(context.Background(), tbl); err != nil || len(es) != 1 || es[0].Err != nil {
			b.Fatalf("%v, %v", es, err)
		}
	}
}
