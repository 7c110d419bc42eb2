package tableio

import (
	"encoding/json"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// TestSnapshotsAreThoseOfTheMetadata, in every version, and no copies: a release of iceberg-go that renames the field would make
// every look dear in silence.
func TestSnapshotsAreThoseOfTheMetadata(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		m, err := table.NewMetadata(iceberg.NewSchema(0), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://t",
			iceberg.Properties{table.PropertyFormatVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		b, err := table.MetadataBuilderFromBase(m, "")
		if err != nil {
			t.Fatal(err)
		}
		for id := range int64(3) {
			seq := id + 1
			if version == "1" {
				seq = 0
			}
			s := &table.Snapshot{
				SnapshotID: id + 7, SequenceNumber: seq, TimestampMs: m.LastUpdatedMillis() + id, ManifestList: "mem://l",
				Summary: &table.Summary{Operation: table.OpAppend, Properties: iceberg.Properties{"k": "v"}},
			}
			if version == "3" {
				first, added := int64(0), int64(0)
				s.FirstRowID, s.AddedRows = &first, &added
			}
			if err := b.AddSnapshot(s); err != nil {
				t.Fatal(err)
			}
		}
		if m, err = b.Build(); err != nil {
			t.Fatal(err)
		}
		got := Snapshots(m)
		if len(got) != 3 || got[0].SnapshotID != 7 || got[2].SnapshotID != 9 {
			t.Fatalf("version %s: %v", version, got)
		}
		if again := Snapshots(m); &again[0] != &got[0] {
			t.Errorf("version %s: they were copied", version)
		}
		js, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if m, err = table.ParseMetadataBytesDeferredSnapshots(js); err != nil {
			t.Fatal(err)
		}
		if got := Snapshots(m); len(got) != 3 || got[0].SnapshotID != 7 {
			t.Errorf("version %s, decoded when they are needed: %v", version, got)
		}
	}
}
