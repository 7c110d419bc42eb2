package demo

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"
)

// Snapshot is one commit of the demo's table.
type Snapshot struct {
	ID          int64     `json:"id"`
	CommittedAt time.Time `json:"committed_at"`
	Operation   string    `json:"operation"`
	// AddedRows and TotalRows, AddedFiles and TotalFiles are the snapshot's own account.
	AddedRows  int64 `json:"added_rows"`
	TotalRows  int64 `json:"total_rows"`
	AddedFiles int64 `json:"added_files"`
	TotalFiles int64 `json:"total_files"`
}

// Queries are commands to paste into a shell.
type Queries struct {
	DuckDB    string `json:"duckdb"`
	PyIceberg string `json:"pyiceberg"`
}

// describe fills in what there is to know of the table without reading it.
func (o *Outcome) describe(tbl *table.Table) {
	o.Location, o.MetadataLocation = tbl.Location(), tbl.MetadataLocation()
	for _, s := range tbl.Metadata().Snapshots() {
		snap := Snapshot{ID: s.SnapshotID, CommittedAt: time.UnixMilli(s.TimestampMs).UTC()}
		if s.Summary != nil {
			snap.Operation = string(s.Summary.Operation)
			number := func(key string) int64 {
				n, err := strconv.ParseInt(s.Summary.Properties[key], 10, 64)
				if err != nil {
					return 0 // a snapshot that adds nothing leaves the key out
				}
				return n
			}
			snap.AddedRows, snap.TotalRows = number("added-records"), number("total-records")
			snap.AddedFiles, snap.TotalFiles = number("added-data-files"), number("total-data-files")
		}
		o.Snapshots = append(o.Snapshots, snap)
	}
	o.Queries = queries(o.Dir, o.MetadataLocation)
}

// queries writes the commands. Their quoting holds for folders without quotes in their names.
func queries(dir, metadata string) Queries {
	return Queries{
		DuckDB: fmt.Sprintf(`duckdb -c "INSTALL iceberg; LOAD iceberg; SELECT region, count(*) AS events, count(DISTINCT id) AS ids `+
			`FROM iceberg_scan('%s') GROUP BY region ORDER BY region"`, metadata),
		PyIceberg: fmt.Sprintf(`python3 -c "
from pyiceberg.catalog import load_catalog
t = load_catalog('%s', type='sql', uri='sqlite:///%s').load_table('%s')
print(len(set(t.scan(selected_fields=('id',)).to_arrow()['id'].to_pylist())), 'distinct ids')
print(t.scan(row_filter=\"region = 'eu-west'\").to_arrow().num_rows, 'events in eu-west')"`,
			CatalogName, filepath.ToSlash(filepath.Join(dir, "catalog.db")), TableName),
	}
}
