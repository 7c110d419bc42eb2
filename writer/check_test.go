package writer

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// loose builds metadata that no catalog here would make.
func loose(t *testing.T, sc *iceberg.Schema, spec *iceberg.PartitionSpec, props iceberg.Properties) *table.Table {
	t.Helper()
	if spec == nil {
		spec = iceberg.UnpartitionedSpec
	}
	meta, err := table.NewMetadata(sc, spec, table.UnsortedSortOrder, "file:///nowhere/t", props)
	if err != nil {
		t.Fatal(err)
	}
	return table.New(table.Identifier{"db", "t"}, meta, "file:///nowhere/t/metadata/1.json", nil, nil)
}

func TestCheckRefusesByName(t *testing.T) {
	for _, c := range []struct {
		props iceberg.Properties
		want  string // in the error; "": none
	}{
		{nil, ""},
		{iceberg.Properties{table.PropertyFormatVersion: "1"}, "format version 1"},
		{iceberg.Properties{table.PropertyFormatVersion: "3"}, ""},
		{iceberg.Properties{propFormat: "orc"}, propFormat},
		{iceberg.Properties{propFormat: "avro"}, propFormat},
		{iceberg.Properties{propFormat: "PARQUET"}, ""},
		{iceberg.Properties{propWap: "true"}, propWap},
		{iceberg.Properties{propWap: "false"}, ""},
		{iceberg.Properties{"encryption.key-id": "k"}, "encryption.key-id"},
		{iceberg.Properties{propLocationImpl: "com.example.P"}, propLocationImpl},
		{iceberg.Properties{propCodec: "lzo"}, "zstd, snappy"},
		{iceberg.Properties{propCodec: "ZSTD", propLevel: "22"}, ""},
		{iceberg.Properties{propLevel: "23"}, propLevel},
		{iceberg.Properties{propCodec: "gzip", propLevel: "x"}, propLevel},
		{iceberg.Properties{propTargetSize: "0"}, propTargetSize},
		{iceberg.Properties{propRowGroupBytes: "-5"}, propRowGroupBytes},
		{iceberg.Properties{propPageBytes: "1 MB"}, propPageBytes},
		{iceberg.Properties{propPageVersion: "3"}, propPageVersion},
		{iceberg.Properties{propBloomBytes: "1"}, propBloomBytes},
		{iceberg.Properties{prefixBloomFPP + "s": "2"}, prefixBloomFPP},
		{iceberg.Properties{propMetricsDefault: "most"}, propMetricsDefault},
		{iceberg.Properties{prefixMetricsColumn + "s": "truncate(0)"}, prefixMetricsColumn + "s"},
	} {
		err := Check(loose(t, pruneSchema(), nil, c.props))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want one with %q", c.props, err, c.want)
		}
	}
}

func TestSchemasAreRefusedByName(t *testing.T) {
	p := iceberg.PrimitiveTypes
	for _, c := range []struct {
		name   string
		fields []iceberg.NestedField
		want   string
	}{
		{"geometry", []iceberg.NestedField{{ID: 1, Name: "v", Type: iceberg.GeometryType{}}}, `"v" has the type geometry`},
		{"unknown alone", []iceberg.NestedField{{ID: 1, Name: "v", Type: iceberg.UnknownType{}}}, `no columns with a type`},
		{"unknown in a list", []iceberg.NestedField{{ID: 1, Name: "l", Type: &iceberg.ListType{ElementID: 2, Element: iceberg.UnknownType{}}}}, `must have a type`},
		{"below a list", []iceberg.NestedField{{ID: 1, Name: "l", Type: &iceberg.ListType{ElementID: 2, Element: iceberg.GeometryType{}}}}, `"l.element" has the type geometry`},
		{"no columns", nil, "no columns"},
		{"an empty struct", []iceberg.NestedField{{ID: 1, Name: "s", Type: &iceberg.StructType{}}}, "no members"},
	} {
		_, err := MapperSchema(iceberg.NewSchema(0, c.fields...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	clash := []iceberg.NestedField{
		{ID: 1, Name: "a", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 2, Name: "b", Type: p.Int32}}}},
		{ID: 3, Name: "a.b", Type: p.Int32},
	}
	if _, err := mapperFields("", clash, 1, map[string]struct{}{}, map[int]string{}); err == nil || !strings.Contains(err.Error(), `"a.b"`) {
		t.Errorf("clashing names: %v", err)
	}
	twice := []iceberg.NestedField{{ID: 1, Name: "a", Type: p.Int32}, {ID: 1, Name: "b", Type: p.Int32}}
	if _, err := mapperFields("", twice, 1, map[string]struct{}{}, map[int]string{}); err == nil || !strings.Contains(err.Error(), "same id 1") {
		t.Errorf("one id twice: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	props := iceberg.Properties{
		"commit.retry.num-retries": "4", "write.distribution-mode": "hash", prefixMetricsColumn + "gone": "none",
		prefixMetricsColumn + "s": "full", propObjectStore: "true",
	}
	got := Warnings(loose(t, pruneSchema(), nil, props))
	if len(got) != 4 {
		t.Errorf("%d warnings: %q", len(got), got)
	}
	if got := Warnings(loose(t, pruneSchema(), nil, nil)); len(got) != 0 {
		t.Errorf("warnings of a plain table: %q", got)
	}
}

func TestPathsFollowTheLayout(t *testing.T) {
	for _, c := range []struct {
		props     iceberg.Properties
		partition string
		want      string
	}{
		{nil, "", "file:///nowhere/t/data/f.parquet"},
		{nil, "a=1/b=2", "file:///nowhere/t/data/a=1/b=2/f.parquet"},
		{iceberg.Properties{propDataPath: "s3://other/dir/"}, "a=1", "s3://other/dir/a=1/f.parquet"},
		{iceberg.Properties{propObjectStore: "true"}, "", "file:///nowhere/t/data/HASH/f.parquet"},
		{iceberg.Properties{propObjectStore: "true"}, "a=1", "file:///nowhere/t/data/HASH/a=1/f.parquet"},
		{iceberg.Properties{propObjectStore: "true", propPartitionedPaths: "false"}, "a=1", "file:///nowhere/t/data/HASH-f.parquet"},
		{iceberg.Properties{propObjectStore: "true", propDataPath: "s3://b/d"}, "a=1", "s3://b/d/HASH/nowhere/t/a=1/f.parquet"},
	} {
		l, err := newLocations(loose(t, pruneSchema(), nil, c.props))
		if err != nil {
			t.Fatal(err)
		}
		name := "f.parquet"
		if c.partition != "" && c.props[propPartitionedPaths] != "false" {
			name = c.partition + "/" + name
		}
		want := strings.Replace(c.want, "HASH", hashDirs(name), 1)
		if got := l.path(c.partition, "f.parquet"); got != want {
			t.Errorf("%v %q: %s, want %s", c.props, c.partition, got, want)
		}
	}
}

// The values are those of Iceberg's own location providers.
func TestHashDirectories(t *testing.T) {
	for name, want := range map[string]string{
		"a": "0101/0110/1001/10110010", "b": "1110/0111/1110/00000011", "c": "0010/1101/0110/01011111", "d": "1001/0001/0100/01110011",
	} {
		if got := hashDirs(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	long := strings.Repeat("x", 500)
	if p := shortPath("a=" + long + "/b=" + long + "y"); len(p) != 2*maxPathPart+1 {
		t.Errorf("a long path keeps %d bytes", len(p))
	}
}

// iceberg-go leaves a scale of 0 out of the manifests' schema: PyIceberg fails, and DuckDB prunes by other numbers.
func TestDecimalsWithoutAScaleAreNoPartitionValues(t *testing.T) {
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "price", Type: iceberg.DecimalTypeOf(9, 0)})
	for transform, refused := range map[iceberg.Transform]bool{
		iceberg.IdentityTransform{}: true, iceberg.TruncateTransform{Width: 10}: true, iceberg.VoidTransform{}: true, iceberg.BucketTransform{NumBuckets: 4}: false,
	} {
		spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: transform})
		err := Check(loose(t, sc, &spec, nil))
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), `partition field "p" of spec 0 has values of type decimal(9, 0)`) {
			t.Errorf("%v: error %v", transform, err)
		}
	}
}

// iceberg-go can't write the manifests of such tables; the refusal may go when it can.
func TestOnlyOnePartitionFieldMayBeDecimal(t *testing.T) {
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "price", Type: iceberg.DecimalTypeOf(9, 2)},
		iceberg.NestedField{ID: 2, Name: "tax", Type: iceberg.DecimalTypeOf(9, 2)})
	for _, c := range []struct {
		price, tax iceberg.Transform
		refused    bool
	}{
		{iceberg.IdentityTransform{}, iceberg.IdentityTransform{}, true},
		{iceberg.IdentityTransform{}, iceberg.TruncateTransform{Width: 10}, true},
		{iceberg.IdentityTransform{}, iceberg.VoidTransform{}, true},
		{iceberg.IdentityTransform{}, iceberg.BucketTransform{NumBuckets: 4}, false},
		{iceberg.IdentityTransform{}, nil, false},
	} {
		fields := []iceberg.PartitionField{{SourceIDs: []int{1}, FieldID: 1000, Name: "price", Transform: c.price}}
		if c.tax != nil {
			fields = append(fields, iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1001, Name: "tax_part", Transform: c.tax})
		}
		spec := iceberg.NewPartitionSpec(fields...)
		err := Check(loose(t, sc, &spec, nil))
		if !c.refused {
			if err != nil {
				t.Errorf("%v and %v: %v", c.price, c.tax, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), `"price" and "tax_part" of spec 0 both have decimal values`) {
			t.Errorf("%v and %v: error %v", c.price, c.tax, err)
		}
	}
}

// Every commit moves floe's own properties: a plan that did not outlive them would be made anew for each batch.
func TestAPlanOutlivesCommits(t *testing.T) {
	base := iceberg.Properties{"write.parquet.compression-codec": "zstd", "storm.iceberg.positions.main": "1"}
	with := func(key, value string) *table.Table {
		props := maps.Clone(base)
		props[key] = value
		return loose(t, pruneSchema(), nil, props)
	}
	a := loose(t, pruneSchema(), nil, base)
	for _, c := range []struct {
		name, key, value string
		alike            bool
	}{
		{"a commit", "storm.iceberg.positions.main", "2", true},
		{"a commit's first property", "storm.iceberg.positions.audit", "1", true},
		{"a property of the files", "write.parquet.compression-codec", "snappy", false},
		{"a new property", "write.metadata.metrics.default", "none", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := sameUUID(t, a, with(c.key, c.value))
			p, err := compile(a)
			if err != nil {
				t.Fatal(err)
			}
			if p.fits(b) != c.alike || Alike(a, b) != c.alike {
				t.Errorf("the plan fits: %v, alike: %v; want %v", p.fits(b), Alike(a, b), c.alike)
			}
		})
	}
}

// sameUUID is b with a's identity.
func sameUUID(t *testing.T, a, b *table.Table) *table.Table {
	t.Helper()
	text, err := json.Marshal(b.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(b.Metadata().TableUUID().String()), []byte(a.Metadata().TableUUID().String()), 1)
	meta, err := table.ParseMetadataBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	return table.New(b.Identifier(), meta, b.MetadataLocation(), nil, nil)
}
