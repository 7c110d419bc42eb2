package tableio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
)

// broken is local files with a fault.
type broken struct {
	*localIO
	write  func([]byte) []byte
	remove error
}

func (b broken) WriteFile(name string, content []byte) error {
	return b.localIO.WriteFile(name, b.write(content))
}

func (b broken) Remove(name string) error {
	if b.remove != nil {
		return b.remove
	}
	return b.localIO.Remove(name)
}

func TestAProbeIsDeletedAndSaysWhatCannotBeDone(t *testing.T) {
	same := func(b []byte) []byte { return b }
	for _, c := range []struct {
		name, want string
		fio        iceio.IO
		left       int
	}{
		{"all is well", "", broken{local(), same, nil}, 0},
		{"another content", "not what was written", broken{local(), func([]byte) []byte { return []byte("x") }, nil}, 0},
		{"no deleting", "delete the probe file", broken{local(), same, errors.New("denied")}, 1},
	} {
		dir := t.TempDir()
		err := Probe(c.fio, dir+"/")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != c.left {
			t.Errorf("%s: %d files are left (%v)", c.name, len(left), err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Probe(local(), file+"/data"); err == nil || !strings.Contains(err.Error(), "write") {
		t.Errorf("below a file: %v", err)
	}
}

func local() *localIO { return &localIO{made: map[string]struct{}{}} }
