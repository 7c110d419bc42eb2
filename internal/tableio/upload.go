package tableio

import (
	"context"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
)

const (
	// UploadPart is the size in bytes of the parts that a file goes to an object store in. A smaller file is one request.
	UploadPart = 5 << 20
	// uploadConcurrency is how many parts of one file are under way at a time.
	uploadConcurrency = 2
	// UploadMemory is what one open upload holds at most: the parts under way and the one that is being filled.
	UploadMemory = (uploadConcurrency + 1) * UploadPart
)

// Uploads says that files at the location go to an object store in parts, which are held in memory while they are under
// way.
func Uploads(location string) bool {
	scheme, _, ok := strings.Cut(location, "://")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "s3", "s3a", "s3n", "oss", "gs", "abfs", "abfss", "wasb", "wasbs":
		return true
	}
	return false
}

// boundUploads is set where a store whose uploads can be bounded is linked in; it gives other FileIOs back as they are.
var boundUploads = func(_ context.Context, fio iceio.IO) iceio.IO { return fio }
