package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
)

// sampleTimeout bounds the reading of samples.
const sampleTimeout = 20 * time.Second

// sampler is a source.Handler that looks at the newest records of each partition and acknowledges nothing.
type sampler struct {
	start map[source.Partition]source.Position
	done  context.CancelFunc
	// each, where it is set, is told of every record what became of it.
	each func(p source.Partition, pos source.Position, err error)

	mu       sync.Mutex
	mapper   mapper.Mapper
	columns  *mapper.Columns
	open     map[source.Partition]source.Position // where each ends that is not done
	seen     int64
	filtered int64
	bad      []string
	reasons  map[mapper.Code]int64 // of the bad ones
	asking   int64                 // records that ask for changes of the schema
	changes  []mapper.Change       // what they ask for
	failed   error                 // of a partition that was given up
	trouble  error                 // that has not passed
}

func newSampler(m mapper.Mapper, schema *mapper.Schema, bounds []source.Bounds, n int) (*sampler, error) {
	columns, err := mapper.NewColumns(schema)
	if err != nil {
		return nil, err
	}
	s := &sampler{mapper: m, columns: columns, reasons: map[mapper.Code]int64{},
		start: map[source.Partition]source.Position{}, open: map[source.Partition]source.Position{}}
	for _, b := range bounds {
		if b.Last > b.First {
			s.start[b.Partition], s.open[b.Partition] = max(b.First, b.Last-source.Position(n)), b.Last
		}
	}
	return s, nil
}

// run reads under a consumer group that nobody else is in.
func (s *sampler) run(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	kc, err := kafkaConfig(cfg, log)
	if err != nil {
		return err
	}
	kc.Group = fmt.Sprintf("%s-validate-%s", kc.Group, uuid.NewString()[:8])
	kc.StartupTimeout = sampleTimeout
	src, err := kafka.New(kc)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	s.done = cancel
	err = src.Run(timed, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case s.failed != nil:
		return s.failed
	case len(s.open) == 0:
		return nil
	case s.trouble != nil:
		return s.trouble
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%d of %d partitions gave no record within %s", len(s.open), len(s.start), sampleTimeout)
}

// Assigned opens the partitions that have records.
func (s *sampler) Assigned(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	out := map[source.Partition]source.Position{}
	for _, p := range ps {
		if pos, ok := s.start[p]; ok {
			out[p] = pos
		}
	}
	return out, nil
}

// Revoked has nothing in flight.
func (s *sampler) Revoked(context.Context, []source.Partition) {}

// Deliver maps the batch's records.
func (s *sampler) Deliver(ctx context.Context, b *source.Batch) error {
	defer b.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	end, ok := s.open[b.Range.Partition]
	if !ok {
		return nil
	}
	mapper.SetPartition(s.mapper, b.Range.Partition)
	for i := range b.Records {
		if b.Records[i].Position < end {
			if err := s.record(ctx, b.Range.Partition, &b.Records[i]); err != nil {
				s.failed = err
				s.done()
				return nil
			}
		}
	}
	if b.Range.To >= end {
		s.finishLocked(b.Range.Partition)
	}
	return nil
}

func (s *sampler) finishLocked(p source.Partition) {
	delete(s.open, p)
	if len(s.open) == 0 {
		s.done()
	}
}

// record maps a record. Its error is that of a registry that does not give the record's schema.
func (s *sampler) record(ctx context.Context, p source.Partition, rec *source.Record) error {
	s.columns.Reset() // rows are looked at, and not kept
	err := s.mapper.Map(rec, s.columns)
	var wait *mapper.NotReadyError
	for errors.As(err, &wait) { // the key's schema, and then the value's
		if err := wait.Fetch(ctx); err != nil {
			return err
		}
		err = s.mapper.Map(rec, s.columns)
	}
	s.columns.Truncate(0)
	s.seen++
	if s.each != nil {
		s.each(p, rec.Position, err)
	}
	var bad *mapper.BadRecordError
	var ask *mapper.EvolveError
	switch {
	case errors.Is(err, mapper.ErrFiltered):
		s.filtered++
		if met, ok := errors.AsType[*mapper.FilteredError](err); ok {
			met.Count()
		}
	case errors.As(err, &ask):
		s.asking++
		s.changes = mapper.MergeChanges(s.changes, ask.Changes...)
	case errors.As(err, &bad):
		s.reasons[bad.Code]++
		s.bad = append(s.bad, fmt.Sprintf("%s, offset %d: %s", p, rec.Position, bad))
	case err != nil:
		s.reasons["other"]++
		s.bad = append(s.bad, fmt.Sprintf("%s, offset %d: %s", p, rec.Position, err))
	}
	return nil
}

// Failed gives a partition up.
func (s *sampler) Failed(p source.Partition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	s.finishLocked(p)
}

// Trouble is remembered, for the case that it does not pass.
func (s *sampler) Trouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
}
