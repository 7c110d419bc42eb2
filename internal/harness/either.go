package harness

import (
	"fmt"
	"testing"

	"github.com/stormfloe/floe/source"
)

// ProduceEither adds a record that is a row or a reject by the schema that its batch is written with. Settle has to come before Check.
func (w *World) ProduceEither(id int32, more string) source.Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	off := w.end(id)
	value := fmt.Sprintf(`{"part":%d,"off":%d,"region":"r","payload":"either-%d"%s}`, id, off, off, more)
	w.Log.Append(Topic, id, source.Record{TimestampMs: int64(off), Value: []byte(value)})
	w.mu.bad[key{id, off}] = value
	return off
}

// Settle looks which of ProduceEither's records are rows of the head, and has Check expect them there and nowhere else, and the
// others as rejects. It gives the rows, by partition and position.
func (w *World) Settle(t testing.TB) map[string]bool {
	t.Helper()
	rows := w.Values(t, "payload")
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]bool{}
	for k := range w.mu.bad {
		at := fmt.Sprintf("%d/%d", k.part, k.off)
		if _, there := rows[at]; there {
			w.mu.want[k] = fmt.Sprintf("either-%d", k.off)
			delete(w.mu.bad, k)
			out[at] = true
		}
	}
	return out
}
