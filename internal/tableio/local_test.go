package tableio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
)

func newLocal(t testing.TB) *localIO {
	t.Helper()
	return Durable(iceio.LocalFS{}).(*localIO)
}

func TestCreateMakesTheDirectoriesItNeeds(t *testing.T) {
	l, dir := newLocal(t), t.TempDir()
	for _, name := range []string{filepath.Join(dir, "a/b/c/f"), "file://" + dir + "/d%20e/f", "file:" + dir + "/g/f"} {
		w, err := l.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ReadFrom(strings.NewReader("hello ")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("world")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("the second Close gave %v", err)
		}
		b, err := ReadFile(l, name, 100)
		if err != nil || string(b) != "hello world" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "d e", "f")); err != nil {
		t.Errorf("the URI was not decoded: %v", err)
	}
}

func TestADirectoryThatWasRemovedIsMadeAgain(t *testing.T) {
	l, dir := newLocal(t), t.TempDir()
	name := filepath.Join(dir, "a/b/f")
	for range 2 {
		if err := l.WriteFile(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFileInTheWayIsAnError(t *testing.T) {
	l, dir := newLocal(t), t.TempDir()
	if err := l.WriteFile(filepath.Join(dir, "a"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Create(filepath.Join(dir, "a", "b")); err == nil {
		t.Error("Create made a file inside a file")
	}
	if err := l.MkdirAll(filepath.Join(dir, "a")); err == nil {
		t.Error("MkdirAll took a file for a directory")
	}
}

func TestWriteFileReplacesWholeAndLeavesNothingBehind(t *testing.T) {
	l, dir := newLocal(t), t.TempDir()
	name := filepath.Join(dir, "f")
	var wg sync.WaitGroup
	for _, c := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			for range 5 {
				if err := l.WriteFile(name, []byte(strings.Repeat(c, 1000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		b, err := ReadFile(l, name, 1<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || len(b) != 1000 || strings.Count(string(b), string(b[0])) != 1000 {
			t.Fatalf("a reader saw %d bytes, %v", len(b), err)
		}
	}
	wg.Wait()
	// A name that can't be renamed over: the temporary file must not stay.
	if err := l.MkdirAll(filepath.Join(dir, "d", "inner")); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteFile(filepath.Join(dir, "d"), []byte("x")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	files, err := List(l, dir)
	if err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestForeignPlacesAreRefused(t *testing.T) {
	l := newLocal(t)
	for _, name := range []string{"s3://b/f", "file://otherhost/f", "", "file://%zz/f"} {
		if _, err := l.Create(name); err == nil {
			t.Errorf("Create(%q) did not refuse", name)
		}
		if err := l.WriteFile(name, nil); err == nil {
			t.Errorf("WriteFile(%q) did not refuse", name)
		}
		if err := l.WalkDir(name, nil); err == nil {
			t.Errorf("WalkDir(%q) did not refuse", name)
		}
		if err := l.MkdirAll(name); err == nil {
			t.Errorf("MkdirAll(%q) did not refuse", name)
		}
	}
}

func TestRenameIsThere(t *testing.T) {
	l, dir := newLocal(t), t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if err := errors.Join(l.WriteFile(a, []byte("x")), l.Rename(a, b), l.RenameNoReplace(b, c)); err != nil {
		t.Fatal(err)
	}
	if _, exists, err := Stat(l, c); !exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
}

func TestListingComesInTheFormOfItsRoot(t *testing.T) {
	dir := t.TempDir()
	for _, fio := range []iceio.IO{newLocal(t), iceio.LocalFS{}} {
		for root, want := range map[string]string{
			filepath.Join(dir, "a b"):           filepath.Join(dir, "a b") + "/x=1%/f",
			filepath.Join(dir, "a b") + "/":     filepath.Join(dir, "a b") + "/x=1%/f",
			"file://" + dir + "/a%20b":          "file://" + dir + "/a%20b/x=1%25/f",
			"file://localhost" + dir + "/a%20b": "file://localhost" + dir + "/a%20b/x=1%25/f",
			"file:" + dir + "/a%20b":            "file:" + dir + "/a%20b/x=1%25/f",
		} {
			if err := WriteFile(fio, filepath.Join(dir, "a b", "x=1%", "f"), []byte("abc")); err != nil {
				t.Fatal(err)
			}
			files, err := List(fio, root)
			if err != nil || len(files) != 1 || files[0].Path != want || files[0].Size != 3 || files[0].ModifiedAt.IsZero() {
				t.Errorf("%T %s: %+v, %v; want %s", fio, root, files, err, want)
				continue
			}
			if size, exists, err := Stat(fio, files[0].Path); size != 3 || !exists || err != nil {
				t.Errorf("what was listed can't be looked at: %v, %v", exists, err)
			}
			if err := Remove(fio, files[0].Path); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWhatIsNotThereIsNoError(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		fio  iceio.IO
		root string
	}{"local": {newLocal(t), dir + "/none"}, "plain": {iceio.LocalFS{}, "file://" + dir + "/none"}, "memory": {iceio.NewMemFS(), "mem://b/none"}} {
		t.Run(name, func(t *testing.T) {
			if files, err := List(c.fio, c.root); len(files) != 0 || err != nil {
				t.Errorf("List: %v, %v", files, err)
			}
			if _, exists, err := Stat(c.fio, c.root+"/f"); exists || err != nil {
				t.Errorf("Stat: %v, %v", exists, err)
			}
			if err := Remove(c.fio, c.root+"/f"); err != nil {
				t.Errorf("Remove: %v", err)
			}
			if _, err := ReadFile(c.fio, c.root+"/f", 1); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("ReadFile: %v", err)
			}
		})
	}
	if _, exists, err := Stat(newLocal(t), dir); exists || err != nil {
		t.Errorf("a directory is taken for a file: %v", err)
	}
}

func TestReadFileIsBounded(t *testing.T) {
	mem := iceio.NewMemFS()
	if err := WriteFile(mem, "mem://b/f", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(mem, "mem://b/f", 5); err != nil || string(b) != "12345" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFile(mem, "mem://b/f", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestAbortGivesAFileUp(t *testing.T) {
	l, name := newLocal(t), filepath.Join(t.TempDir(), "f")
	w, err := l.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Abort(w), Abort(w), Remove(l, name)); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err == nil {
		t.Error("a file that was given up says that it is durable")
	}
}

func TestAFailedWriteIsNotForgottenByClose(t *testing.T) {
	l := newLocal(t)
	w, err := l.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	f := w.(*localFile)
	_ = f.f.Close() // as if the disk had gone
	if _, err := w.Write([]byte("x")); err == nil {
		t.Fatal("written to a closed file")
	}
	if err := w.Close(); err == nil {
		t.Error("Close says that it is whole")
	}
}

func TestTheMemoryOfDirectoriesIsBounded(t *testing.T) {
	l := newLocal(t)
	for i := range maxMade {
		l.made[strings.Repeat("x", i+1)] = struct{}{}
	}
	if err := l.MkdirAll(filepath.Join(t.TempDir(), "a")); err != nil || len(l.made) != 1 {
		t.Errorf("%d, %v", len(l.made), err)
	}
}

func TestLocalPathTellsURIsFromNames(t *testing.T) {
	for location, want := range map[string]string{"/a/b": "/a/b", "a:b/c": "a:b/c", "x/a:b": "x/a:b", "file:///a%20b": "/a b",
		"FILE:///a": "/a", "file:a%20b": "a b", "s3://b/k": "-", "file://h/a": "-"} {
		got, ok := LocalPath(location)
		if (ok && got != want) || (!ok && want != "-") {
			t.Errorf("LocalPath(%q) = %q, %v; want %q", location, got, ok, want)
		}
	}
	if !isLocal(newLocal(t)) {
		t.Error("the durable file system is not taken for a local one")
	}
}
