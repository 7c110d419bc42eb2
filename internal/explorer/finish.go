package explorer

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

// judgeEnd says whether the schedule gives a reason for how a process ended.
func (x *explorer) judgeEnd(l *life, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var stop *committer.StopError
	how := "other"
	switch {
	case l.plan.Crashed():
		how = "killed"
	case err == nil:
		how = "graceful"
	case errors.As(err, &stop):
		how = "asked"
		if !x.mu.asks[l.topo] && l.no >= x.mu.excused[l.topo] && !x.mu.recreated && !(x.mu.tampered && x.mu.expired) {
			x.findLocked("asked", "%s asks a person without need: %v", l, err)
		}
	case strings.Contains(err.Error(), "another instance under the topology name"):
		how = "gave way"
		if !x.mu.shared {
			x.findLocked("gave way", "%s gave way to nobody: %v", l, err)
		}
	case strings.Contains(err.Error(), "graceful end took longer"):
		how = "cut off"
		if !x.mu.troubled {
			x.findLocked("slow end", "%s: %v", l, err)
		}
	case strings.Contains(err.Error(), "load table db.orders") && x.mu.troubled:
		how = "catalog away"
	default:
		x.findLocked("end", "%s ended with: %v", l, err)
	}
	x.stats.Ends[how]++
}

// mend takes away everything that makes trouble, and produces a last record in each partition.
func (x *explorer) mend() {
	x.mu.Lock()
	x.mu.away = false
	x.mu.Unlock()
	for _, l := range x.all {
		l.quiet()
	}
	for _, l := range x.all {
		if l.plan.Held() > 0 {
			x.note("released: %v", l.plan.Release())
		}
	}
	x.produce(len(x.mu.want) + 1)
}

// settleDown demands that processes which own everything catch up by themselves.
func (x *explorer) settleDown() {
	ok := x.until(func() bool {
		for _, topo := range x.topologies() {
			if x.whole(topo) && !x.caughtUp(topo) {
				return false
			}
		}
		return true
	})
	if !ok {
		x.find("stuck", "what runs has not caught up in an hour: the table stands at %v\n%s", x.where(), dump())
	}
}

// whole says that every partition has a process that runs.
func (x *explorer) whole(topo string) bool {
	for _, p := range x.partitions() {
		if x.owner(topo, p) == nil {
			return false
		}
	}
	return true
}

// where is where the head stands in truth.
func (x *explorer) where() map[string]positions {
	s := x.w.Catalog.Metadata().CurrentSnapshot()
	x.mu.Lock()
	defer x.mu.Unlock()
	if s == nil || x.mu.heads[s.SnapshotID] == nil {
		return nil
	}
	return x.mu.heads[s.SnapshotID].at
}

func (x *explorer) caughtUp(topo string) bool {
	at := x.where()[topo]
	for p, w := range x.mu.want {
		if int(at[int32(p)]) < len(w) {
			return false
		}
	}
	return true
}

// stopAll ends what runs, and demands that it ends.
func (x *explorer) stopAll() {
	for _, l := range x.all {
		l.end()
	}
	x.await("a graceful end", x.all...)
}

func (x *explorer) await(what string, lives ...*life) {
	limit := time.After(time.Hour)
	for _, l := range lives {
		select {
		case <-l.done:
		case <-limit:
			x.find("stuck", "%s: %s takes more than an hour\n%s", l, what, dump())
			return
		}
	}
}

// killAll ends everything at once, so that nothing outlives the bubble.
func (x *explorer) killAll() {
	for _, l := range x.all {
		l.plan.Kill()
		l.top.Kill()
	}
	x.await("a kill", x.all...)
}

// lastLife is a process without faults that must catch up.
func (x *explorer) lastLife(topo string) {
	for try := range 2 {
		l := x.newLife(slots, topo, shapes[int(x.s.Seed)%len(shapes)])
		l.mu.calm = true
		for _, p := range x.partitions() {
			l.give(p)
		}
		x.note("last life of %s", topo)
		go l.run()
		x.await("the last life", l)
		if x.stopped() {
			return
		}
		var stop *committer.StopError
		switch err := l.mu.err; {
		case err == nil && x.caughtUp(topo):
			x.tidy(topo)
			return
		case err == nil:
			x.find("behind", "the last life of %s ended, and the table stands at %v", topo, x.where())
			return
		case try == 0 && errors.As(err, &stop):
			x.answer()
		default:
			x.find("end", "the last life of %s: %v", topo, err)
			return
		}
	}
}

// tidy demands that no WAL entry is left whose commit is on the branch: the last life was assigned everything.
func (x *explorer) tidy(topo string) {
	landed := map[string]bool{}
	for _, s := range line(x.w.Catalog.Metadata()) {
		landed[s.Summary.Properties[keyCommitID]] = true
	}
	_ = x.w.Files.WalkDir("mem://warehouse/orders/metadata/_storm_wal/"+topo, func(p string, d fs.DirEntry, err error) error {
		if id := strings.TrimSuffix(path.Base(p), ".json"); err == nil && landed[id] {
			x.find("wal", "the entry of commit %s is left, which is on the branch: %s", id, p)
		}
		return nil
	})
}

// answer has a person say where topologies go on that ask.
func (x *explorer) answer() bool {
	x.mu.Lock()
	away := x.mu.away
	x.mu.Unlock()
	if away {
		return false
	}
	answered := false
	for _, topo := range x.topologies() {
		tbl, err := x.w.Catalog.LoadTable(context.Background(), ident)
		if err != nil {
			x.find("table", "%v", err)
			return false
		}
		var stop *committer.StopError
		if _, err := read(tbl, topo); errors.As(err, &stop) {
			x.set(topo)
			answered = true
		}
		x.mu.Lock()
		delete(x.mu.asks, topo)
		x.mu.excused[topo] = len(x.all)
		x.mu.Unlock()
	}
	return answered
}

// set sets a topology's positions to what the rows are.
func (x *explorer) set(topo string) {
	at := map[source.Partition]source.Position{}
	for _, p := range x.partitions() {
		at[x.partition(p)] = x.where()[topo][p]
	}
	x.answered = true
	x.note("a person sets %s to %v", topo, at)
	c, err := committer.New(committer.Config{Topology: topo, Instance: "person", Logger: silent},
		tableio.New(hooked{x.w.Catalog, x}, ident), nil)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		_, err = c.Set(ctx, at)
	}
	if err != nil {
		x.find("set", "positions of %s can't be set: %v", topo, err)
	}
}

// heldUp says that a process, or a request, has been held up for longer than d.
func (x *explorer) heldUp(d time.Duration) bool {
	for _, l := range x.all {
		l.mu.Lock()
		since, slow := l.mu.heldUp, time.Now().Before(l.mu.slowUntil)
		frozen := l.mu.frozen != nil
		l.mu.Unlock()
		if slow || (frozen || l.plan.Held() > 0) && time.Since(since) >= d {
			return true
		}
	}
	return false
}

// sending is how many processes are between their look at the files and the answer to their commit.
func (x *explorer) sending() (n int) {
	for _, l := range x.all {
		l.mu.Lock()
		if l.mu.attempt && !l.mu.ended {
			n++
		}
		l.mu.Unlock()
	}
	return n
}

// orphans deletes what nothing refers to and what is older than is safe. Between a look at the files and the swap nobody can
// exclude it, so it is not done then.
func (x *explorer) orphans() bool {
	if x.heldUp(0) || x.sending() > 0 {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	used, err := x.usedLocked()
	if err != nil {
		x.findLocked("dangling", "%v", err)
		return false
	}
	var old []string
	err = x.w.Files.WalkDir("mem://warehouse/orders", func(p string, d fs.DirEntry, err error) error {
		born, known := x.mu.born[p]
		if err == nil && !d.IsDir() && known && !used[p] && time.Since(born) > grace {
			old = append(old, p)
		}
		return nil
	})
	for _, p := range old {
		err = errors.Join(err, x.w.Files.Remove(p))
	}
	x.noteLocked("  orphans: %d files, %v", len(old), err)
	return len(old) > 0
}

// usedLocked are the files that a retained snapshot or the metadata log refers to.
func (x *explorer) usedLocked() (map[string]bool, error) {
	used := map[string]bool{}
	m := x.w.Catalog.Metadata()
	for e := range m.PreviousFiles() {
		used[e.MetadataFile] = true
	}
	for _, s := range m.Snapshots() {
		used[s.ManifestList] = true
		manifests, err := s.Manifests(x.w.Files)
		if err != nil {
			return nil, err
		}
		for _, f := range manifests {
			used[f.FilePath()] = true
			for e, err := range f.Entries(x.w.Files, true) {
				if err != nil {
					return nil, err
				}
				used[e.DataFile().FilePath()] = true
			}
		}
	}
	return used, nil
}

// proveEvery is of how many seeds one has its history checked again at the end: each of its heads was looked at already.
const proveEvery = 3

// prove has the independent checker look at the whole history that is left. It knows nothing of cherry-picks.
func (x *explorer) prove() {
	if x.s.Seed%proveEvery != 0 || x.stats.Events[CherryPick.String()] > 0 {
		return
	}
	tbl, err := x.w.Catalog.LoadTable(context.Background(), ident)
	if err != nil {
		x.find("table", "%v", err)
		return
	}
	r, err := proof.Check(context.Background(), tbl, truth{x}, proof.Options{Topologies: x.topologies(), Topic: harness.Topic,
		Partitions: len(x.mu.want), Whole: true, SetByHand: x.answered})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		x.find("proof", "%v", err)
	}
}

// truth is what was produced. Everything has ended when it is asked.
type truth struct{ x *explorer }

func (t truth) End(p int32) int64 { return int64(len(t.x.mu.want[p])) }

func (t truth) Payload(p int32, at int64) (string, bool) {
	w := t.x.mu.want[p][at]
	return w, w != ""
}
