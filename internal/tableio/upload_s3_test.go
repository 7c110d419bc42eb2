//go:build s3 || cloud

package tableio

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
)

// An upload that the store is slow to take must hold its writer back after two parts under way and one in hand; by
// default the library takes five parts of 8 MiB.
func TestAnUploadHoldsItsWriterBack(t *testing.T) {
	gate, parts := make(chan struct{}), make(chan int64, 64)
	var once sync.Once
	open := func() { once.Do(func() { close(gate) }) }
	defer open()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		switch q := r.URL.Query(); {
		case r.Method == http.MethodPost && q.Has("uploads"):
			_, _ = fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPost:
			_, _ = fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>`)
		default:
			parts <- n
			<-gate
			w.Header().Set("ETag", `"e"`)
		}
	}))
	defer srv.Close()
	fio, err := iceio.LoadFS(t.Context(), map[string]string{
		"s3.endpoint": srv.URL, "s3.region": "us-east-1", "s3.access-key-id": "k", "s3.secret-access-key": "s",
	}, "s3://lake/t")
	if err != nil {
		t.Fatal(err)
	}
	fio = boundUploads(context.WithoutCancel(t.Context()), fio)
	f, err := fio.(iceio.WriteFileIO).Create("s3://lake/t/data/f.parquet")
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan int, 64)
	done := make(chan error, 1)
	go func() {
		mib := make([]byte, 1<<20)
		for range 40 {
			if _, err := f.Write(mib); err != nil {
				done <- err
				return
			}
			taken <- 1
		}
		close(taken)
		done <- f.Close()
	}()
	<-parts
	<-parts
	open()
	n := 0
	for range taken {
		n++
	}
	if err := <-done; err != nil || n != 40 {
		t.Errorf("%d MiB were taken, close: %v", n, err)
	}
	if got := len(parts) + 2; got != 8 {
		t.Errorf("40 MiB went in %d parts, want 8 of %d bytes", got, UploadPart)
	}
}
