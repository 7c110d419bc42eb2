package writer

import (
	"context"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/google/uuid"
)

// writeIO is a FileIO that can write.
type writeIO = icebergio.WriteFileIO

// backend is one encoder on the task's goroutine, or several on their own. All methods are called from the task's
// goroutine. After an error of add or seal only drop and close may follow; files that
// seal gives beside an error are the caller's to remove.
type backend interface {
	begin(p *plan, fs writeIO, id uuid.UUID)
	add(rows rowsTo) error
	seal(ctx context.Context) (sealed, error)
	drop(ctx context.Context)
	load() load
	close()
}

func newBackend(cfg Config) backend {
	// The stage, and what is on its way to the encoders, takes a share of the bound.
	budget := cfg.MaxBufferedBytes - min(cfg.MaxBufferedBytes/4, 2*stageBytes) - cfg.rejectsBudget()
	if cfg.Parallel > 1 {
		return newLanes(cfg, budget)
	}
	return &inline{newEncoder(0, budget, cfg.MaxOpenFiles)}
}

// inline is a single encoder.
type inline struct{ *encoder }

func (b *inline) add(rows rowsTo) error { return b.encoder.add(rows.cols, rows.at, rows.tuples) }

func (b *inline) load() load {
	l := b.last
	l.held += b.pages.Memory()
	return l
}

func (b *inline) close() {}
