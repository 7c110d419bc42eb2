package memory_test

import (
	"context"
	"fmt"

	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
)

// printer opens everything at its beginning and prints what it gets.
type printer struct{}

func (printer) Assigned(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	at := map[source.Partition]source.Position{}
	for _, p := range ps {
		at[p] = 0
	}
	return at, nil
}

func (printer) Deliver(_ context.Context, b *source.Batch) error {
	for _, r := range b.Records {
		fmt.Printf("%s at %d: %s\n", b.Range, r.Position, r.Value)
	}
	b.Release()
	return nil
}

func (printer) Revoked(context.Context, []source.Partition) {}
func (printer) Failed(p source.Partition, err error)        { fmt.Println(p, err) }
func (printer) Trouble(error)                               {}

func Example() {
	log := memory.NewLog()
	log.AppendValues("orders", 0, []byte("one"), []byte("two"))
	log.Skip("orders", 0, 3)
	log.Close()
	if err := log.Source(memory.Options{}).Run(context.Background(), printer{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// orders/0[0,5) at 0: one
	// orders/0[0,5) at 1: two
}
