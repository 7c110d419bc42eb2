package proof

import (
	"errors"
	"fmt"
	"io"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// File is a file as a manifest names it.
type File struct {
	Path string
	// Rows and Bytes are what the manifest says of it.
	Rows, Bytes int64
	// Deletes says that it holds row-level deletes and no rows.
	Deletes bool
}

// Slots in values.
const (
	slotPath = iota
	slotStatus
	slotContent
	slotRows
	slotBytes
)

var (
	listKind  = avroKind{slots: map[string]int{"manifest_path": slotPath}, need: []string{"manifest_path"}}
	entryKind = avroKind{
		slots: map[string]int{"status": slotStatus, "data_file.content": slotContent, "data_file.file_path": slotPath,
			"data_file.record_count": slotRows, "data_file.file_size_in_bytes": slotBytes},
		need: []string{"status", "data_file.file_path", "data_file.record_count", "data_file.file_size_in_bytes"},
	}
)

// statusDeleted is an entry's whose file the snapshot has dropped.
const statusDeleted = 2

// Manifests reads a snapshot's manifest list: the paths in it, in its order. What is known of them otherwise is not looked at.
func Manifests(fio iceio.IO, s *table.Snapshot) (paths []string, err error) {
	b, err := readAll(fio, s.ManifestList)
	if err != nil {
		return nil, err
	}
	err = listKind.read(b, func(v *values) { paths = append(paths, v.texts[slotPath]) })
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.ManifestList, err)
	}
	return paths, nil
}

// Files reads a manifest: the files that it says are there.
func Files(fio iceio.IO, path string) (files []File, err error) {
	b, err := readAll(fio, path)
	if err != nil {
		return nil, err
	}
	err = entryKind.read(b, func(v *values) {
		if v.numbers[slotStatus] != statusDeleted {
			files = append(files, File{v.texts[slotPath], v.numbers[slotRows], v.numbers[slotBytes], v.numbers[slotContent] != 0})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return files, nil
}

func readAll(fio iceio.IO, path string) (_ []byte, err error) {
	f, err := fio.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}
