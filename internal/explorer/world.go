package explorer

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/source"
)

// slots is how many processes there are at once.
const slots = 3

// grace is committer.Config.Grace of every process, and the age from which on Orphans takes a file: above every latency, so that
// only what was frozen or held back can be older.
const grace = 30 * time.Second

var ident = table.Identifier{"db", "orders"}

// explorer is one run. Its own goroutine makes the events; processes come in through the catalog, the acks and the plans.
type explorer struct {
	s     Schedule
	stats *Stats
	w     *harness.World

	// lives are the processes by slot, nil where none was started; all are also those that have ended.
	lives [slots]*life
	all   []*life
	began time.Time
	// answered says that a person has set positions.
	answered bool

	mu struct {
		sync.Mutex
		found *Finding
		log   []string
		away  bool
		// want is what was produced: by partition and position the payload, empty where no row is to come of it.
		want [][]string
		// born is when a file was completed.
		born map[string]time.Time
		// held is the highest position that any head ever had, by topology and partition.
		held map[string]map[int32]source.Position
		audit
		reasons
	}
}

// reasons are what the schedule gave processes to end with an error for.
type reasons struct {
	// asks are topologies that a person has to answer. tampered and expired make it possible for any.
	asks map[string]bool
	// excused processes have looked before a person answered: those with a lower number.
	excused           map[string]int
	tampered, expired bool
	// shared: two processes had one partition at once. recreated: the table was made again. troubled: the catalog or a
	// process stood still for a while, so that what has a deadline may have missed it.
	shared, recreated, troubled bool
	// inFlight: the branch was set back while a request was on its way, or a process stood still that may have sent one.
	// heldBack: something was frozen or held back, now or before.
	inFlight, heldBack bool
}

func newExplorer(s Schedule, stats *Stats) *explorer {
	x := &explorer{s: s, stats: stats, began: time.Now()}
	x.mu.born = map[string]time.Time{}
	x.mu.held = map[string]map[int32]source.Position{}
	x.mu.asks, x.mu.excused = map[string]bool{}, map[string]int{}
	x.mu.audit = newAudit()
	return x
}

// build makes the empty world.
func (x *explorer) build(t testing.TB) error {
	props := iceberg.Properties{
		"write.parquet.compression-codec": "uncompressed", "parquet.enable.dictionary": "false",
		"write.metadata.previous-versions-max": "100",
	}
	if x.s.Conflicts {
		// Somebody wants the library to try again by itself.
		props["commit.retry.num-retries"], props["commit.retry.min-wait-ms"] = "3", "1"
		props["commit.retry.max-wait-ms"] = "5"
	}
	if x.s.Expiring {
		props[table.MaxSnapshotAgeMsKey], props[table.MinSnapshotsToKeepKey] = "0", "2"
	}
	shape := harness.Shape{Partitions: x.s.Partitions, Properties: props}
	if x.s.ByRegion {
		shape.PartitionBy = []string{"region"}
	}
	x.w = harness.New(t, shape)
	x.mu.want = make([][]string, x.s.Partitions)
	if x.s.Foreign {
		return x.foreignRoot()
	}
	return nil
}

func (x *explorer) topologies() []string {
	if x.s.Copy {
		return []string{"orders", "copy"}
	}
	return []string{"orders"}
}

// note keeps what happened, for a person who reads about a finding.
func (x *explorer) note(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.noteLocked(format, args...)
}

func (x *explorer) noteLocked(format string, args ...any) {
	x.mu.log = append(x.mu.log, fmt.Sprintf("%10s  ", time.Since(x.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// find notes the first thing that is wrong; what follows from it is of no interest.
func (x *explorer) find(rule, format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.findLocked(rule, format, args...)
}

func (x *explorer) findLocked(rule, format string, args ...any) {
	if x.mu.found == nil {
		x.mu.found = &Finding{Rule: rule, Detail: fmt.Sprintf(format, args...)}
		x.noteLocked("FOUND %s: %s", rule, x.mu.found.Detail)
	}
}

func (x *explorer) stopped() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.found != nil
}

// pass lets virtual time pass.
func (x *explorer) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until lets time pass until cond holds, an hour at most.
func (x *explorer) until(cond func() bool) bool {
	for end := time.Now().Add(time.Hour); ; x.pass(500 * time.Millisecond) {
		if cond() {
			return true
		}
		if x.stopped() || time.Now().After(end) {
			return false
		}
	}
}

// dump is where all goroutines are, for a run that is stuck.
func dump() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// hooked is the catalog as processes reach it: each head is audited when it is made, and a request that was sent is carried
// out although its sender no longer waits.
type hooked struct {
	*harness.Catalog
	x *explorer
}

var _ catalog.Catalog = hooked{}

func (c hooked) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	c.x.mu.Lock()
	away := c.x.mu.away
	c.x.mu.Unlock()
	if away {
		return nil, harness.ErrAway
	}
	return c.Catalog.LoadTable(ctx, id)
}

func (c hooked) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement,
	updates []table.Update) (table.Metadata, string, error) {
	x := c.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.away {
		return nil, "", harness.ErrAway
	}
	meta, loc, err := c.Catalog.CommitTable(context.WithoutCancel(ctx), id, reqs, updates)
	if err != nil {
		x.noteLocked("commit refused: %v", err)
		if x.s.Conflicts {
			err = fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
		}
		return nil, "", err
	}
	x.stats.Commits++
	x.auditLocked("commit")
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	return meta, loc, nil
}
