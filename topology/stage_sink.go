package topology

import (
	"context"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
)

// Sink is a writer and a committer in one stage: records in, callbacks out. Its methods are those of WriterStage; Begin
// and Positions ask the same table.
type Sink struct {
	*WriterStage
	committer *CommitterStage
}

// NewSink makes a one-stage sink. It starts nothing.
func NewSink(cfg StageConfig) (*Sink, error) {
	c, err := newStage(cfg, "sink", max(0, cfg.Committer.Interval))
	if err != nil {
		return nil, err
	}
	com := &CommitterStage{stage: c}
	// The writer has the committer's stage for its own: one look at the table, one status, one set of metrics.
	w, err := newWriterStage(c, cfg, func(ctx context.Context, d *descriptor.Descriptor, _ *table.Table, done func(error)) error {
		return com.submit(ctx, d, done)
	})
	if err != nil {
		return nil, err
	}
	w.hurry = com.sink.Flush
	return &Sink{WriterStage: w, committer: com}, nil
}

// Run loads the table, seals and commits until ctx ends, and then ends gracefully within the shutdown timeout.
func (s *Sink) Run(ctx context.Context) error {
	defer s.end()
	defer s.close()
	var werr error
	err := s.committer.commitUntil(ctx, func(ctx context.Context) { werr = s.write(ctx) })
	if err == nil {
		err = werr
	}
	return err
}
