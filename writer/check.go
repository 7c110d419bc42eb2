package writer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Check refuses, before anything is read, a table whose properties, schema or spec the writer cannot honour; the error
// names the property and what to do.
func Check(tbl *table.Table) error {
	_, err := compile(tbl)
	return err
}

// CheckTable refuses what Check refuses, and a table that lacks a column named in GroupBy.
func (c *Config) CheckTable(tbl *table.Table) error {
	p, err := compile(tbl)
	if err != nil {
		return err
	}
	_, err = p.columnsNamed(c.GroupBy)
	return err
}

// Warnings lists what the table asks for that floe does in its own way, or that endangers it; each is one sentence for
// the log. The order is stable.
func Warnings(tbl *table.Table) []string {
	p := tbl.Properties()
	var out []string
	if v, ok := p["commit.retry.num-retries"]; ok && v != "0" {
		out = append(out, fmt.Sprintf("commit.retry.num-retries is %s: floe pins every attempt and retries by its own rules, the property is not used", v))
	}
	if tbl.SortOrder().Len() > 0 {
		out = append(out, "the table has a sort order: floe writes rows in the order they come and marks the files as unsorted")
	}
	if m := strings.ToLower(p["write.distribution-mode"]); m != "" && m != "none" {
		out = append(out, fmt.Sprintf("write.distribution-mode is %s: floe distributes by source partition, or by group_by where it is set", m))
	}
	if isTrue(p[propObjectStore]) && strings.HasPrefix(tbl.Location(), "file:") {
		out = append(out, "write.object-storage.enabled is set on a local disk: the files are spread over many folders for nothing")
	}
	for key := range p {
		for _, prefix := range []string{prefixMetricsColumn, prefixDictColumn, prefixBloomColumn} {
			col, ok := strings.CutPrefix(key, prefix)
			if ok && !knownColumn(tbl.Schema(), col) {
				out = append(out, fmt.Sprintf("%s names no column of the table", key))
			}
		}
	}
	slices.Sort(out)
	return out
}

// knownColumn takes the names of fields, and Parquet's paths of them, which other writers want here.
func knownColumn(sc *iceberg.Schema, col string) bool {
	if _, ok := sc.FindFieldByName(col); ok {
		return true
	}
	col = strings.ReplaceAll(strings.ReplaceAll(col, ".list.element", ".element"), ".key_value.", ".")
	_, ok := sc.FindFieldByName(col)
	return ok
}

// checkProperties refuses what the files would have to be and cannot.
func checkProperties(tbl *table.Table) error {
	p := tbl.Properties()
	if v := tbl.Metadata().Version(); v < 2 {
		return fmt.Errorf("writer: the table has format version %d; floe writes 2 and 3: upgrade the table by setting its property format-version to 2", v)
	}
	if v := p[propFormat]; v != "" && !strings.EqualFold(v, "parquet") {
		return badProp(propFormat, v, "floe writes Parquet only: set it to parquet or remove it")
	}
	if isTrue(p[propWap]) {
		return badProp(propWap, p[propWap], "floe commits straight to its branch and cannot leave rows for review: remove it; a branch keeps rows apart as well, and committer.branch writes to one")
	}
	for key, v := range p {
		if key == "encryption.key-id" || strings.HasPrefix(key, "encryption.") && key != "encryption.data-key-length" {
			return badProp(key, v, "floe cannot write encrypted files: remove it or write to another table")
		}
	}
	if v := p[propLocationImpl]; v != "" {
		return badProp(propLocationImpl, v, "floe has no custom location providers: remove it")
	}
	return nil
}
