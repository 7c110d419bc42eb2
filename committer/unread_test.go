package committer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stormfloe/floe/descriptor"
)

// An entry that could not be read as a whole is never adopted: a descriptor that lost its files in reading would move the
// positions past rows that nobody wrote. Only what is damaged is set aside; the rest is sound, and a later start, a newer
// floe or another table may need it.
func TestAnEntryThatCanNotBeReadNow(t *testing.T) {
	for _, c := range []struct {
		name        string
		err         error
		group       bool
		aside, left int
	}{
		{"storage is away", errors.New("503 Slow Down"), false, 0, 1},
		{"written by a newer floe", fmt.Errorf("WAL entry: %w", descriptor.ErrVersion), false, 0, 1},
		{"cut off", fmt.Errorf("WAL entry: %w", descriptor.ErrFormat), false, 1, 0},
		{"one descriptor damaged", fmt.Errorf("descriptor 1 of 1: %w", descriptor.ErrChecksum), true, 1, 0},
		{"a schema that this table does not have yet", fmt.Errorf("descriptor 1 of 1: %w", descriptor.ErrUnknownSchema), true, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, log := newWorld(t, nil), newLog()
			r := w.life(log)
			d := *w.batch("a", rng(0, 0, 5))
			d.Files = nil
			w.entryOf(log, time.Minute, &d)
			for path, e := range log.entries {
				e.Err = c.err
				if !c.group {
					e.Group = nil
				}
				log.entries[path] = e
			}
			pos := r.settle()
			if pos.At[part(0)].Next != 0 {
				t.Errorf("positions moved to %d without a row", pos.At[part(0)].Next)
			}
			if len(log.aside) != c.aside || log.len() != c.left {
				t.Errorf("%d set aside, %d left; want %d and %d", len(log.aside), log.len(), c.aside, c.left)
			}
		})
	}
}

func TestRowsWithoutFilesAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	d := *w.batch("a", rng(0, 0, 5))
	d.Files = nil
	if fits(w.table(), &d) == nil {
		t.Error("a batch of five rows and no file was taken")
	}
}
