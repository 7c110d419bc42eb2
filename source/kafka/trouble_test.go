package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
)

func TestCommitOnAConnectionClosedHereIsNoTrouble(t *testing.T) {
	src, err := New(Config{Brokers: []string{"localhost"}, Topics: []string{"topic"}, Group: "group", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var reported []error
	src.mu.trouble.report = func(err error) { reported = append(reported, err) }
	src.committedOffsets(&net.OpError{Op: "write", Err: net.ErrClosed})
	src.committedOffsets(fmt.Errorf("wait: %w", context.Canceled))
	if len(reported) > 0 {
		t.Errorf("trouble was reported: %v", reported)
	}
	src.committedOffsets(errors.New("refused"))
	src.committedOffsets(&net.OpError{Op: "write", Err: net.ErrClosed}) // says nothing about what the trouble was
	src.committedOffsets(nil)
	if len(reported) != 2 || reported[0] == nil || reported[1] != nil {
		t.Errorf("reported was %v; the refusal and its end were expected", reported)
	}
}
