package topology_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/topology"
)

// late is a mapper that needs something which can be had once ready is closed.
type late struct {
	mapper.Mapper
	ready chan struct{}
	has   bool
}

var errNotYet = errors.New("not yet")

func (m *late) Map(rec *source.Record, dst *mapper.Columns) error {
	if !m.has {
		return &mapper.NotReadyError{What: "it", Fetch: func(context.Context) error {
			select {
			case <-m.ready:
				m.has = true
				return nil
			default:
				return errNotYet
			}
		}}
	}
	return m.Mapper.Map(rec, dst)
}

// An engine is told that a record can't be taken now, and brings it again.
func TestAStageThatNeedsSomethingTakesTheRecordLater(t *testing.T) {
	w, ready := harness.New(t, harness.Shape{}), make(chan struct{})
	s, err := topology.NewSink(topology.StageConfig{
		Name: "orders", Table: w.Loader(fault.New(nil)),
		Mapper: func(s *mapper.Schema) (mapper.Mapper, error) {
			m, err := mapper.NewJSON(mapper.JSONOptions{})(s)
			return &late{Mapper: m, ready: ready}, err
		},
		Writer:    topology.WriterConfig{SealRecords: 1},
		Committer: topology.CommitterConfig{Interval: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	acks := make(chan error, 2)
	rec := &source.Record{Value: []byte(`{"part":0,"off":1}`)}
	for range 2 {
		var wait *mapper.NotReadyError
		if err := s.Write(ctx, rec, func(err error) { acks <- err }); !errors.As(err, &wait) || !errors.Is(err, errNotYet) {
			t.Fatalf("got %v", err)
		}
	}
	if st := s.Status(); st.Ready {
		t.Error("the stage is ready while it can't take a record")
	}
	close(ready)
	if err := s.Write(ctx, rec, func(err error) { acks <- err }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-acks:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("no answer")
	}
	if st := s.Status(); !st.Ready {
		t.Errorf("not ready: %v", st.NotReady)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := w.Rows(t); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// onceLoader is a catalog that goes away after the first answer.
type onceLoader struct {
	committer.Loader
	asked chan struct{}
	first atomic.Bool
}

func (l *onceLoader) Load(ctx context.Context) (*table.Table, error) {
	if l.first.CompareAndSwap(false, true) {
		return l.Loader.Load(ctx)
	}
	select {
	case l.asked <- struct{}{}:
	default:
	}
	return nil, harness.ErrAway
}

// A stage that ends before it could settle what an earlier life left has taken nothing that it would not answer.
func TestAStageThatEndsBeforeItHasSettledLeavesNobodyWaiting(t *testing.T) {
	w := harness.New(t, harness.Shape{})
	l := &onceLoader{Loader: w.Loader(fault.New(nil)), asked: make(chan struct{}, 1)}
	c, err := topology.NewCommitterStage(topology.StageConfig{Name: "orders", Table: l})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, answer := make(chan error, 1), make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	<-l.asked
	go func() { answer <- c.Commit(t.Context(), nil, func(error) {}) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-answer; !errors.Is(err, topology.ErrStageEnded) {
		t.Errorf("got %v", err)
	}
}
