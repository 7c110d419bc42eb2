package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/target"
)

// keep is how many snapshots the foreign hand's expiry leaves, at least.
const keep = 2

// foreignHand is what an engine for maintenance does to the table while floe writes it and is killed: it rewrites the small
// files into larger ones, then expires all but the newest snapshots and deletes their files. It loses races against floe, as
// it may; what it has done is counted.
func (r *round) foreignHand(ctx context.Context, cfg *config.Config) {
	for _, hand := range []struct {
		what, table string
		do          func(context.Context, *table.Table) (bool, error)
	}{
		{"compactions", cfg.Table.Name, compact}, {"expiries", cfg.Table.Name, expire},
		{"compactions of rejects", cfg.Rejects.Table, compact}, {"expiries of rejects", cfg.Rejects.Table, expire},
	} {
		what := hand.what
		done, err := onTable(ctx, cfg, hand.table, hand.do)
		if err != nil && ctx.Err() == nil {
			r.c.logf("round %d: %s ended with an error: %v", r.n, what, firstLine(err))
			what += " with an error"
		} else if !done {
			continue
		}
		r.count.add(func(f *Figures) { f.Foreign[what]++ })
	}
}

// onTable calls f with the table and an open catalog.
func onTable(ctx context.Context, cfg *config.Config, name string, f func(context.Context, *table.Table) (bool, error)) (done bool, err error) {
	cat, closeCatalog, err := catalogs.Open(ctx, "", cfg.Catalog.Properties)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, closeCatalog()) }()
	tbl, err := cat.LoadTable(ctx, strings.Split(name, "."))
	if target.IsMissing(err) {
		return false, nil // the table of rejects, of which there were none yet
	}
	if err != nil {
		return false, err
	}
	return f(ctx, tbl)
}

const (
	// atOnce is how many files a compaction rewrites: few, so that it is quick enough to win its race against floe's next
	// commit now and then. compactions is how often it tries.
	atOnce      = 24
	compactions = 4
)

// compact rewrites some small files of one partition. It is false where there are not two.
func compact(ctx context.Context, tbl *table.Table) (done bool, err error) {
	how := compaction.DefaultConfig()
	how.MinInputFiles = 2
	for n := range compactions {
		if n > 0 {
			if err := tbl.Refresh(ctx); err != nil {
				return false, err
			}
		}
		plan, perr := compaction.Analyze(ctx, tbl, how)
		if perr != nil {
			return false, fmt.Errorf("plan: %w", perr)
		}
		if len(plan.Groups) == 0 {
			return false, nil
		}
		g := plan.Groups[0]
		g.Tasks = g.Tasks[:min(len(g.Tasks), atOnce)]
		if err = rewrite(ctx, tbl, g); err == nil {
			return true, nil
		}
	}
	return false, err
}

func rewrite(ctx context.Context, tbl *table.Table, g compaction.Group) error {
	tx := tbl.NewTransaction()
	_, err := tx.RewriteDataFiles(ctx, []table.CompactionTaskGroup{{PartitionKey: g.PartitionKey, Tasks: g.Tasks,
		TotalSizeBytes: g.TotalSizeBytes}}, table.RewriteDataFilesOptions{})
	if err != nil {
		return fmt.Errorf("rewrite: %w", err)
	}
	_, err = tx.Commit(ctx)
	return err
}

// expire keeps the newest snapshots alone.
func expire(ctx context.Context, tbl *table.Table) (bool, error) {
	tx := tbl.NewTransaction()
	if err := tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(keep)); err != nil {
		return false, err
	}
	_, err := tx.Commit(ctx)
	return err == nil, err
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
