package committer

import (
	"context"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

const (
	// mergeEvery is how many appends lie between two looks at whether manifests are to be merged.
	mergeEvery = 16
	// mergeMost is how many manifests are merged at most: each is read, one after the other, while the commit waits. A
	// table that has more is one for its maintenance.
	mergeMost = 400
)

// mergeDue says whether this append is to merge manifests: each append adds one, writes the list of all anew, and whoever
// plans a scan reads them all. It is asked now and then by one who holds the turn, about cost alone; where there is no
// answer it is no.
//
// The table says whether and from how many on: commit.manifest-merge.enabled, commit.manifest.min-count-to-merge.
// iceberg-go can't do it in format version 3, where it wants row ids that files get only when they are committed.
func (c *Committer) mergeDue(ctx context.Context, tbl *table.Table) bool {
	props := tbl.Properties()
	if !props.GetBool(table.ManifestMergeEnabledKey, table.ManifestMergeEnabledDefault) ||
		tbl.Metadata().Version() != 2 || !mergeable(tbl.Metadata()) {
		return false
	}
	if c.appends++; c.appends < mergeEvery {
		return false
	}
	c.appends = 0
	head := tbl.SnapshotByName(c.cfg.Branch)
	if head == nil {
		return false
	}
	fio, err := tbl.FS(ctx)
	if err != nil {
		return false
	}
	manifests, err := head.Manifests(fio)
	if err != nil {
		return false
	}
	n := 1 // the one to come
	for _, m := range manifests {
		if m.ManifestContent() == iceberg.ManifestContentData {
			n++
		}
	}
	return n >= props.GetInt(table.ManifestMinMergeCountKey, table.ManifestMinMergeCountDefault) && n <= mergeMost
}

// mergeable says that manifests of every spec can be written anew by iceberg-go: it gives no bounds for an empty text in a
// partition, and a reader would then pass over all that such a file was merged with.
func mergeable(m table.Metadata) bool {
	schema := m.CurrentSchema()
	for _, spec := range m.PartitionSpecs() {
		for _, f := range spec.Fields() {
			field, ok := schema.FindFieldByID(f.SourceID())
			if !ok {
				return false
			}
			switch f.Transform.ResultType(field.Type).(type) {
			case iceberg.Int32Type, iceberg.Int64Type, iceberg.DateType, iceberg.TimestampType, iceberg.TimestampTzType:
			default:
				return false
			}
		}
	}
	return true
}
