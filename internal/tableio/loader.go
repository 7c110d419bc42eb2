package tableio

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// refreshIO is how old a FileIO of an object store may become: storage credentials that catalogs hand out live for a
// quarter of an hour and more, and some catalogs don't say how long.
const refreshIO = 5 * time.Minute

// checkIO is how often the catalog is asked whether the FileIO that it made is still the one to use. A catalog that says when
// its credentials expire makes another after half of their time, which may be short.
const checkIO = 3 * time.Second

// retryIO is how long an old FileIO goes on when a new one can't be had.
const retryIO = 30 * time.Second

// Loader loads one table, each time afresh, with a FileIO that is kept between loads. All methods may be called from
// any goroutine.
type Loader struct {
	cat   table.CatalogIO
	ident table.Identifier
	// ioCtx is what FileIOs are bound to. A FileIO of iceberg-go keeps the context it was made with for all its
	// requests, so this one has to live as long as the Loader.
	ioCtx    context.Context
	decorate []func(iceio.IO) iceio.IO
	now      func() time.Time

	mu struct {
		sync.Mutex
		// newest is the table as it came from the catalog in the last load, with the catalog's own FileIO.
		newest *table.Table
		// origin is the one whose FileIO is in use, made at madeAt: inner is the catalog's, io is what is given out.
		origin *table.Table
		madeAt time.Time
		inner  iceio.IO
		io     iceio.IO
		// checkedAt is when origin was last asked. kept says that it gave the same FileIO again; fixed, that it makes another each
		// time, so that there is nothing to ask.
		checkedAt   time.Time
		kept, fixed bool
	}
	// making is held by the goroutine that makes a FileIO.
	making chan struct{}
}

// Option changes a Loader.
type Option func(*Loader)

// WithIO decorates the FileIO, inside the table and for everybody who asks the Loader for it. Several decorate from the
// inside out, in the order given. A test puts faults in here.
func WithIO(f func(iceio.IO) iceio.IO) Option {
	return func(l *Loader) { l.decorate = append(l.decorate, f) }
}

// WithContext sets the context that the FileIO is bound to. It must outlive every use of the tables that are loaded;
// the end of it fails all their I/O. The default never ends.
func WithContext(ctx context.Context) Option { return func(l *Loader) { l.ioCtx = ctx } }

// WithClock sets the clock that the age of the FileIO is told by. Default time.Now.
func WithClock(now func() time.Time) Option { return func(l *Loader) { l.now = now } }

// New makes a Loader for the table of that name. It does nothing yet.
func New(cat table.CatalogIO, ident table.Identifier, opts ...Option) *Loader {
	l := &Loader{cat: cat, ident: ident, ioCtx: context.Background(), now: time.Now, making: make(chan struct{}, 1)}
	for _, o := range opts {
		o(l)
	}
	return l
}

// Identifier is the table's name.
func (l *Loader) Identifier() table.Identifier { return l.ident }

// Load gives the table with the newest metadata. The table's Refresh must not be used: it goes back to a FileIO of the
// catalog's making. Load again instead.
func (l *Loader) Load(ctx context.Context) (*table.Table, error) {
	t, err := l.cat.LoadTable(ctx, l.ident)
	if err != nil {
		return nil, fmt.Errorf("load table %s: %w", strings.Join(l.ident, "."), err)
	}
	l.mu.Lock()
	l.mu.newest = t
	l.mu.Unlock()
	// The FileIO is looked up at each use, so that also a table loaded long ago has credentials that are still good.
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), l.IO, l.cat,
		table.WithMetricsReporter(t.MetricsReporter())), nil
}

// With gives t, which the Loader has loaded, as it is, except that each of its commits also sends these requirements and
// updates.
func (l *Loader) With(t *table.Table, reqs []table.Requirement, updates []table.Update) *table.Table {
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), l.IO, more{l.cat, reqs, updates},
		table.WithMetricsReporter(t.MetricsReporter()))
}

// Change sends a commit of its own with these requirements and updates. Load says what came of it.
func (l *Loader) Change(ctx context.Context, reqs []table.Requirement, updates []table.Update) error {
	_, _, err := l.cat.CommitTable(ctx, l.ident, reqs, updates)
	if err != nil {
		return fmt.Errorf("change table %s: %w", strings.Join(l.ident, "."), err)
	}
	return nil
}

// more is a catalog to which each commit sends more.
type more struct {
	table.CatalogIO
	reqs    []table.Requirement
	updates []table.Update
}

func (m more) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	return m.CatalogIO.CommitTable(ctx, ident, slices.Concat(reqs, m.reqs), slices.Concat(updates, m.updates))
}

// ErrNotLoaded says that a Loader's FileIO was asked for before a table was loaded.
var ErrNotLoaded = errors.New("the table has not been loaded yet")

// IO gives the table's FileIO as of the last Load. ctx bounds only the making of it.
func (l *Loader) IO(ctx context.Context) (iceio.IO, error) {
	if fio := l.current(); fio != nil {
		return fio, nil
	}
	// One at a time makes it; the others wait no longer than they want to.
	select {
	case l.making <- struct{}{}:
		defer func() { <-l.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if fio := l.current(); fio != nil {
		return fio, nil
	}
	return l.open(ctx)
}

// current is the FileIO in use, nil where it must be made or made anew: another location means another bucket or another
// table, and an object store's credentials expire.
func (l *Loader) current() iceio.IO {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	if m.io == nil || m.newest.Location() != m.origin.Location() {
		return nil
	}
	if now := l.now(); !isLocal(m.inner) && (now.Sub(m.madeAt) >= refreshIO || !m.fixed && now.Sub(m.checkedAt) >= checkIO) {
		return nil
	}
	return m.io
}

// origins gives the newest table, and the one that is asked for a FileIO: the one that made the last again, as long as that is
// not too old.
func (l *Loader) origins() (newest, origin *table.Table, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	if m.io == nil || m.newest.Location() != m.origin.Location() || l.now().Sub(m.madeAt) >= refreshIO {
		return m.newest, m.newest, false
	}
	return m.newest, m.origin, true
}

func (l *Loader) open(ctx context.Context) (iceio.IO, error) {
	newest, origin, again := l.origins()
	if newest == nil {
		return nil, fmt.Errorf("table %s: %w", strings.Join(l.ident, "."), ErrNotLoaded)
	}
	// The FileIO keeps ioCtx for good; ctx can end only the making of it, which may ask the catalog for credentials.
	ioCtx, cancel := context.WithCancel(l.ioCtx)
	release := context.AfterFunc(ctx, cancel)
	inner, err := origin.FS(ioCtx)
	if err != nil && origin != newest && ctx.Err() == nil {
		// It can't renew its credentials; the newest has come with its own.
		origin, again = newest, false
		inner, err = origin.FS(ioCtx)
	}
	if !release() {
		return nil, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	if err != nil {
		cancel()
		if m.io == nil || m.origin.Location() != origin.Location() {
			return nil, fmt.Errorf("open the storage of table %s: %w", strings.Join(l.ident, "."),
				withSchemeHint(err, origin.Location()))
		}
		// Credentials that can't be renewed may be good for a while yet, and the next Load brings new ones.
		m.madeAt = l.now().Add(retryIO - refreshIO)
		m.checkedAt = l.now().Add(retryIO - checkIO)
		return m.io, nil
	}
	m.checkedAt = l.now()
	if m.io != nil && same(inner, m.inner) {
		cancel() // the catalog kept the one it made before
		m.kept = again
		if !again {
			m.origin, m.madeAt = origin, m.checkedAt
		}
		return m.io, nil
	}
	if again && !m.kept {
		// It makes another each time it is asked: one in refreshIO is enough.
		cancel()
		m.fixed = true
		return m.io, nil
	}
	m.origin, m.madeAt = origin, m.checkedAt
	m.inner, m.io = inner, boundUploads(ioCtx, Durable(inner))
	for _, f := range l.decorate {
		m.io = f(m.io)
	}
	return m.io, nil
}

// same compares FileIOs, whose type may be one that can't be compared.
func same(a, b iceio.IO) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// SchemeHint says how a floe is had that can use locations of the scheme.
func SchemeHint(scheme string) string {
	switch scheme {
	case "s3", "s3a", "s3n", "oss", "gs", "abfs", "abfss", "wasb", "wasbs":
		return "this floe is built without that storage: build it with `go build -tags cloud ./cmd/floe`, or take a ready-made binary, which has it"
	}
	return "use a path on the local disk, file://, s3://, gs:// or abfss://"
}

// withSchemeHint puts floe's own advice in the place of iceberg-go's, which is for programmers.
func withSchemeHint(err error, location string) error {
	if !errors.Is(err, iceio.ErrIOSchemeNotFound) {
		return err
	}
	scheme, _, _ := strings.Cut(location, "://")
	return fmt.Errorf("%w: location %s: %s", iceio.ErrIOSchemeNotFound, location, SchemeHint(scheme))
}
