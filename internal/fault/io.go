package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	iceio "github.com/apache/iceberg-go/io"
)

// WrapIO gives fio with the plan's points around every effect. It can write and list; whether it can stat, read whole
// files and remove in bulk is as with fio. Renaming and making directories, which tables do not use, are gone.
func WrapIO(fio iceio.IO, p *Plan) iceio.IO {
	c := &faultyIO{inner: fio, plan: p}
	s, canStat := fio.(iceio.StatIO)
	r, canRead := fio.(iceio.ReadFileIO)
	b, canBulk := fio.(iceio.BulkRemovableIO)
	st, rd, bk := statter{s, p}, reader{r, p}, bulkRemover{b, p}
	switch {
	case canStat && canRead && canBulk:
		return struct {
			*faultyIO
			statter
			reader
			bulkRemover
		}{c, st, rd, bk}
	case canStat && canRead:
		return struct {
			*faultyIO
			statter
			reader
		}{c, st, rd}
	case canStat && canBulk:
		return struct {
			*faultyIO
			statter
			bulkRemover
		}{c, st, bk}
	case canRead && canBulk:
		return struct {
			*faultyIO
			reader
			bulkRemover
		}{c, rd, bk}
	case canStat:
		return struct {
			*faultyIO
			statter
		}{c, st}
	case canRead:
		return struct {
			*faultyIO
			reader
		}{c, rd}
	case canBulk:
		return struct {
			*faultyIO
			bulkRemover
		}{c, bk}
	}
	return c
}

type faultyIO struct {
	inner iceio.IO
	plan  *Plan
}

func (f *faultyIO) Open(name string) (file iceio.File, err error) {
	err = f.plan.around(OpGet, name, func() error {
		file, err = f.inner.Open(name)
		return err
	})
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, err
	}
	return file, nil
}

func (f *faultyIO) Remove(name string) error {
	return f.plan.around(OpDelete, name, func() error { return f.inner.Remove(name) })
}

func (f *faultyIO) writer() (iceio.WriteFileIO, error) {
	if w, ok := f.inner.(iceio.WriteFileIO); ok {
		return w, nil
	}
	return nil, fmt.Errorf("%T can't write", f.inner)
}

func (f *faultyIO) Create(name string) (iceio.FileWriter, error) {
	w, err := f.writer()
	if err != nil {
		return nil, err
	}
	var file iceio.FileWriter
	err = f.plan.around(OpCreate, name, func() error {
		file, err = w.Create(name)
		return err
	})
	if err != nil {
		if file != nil {
			err = errors.Join(err, abandon(file))
		}
		return nil, err
	}
	return &faultyFile{inner: file, fs: f.inner, plan: f.plan, name: name}, nil
}

func (f *faultyIO) WriteFile(name string, content []byte) error {
	w, err := f.writer()
	if err != nil {
		return err
	}
	a := f.plan.reach(OpPut, Before, name)
	switch {
	case a.kind == tear || a.kind == torn:
		return errors.Join(a.err, w.WriteFile(name, content[:len(content)/2]))
	case a.kind == pretend:
		return nil
	case a.stops():
		return a.err
	}
	return f.plan.after(OpPut, name, w.WriteFile(name, content))
}

func (f *faultyIO) WalkDir(root string, fn fs.WalkDirFunc) error {
	l, ok := f.inner.(iceio.ListableIO)
	if !ok {
		return fmt.Errorf("%T can't list", f.inner)
	}
	return f.plan.around(OpList, root, func() error { return l.WalkDir(root, fn) })
}

type statter struct {
	inner iceio.StatIO
	plan  *Plan
}

func (s statter) Stat(name string) (info fs.FileInfo, err error) {
	err = s.plan.around(OpStat, name, func() error {
		info, err = s.inner.Stat(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

type reader struct {
	inner iceio.ReadFileIO
	plan  *Plan
}

func (r reader) ReadFile(name string) (b []byte, err error) {
	err = r.plan.around(OpGet, name, func() error {
		b, err = r.inner.ReadFile(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

type bulkRemover struct {
	inner iceio.BulkRemovableIO
	plan  *Plan
}

func (b bulkRemover) DeleteFiles(ctx context.Context, paths []string) (deleted []string, err error) {
	target := ""
	if len(paths) > 0 {
		target = paths[0]
	}
	err = b.plan.around(OpDelete, target, func() error {
		deleted, err = b.inner.DeleteFiles(ctx, paths)
		return err
	})
	return deleted, err
}

// faultyFile is a file being written. It belongs to one goroutine.
type faultyFile struct {
	inner   iceio.FileWriter
	fs      iceio.IO
	plan    *Plan
	name    string
	written bool
}

// Write has points only the first time; more would multiply the runs of a harness and show nothing new.
func (f *faultyFile) Write(p []byte) (int, error) {
	if f.written {
		if f.plan.Crashed() {
			return 0, ErrCrashed
		}
		return f.inner.Write(p)
	}
	f.written = true
	a := f.plan.reach(OpWrite, Before, f.name)
	switch {
	case a.kind == tear || a.kind == torn:
		n, err := f.inner.Write(p[:len(p)/2])
		if err = errors.Join(a.err, err); err == nil {
			n = len(p)
		}
		return n, err
	case a.stops():
		return 0, a.err
	}
	n, err := f.inner.Write(p)
	return n, f.plan.after(OpWrite, f.name, err)
}

// ReadFrom goes through Write, so that it has its points.
func (f *faultyFile) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}

// Close gives the file up where it is not to be made: its handle is closed without the promises that Close makes.
func (f *faultyFile) Close() error {
	if a := f.plan.reach(OpClose, Before, f.name); a.stops() || a.kind == pretend {
		return errors.Join(a.err, f.giveUp(a))
	}
	return f.plan.after(OpClose, f.name, f.inner.Close())
}

// giveUp does not make the file. One that is to be lost after it was closed must be gone also where a file is there from the
// moment it was made, as on a local disk.
func (f *faultyFile) giveUp(a Action) error {
	err := abandon(f.inner)
	if a.kind != pretend {
		return err
	}
	if rerr := f.fs.Remove(f.name); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// Abort gives the file up on purpose.
func (f *faultyFile) Abort() error {
	if f.plan.Crashed() {
		return errors.Join(ErrCrashed, abandon(f.inner))
	}
	return abandon(f.inner)
}

// abandon releases what a file holds without completing it, where its kind can do that. Closing an object store's writer
// would upload it.
func abandon(w iceio.FileWriter) error {
	switch w := w.(type) {
	case interface{ Abort() error }:
		return w.Abort()
	case interface{ Fd() uintptr }: // a local file: closing adds nothing
		return w.(io.Closer).Close()
	}
	return nil
}
