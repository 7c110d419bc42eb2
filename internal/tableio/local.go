package tableio

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	iceio "github.com/apache/iceberg-go/io"
)

// Durable gives io with the promises of this package. A local file system is wrapped; an object store keeps them
// already and is returned as it is.
func Durable(io iceio.IO) iceio.IO {
	switch io.(type) {
	case iceio.LocalFS, *iceio.LocalFS:
		return &localIO{made: map[string]struct{}{}}
	}
	return io
}

func isLocal(io iceio.IO) bool {
	switch io.(type) {
	case iceio.LocalFS, *iceio.LocalFS, *localIO:
		return true
	}
	return false
}

// localIO is iceberg-go's local file system, with durable and atomic writes, and with listings in the form of the root
// that was asked for. It is safe for use by many goroutines.
type localIO struct {
	iceio.LocalFS
	// mu also orders the making of directories: whoever finds one that another goroutine is making waits until the
	// directory's own name is durable.
	mu sync.Mutex
	// made holds directories known to exist durably.
	made map[string]struct{}
}

// maxMade bounds the memory of localIO; forgetting costs a stat and a sync.
const maxMade = 4096

var (
	_ iceio.WriteFileIO       = (*localIO)(nil)
	_ iceio.ReadFileIO        = (*localIO)(nil)
	_ iceio.ListableIO        = (*localIO)(nil)
	_ iceio.StatIO            = (*localIO)(nil)
	_ iceio.RenameIO          = (*localIO)(nil)
	_ iceio.RenameNoReplaceIO = (*localIO)(nil)
	_ iceio.MkdirAllIO        = (*localIO)(nil)
	_ iceio.RemoveAllIO       = (*localIO)(nil)
)

// LocalPath gives the path on this machine's disk that a table location (a path, or a file: URI) names. ok is false
// where it names something else.
func LocalPath(location string) (path string, ok bool) {
	scheme, _, found := strings.Cut(location, ":")
	if !found || strings.ContainsAny(scheme, `/\`) {
		return location, true
	}
	if !strings.EqualFold(scheme, "file") {
		// A colon may stand in a file's name; only an authority makes it a URI.
		return location, !strings.Contains(location, "://")
	}
	u, err := url.Parse(location)
	if err != nil || (u.Host != "" && !strings.EqualFold(u.Host, "localhost")) {
		return "", false
	}
	if u.Opaque != "" {
		path, err = url.PathUnescape(u.Opaque)
		return filepath.FromSlash(path), err == nil
	}
	return filepath.FromSlash(u.Path), true
}

func localPath(op, name string) (string, error) {
	p, ok := LocalPath(name)
	if !ok || p == "" {
		return "", &fs.PathError{Op: op, Path: name, Err: errors.New("not a path on the local file system")}
	}
	return p, nil
}

// Create makes the file and its missing parents. It is durable when Close has returned nil.
func (l *localIO) Create(name string) (iceio.FileWriter, error) {
	path, err := localPath("create", name)
	if err != nil {
		return nil, err
	}
	f, err := l.open(path, func() (*os.File, error) { return os.Create(path) })
	if err != nil {
		return nil, err
	}
	return &localFile{f: f}, nil
}

// WriteFile puts the content there in one step: a temporary file beside it, synced, renamed over the name.
func (l *localIO) WriteFile(name string, content []byte) (err error) {
	path, err := localPath("write", name)
	if err != nil {
		return err
	}
	temp, err := tempName(path)
	if err != nil {
		return err
	}
	f, err := l.open(path, func() (*os.File, error) {
		return os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err = os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// open makes path's directory and calls fn, once more where the directory has been removed since it was made.
func (l *localIO) open(path string, fn func() (*os.File, error)) (*os.File, error) {
	dir := filepath.Dir(path)
	for again := true; ; again = false {
		if err := l.makeDir(dir); err != nil {
			return nil, err
		}
		f, err := fn()
		if err == nil || !again || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		l.mu.Lock()
		clear(l.made)
		l.mu.Unlock()
	}
}

// MkdirAll makes the directory and its missing parents, durably.
func (l *localIO) MkdirAll(name string) error {
	path, err := localPath("mkdir", name)
	if err != nil {
		return err
	}
	return l.makeDir(path)
}

func (l *localIO) makeDir(dir string) error {
	dir = filepath.Clean(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.made[dir]; ok {
		return nil
	}
	if err := makeDirLocked(dir); err != nil {
		return err
	}
	if len(l.made) >= maxMade {
		clear(l.made)
	}
	l.made[dir] = struct{}{}
	return nil
}

func makeDirLocked(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("a file of that name is in the way")}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDirLocked(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// WalkDir walks root in lexical order. Paths come in root's own form, a path or a file: URI, so that Open and Remove
// take them and they compare equal to what a table's metadata holds.
func (l *localIO) WalkDir(root string, fn fs.WalkDirFunc) error {
	path, err := localPath("walk", root)
	if err != nil {
		return err
	}
	path = filepath.Clean(path)
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(path, p)
		if rerr != nil {
			return rerr
		}
		return fn(joinLocal(root, filepath.ToSlash(rel)), d, err)
	})
}

func joinLocal(root, rel string) string {
	if rel == "." {
		return root
	}
	if len(root) >= 5 && strings.EqualFold(root[:5], "file:") {
		rel = (&url.URL{Path: rel}).EscapedPath()
	}
	return strings.TrimRight(root, "/") + "/" + rel
}

// Rename moves a file and makes that durable.
func (l *localIO) Rename(oldpath, newpath string) error {
	if err := l.LocalFS.Rename(oldpath, newpath); err != nil {
		return err
	}
	return syncParent(newpath)
}

// RenameNoReplace moves a file to a name that is free and makes that durable.
func (l *localIO) RenameNoReplace(oldpath, newpath string) error {
	if err := l.LocalFS.RenameNoReplace(oldpath, newpath); err != nil {
		return err
	}
	return syncParent(newpath)
}

func syncParent(name string) error {
	path, err := localPath("sync", name)
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// tempName is a hidden name beside path that nobody else uses.
func tempName(path string) (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	dir, base := filepath.Split(path)
	return dir + "." + base + "." + hex.EncodeToString(b[:]) + ".tmp", nil
}

// localFile syncs itself and its directory when it is closed.
type localFile struct {
	f      *os.File
	failed error
	closed bool
}

func (f *localFile) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	if err != nil {
		f.failed = err
	}
	return n, err
}

func (f *localFile) ReadFrom(r io.Reader) (int64, error) {
	n, err := f.f.ReadFrom(r)
	if err != nil {
		f.failed = err
	}
	return n, err
}

// Close gives the error of an earlier write too: a file that lost one is not whole.
func (f *localFile) Close() error {
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	err := f.failed
	if err == nil {
		err = f.f.Sync()
	}
	if cerr := f.f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.f.Name()))
}

// Abort closes the file without making it durable, for one that will be removed.
func (f *localFile) Abort() error {
	if f.closed {
		return nil
	}
	f.closed = true
	return f.f.Close()
}
