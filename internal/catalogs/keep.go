package catalogs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// keptTables bounds the tables whose metadata is kept.
const keptTables = 16

// keeping is an SQL catalog that reads and writes of a table's metadata what has changed. iceberg-go's own reads the
// whole file twice for a commit and encodes all of it, and both grow with every snapshot.
//
// What is kept is never believed to be the newest: each load and each commit asks the database which metadata file the
// table has, and a file is never written twice, so that metadata under the same name is the same. Whatever else the
// database says, and every table and setting that is out of the ordinary, is left to iceberg-go.
type keeping struct {
	*icesql.Catalog
	db    *sql.DB
	name  string
	props iceberg.Properties
	// find and swap are the statements, in the words of the database.
	find, swap string

	mu struct {
		sync.Mutex
		tables map[string]*kept
	}
}

// kept is a table as it was last seen. It does not change.
type kept struct {
	tbl       *table.Table
	snapshots encodedSnapshots
}

func newKeeping(cat *icesql.Catalog, db *sql.DB, name string, dialect icesql.SupportedDialect, props iceberg.Properties) *keeping {
	k := &keeping{Catalog: cat, db: db, name: name, props: props}
	k.mu.tables = map[string]*kept{}
	const where = "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
	k.find = placed(dialect, "SELECT metadata_location FROM iceberg_tables "+where)
	k.swap = placed(dialect, "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "+where+" AND metadata_location = ?")
	return k
}

// placed numbers the places of a statement where the database wants that.
func placed(dialect icesql.SupportedDialect, statement string) string {
	if dialect != icesql.Postgres {
		return statement
	}
	parts := strings.Split(statement, "?")
	for i := range parts[:len(parts)-1] {
		parts[i] += "$" + strconv.Itoa(i+1)
	}
	return strings.Join(parts, "")
}

// plain are the names of namespaces that the database holds as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func isPlain(ident table.Identifier) bool { return len(ident) == 2 && plain.MatchString(ident[0]) }

// LoadTable gives the table with the newest metadata.
func (k *keeping) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	e, err := k.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	return e.tbl, nil
}

func (k *keeping) load(ctx context.Context, ident table.Identifier) (*kept, error) {
	if e := k.kept(ident); e != nil {
		var loc sql.NullString
		err := k.db.QueryRowContext(ctx, k.find, k.name, ident[0], ident[1]).Scan(&loc)
		if err == nil && loc.String == e.tbl.MetadataLocation() {
			return e, nil
		}
	}
	t, err := k.Catalog.LoadTable(ctx, ident)
	if err != nil {
		return nil, err
	}
	return k.keep(ident, t.Metadata(), t.MetadataLocation(), t.FS, t, nil), nil
}

func (k *keeping) kept(ident table.Identifier) *kept {
	if !isPlain(ident) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.tables[strings.Join(ident, ".")]
}

func (k *keeping) keep(ident table.Identifier, m table.Metadata, loc string, fs table.FSysF, was *table.Table, snapshots encodedSnapshots) *kept {
	e := &kept{table.New(ident, m, loc, fs, k, table.WithMetricsReporter(was.MetricsReporter())), snapshots}
	if !isPlain(ident) {
		return e
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := strings.Join(ident, ".")
	if len(k.mu.tables) >= keptTables && k.mu.tables[key] == nil {
		clear(k.mu.tables)
	}
	if old := k.mu.tables[key]; old != nil && snapshots == nil {
		e.snapshots = old.snapshots // those that are still there need not be encoded again
	}
	k.mu.tables[key] = e
	return e
}

// CommitTable is iceberg-go's: the requirements are checked on the newest metadata, the new file is written, and the
// database's row is set to it where it still names the one before.
func (k *keeping) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if !isPlain(ident) {
		return k.Catalog.CommitTable(ctx, ident, reqs, updates)
	}
	e, err := k.load(ctx, ident)
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return k.Catalog.CommitTable(ctx, ident, reqs, updates)
	}
	if err != nil {
		return nil, "", err
	}
	old, oldLoc := e.tbl.Metadata(), e.tbl.MetadataLocation()
	for _, r := range reqs {
		if err := r.Validate(old); err != nil {
			return nil, "", err
		}
	}
	m, err := table.UpdateTableMetadata(old, updates, oldLoc)
	if err != nil {
		return nil, "", err
	}
	detach(m, updates)
	version, ok := metadataVersion(oldLoc)
	if !ok || m.Properties().Get(table.MetadataCompressionKey, table.MetadataCompressionDefault) != table.MetadataCompressionCodecNone {
		return k.Catalog.CommitTable(ctx, ident, reqs, updates)
	}
	if m.Equals(old) {
		return old, oldLoc, nil
	}
	loc, fs, err := k.place(m, version+1)
	if err != nil {
		return nil, "", err
	}
	snapshots, err := writeMetadata(ctx, fs, loc, m, e.snapshots)
	if err != nil {
		return nil, "", err
	}
	if err := k.swapTo(ctx, ident, oldLoc, loc); err != nil {
		return nil, "", err
	}
	k.keep(ident, m, loc, iceio.LoadFSFunc(k.props, loc), e.tbl, snapshots)
	return m, loc, nil
}

// place gives a new metadata file's name, and the storage it is written to.
func (k *keeping) place(m table.Metadata, version int) (string, table.FSysF, error) {
	p, err := table.LoadLocationProvider(m.Location(), m.Properties())
	if err != nil {
		return "", nil, err
	}
	loc, err := p.NewTableMetadataFileLocation(version)
	if err != nil {
		return "", nil, err
	}
	props := maps.Clone(k.props)
	maps.Copy(props, m.Properties())
	return loc, iceio.LoadFSFunc(props, loc), nil
}

func (k *keeping) swapTo(ctx context.Context, ident table.Identifier, from, to string) error {
	res, err := k.db.ExecContext(ctx, k.swap, to, from, k.name, ident[0], ident[1], from)
	if err != nil {
		return fmt.Errorf("set the table's metadata location: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("set the table's metadata location: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("%w: table %s has another metadata file now", table.ErrCommitFailed, strings.Join(ident, "."))
	}
	return nil
}

var metadataName = regexp.MustCompile(`^(\d+)-[0-9a-fA-F-]{36}\.metadata\.json$`)

// metadataVersion is the number in a metadata file's name.
func metadataVersion(loc string) (int, bool) {
	m := metadataName.FindStringSubmatch(path.Base(loc))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
