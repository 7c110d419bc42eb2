package committer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// pair is a main table and its rejects table.
type pair struct {
	*world
	rej *world
}

func newPair(t *testing.T, props iceberg.Properties) *pair {
	t.Helper()
	return &pair{world: newWorld(t, props), rej: newWorld(t, props)}
}

// bad is a batch whose last record of each range is a reject.
func (p *pair) bad(topology string, ranges ...source.Range) *descriptor.Descriptor {
	p.t.Helper()
	d := p.empty(topology, ranges...)
	m := p.rej.table().Metadata()
	d.Rejects = &descriptor.Rejects{TableUUID: m.TableUUID(), SchemaID: m.CurrentSchema().ID, FormatVersion: 2}
	p.nr++
	rows, rejects := topology, topology
	for i := range d.Inputs {
		r := d.Inputs[i].Range
		d.Inputs[i].Rows, d.Inputs[i].Rejects, d.Inputs[i].Filtered = r.Len()-1, 1, 0
		d.Rows += r.Len() - 1
		d.Rejects.Rows++
		rows += fmt.Sprintf("-%d_%d_%d", r.Partition.ID, r.From, r.To-1)
		rejects += fmt.Sprintf("-%d_%d_%d", r.Partition.ID, r.To-1, r.To)
	}
	if d.Rows > 0 {
		d.Files, d.Bytes = []iceberg.DataFile{p.write(p.dir, rows, d.Rows)}, 4
	}
	d.Rejects.Files, d.Rejects.Bytes = []iceberg.DataFile{p.write(p.rej.dir, rejects, d.Rejects.Rows)}, 4
	return d
}

// write makes a file of four bytes.
func (p *pair) write(dir, name string, rows int64) iceberg.DataFile {
	p.t.Helper()
	path := fmt.Sprintf("%s/t/data/%s-n%d.parquet", dir, name, p.nr)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	p.must(os.WriteFile(path, []byte("rows"), 0o644))
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, rows, 4)
	p.must(err)
	return b.Build()
}

// with is a configuration that has the rejects table.
func (p *pair) with(cfg Config) Config {
	cfg.Rejects = p.rej
	return cfg
}

// box is a topology's outbox at the head of main.
func (p *pair) box(topology string) []boxed {
	p.t.Helper()
	return outboxOf(p.t, p.table().CurrentSnapshot(), topology)
}

func outboxOf(t testing.TB, s *table.Snapshot, topology string) []boxed {
	t.Helper()
	if s == nil || s.Summary == nil {
		return nil
	}
	v, err := parseValue(s.Summary.Properties[keyPositions])
	if err != nil {
		t.Fatal(err)
	}
	box, err := v.outbox(topology)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// settledRejects checks what the model's verify does: each offset below n that main has passed is there once, as a row or
// as a reject that its outbox names or the rejects table holds; no reject is there twice, and none of a commit that never
// landed. done says that nothing may be left to append.
func (p *pair) settledRejects(topology string, part int32, n int, done bool) {
	p.t.Helper()
	counts := p.offsets(topology, part, n)
	live := map[string]int{}
	for _, path := range p.rej.paths() {
		if live[path]++; live[path] > 1 {
			p.t.Errorf("reject %s is there twice", filepath.Base(path))
		}
	}
	tbl := p.table()
	onLine, landed := map[string]bool{}, map[string]bool{}
	for s := tbl.CurrentSnapshot(); s != nil; s = tbl.SnapshotByID(*s.ParentSnapshotID) {
		for _, b := range outboxOf(p.t, s, topology) {
			for _, f := range b.Files {
				onLine[f.Path] = true
			}
		}
		if s.ParentSnapshotID == nil {
			break
		}
	}
	for _, s := range tbl.Metadata().Snapshots() {
		for _, b := range outboxOf(p.t, &s, topology) {
			for _, f := range b.Files {
				landed[f.Path] = true
			}
		}
	}
	waits := map[string]bool{}
	for _, b := range p.box(topology) {
		for _, f := range b.Files {
			waits[f.Path] = true
		}
	}
	for path := range onLine {
		if live[path] == 0 && (done || !waits[path]) {
			p.t.Errorf("reject %s is lost: it is off the outbox, or nothing appends it", filepath.Base(path))
		}
		for o, k := range offsetsOf([]string{path}, topology, part, n) {
			counts[o] += k
		}
	}
	for path := range live {
		if !landed[path] {
			p.t.Errorf("reject %s is there, and no commit passed it", filepath.Base(path))
		}
	}
	for o, k := range counts {
		if k != 1 {
			p.t.Errorf("offset %d is there %d times", o, k)
		}
	}
}

// emptied waits until all that the newest outbox names was seen in the rejects table.
func (r *runner) emptied() {
	r.w.t.Helper()
	for {
		v, err := r.viewOf(r.w.t.Context(), r.Table())
		r.w.must(err)
		if len(r.keptOutbox(v)) == 0 {
			return
		}
		<-r.obs.outboxes
	}
}

// told waits for a look that ended with an error.
func (r *runner) told() error {
	for o := range r.obs.outboxes {
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}

// finishing runs a finisher once.
func (r *runner) finishes() error {
	r.w.t.Helper()
	_, err := r.Load(r.w.t.Context())
	r.w.must(err)
	return r.finish(r.w.t.Context())
}

// loaded is another process that has looked at the table.
func (p *pair) loaded() *runner {
	p.t.Helper()
	r := p.committer(p.with(Config{}), nil)
	_, err := r.Load(p.t.Context())
	p.must(err)
	return r
}

// setBack is a pair whose rejects table was set back to before what the outbox names.
func setBack(t *testing.T) *pair {
	t.Helper()
	p := newPair(t, nil)
	p.rej.foreign()
	before := p.rej.table().CurrentSnapshot().SnapshotID
	r := p.start(p.with(Config{}), newLog())
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	r.emptied()
	r.end()
	p.rej.rollback(before)
	return p
}

// rejectPaths are the paths of a batch's rejects.
func rejectPaths(ds ...*descriptor.Descriptor) (out []string) {
	for _, d := range ds {
		for _, f := range d.Rejects.Files {
			out = append(out, f.FilePath())
		}
	}
	slices.Sort(out)
	return out
}
