package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/writer"
)

// rejects judges what waits.
func (p *Patient) rejects(r *Report) {
	w := p.Waiting
	old := !w.Oldest.IsZero() && p.Now.Sub(w.Oldest) > p.Limits.RejectsAge
	if w.Files > 0 && (w.Err != nil || old) {
		what := fmt.Sprintf("%d rejects in %d files are not in it, the oldest for %s; the stream is held when 64 files wait", w.Rows, w.Files, round(p.Now.Sub(w.Oldest)))
		do := "see whether floe runs, and whether it may write that table: its log says why it can't"
		if w.Err != nil {
			what += ". " + w.Err.Error()
			do = "answer with `floe rejects settle CONFIG there` or missing, or configure the table that they were written for"
		}
		r.add(rejectsWaiting, p.RejectsTable, what, do)
	}
	if p.OpenRejects > 0 {
		r.add(rejectsOpen, p.RejectsTable, fmt.Sprintf("%d records could not become rows and wait for a replay", p.OpenRejects),
			"`floe rejects count CONFIG` counts them by reason; mend what is wrong, then `floe rejects replay CONFIG`")
	}
}

// wal judges what an earlier life left behind.
func (p *Patient) wal(r *Report) {
	old := 0
	var first, where string
	for _, e := range p.Entries {
		switch age := p.Now.Sub(e.ModifiedAt); {
		case e.Group == nil:
			r.add(walUnreadable, e.Path, fmt.Sprintf("it can't be read: %s", e.Err), "leave it to the next start, which moves a damaged entry aside; one of a newer floe is for that")
		case age > p.Limits.WALAge:
			if old++; old == 1 {
				first, where = round(age).String(), e.Path
			}
		}
	}
	if old > 0 {
		r.add(walOld, where, fmt.Sprintf("%d entries of batches that were about to be committed are old, the oldest %s: their process ended, and no other has taken their partitions since", old, first),
			"start `floe run`: it adopts what is whole and gives up the rest; no record is lost either way")
	}
	for _, path := range p.SetAside {
		r.add(walUnreadable, path, "it was damaged and is set aside; what it named was read again", "delete it when you have looked at what damaged it")
	}
}

// mostListed is how many orphans a finding names.
const mostListed = 5

// orphans looks below the data folder for files that no snapshot and no WAL entry names. Nothing is deleted.
func (p *Patient) orphans(ctx context.Context, r *Report) {
	folder := writer.DataFolder(p.Table)
	if location := strings.TrimRight(p.Table.Location(), "/") + "/"; !strings.HasPrefix(folder, location) {
		r.Skip(orphans, "the data lies at %s, outside of the table's own folder, where other tables may have files too", folder)
		return
	}
	plan, err := p.Table.PlanOrphanFiles(ctx, table.WithLocation(folder), table.WithFilesOlderThan(p.Limits.OrphanAge), table.WithPrefixMismatchMode(table.PrefixMismatchIgnore))
	if err != nil {
		r.Skip(orphans, "the files below %s can't be compared with the snapshots: %s", folder, err)
		return
	}
	noted := map[string]bool{}
	for _, e := range p.Entries {
		if e.Group == nil {
			continue
		}
		for _, d := range e.Group.Descriptors {
			for _, f := range d.Files {
				noted[bare(f.FilePath())] = true
			}
		}
	}
	var paths []string
	var total int64
	for _, f := range plan.OrphanFiles() {
		if !noted[bare(f.Path)] {
			paths, total = append(paths, f.Path), total+f.SizeBytes
		}
	}
	if len(paths) == 0 {
		return
	}
	slices.Sort(paths)
	named := strings.Join(paths[:min(len(paths), mostListed)], ", ")
	if more := len(paths) - mostListed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	r.add(orphans, folder, fmt.Sprintf("%d files with %s are older than %s and belong to no snapshot: %s", len(paths), bytesOf(total), p.Limits.OrphanAge, named),
		"they cost their storage alone; a process that ends in the middle leaves such files. Iceberg's remove_orphan_files deletes them: with its default age of three days, and without metadata/_storm_wal")
}

// bare is a local path without its scheme, as listings give it in either form.
func bare(path string) string {
	if rest, ok := strings.CutPrefix(path, "file:"); ok {
		return "/" + strings.TrimLeft(rest, "/")
	}
	return path
}
