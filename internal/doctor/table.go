package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

// defaultTarget is what write.target-file-size-bytes is where the table does not say.
const defaultTarget = 512 << 20

// maintenance judges what piles up in the table's metadata.
func (p *Patient) maintenance(ctx context.Context, r *Report) {
	m := p.Table.Metadata()
	if n := len(tableio.Snapshots(m)); n > p.Limits.Snapshots {
		do := "set committer.expire_snapshots: true, or call Spark's expire_snapshots now and then"
		if p.Expires {
			do = "floe takes off what history.expire.max-snapshot-age-ms lets go: shorten it, and see whether a tag, a branch or another engine's snapshots hold the rest"
		}
		r.add(manySnapshots, p.name(), fmt.Sprintf("the table keeps %d snapshots, and each commit writes all of them anew", n), do)
	}
	props, log := p.Table.Properties(), 0
	for range m.PreviousFiles() {
		log++
	}
	if !props.GetBool(table.MetadataDeleteAfterCommitEnabledKey, false) && log >= props.GetInt(table.MetadataPreviousVersionsMaxKey, table.MetadataPreviousVersionsMaxDefault) {
		r.add(metadataKept, p.name(), fmt.Sprintf("each commit leaves a metadata file behind for good: %s is not true", table.MetadataDeleteAfterCommitEnabledKey),
			"set it to true; what lies there already is for an orphan clean-up, which must leave metadata/_storm_wal alone")
	}
	fio, err := p.Table.FS(ctx)
	if err != nil {
		r.Skip(largeMetadata, "the table's storage can't be opened: %s", err)
		return
	}
	size, there, err := tableio.Stat(fio, p.Table.MetadataLocation())
	switch {
	case err != nil:
		r.Skip(largeMetadata, "%s", err)
	case there && size > p.Limits.MetadataBytes:
		r.add(largeMetadata, p.name(), fmt.Sprintf("its metadata file has %s, and each commit writes it anew", bytesOf(size)),
			"take old snapshots off (committer.expire_snapshots, or Spark's expire_snapshots); where there are few, the positions of topologies that are gone, or many schemas, may fill it")
	}
}

// files judges the branch's manifests, and the sizes of the files in the newest.
func (p *Patient) files(ctx context.Context, r *Report) {
	head := p.Table.SnapshotByName(p.branch())
	if head == nil {
		return
	}
	fio, err := p.Table.FS(ctx)
	if err != nil {
		return // maintenance has said so
	}
	manifests, err := head.Manifests(fio)
	if err != nil {
		r.Skip(manyManifests, "the manifest list of snapshot %d can't be read: %s", head.SnapshotID, err)
		return
	}
	manifests = slices.DeleteFunc(manifests, func(m iceberg.ManifestFile) bool { return m.ManifestContent() != iceberg.ManifestContentData })
	if n := len(manifests); n > p.Limits.Manifests {
		do := "call Spark's rewrite_manifests, or compact the table"
		if !p.Table.Properties().GetBool(table.ManifestMergeEnabledKey, table.ManifestMergeEnabledDefault) {
			do = "set " + table.ManifestMergeEnabledKey + " to true, so that commits merge them, and " + do
		}
		r.add(manyManifests, p.name(), fmt.Sprintf("its newest snapshot has %d manifests: each commit lists them all, and whoever plans a scan reads them", n), do)
	}
	slices.SortFunc(manifests, func(a, b iceberg.ManifestFile) int { return cmp.Compare(b.SequenceNum(), a.SequenceNum()) })
	p.sizes(ctx, r, fio, manifests[:min(len(manifests), p.Limits.RecentManifests)])
}

func (p *Patient) sizes(ctx context.Context, r *Report, fio iceio.IO, manifests []iceberg.ManifestFile) {
	target := p.Table.Properties().GetInt64(propTarget, defaultTarget)
	small, all, total := 0, 0, int64(0)
	for _, m := range manifests {
		if ctx.Err() != nil {
			r.Skip(smallFiles, "%s", ctx.Err())
			return
		}
		for e, err := range m.Entries(fio, true) {
			if err != nil {
				r.Skip(smallFiles, "manifest %s can't be read: %s", m.FilePath(), err)
				return
			}
			size := e.DataFile().FileSizeBytes()
			all, total = all+1, total+size
			if float64(size) < p.Limits.Small*float64(target) {
				small++
			}
		}
	}
	if small < p.Limits.SmallFiles || 2*small <= all {
		return
	}
	r.add(smallFiles, p.name(), fmt.Sprintf("of the %d newest data files %d are smaller than %s; their mean is %s, the target %s", all, small,
		bytesOf(int64(p.Limits.Small*float64(target))), bytesOf(total/int64(all)), bytesOf(target)),
		"compact the table now and then (Spark's rewrite_data_files, Trino's optimize), which may run while floe does; or let batches grow: a longer writer.seal.interval, "+
			"fewer writer.tasks, and writer.group_by where the table has partitions")
}

func bytesOf(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
