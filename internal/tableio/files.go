package tableio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
)

// File is one file that List found.
type File struct {
	// Path is in the form of the prefix that was listed; Open and Remove take it.
	Path string
	Size int64
	// ModifiedAt is the store's time of the last write, zero where it does not tell.
	ModifiedAt time.Time
}

// Stat looks at a file: its size in bytes, and whether it is there. A directory is not a file.
func Stat(fio iceio.IO, path string) (size int64, exists bool, err error) {
	info, err := stat(fio, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("look at %s: %w", path, err)
	case info.IsDir():
		return 0, false, nil
	}
	return info.Size(), true, nil
}

func stat(fio iceio.IO, path string) (fs.FileInfo, error) {
	if s, ok := fio.(iceio.StatIO); ok {
		return s.Stat(path)
	}
	f, err := fio.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return info, errors.Join(err, f.Close())
}

// Abort gives a file up that is being written and will not be used: it is closed, where the storage can do that, without
// the cost of making it durable. It may be there afterwards, whole or in part; Remove it.
func Abort(w iceio.FileWriter) error {
	if a, ok := w.(interface{ Abort() error }); ok {
		return a.Abort()
	}
	return w.Close()
}

// Remove removes a file. One that is gone already is no error.
func Remove(fio iceio.IO, path string) error {
	if err := fio.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// ReadFile reads a whole file of at most limit bytes; a longer one is ErrTooLarge. One that is not there is
// fs.ErrNotExist.
func ReadFile(fio iceio.IO, path string, limit int64) (_ []byte, err error) {
	f, err := fio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("read %s: %w", path, cerr)
		}
	}()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: %w: more than %d bytes", path, ErrTooLarge, limit)
	}
	return b, nil
}

// ErrTooLarge says that a file is longer than anything floe writes in its place.
var ErrTooLarge = errors.New("file is too large")

// WriteFile puts a whole file there; it is durable when WriteFile returns nil.
func WriteFile(fio iceio.IO, path string, content []byte) error {
	w, ok := fio.(iceio.WriteFileIO)
	if !ok {
		return fmt.Errorf("write %s: this table's FileIO (%T) can't write", path, fio)
	}
	if err := w.WriteFile(path, content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// List finds the files under the directory prefix, at any depth. A prefix that does not exist has none, and a file or
// directory that vanishes while it lists is left out.
func List(fio iceio.IO, prefix string) ([]File, error) {
	l, ok := fio.(iceio.ListableIO)
	if !ok {
		return nil, fmt.Errorf("list %s: this table's FileIO (%T) can't list", prefix, fio)
	}
	prefix = strings.TrimRight(prefix, "/")
	var files []File
	err := l.WalkDir(prefix, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d == nil || d.IsDir():
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		files = append(files, File{Path: inForm(prefix, path), Size: info.Size(), ModifiedAt: info.ModTime()})
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return files, nil
}

// inForm gives a listed path in the form of the prefix: iceberg-go's own local FileIO lists bare paths also under a
// file: URI.
func inForm(prefix, path string) string {
	if strings.HasPrefix(path, prefix) || !strings.HasPrefix(path, "/") {
		return path
	}
	local, ok := LocalPath(prefix)
	if !ok {
		return path
	}
	if rel, ok := strings.CutPrefix(path, strings.TrimRight(local, "/")+"/"); ok {
		return joinLocal(prefix, rel)
	}
	return path
}
