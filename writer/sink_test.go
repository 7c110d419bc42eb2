package writer

import (
	"context"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/tableio"
)

// A file on an object store waits in memory until it fills a part; from then on it costs what the upload holds, and the
// sink holds nothing beside it.
func TestAnUploadIsCountedInMemory(t *testing.T) {
	fio := icebergio.NewMemFS()
	s := &sink{fs: fio, path: "mem://lake/t/data/f.parquet", on: storageOf("s3://lake/t/data")}
	page := make([]byte, 1<<20)
	for i := range 5 {
		if _, err := s.Write(page); err != nil {
			t.Fatal(err)
		}
		if s.w != nil || s.memory() < int64(i+1)<<20 {
			t.Fatalf("after %d MiB: open %v, %d bytes counted", i+1, s.w != nil, s.memory())
		}
	}
	for range 3 {
		if _, err := s.Write(page); err != nil {
			t.Fatal(err)
		}
		if s.w == nil || s.memory() != tableio.UploadMemory {
			t.Fatalf("open %v, %d bytes counted, an upload holds %d", s.w != nil, s.memory(), int64(tableio.UploadMemory))
		}
	}
	if err := s.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	f, err := fio.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 8<<20 || s.n != 8<<20 {
		t.Errorf("%v bytes were written, %d counted", info, s.n)
	}
}

func TestFilesOnADiskCostNoUpload(t *testing.T) {
	for _, location := range []string{"/data/t", "file:///data/t"} {
		if on := storageOf(location); on.open != 0 || on.closers(1<<20) != parallelIO {
			t.Errorf("%s: %+v", location, on)
		}
	}
	if n := storageOf("s3://lake/t").closers(30 << 20); n != 3 {
		t.Errorf("%d uploads are closed at a time within 30 MiB", n)
	}
}
