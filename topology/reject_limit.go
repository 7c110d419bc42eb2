package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormfloe/floe/mapper"
)

// RejectLimit stops a topology when too many records become rejects. All tasks count together; records that are read again
// count again.
type RejectLimit struct {
	// Share of the first Of records that a run reads: when more of them are rejects, the topology stops at once, and what is
	// open then is not sealed: it is read again at the next start. Of must not be negative and Share lie between 0 and 1; 1
	// never stops. Default 0.5 of 1,000, where Of is 0.
	Share float64
	Of    int64
	// Rate stops the topology when more records than that become rejects within Per; what was read before the last of them
	// is committed. 0: no such limit. Per defaults to 1 minute.
	Rate int64
	Per  time.Duration
}

func (l *RejectLimit) setDefaults() {
	if l.Of == 0 {
		l.Share, l.Of = 0.5, 1000
	}
	def(&l.Per, time.Minute)
}

func (l *RejectLimit) validate() error {
	switch {
	case !(l.Share >= 0 && l.Share <= 1):
		return fmt.Errorf("topology: reject limit: share %v: write a number from 0 to 1 (1: no limit)", l.Share)
	case l.Of < 0 || l.Rate < 0 || l.Per < 0:
		return fmt.Errorf("topology: reject limit: of %d, rate %d, per %s: must not be negative", l.Of, l.Rate, l.Per)
	}
	return nil
}

// TooManyRejects says which limit was passed.
type TooManyRejects struct {
	// Rejects of Records were counted, ByCode by their reasons, the one that is refused included.
	Rejects, Records int64
	ByCode           map[mapper.Code]int64
	// Within is set where it is the rate that was passed; otherwise the share of the first records was.
	Within time.Duration
}

func (e *TooManyRejects) Error() string {
	if e.Within > 0 {
		return fmt.Sprintf("%d records within %s can't become rows (%s), which is more than the limit of rejects", e.Rejects, e.Within, codeCounts(e.ByCode))
	}
	return fmt.Sprintf("%d of the first %d records can't become rows (%s), which is more than the limit of rejects: the format, the schema or the "+
		"mapping is probably not that of these records", e.Rejects, e.Records, codeCounts(e.ByCode))
}

// codeCounts is "syntax: 12, range: 3", the most frequent first.
func codeCounts(n map[mapper.Code]int64) string {
	codes := slices.SortedFunc(maps.Keys(n), func(a, b mapper.Code) int {
		if n[a] != n[b] {
			return int(min(1, max(-1, n[b]-n[a])))
		}
		return strings.Compare(string(a), string(b))
	})
	var parts []string
	for _, c := range codes {
		parts = append(parts, fmt.Sprintf("%s: %d", c, n[c]))
	}
	return strings.Join(parts, ", ")
}

// rejectLimiter judges the rejects of all tasks. Once it has refused one it refuses all.
type rejectLimiter struct {
	RejectLimit
	// judged is set once the first records have been seen: good ones need no count any more.
	judged atomic.Bool
	mu     struct {
		sync.Mutex
		first, window tally
		since         time.Time
		refused       *TooManyRejects
	}
}

type tally struct {
	records, rejects int64
	byCode           map[mapper.Code]int64
}

func (t *tally) add(bad *mapper.BadRecordError) {
	if t.byCode == nil {
		t.byCode = map[mapper.Code]int64{}
	}
	t.rejects++
	t.byCode[bad.Code]++
}

func newRejectLimiter(l RejectLimit) *rejectLimiter { return &rejectLimiter{RejectLimit: l} }

// judge is a writer's Judge.
func (l *rejectLimiter) judge(good int, bad *mapper.BadRecordError) error {
	if l.judged.Load() && (bad == nil || l.Rate == 0) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	if m.refused == nil {
		l.countFirst(int64(good), bad)
		l.countWindow(bad)
	}
	if m.refused != nil && bad != nil {
		return m.refused
	}
	return nil
}

func (l *rejectLimiter) countFirst(good int64, bad *mapper.BadRecordError) {
	m := &l.mu
	m.first.records += good
	if m.first.records >= l.Of {
		l.judged.Store(true)
		m.first = tally{records: l.Of}
		return
	}
	if bad == nil {
		return
	}
	m.first.records++
	m.first.add(bad)
	if float64(m.first.rejects) > l.Share*float64(l.Of) {
		m.refused = &TooManyRejects{Rejects: m.first.rejects, Records: m.first.records, ByCode: m.first.byCode}
	}
}

func (l *rejectLimiter) countWindow(bad *mapper.BadRecordError) {
	m := &l.mu
	if bad == nil || l.Rate == 0 || m.refused != nil {
		return
	}
	if now := time.Now(); m.since.IsZero() || now.Sub(m.since) >= l.Per {
		m.since, m.window = now, tally{}
	}
	m.window.add(bad)
	if m.window.rejects > l.Rate {
		m.refused = &TooManyRejects{Rejects: m.window.rejects, ByCode: m.window.byCode, Within: l.Per}
	}
}
