package tableio

import (
	"bytes"
	"fmt"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/google/uuid"
)

// Probe finds out whether files can be written, read and deleted below a folder, with one of a few bytes that it deletes again. The error
// says what can't be done. A file that can't be deleted is left, and the error names it.
func Probe(fio iceio.IO, folder string) error {
	path := strings.TrimRight(folder, "/") + "/floe-probe-" + uuid.NewString()
	content := []byte("floe validate wrote this file; it can be deleted\n")
	if err := WriteFile(fio, path, content); err != nil {
		return err
	}
	got, err := ReadFile(fio, path, int64(len(content)))
	if err == nil && !bytes.Equal(got, content) {
		err = fmt.Errorf("read %s: it is not what was written there a moment before", path)
	}
	if rerr := fio.Remove(path); rerr != nil {
		return fmt.Errorf("delete the probe file %s: %w", path, rerr)
	}
	return err
}
