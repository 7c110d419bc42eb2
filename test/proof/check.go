package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/target"
)

// errFindings says that something was found; what, was printed.
var errFindings = errors.New("the table is wrong")

// checkCommand is `proof check`.
func checkCommand(ctx context.Context, c *call) error {
	fs := c.flags("check", "compares the table of a configuration of floe run, and each snapshot of its branch, with what was produced into its topic")
	truth := fs.String("truth", "truth.json", "the pattern that produce or soak has written")
	partial := fs.Bool("partial", false, "the table need not have reached the end of what was produced")
	byHand := fs.Bool("set-by-hand", false, "somebody may have used floe positions set: what that skips is not lost, what it makes floe read again not doubled")
	asJSON := fs.Bool("json", false, "print the report as one JSON object")
	rest, err := c.parse(fs)
	if err != nil {
		return err
	} else if len(rest) != 1 {
		return usage("check: give the path of one configuration behind the flags")
	}
	cfg, err := config.Load(rest[0], os.LookupEnv)
	if err != nil {
		return usage("check: %v", err)
	}
	p, err := loadPattern(*truth)
	if err != nil {
		return err
	}
	ts, err := lookAtBoth(ctx, cfg)
	if err != nil {
		return errors.New(cfg.Redact(err.Error()))
	}
	report, err := checkTables(ctx, ts, cfg, p, proof.Options{Whole: !*partial, SetByHand: *byHand})
	if err != nil {
		return errors.New(cfg.Redact(err.Error()))
	}
	if *asJSON {
		enc := json.NewEncoder(c.stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(report); err != nil {
			return err
		}
	} else {
		c.printf("%s\n", report)
		for _, f := range report.Findings {
			c.printf("%s\n", f)
		}
	}
	if report.Err() != nil {
		return errFindings
	}
	return nil
}

// lookAt loads a table of a configuration without making anything.
func lookAt(ctx context.Context, cfg *config.Config, name string) (*table.Table, error) {
	t, err := target.New(target.Config{Catalog: cfg.Catalog.Properties, Table: name})
	if err != nil {
		return nil, err
	}
	return t.Look(ctx)
}

// tables are a topology's table and that of its rejects, which is nil where there is none yet.
type tables struct{ main, rejects *table.Table }

// lookAtBoth loads the tables. What is produced later is in neither: ask for the pattern after it.
func lookAtBoth(ctx context.Context, cfg *config.Config) (ts tables, err error) {
	if ts.main, err = lookAt(ctx, cfg, cfg.Table.Name); err != nil {
		return ts, err
	}
	if cfg.Rejects.Table == "" {
		return ts, nil
	}
	ts.rejects, err = lookAt(ctx, cfg, cfg.Rejects.Table)
	if target.IsMissing(err) {
		return ts, nil // nobody has lived long enough to make it
	}
	if err != nil {
		return ts, fmt.Errorf("load the rejects table: %w", err)
	}
	return ts, nil
}

// checkTables compares the tables with a pattern: both reports in one. o is filled in from the configuration and the pattern.
func checkTables(ctx context.Context, ts tables, cfg *config.Config, p Pattern, o proof.Options) (*proof.Report, error) {
	o.Topologies, o.Topic, o.Partitions, o.Branch = []string{cfg.Name}, p.Topic, int(p.Partitions), cfg.Committer.Branch
	r, err := proof.Check(ctx, ts.main, p, o)
	if err != nil {
		return nil, fmt.Errorf("check the table: %w", err)
	}
	if p.BadEvery == 0 || o.SetByHand {
		return r, nil // what a person skips or has read again makes no reject, or two
	}
	if o.Whole {
		if err := proof.CheckCounts(ts.main, p, o); err != nil {
			r.Add(&proof.Report{Count: map[proof.Kind]int{proof.Miscounted: 1}, Findings: []proof.Finding{{Kind: proof.Miscounted, Detail: err.Error()}}})
		}
	}
	if ts.rejects == nil && o.Whole {
		return nil, errors.New("there is no table of rejects, and bad records were produced")
	}
	if ts.rejects == nil {
		return r, nil
	}
	more, err := proof.CheckRejects(ctx, ts.rejects, p, o)
	if err != nil {
		return nil, err
	}
	r.Add(more)
	return r, nil
}
