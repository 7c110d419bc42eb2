package source_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stormfloe/floe/source"
)

func TestReleaseRunsOnce(t *testing.T) {
	n := 0
	b := &source.Batch{OnRelease: func() { n++ }}
	b.Release()
	b.Release()
	if n != 1 {
		t.Errorf("OnRelease ran %d times", n)
	}
	(&source.Batch{}).Release() // nothing to give back
}

func TestPositionErrorNamesEverything(t *testing.T) {
	p := source.Partition{Topic: "orders", ID: 3}
	err := error(&source.PositionError{Partition: p, Wanted: 5, First: 10, Last: 20, Reason: "below the log's start"})
	const want = "orders/3: wanted position 5, but the log holds [10, 20): below the log's start. Nothing was skipped. " +
		"To go on with what is there, set the position with `floe positions set`"
	if err.Error() != want {
		t.Errorf("got %q", err)
	}
	var fatal *source.FatalError
	if wrapped := fmt.Errorf("x: %w", &source.FatalError{Err: err}); !errors.As(wrapped, &fatal) || !errors.Is(wrapped, err) {
		t.Error("a FatalError must be found and must show what it wraps")
	}
}

func ExampleRange() {
	r := source.Range{Partition: source.Partition{Topic: "orders", ID: 3}, From: 10, To: 20}
	fmt.Println(r, r.Len())
	// Output: orders/3[10,20) 10
}
