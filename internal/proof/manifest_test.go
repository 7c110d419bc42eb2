package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// manifests makes a table that has seen everything, and gives its manifest lists and manifests by path.
func manifests(t testing.TB) (m *maker, files map[string][]byte) {
	m = newMaker(t)
	old := m.good()
	m.hide(old[0])
	m.rewrite(old[:2], []iceberg.DataFile{m.file(slices.Concat(rowsOf(0, 0, 8), rowsOf(1, 0, 2))...)})
	files = map[string][]byte{}
	for _, s := range m.meta.Snapshots() {
		all, err := s.Manifests(m.files)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range append(paths(all), s.ManifestList) {
			if files[path], err = readAll(m.files, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m, files
}

func paths(ms []iceberg.ManifestFile) (out []string) {
	for _, m := range ms {
		out = append(out, m.FilePath())
	}
	return out
}

// TestManifestsReadAsTheLibraryReadsThem compares both readers, in all format versions.
func TestManifestsReadAsTheLibraryReadsThem(t *testing.T) {
	m, _ := manifests(t)
	m.apply(table.NewUpgradeFormatVersionUpdate(3))
	m.append("a", []int64{9, 5}, m.file(rowsOf(0, 8, 9)...))
	seen := map[bool]int{}
	for _, s := range m.meta.Snapshots() {
		want, err := s.Manifests(m.files)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Manifests(m.files, &s)
		if err != nil || !slices.Equal(got, paths(want)) {
			t.Errorf("got %q, %v; want %q", got, err, paths(want))
		}
		for _, mf := range want {
			var want []File
			for e, err := range mf.Entries(m.files, true) {
				if err != nil {
					t.Fatal(err)
				}
				d := e.DataFile()
				want = append(want, File{d.FilePath(), d.Count(), d.FileSizeBytes(), d.ContentType() != iceberg.EntryContentData})
			}
			got, err := Files(m.files, mf.FilePath())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			for _, f := range got {
				seen[f.Deletes]++
			}
		}
	}
	if seen[true] == 0 || seen[false] < 5 {
		t.Errorf("only %v were read", seen)
	}
}

// TestDamagedManifestsAreErrors cuts them off at each byte, and spoils what a reader trusts.
func TestDamagedManifestsAreErrors(t *testing.T) {
	_, files := manifests(t)
	for path, b := range files {
		kind := &entryKind
		if strings.Contains(path, "snap-") {
			kind = &listKind
		}
		records := 0
		if err := kind.read(b, func(*values) { records++ }); err != nil {
			t.Fatal(err)
		}
		if records == 0 {
			continue // the list of a snapshot without files
		}
		header := 0
		for i := range b {
			err := kind.read(b[:i], func(*values) {})
			if err == nil && header > 0 {
				t.Errorf("%s: %d of %d bytes are read without an error", path, i, len(b))
			}
			if err == nil {
				header = i // a file without a block is one
			}
		}
		for name, spoil := range map[string]func([]byte){
			"is no Avro file":                         func(b []byte) { b[0] = 'o' },
			"does not end with the file's mark":       func(b []byte) { b[len(b)-1]++ },
			`codec is "DEFLATE"`:                      func(b []byte) { replace(b, "deflate", "DEFLATE") },
			"its schema: ":                            func(b []byte) { replace(b, `"fields"`, `"fields!`) },
			`the type "lonG", which is not known`:     func(b []byte) { replace(b, `"long"`, `"lonG"`) },
			fmt.Sprintf("it has no %s", kind.need[0]): func(b []byte) { replace(b, `"`+kind.need[0]+`"`, `"`+strings.ToUpper(kind.need[0])+`"`) },
		} {
			bad := slices.Clone(b)
			spoil(bad)
			if err := kind.read(bad, func(*values) {}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v; %q was expected", path, err, name)
			}
		}
	}
}

func replace(b []byte, old, new string) {
	if i := strings.Index(string(b), old); i >= 0 {
		copy(b[i:], new)
	}
}

// FuzzManifest holds that whatever is read as a manifest or a list gives records or an error, and comes to an end.
func FuzzManifest(f *testing.F) {
	_, files := manifests(f)
	for _, b := range files {
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, slots := range []map[string]int{listKind.slots, entryKind.slots} {
			k := avroKind{slots: slots}
			_ = k.read(b, func(*values) {})
		}
	})
}
