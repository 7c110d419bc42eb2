package committer

import (
	"context"
	"errors"
	"time"

	"github.com/stormfloe/floe/internal/protocol"
)

// WaitingRejects is what the topology's commits have passed as rejects and the rejects table does not hold, or can't be told to
// hold; Err then says what for, where a person or another configuration is needed. It is called after Load, and
// changes nothing: it is for those who only look. An error is that of the tables, which can't be looked at.
func (c *Committer) WaitingRejects(ctx context.Context) (Outbox, error) {
	tbl := c.Table()
	if tbl == nil {
		return Outbox{}, errors.New("committer: Load has not shown the table")
	}
	v, err := c.viewOf(ctx, tbl)
	if err != nil || len(v.outbox) == 0 || c.cfg.Rejects == nil {
		return Outbox{}, err
	}
	s, err := c.lookShelf(ctx)
	if err != nil {
		return waitingIn(v.outbox), err
	}
	var left []boxed
	var asks error
	for _, b := range v.outbox {
		held, err := c.holds(ctx, s, v.uuid, b)
		switch {
		case err != nil:
			return waitingIn(v.outbox), err
		case held == protocol.There:
			continue
		case b.Table != s.tbl.Metadata().TableUUID():
			asks = otherShelf(s.tbl, b)
		case held != protocol.NotThere:
			asks = c.unclearShelf(s.tbl, b, held)
		}
		left = append(left, b)
	}
	o := waitingIn(left)
	o.Err = asks
	return o, nil
}

// waitingIn counts what entries hold.
func waitingIn(box []boxed) Outbox {
	o := Outbox{Files: boxFiles(box)}
	for _, b := range box {
		o.Rows += b.rows()
		if at := time.UnixMilli(b.AtMs); o.Oldest.IsZero() || at.Before(o.Oldest) {
			o.Oldest = at
		}
	}
	return o
}
