package evolve

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
)

// RefusedError says that the catalog does not make changes of the schema, and that waiting does not mend it.
type RefusedError struct {
	// Forbidden says that floe has no right to: a person must grant it, or do without.
	Forbidden bool
	text      string
}

func (e *RefusedError) Error() string { return e.text }

// Is makes one that is forbidden a mapper.ErrRefused.
func (e *RefusedError) Is(target error) bool { return e.Forbidden && target == mapper.ErrRefused }

const (
	// refusedFor is how long a change that was refused is not asked for again.
	refusedFor = 5 * time.Minute
	// mostRefused is how many different ones are within that time, until none is asked for: records could make up ever new ones.
	mostRefused = 100
)

// refusals remembers what the catalog has refused lately.
type refusals struct {
	mu    sync.Mutex
	of    map[[sha256.Size]byte]time.Time
	newer *RefusedError // the last
}

// keyOf tells changes from others.
func keyOf(changes []mapper.Change) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%+v", changes))
}

// Refused gives the reason for which the catalog would not make the changes now: it refused them a short while ago, or so many
// others that it is not asked; nil where it may be.
func (e *Evolver) Refused(changes []mapper.Change) *RefusedError {
	r := &e.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, at := range r.of {
		if time.Since(at) >= refusedFor {
			delete(r.of, key)
		}
	}
	if _, known := r.of[keyOf(changes)]; known || len(r.of) >= mostRefused {
		return r.newer
	}
	return nil
}

// note remembers a refusal, and gives it as an error.
func (r *refusals) note(changes []mapper.Change, err error) *RefusedError {
	out := &RefusedError{Forbidden: tableio.RefusalOf(err) == tableio.Forbids, text: "the catalog refuses to change the table's schema" + words(changes, err)}
	if out.Forbidden {
		return out // it is asked again until a person has answered
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[[sha256.Size]byte]time.Time{}
	}
	if len(r.of) < mostRefused {
		r.of[keyOf(changes)] = time.Now()
	}
	r.newer = out
	return out
}

// longestWords is how much of a catalog's words is told, in bytes.
const longestWords = 300

// words are the catalog's own, with the status. It may name a new column, and names that are no identifiers may be what records
// hold: then the status alone is told.
func words(changes []mapper.Change, err error) string {
	for i := range changes {
		if c := &changes[i]; c.Kind == mapper.AddColumn && !isPlain(c.Name, &c.Type) {
			if status := tableio.StatusOf(err); status != 0 {
				return fmt.Sprintf(" (HTTP %d)", status)
			}
			return ""
		}
	}
	text := strings.ToValidUTF8(tableio.Told(err).Error(), "?")
	if len(text) > longestWords {
		text = strings.ToValidUTF8(text[:longestWords], "") + "…"
	}
	return ": " + text
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// isPlain says that a new field, and all inside it, have names that may be told.
func isPlain(name string, t *mapper.Type) bool {
	if !identifier.MatchString(name) {
		return false
	}
	for i := range t.Fields {
		if !isPlain(t.Fields[i].Name, &t.Fields[i].Type) {
			return false
		}
	}
	return true
}
