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
)

// keep is how many snapshots the foreign hand's expiry leaves, at least.
const keep = 2

// foreignHand is what an engine for maintenance does to the table while floe writes it and is killed: it rewrites the small
// files into larger ones, then expires all but the newest snapshots and deletes their files. It loses races against floe, as
// it may; what it has done is counted.
func (r *round) foreignHand(ctx context.Context, cfg *config.Config) {
	for _, hand := range []struct {
		what string
		do   func(context.Context, *table.Table) (bool, error)
	}{{"compactions", compact}, {"expiries", expire}} {
		what := hand.what
		done, err := onTable(ctx, cfg, hand.do)
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
func onTable(ctx context.Context, cfg *config.Config, f func(context.Context, *table.Table) (bool, error)) (done bool, err error) {
	cat, closeCatalog, err := catalogs.Open(ctx, "", cfg.Catalog.Properties)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, closeCatalog()) }()
	tbl, err := cat.LoadTable(ctx, strings.Split(cfg.Table.Name, "."))
	if err != nil {
		return false, err
	}
	return f(ctx, tbl)
}

// compact rewrites all groups of at least two small files. It is false where there is none.
func compact(ctx context.Context, tbl *table.Table) (bool, error) {
	how := compaction.DefaultConfig()
	how.MinInputFiles = 2
	plan, err := compaction.Analyze(ctx, tbl, how)
	if err != nil {
		return false, fmt.Errorf("plan: %w", err)
	}
	var groups []table.CompactionTaskGroup
	for _, g := range plan.Groups {
		groups = append(groups, table.CompactionTaskGroup{PartitionKey: g.PartitionKey, Tasks: g.Tasks, TotalSizeBytes: g.TotalSizeBytes})
	}
	if len(groups) == 0 {
		return false, nil
	}
	tx := tbl.NewTransaction()
	if _, err := tx.RewriteDataFiles(ctx, groups, table.RewriteDataFilesOptions{}); err != nil {
		return false, fmt.Errorf("rewrite: %w", err)
	}
	_, err = tx.Commit(ctx)
	return err == nil, err
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
