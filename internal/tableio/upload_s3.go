//go:build s3 || cloud

package tableio

import (
	"context"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"gocloud.dev/blob"
)

func init() {
	boundUploads = func(ctx context.Context, fio iceio.IO) iceio.IO {
		if b, ok := fio.(*blobfs.FileIO); ok {
			return &bounded{b, ctx}
		}
		return fio
	}
}

// bounded is an object store whose uploads hold at most UploadMemory each. By itself the library sends five parts of
// 8 MiB at a time, so that a hundred open files could take gigabytes.
type bounded struct {
	*blobfs.FileIO
	// ctx is the FileIO's own, which lives as long as it does.
	ctx context.Context
}

func (b *bounded) Create(name string) (iceio.FileWriter, error) {
	return b.NewWriter(b.ctx, name, true, &blob.WriterOptions{BufferSize: UploadPart, MaxConcurrency: uploadConcurrency})
}
