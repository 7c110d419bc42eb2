package proof

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// dataFile is a data file as a manifest names it.
type dataFile struct {
	path        string
	rows, bytes int64
}

// live is which files the snapshot at hand names. Each manifest is read once.
type live struct {
	manifests map[string]manifest
	cache     *Cache // nil for none
}

// manifest is one that a snapshot lists, mostly once.
type manifest struct {
	files []named
	times int
}

// named is a file in a manifest.
type named struct {
	dataFile
	deletes bool
}

// delta is what a snapshot changed.
type delta struct {
	added, removed []dataFile
	// deletes are files of row-level deletes that it added.
	deletes []string
	// gone are manifests, or the manifest list, that are not there.
	gone []string
	// unknown says that nothing is known of the snapshot's files.
	unknown bool
}

func newLive(c *Cache) *live { return &live{manifests: map[string]manifest{}, cache: c} }

// move goes on to the next snapshot. An error is the storage's.
func (l *live) move(fio iceio.IO, s *table.Snapshot) (delta, error) {
	list, err := l.list(fio, s)
	if errors.Is(err, fs.ErrNotExist) {
		return delta{gone: []string{s.ManifestList}, unknown: true}, nil
	}
	if err != nil {
		return delta{}, err
	}
	var d delta
	next := make(map[string]manifest, len(list))
	for _, m := range list {
		path := m.FilePath()
		now, seen := next[path]
		if !seen {
			now.files = l.manifests[path].files
		}
		if now.times++; !seen && l.manifests[path].times == 0 {
			if now.files, err = l.read(fio, m); errors.Is(err, fs.ErrNotExist) {
				d.gone = append(d.gone, path)
			} else if err != nil {
				return delta{}, err
			}
		}
		next[path] = now
	}
	count := map[named]int{}
	for path, m := range next {
		if n := m.times - l.manifests[path].times; n != 0 {
			for _, f := range m.files {
				count[f] += n
			}
		}
	}
	for path, m := range l.manifests {
		if next[path].times == 0 {
			for _, f := range m.files {
				count[f] -= m.times
			}
		}
	}
	l.manifests = next
	d.sort(count)
	return d, nil
}

// sort takes the difference apart, in the order of paths.
func (d *delta) sort(count map[named]int) {
	files := slices.SortedFunc(maps.Keys(count), func(a, b named) int {
		if a.path < b.path {
			return -1
		}
		return 1
	})
	for _, f := range files {
		for n := count[f]; n > 0; n-- {
			if f.deletes {
				d.deletes = append(d.deletes, f.path)
			} else {
				d.added = append(d.added, f.dataFile)
			}
		}
		for n := count[f]; n < 0 && !f.deletes; n++ {
			d.removed = append(d.removed, f.dataFile)
		}
	}
}

// list gives a snapshot's manifests.
func (l *live) list(fio iceio.IO, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	return cached(l.cache, fio, s.ManifestList, func() ([]iceberg.ManifestFile, error) { return s.Manifests(fio) })
}

// read gives the files that a manifest says are there.
func (l *live) read(fio iceio.IO, m iceberg.ManifestFile) ([]named, error) {
	return cached(l.cache, fio, m.FilePath(), func() (out []named, err error) {
		for e, err := range m.Entries(fio, true) {
			if err != nil {
				return nil, err
			}
			f := e.DataFile()
			out = append(out, named{dataFile{f.FilePath(), f.Count(), f.FileSizeBytes()}, f.ContentType() != iceberg.EntryContentData})
		}
		return out, nil
	})
}
