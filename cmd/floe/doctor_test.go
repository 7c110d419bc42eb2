package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/doctor"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

// ill is one trouble and what the doctor has to say of it.
type ill struct {
	id string
	// also are findings that such trouble brings with it.
	also []string
	// replace changes the configuration, before makes the trouble, by what floe has done on four records.
	replace []string
	before  func(w *world, cfg string, e *examination) (doctored string)
	// words are in what it says.
	words []string
}

// same is a trouble that needs no other configuration.
func same(f func(w *world, cfg string, e *examination)) func(*world, string, *examination) string {
	return func(w *world, cfg string, e *examination) string { f(w, cfg, e); return cfg }
}

// props makes a table with properties.
func props(text string) []string {
	return []string{"create: {", "create: {properties: {" + text + "}, "}
}

// limited is no trouble but for a doctor with lower limits.
func limited(f func(*doctor.Limits)) func(*world, string, *examination) string {
	return same(func(_ *world, _ string, e *examination) { f(&e.limits) })
}

var ills = []ill{
	{id: "unclear-positions", words: []string{"set back to before", "floe positions set"}, before: same(func(w *world, cfg string, _ *examination) {
		w.dropBranch(cfg)
	})},
	{id: "position-gone", words: []string{"wants offset 2 next and the log begins at 4", "orders/1=earliest"}, before: same(func(w *world, _ string, _ *examination) {
		w.produce(1, `{"id":5}`, `{"id":6}`, `{"id":7}`)
		if err := w.cluster.DeleteRecords("orders", 1, 4); err != nil {
			w.t.Fatal(err)
		}
	})},
	{id: "position-beyond", words: []string{"wants offset 900 next and the log ends at 2"}, before: same(func(w *world, cfg string, _ *examination) {
		w.moveTo(cfg, "a", 900)
	})},
	{id: "topic-recreated", words: []string{"deleted and made again"}, before: same(func(w *world, _ string, _ *examination) { w.remake() })},
	{id: "partition-missing", words: []string{"no such partition"}, replace: []string{"topics: [orders]", `topic_pattern: "^ord"`}, before: same(func(w *world, _ string, _ *examination) {
		if err := w.cluster.DeleteTopic("orders"); err != nil {
			w.t.Fatal(err)
		}
	})},
	{id: "table-refused", words: []string{"write.wap.enabled"}, before: same(func(w *world, cfg string, _ *examination) {
		w.anotherEngine(cfg, func(tx *table.Transaction) error {
			return tx.SetProperties(map[string]string{"write.wap.enabled": "true"})
		})
	})},
	{id: "two-instances", words: []string{"3 processes commit it by turns", "share the name orders"}, before: same(func(w *world, cfg string, _ *examination) {
		for i := range 8 {
			w.moveTo(cfg, []string{"a", "b"}[i%2], source.Position(i%2+1))
		}
	})},
	{id: "lag-growing", words: []string{"grew by 5 records and the table took 0", "is running"}, before: same(func(w *world, _ string, e *examination) {
		e.interval = time.Second
		e.waits = func(time.Duration) { w.produce(0, `{"id":5}`, `{"id":6}`, `{"id":7}`, `{"id":8}`, `{"id":9}`) }
	})},
	{id: "rejects-waiting", also: []string{"rejects-open"}, words: []string{"1 rejects in 1 files", "is another one now", "floe rejects settle"}, before: same(func(w *world, cfg string, _ *examination) {
		w.produce(0, `{"id":"bad"}`)
		w.want(exitDone, "run", "--until-caught-up", cfg)
		w.dropRejects(cfg)
		p := w.build(cfg)
		defer w.closes(p)
		if _, err := p.rejects.Load(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	})},
	{id: "wal-old", words: []string{"1 entries", "start `floe run`"}, before: same(func(w *world, cfg string, e *examination) {
		w.note(cfg)
		e.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	})},
	{id: "wal-unreadable", words: []string{"can't be read"}, before: same(func(w *world, cfg string, _ *examination) {
		if err := os.WriteFile(w.note(cfg), []byte("no entry"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	})},
	{id: "wal-unreadable", words: []string{"set aside"}, before: same(func(w *world, cfg string, _ *examination) {
		if err := wal.New("", "orders").SetAside(w.t.Context(), w.table(cfg), w.note(cfg)); err != nil {
			w.t.Fatal(err)
		}
	})},
	{id: "clock-ahead", also: []string{"records-ahead"}, words: []string{"ahead of this machine's clock", "NTP"}, before: same(func(_ *world, _ string, e *examination) {
		e.now = func() time.Time { return time.Now().Add(-time.Hour) }
	})},
	{id: "records-ahead", words: []string{"orders/0", "producers"}, before: same(func(w *world, cfg string, _ *examination) {
		w.send(&kgo.Record{Value: []byte(`{"id":9}`), Timestamp: time.Now().Add(time.Hour)})
		w.want(exitDone, "run", "--until-caught-up", cfg)
	})},
	{id: "small-files", words: []string{"are smaller than", "compact"}, before: limited(func(l *doctor.Limits) { l.SmallFiles = 1 })},
	{id: "many-snapshots", words: []string{"the table keeps", "committer.expire_snapshots"}, before: limited(func(l *doctor.Limits) { l.Snapshots = 1 })},
	{id: "many-manifests", words: []string{"manifests: each commit lists them", "rewrite_manifests"}, before: limited(func(l *doctor.Limits) { l.Manifests = 0 })},
	{id: "large-metadata", words: []string{"each commit writes it anew"}, before: limited(func(l *doctor.Limits) { l.MetadataBytes = 100 })},
	{id: "property", words: []string{"gc.enabled", "takes nothing off"}, replace: append(props(`gc.enabled: "false"`), "committer: {", "committer: {expire_snapshots: true, ")},
	{id: "property", words: []string{"history.expire.min-snapshots-to-keep", "5000"}, replace: append(props(`history.expire.min-snapshots-to-keep: "5000"`), "committer: {", "committer: {expire_snapshots: true, ")},
	{id: "property", words: []string{"history.expire.max-snapshot-age-ms", "it is 1000"}, replace: props(`history.expire.max-snapshot-age-ms: "1000"`)},
	{id: "property", words: []string{"history.expire.max-snapshot-age-ms", "no number"}, replace: props(`history.expire.max-snapshot-age-ms: soon`)},
	{id: "property", also: []string{"metadata-kept"}, words: []string{"write.metadata.previous-versions-max", "it is 2"}, replace: props(`write.metadata.previous-versions-max: "2"`)},
	{id: "property", words: []string{"write.target-file-size-bytes", "it is 1000000"}, replace: props(`write.target-file-size-bytes: "1000000"`)},
	{id: "property-ignored", words: []string{"commit.retry.num-retries"}, replace: props(`commit.retry.num-retries: "7"`)},
	{id: "metadata-kept", also: []string{"property"}, words: []string{"write.metadata.delete-after-commit.enabled"}, replace: props(`write.metadata.previous-versions-max: "2"`)},
	{id: "orphans", words: []string{"1 files with 7 bytes", "left.parquet"}, before: same(func(w *world, cfg string, e *examination) {
		w.put(cfg, "left.parquet")
		e.now = func() time.Time { return time.Now().Add(time.Minute) }
	})},
	{id: "rejects-open", words: []string{"1 records", "floe rejects replay"}, before: same(func(w *world, cfg string, _ *examination) {
		w.produce(0, `{"id":"bad"}`)
		w.want(exitDone, "run", "--until-caught-up", cfg)
	})},
}

// TestTheDoctorFindsEachTroubleAndNothingElse makes each of them.
func TestTheDoctorFindsEachTroubleAndNothingElse(t *testing.T) {
	t.Parallel()
	for i, c := range ills {
		t.Run(fmt.Sprintf("%s %d", c.id, i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cfg := w.config(c.replace...)
			w.produce(0, `{"id":1}`, `{"id":2}`)
			w.produce(1, `{"id":3}`, `{"id":4}`)
			w.want(exitDone, "run", "--until-caught-up", cfg)
			e := w.examination()
			if c.before != nil {
				cfg = c.before(w, cfg, &e)
			}
			p := w.build(cfg)
			defer w.closes(p)
			r := p.examine(t.Context(), e)
			if len(r.Unchecked) > 0 {
				t.Errorf("not looked at: %+v", r.Unchecked)
			}
			found := false
			for _, f := range r.Findings {
				if f.Where == "" || f.What == "" || f.Do == "" {
					t.Errorf("%+v says too little", f)
				}
				all := f.Where + " " + f.What + " " + f.Do
				found = found || f.ID == c.id && !slices.ContainsFunc(c.words, func(word string) bool { return !strings.Contains(all, word) })
				if f.ID != c.id && !slices.Contains(c.also, f.ID) {
					t.Errorf("found as well: %+v", f)
				}
			}
			if !found {
				t.Errorf("%q is not said of %s: %+v", c.words, c.id, r.Findings)
			}
		})
	}
}

// TestEachFindingIsTestedAndDocumented holds the ids against the troubles above and against docs/doctor.md.
func TestEachFindingIsTestedAndDocumented(t *testing.T) {
	doc := documents(t)["docs/doctor.md"]
	for _, k := range doctor.Kinds() {
		if !slices.ContainsFunc(ills, func(c ill) bool { return c.id == k.ID }) {
			t.Errorf("nothing makes the trouble %s", k.ID)
		}
		if !strings.Contains(doc, fmt.Sprintf("| `%s` | %s |", k.ID, k.Severity)) {
			t.Errorf("%s, of severity %s, is not in docs/doctor.md", k.ID, k.Severity)
		}
	}
}

// TestDoctor holds what a person sees.
func TestDoctor(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	text := w.want(exitFailed, "doctor", "--interval", "0", cfg) // there is no table yet
	w.produce(0, `{"id":1}`, `{"id":2}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	text += w.want(exitDone, "doctor", cfg) // twice the 300 ms of its configuration
	if out := w.want(exitFailed, "doctor", "--interval", "1ms", "--no-orphans", cfg); !strings.Contains(out, "not looked at: lag-growing: the looks are") {
		t.Error(out)
	}
	w.produce(0, `{"id":"bad"}`, `{"id":3}`, `{"id":4}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	text += w.want(exitDone, "doctor", "--interval", "0", cfg)
	w.remake()
	text += w.want(exitFailed, "doctor", "--interval", "0", cfg)
	text += w.want(exitFailed, "doctor", "--interval", "0", "--json", cfg)
	golden(t, "doctor", regexp.MustCompile(`the id [A-Za-z0-9_-]{22}`).ReplaceAllString(text, "the id ID"))
}

func (w *world) examination() examination {
	return examination{orphans: true, limits: doctor.Defaults(), waits: func(time.Duration) {}, now: time.Now}
}

// build gives the parts of a configuration.
func (w *world) build(cfg string) *parts {
	w.t.Helper()
	loaded := w.load(cfg)
	p, err := build(loaded, quietLogger(loaded, w.t.Output()))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) closes(p *parts) {
	w.t.Helper()
	if err := p.close(); err != nil {
		w.t.Error(err)
	}
}

// moveTo commits a position of orders/0 as a process of the given name.
func (w *world) moveTo(cfg, instance string, to source.Position) {
	w.t.Helper()
	p := w.build(cfg)
	defer w.closes(p)
	com, err := committer.New(committer.Config{Topology: "orders", Instance: instance}, p.table, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := com.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for q := range at.At {
		if q.ID == 0 {
			if _, err := com.Set(w.t.Context(), map[source.Partition]source.Position{q: to}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// anotherEngine commits to the table of a configuration.
func (w *world) anotherEngine(cfg string, change func(*table.Transaction) error) {
	w.t.Helper()
	cat, closeCatalog := w.catalog(cfg)
	defer closeCatalog()
	tbl, err := cat.LoadTable(w.t.Context(), table.Identifier{"db", "orders"})
	if err != nil {
		w.t.Fatal(err)
	}
	tx := tbl.NewTransaction()
	if err = change(tx); err == nil {
		_, err = tx.Commit(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// dropBranch sets the main branch back to before its first snapshot.
func (w *world) dropBranch(cfg string) {
	w.t.Helper()
	cat, closeCatalog := w.catalog(cfg)
	defer closeCatalog()
	if _, _, err := cat.CommitTable(w.t.Context(), table.Identifier{"db", "orders"}, nil, []table.Update{table.NewRemoveSnapshotRefUpdate("main")}); err != nil {
		w.t.Fatal(err)
	}
}

// note writes an entry of a batch that nobody commits, and gives its path.
func (w *world) note(cfg string) string {
	w.t.Helper()
	tbl, id := w.table(cfg), uuid.New()
	q := source.Partition{Cluster: "test", Topic: "orders", ID: 0}
	in := descriptor.Input{Range: source.Range{Partition: q, From: 2, To: 3}, Filtered: 1}
	path, err := wal.New("", "orders").Put(w.t.Context(), tbl, &descriptor.Group{
		CommitID: id, Topology: "orders", Instance: "gone", Component: "committer", TableUUID: tbl.Metadata().TableUUID(), Branch: "main",
		Moves: []source.Range{in.Range}, CreatedAt: time.Now(),
		Descriptors: []*descriptor.Descriptor{{ID: uuid.New(), Topology: "orders", Task: "writer/0", TableUUID: tbl.Metadata().TableUUID(),
			FormatVersion: 2, Inputs: []descriptor.Input{in}, SealedAt: time.Now()}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimPrefix(path, "file://")
}

// put leaves a file among the data that no snapshot names, as if it lay there for two days.
func (w *world) put(cfg, name string) {
	w.t.Helper()
	path := filepath.Join(strings.TrimPrefix(w.table(cfg).Location(), "file://"), "data", name)
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		w.t.Fatal(err)
	}
}
