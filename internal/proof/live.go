package proof

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// live is which files the snapshot at hand names. A manifest is read when a snapshot lists it and the one before did not.
type live struct {
	// list are the snapshot's manifests, in their order.
	list      []string
	manifests map[string]*manifest
	cache     *Cache // nil for none
}

// manifest is one that a snapshot lists, mostly once.
type manifest struct {
	files []File
	times int
}

// delta is what a snapshot changed.
type delta struct {
	added, removed []File
	// deletes are files of row-level deletes that it added.
	deletes []string
	// gone are manifests, or the manifest list, that are not there.
	gone []string
	// unknown says that nothing is known of the snapshot's files.
	unknown bool
}

func newLive(c *Cache) *live { return &live{manifests: map[string]*manifest{}, cache: c} }

// move goes on to the next snapshot. An error is the storage's.
func (l *live) move(fio iceio.IO, s *table.Snapshot) (delta, error) {
	list, err := cached(l.cache, fio, s.ManifestList, func() ([]string, error) { return Manifests(fio, s) })
	if errors.Is(err, fs.ErrNotExist) {
		return delta{gone: []string{s.ManifestList}, unknown: true}, nil
	}
	if err != nil {
		return delta{}, err
	}
	times := map[string]int{}
	before, after := differing(l.list, list)
	for _, path := range after {
		times[path]++
	}
	for _, path := range before {
		times[path]--
	}
	l.list = list
	var d delta
	count := map[File]int{}
	for _, path := range slices.Sorted(maps.Keys(times)) {
		if times[path] == 0 {
			continue // it has another place in the list
		}
		m, err := l.manifest(fio, path)
		if errors.Is(err, fs.ErrNotExist) {
			d.gone = append(d.gone, path)
		} else if err != nil {
			return delta{}, err
		}
		for _, f := range m.files {
			count[f] += times[path]
		}
		if m.times += times[path]; m.times == 0 {
			delete(l.manifests, path)
		}
	}
	d.sort(count)
	return d, nil
}

// differing leaves out what two lists have in common at their beginnings and at their ends: a list is as long as the history,
// and differs in a few manifests from the one before.
func differing(a, b []string) (restA, restB []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// manifest gives one that is listed, or reads it. Of one that is not there there are no files.
func (l *live) manifest(fio iceio.IO, path string) (m *manifest, err error) {
	if m = l.manifests[path]; m == nil {
		m = &manifest{}
		l.manifests[path] = m
		m.files, err = cached(l.cache, fio, path, func() ([]File, error) { return Files(fio, path) })
	}
	return m, err
}

// sort takes the difference apart, in the order of paths.
func (d *delta) sort(count map[File]int) {
	files := slices.SortedFunc(maps.Keys(count), func(a, b File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	for _, f := range files {
		for n := count[f]; n > 0; n-- {
			if f.Deletes {
				d.deletes = append(d.deletes, f.Path)
			} else {
				d.added = append(d.added, f)
			}
		}
		for n := count[f]; n < 0 && !f.Deletes; n++ {
			d.removed = append(d.removed, f)
		}
	}
}
