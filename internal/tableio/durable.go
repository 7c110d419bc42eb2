package tableio

import (
	"context"
	"net/url"
	"sync"

	iceio "github.com/apache/iceberg-go/io"
)

var durableFiles sync.Once

// UseDurableFiles makes iceberg-go's local file system durable for the whole process. An SQL catalog writes the table's
// metadata file through it before the database's row names the file: after a power cut there must not be the row without
// the file. May be called from any goroutine, and more than once.
func UseDurableFiles() {
	durableFiles.Do(func() {
		local := Durable(iceio.LocalFS{})
		for _, scheme := range []string{"file", ""} {
			iceio.Unregister(scheme)
			iceio.Register(scheme, func(context.Context, *url.URL, map[string]string) (iceio.IO, error) { return local, nil })
		}
	})
}
