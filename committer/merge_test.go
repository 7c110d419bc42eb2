package committer

import (
	"fmt"
	"maps"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// entry is what a reader knows of a data file from the manifests.
type entry struct {
	sequence, fileSequence, snapshot int64
	rows, size                       int64
}

// entries are the live data files of main, and how many manifests name them.
func (w *world) entries() (map[string]entry, int) {
	w.t.Helper()
	ms, err := w.table().CurrentSnapshot().Manifests(iceio.LocalFS{})
	w.must(err)
	out := map[string]entry{}
	for _, m := range ms {
		for e, err := range m.Entries(iceio.LocalFS{}, true) {
			w.must(err)
			f := e.DataFile()
			if _, twice := out[f.FilePath()]; twice {
				w.t.Errorf("%s is there twice", f.FilePath())
			}
			x := entry{sequence: e.SequenceNum(), fileSequence: -1, snapshot: e.SnapshotID(), rows: f.Count(), size: f.FileSizeBytes()}
			if n := e.FileSequenceNum(); n != nil {
				x.fileSequence = *n
			}
			out[f.FilePath()] = x
		}
	}
	return out, len(ms)
}

var mergeAll = iceberg.Properties{table.ManifestMergeEnabledKey: "true", table.ManifestMinMergeCountKey: "5"}

// TestMergedManifestsNameTheSameFiles follows a table over several merges: every file keeps its sequence numbers and the
// snapshot that added it, and no commit forgets one.
func TestMergedManifestsNameTheSameFiles(t *testing.T) {
	w := newWorld(t, mergeAll)
	r := w.start(Config{}, newLog())
	was, most, merges := map[string]entry{}, 0, 0
	for i := range source.Position(3*mergeEvery + 4) {
		w.want(r.submit("w", 1, w.batch("a", rng(0, i, i+1))), Landed)
		now, manifests := w.entries()
		if manifests < most {
			merges++
		}
		most = manifests
		for path, e := range was {
			if now[path] != e {
				t.Fatalf("commit %d: %s was %+v and is %+v", i, path, e, now[path])
			}
		}
		if len(now) != int(i)+1 {
			t.Fatalf("commit %d: %d files", i, len(now))
		}
		was = maps.Clone(now)
		s := w.table().CurrentSnapshot()
		if got := s.Summary.Properties["total-data-files"]; got != fmt.Sprint(i+1) {
			t.Fatalf("commit %d: %s files in the summary", i, got)
		}
	}
	if merges < 2 || most > mergeEvery+5 {
		t.Errorf("merged %d times, %d manifests at the end", merges, most)
	}
	w.once("a", 0, 3*mergeEvery+4)
	w.readable()
}

// TestManifestsAreMergedOnlyWhereTheTableSaysSo and where iceberg-go can do it without harm.
func TestManifestsAreMergedOnlyWhereTheTableSaysSo(t *testing.T) {
	with := func(k, v string) iceberg.Properties {
		p := maps.Clone(mergeAll)
		p[k] = v
		return p
	}
	for name, c := range map[string]struct {
		props iceberg.Properties
		spec  *iceberg.PartitionSpec
		want  bool
	}{
		"it says so":         {props: mergeAll, want: true},
		"it says nothing":    {},
		"it says no":         {props: with(table.ManifestMergeEnabledKey, "false")},
		"there are too few":  {props: with(table.ManifestMinMergeCountKey, "100")},
		"format version 3":   {props: with("format-version", "3")},
		"partitions of text": {props: mergeAll, spec: specOf(2, iceberg.IdentityTransform{})},
		"buckets of text":    {props: mergeAll, spec: specOf(2, iceberg.BucketTransform{NumBuckets: 4}), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.props)
			if c.spec != nil {
				w.apply(table.NewAddPartitionSpecUpdate(c.spec, false))
			}
			r := w.start(Config{}, nil)
			for i := range source.Position(8) {
				w.want(r.submit("w", 1, w.batch("a", rng(0, i, i+1))), Landed)
			}
			r.end()
			if r.mergeDue(t.Context(), w.table()) {
				t.Error("it is due after every append")
			}
			r.appends = mergeEvery
			if got := r.mergeDue(t.Context(), w.table()); got != c.want {
				t.Errorf("due: %v", got)
			}
		})
	}
}

func specOf(column int, tr iceberg.Transform) *iceberg.PartitionSpec {
	s := iceberg.NewPartitionSpecID(1, iceberg.PartitionField{SourceIDs: []int{column}, FieldID: 1000, Name: "p", Transform: tr})
	return &s
}
