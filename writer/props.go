package writer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/internal/parquetfile"
)

// The table properties that the writer honours, in Iceberg's names.
const (
	propFormat            = "write.format.default"
	propWap               = "write.wap.enabled"
	propTargetSize        = "write.target-file-size-bytes"
	propDataPath          = "write.data.path"
	propFolderPath        = "write.folder-storage.path" // deprecated names of the data path
	propObjectPath        = "write.object-storage.path"
	propObjectStore       = "write.object-storage.enabled"
	propPartitionedPaths  = "write.object-storage.partitioned-paths"
	propLocationImpl      = "write.location-provider.impl"
	propCodec             = "write.parquet.compression-codec"
	propLevel             = "write.parquet.compression-level"
	propRowGroupBytes     = "write.parquet.row-group-size-bytes"
	propRowGroupRows      = "write.parquet.row-group-limit"
	propPageBytes         = "write.parquet.page-size-bytes"
	propPageRows          = "write.parquet.page-row-limit"
	propPageVersion       = "write.parquet.page-version"
	propDictBytes         = "write.parquet.dict-size-bytes"
	propDictEnabled       = "parquet.enable.dictionary"
	prefixDictColumn      = "write.parquet.dict-encoding-enabled.column."
	propBloomBytes        = "write.parquet.bloom-filter-max-bytes"
	prefixBloomColumn     = "write.parquet.bloom-filter-enabled.column."
	prefixBloomFPP        = "write.parquet.bloom-filter-fpp.column."
	propMetricsDefault    = "write.metadata.metrics.default"
	propMetricsMaxColumns = "write.metadata.metrics.max-inferred-column-defaults"
	prefixMetricsColumn   = "write.metadata.metrics.column."
)

// Defaults where the table says nothing. They are measured, not Iceberg's: zstd at its fastest level, pages that are one
// block of zstd's (128 KiB with their levels) and stay in the processor's cache, row groups of a quarter of a million rows.
const (
	defaultTargetSize    = 512 << 20
	defaultLevel         = 1
	defaultRowGroupRows  = 256 << 10
	defaultRowGroupBytes = 128 << 20
	defaultPageBytes     = 120 << 10
	defaultDictBytes     = 2 << 20
	defaultBloomBytes    = 1 << 20
	defaultMetricsCols   = 100
)

// settings are the table's write properties, parsed.
type settings struct {
	targetSize    int64
	codec         compress.Compression
	level         int
	rowGroupRows  int64
	rowGroupBytes int64
	pageBytes     int64
	pageRows      int64 // 0: no limit
	pageV2        bool
	// delta says whether integers and timestamps may be DELTA_BINARY_PACKED. A table that asks for page version 1 gets
	// the encodings of that version only: Iceberg's own vectorized reader knows the delta encoding from 1.11 on.
	delta      bool
	dictBytes  int64
	dict       *bool // parquet.enable.dictionary
	dictCols   map[string]bool
	bloomBytes int64
	bloomCols  map[string]bool
	bloomFPP   map[string]float64
	metrics    metricsConfig
}

func parseSettings(p iceberg.Properties) (*settings, error) {
	s := &settings{
		dictCols: boolsUnder(p, prefixDictColumn), bloomCols: boolsUnder(p, prefixBloomColumn), bloomFPP: map[string]float64{}}
	for _, f := range []struct {
		key      string
		to       *int64
		def      int64
		min, max int64
	}{
		{propTargetSize, &s.targetSize, defaultTargetSize, 1, math.MaxInt64},
		{propRowGroupRows, &s.rowGroupRows, 0, 1, math.MaxInt32},
		{propRowGroupBytes, &s.rowGroupBytes, defaultRowGroupBytes, 1, math.MaxInt64},
		{propPageBytes, &s.pageBytes, defaultPageBytes, 1, 1 << 30},
		{propPageRows, &s.pageRows, 0, 1, math.MaxInt32},
		{propDictBytes, &s.dictBytes, defaultDictBytes, 1, 1 << 30},
		{propBloomBytes, &s.bloomBytes, defaultBloomBytes, 32, 128 << 20},
	} {
		n, err := intProp(p, f.key, f.def, f.min, f.max)
		if err != nil {
			return nil, err
		}
		*f.to = n
	}
	if s.rowGroupRows == 0 {
		s.rowGroupRows = defaultRowGroupRows
		if p[propRowGroupBytes] != "" { // who sets a size wants the size to decide
			s.rowGroupRows = math.MaxInt32
		}
	}
	if v, ok := p[propDictEnabled]; ok {
		on := isTrue(v)
		s.dict = &on
	}
	for key, v := range p {
		if col, ok := strings.CutPrefix(key, prefixBloomFPP); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f > 0 && f < 1) {
				return nil, badProp(key, v, "write a number between 0 and 1")
			}
			s.bloomFPP[col] = f
		}
	}
	if err := s.parsePageVersion(p); err != nil {
		return nil, err
	}
	if err := s.parseCodec(p); err != nil {
		return nil, err
	}
	var err error
	s.metrics, err = parseMetrics(p)
	return s, err
}

func (s *settings) parsePageVersion(p iceberg.Properties) error {
	s.delta = true
	switch v := strings.ToLower(p[propPageVersion]); v {
	case "":
	case "1", "v1":
		s.delta = false
	case "2", "v2":
		s.pageV2 = true
	default:
		return badProp(propPageVersion, v, "write v1 or v2, or remove it")
	}
	return nil
}

func (s *settings) parseCodec(p iceberg.Properties) error {
	name := strings.ToLower(p[propCodec])
	lo, hi := 0, 0
	s.level = compress.DefaultCompressionLevel
	switch name {
	case "", "zstd":
		s.codec, s.level, lo, hi = compress.Codecs.Zstd, defaultLevel, -5, 22
	case "snappy":
		s.codec = compress.Codecs.Snappy
	case "gzip":
		s.codec, lo, hi = compress.Codecs.Gzip, -3, 9
	case "brotli":
		s.codec, lo, hi = compress.Codecs.Brotli, 0, 11
	case "lz4_raw", "lz4raw", "lz4":
		// Parquet has deprecated its first LZ4 framing: no two engines agree on it. LZ4_RAW is what they all read.
		s.codec = compress.Codecs.Lz4Raw
	case "uncompressed", "none":
		s.codec = compress.Codecs.Uncompressed
	default:
		return badProp(propCodec, p[propCodec], "floe writes zstd, snappy, gzip, brotli, lz4_raw and uncompressed: set one of them")
	}
	v, ok := p[propLevel]
	if !ok || lo == 0 && hi == 0 {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n != -1 && (n < lo || n > hi) {
		return badProp(propLevel, v, fmt.Sprintf("%s takes %d to %d, or -1 for its default", s.codec, lo, hi))
	}
	s.level = n
	return nil
}

// options are the settings as the encoder takes them.
func (s *settings) options(leaves []leaf) parquetfile.Options {
	o := parquetfile.Options{Codec: s.codec, Level: s.level, PageBytes: s.pageBytes, PageRows: s.pageRows, PageV2: s.pageV2,
		Delta: s.delta, DictBytes: s.dictBytes}
	for i := range leaves {
		l := &leaves[i]
		if s.bloomCols[l.name] || s.bloomCols[l.parquetPath] {
			if o.Bloom == nil {
				o.Bloom = make([]int, len(leaves))
			}
			o.Bloom[i] = int(s.bloomBytes)
		}
	}
	return o
}

func intProp(p iceberg.Properties, key string, def, lo, hi int64) (int64, error) {
	v, ok := p[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, badProp(key, v, fmt.Sprintf("write a whole number from %d to %d, or remove it", lo, hi))
	}
	return n, nil
}

func boolsUnder(p iceberg.Properties, prefix string) map[string]bool {
	out := map[string]bool{}
	for key, v := range p {
		if col, ok := strings.CutPrefix(key, prefix); ok && col != "" {
			out[col] = isTrue(v)
		}
	}
	return out
}

// isTrue is how Iceberg reads a boolean property: only "true" is, in any case.
func isTrue(v string) bool { return strings.EqualFold(v, "true") }

func badProp(key, value, hint string) error {
	return fmt.Errorf("writer: the table's property %s is %q: %s", key, value, hint)
}
