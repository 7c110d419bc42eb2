package writer

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// maxPathPart is the longest name of a folder in bytes. File systems end at 255; a longer partition value is cut and
// told apart by a hash. Nobody reads values back from paths: they are in the manifests.
const maxPathPart = 200

// locations makes the paths of data files, as Iceberg's own location providers do.
type locations struct {
	data        string
	objectStore bool
	// partitionPaths keeps the partition's folders also in the object storage layout.
	partitionPaths bool
	// context is put behind the hash where several tables may share one data path.
	context string
	// on is what open files cost there.
	on storage
}

func newLocations(tbl *table.Table) (*locations, error) {
	p, base := tbl.Properties(), strings.TrimRight(tbl.Location(), "/")
	if base == "" {
		return nil, fmt.Errorf("writer: the table has no location: its metadata is damaged")
	}
	l := &locations{data: base + "/data", objectStore: isTrue(p[propObjectStore]), partitionPaths: true}
	keys := []string{propDataPath, propFolderPath}
	if l.objectStore {
		keys = []string{propDataPath, propObjectPath, propFolderPath}
	}
	for _, key := range keys {
		if v := strings.TrimRight(p[key], "/"); v != "" {
			l.data = v
			break
		}
	}
	if v, ok := p[propPartitionedPaths]; ok {
		l.partitionPaths = isTrue(v)
	}
	l.on = storageOf(l.data)
	if l.objectStore && !strings.HasPrefix(l.data, base) {
		l.context = pathContext(base)
	}
	return l, nil
}

// pathContext is the last two parts of the table's location: its database and its name.
func pathContext(base string) string {
	parts := strings.Split(base, "/")
	if len(parts) < 2 || parts[len(parts)-2] == "" {
		return parts[len(parts)-1]
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// path gives the location of a new file. partition is the partition's path, empty for an unpartitioned table.
func (l *locations) path(partition, file string) string {
	name := file
	if partition != "" && (!l.objectStore || l.partitionPaths) {
		name = partition + "/" + file
	}
	if !l.objectStore {
		return l.data + "/" + name
	}
	hash := hashDirs(name)
	switch {
	case l.context != "":
		return l.data + "/" + hash + "/" + l.context + "/" + name
	case l.partitionPaths:
		return l.data + "/" + hash + "/" + name
	}
	return l.data + "/" + hash + "-" + name
}

// hashDirs spreads files over 2^20 prefixes: twenty bits of the name's hash, in three folders of four bits and one of
// eight.
func hashDirs(name string) string {
	h := murmur3([]byte(name))
	out := make([]byte, 0, 23)
	for i := 19; i >= 0; i-- {
		out = append(out, '0'+byte(h>>i&1))
		if i == 16 || i == 12 || i == 8 {
			out = append(out, '/')
		}
	}
	return string(out)
}

// shortPath cuts the parts of a partition path that no file system takes.
func shortPath(partition string) string {
	if len(partition) <= maxPathPart {
		return partition
	}
	parts := strings.Split(partition, "/")
	for i, part := range parts {
		if len(part) > maxPathPart {
			parts[i] = fmt.Sprintf("%s~%08x", part[:maxPathPart-9], murmur3([]byte(part)))
		}
	}
	return strings.Join(parts, "/")
}

// DataFolder is the folder that the table's data files are written below; empty where its metadata is damaged.
func DataFolder(tbl *table.Table) string {
	l, err := newLocations(tbl)
	if err != nil {
		return ""
	}
	return l.data
}
