package memory_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fixture(o memory.Options) func(t *testing.T) sourcetest.Fixture {
	return func(t *testing.T) sourcetest.Fixture {
		log := memory.NewLog()
		log.CreateTopic("topic", 2)
		return sourcetest.Fixture{
			Topic: "topic",
			New:   func(*testing.T) source.Source { return log.Source(o) },
			Append: func(_ *testing.T, id int32, from, n int) {
				log.AppendValues("topic", id, values(from, n)...)
			},
			Skip:     func(_ *testing.T, id int32) { log.Skip("topic", id, 2) },
			Truncate: func(_ *testing.T, id int32, first source.Position) { log.Truncate("topic", id, first) },
		}
	}
}

func values(from, n int) [][]byte {
	vs := make([][]byte, n)
	for i := range vs {
		vs[i] = fmt.Appendf(nil, "v%d", from+i)
	}
	return vs
}

func TestConformance(t *testing.T) {
	t.Run("replayable", func(t *testing.T) { sourcetest.Run(t, fixture(memory.Options{})) })
	t.Run("poisoned small batches", func(t *testing.T) {
		sourcetest.Run(t, fixture(memory.Options{Poison: true, BatchRecords: 3}))
	})
	t.Run("unreplayable", func(t *testing.T) { sourcetest.Run(t, fixture(memory.Options{Unreplayable: true})) })
}
