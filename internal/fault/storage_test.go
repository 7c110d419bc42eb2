package fault_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
)

func write(fio iceio.IO, path string, content string) error {
	w, err := fio.(iceio.WriteFileIO).Create(path)
	if err != nil {
		return err
	}
	if n, err := w.Write([]byte(content)); err != nil || n != len(content) {
		return errors.Join(err, tableio.Abort(w))
	}
	return w.Close()
}

func TestATornFileOfALivingProcess(t *testing.T) {
	for _, told := range []error{fault.ErrInjected, nil} {
		mem := iceio.NewMemFS()
		p := fault.New(fault.All(fault.On(fault.OpPut, fault.Before, 1, fault.Torn(told)),
			fault.On(fault.OpWrite, fault.Before, 1, fault.Torn(told)), fault.On(fault.OpStat, fault.Before, 1, fault.Torn(told))))
		fio := p.IO(mem)
		if err := tableio.WriteFile(fio, "mem://b/put", []byte("abcdef")); !errors.Is(err, told) {
			t.Errorf("put gave %v, want %v", err, told)
		}
		if err := write(fio, "mem://b/write", "abcdef"); !errors.Is(err, told) {
			t.Errorf("write gave %v, want %v", err, told)
		}
		if size, _, err := tableio.Stat(mem, "mem://b/put"); err != nil || size != 3 {
			t.Errorf("put: %d bytes, %v", size, err)
		}
		size, exists, err := tableio.Stat(mem, "mem://b/write")
		if err != nil || exists != (told == nil) || exists && size != 3 {
			t.Errorf("write: %d bytes, %v, %v", size, exists, err)
		}
		if err := write(fio, "mem://b/later", "abcdef"); err != nil || p.Crashed() {
			t.Errorf("the process did not go on: %v", err)
		}
	}
}

func TestAStorageThatLies(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		disk iceio.IO
		path string
	}{"memory": {iceio.NewMemFS(), "mem://b/f"}, "disk": {tableio.Durable(iceio.LocalFS{}), dir + "/f"}} {
		p := fault.New(fault.All(fault.On(fault.OpClose, fault.Before, 1, fault.Pretend),
			fault.On(fault.OpPut, fault.Before, 1, fault.Pretend), fault.On(fault.OpDelete, fault.Before, 1, fault.Pretend),
			fault.On(fault.OpDelete, fault.After, 1, fault.Fail(fault.ErrSlowDown)), fault.On(fault.OpGet, fault.Before, 1, fault.Pretend)))
		fio := p.IO(c.disk)
		there := func() bool {
			_, exists, err := tableio.Stat(c.disk, c.path)
			if err != nil {
				t.Fatal(err)
			}
			return exists
		}
		if err := write(fio, c.path, "rows"); err != nil || there() {
			t.Errorf("%s: closed: %v, there: %v", name, err, there())
		}
		if err := tableio.WriteFile(fio, c.path, []byte("rows")); err != nil || there() {
			t.Errorf("%s: put: %v, there: %v", name, err, there())
		}
		if err := write(fio, c.path, "rows"); err != nil || !there() {
			t.Errorf("%s: the second file: %v", name, err)
		}
		if err := tableio.Remove(fio, c.path); err != nil || !there() {
			t.Errorf("%s: removed: %v, there: %v", name, err, there())
		}
		if err := tableio.Remove(fio, c.path); !errors.Is(err, fault.ErrSlowDown) || there() {
			t.Errorf("%s: removed again: %v, there: %v", name, err, there())
		}
		if _, err := fio.Open(c.path); err == nil {
			t.Errorf("%s: what is gone was opened", name)
		}
	}
}

func TestASlowEffectTakesTheTestsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fault.New(fault.Rate(fault.OpPut, fault.Before, 2, 1, 2, fault.Slow(time.Minute)))
		fio := p.IO(iceio.NewMemFS())
		begun := time.Now()
		for range 6 {
			if err := tableio.WriteFile(fio, "mem://b/f", nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 2*time.Minute {
			t.Errorf("it took %s", took)
		}
		p2 := fault.New(func(fault.Point) fault.Action { return fault.Slow(time.Hour) })
		time.AfterFunc(time.Second, p2.Kill)
		if err := tableio.WriteFile(p2.IO(iceio.NewMemFS()), "mem://b/f", nil); !errors.Is(err, fault.ErrCrashed) {
			t.Errorf("got %v", err)
		}
	})
}
