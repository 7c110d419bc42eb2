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
	tbl, err := lookAt(ctx, cfg)
	if err != nil {
		return errors.New(cfg.Redact(err.Error()))
	}
	report, err := checkTable(ctx, tbl, cfg, p, proof.Options{Whole: !*partial, SetByHand: *byHand})
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

// lookAt loads the table of a configuration without making anything.
func lookAt(ctx context.Context, cfg *config.Config) (*table.Table, error) {
	t, err := target.New(target.Config{Catalog: cfg.Catalog.Properties, Table: cfg.Table.Name})
	if err != nil {
		return nil, err
	}
	return t.Look(ctx)
}

// checkTable fills in what the configuration and the pattern say.
func checkTable(ctx context.Context, tbl *table.Table, cfg *config.Config, p Pattern, o proof.Options) (*proof.Report, error) {
	o.Topologies, o.Topic, o.Partitions, o.Branch = []string{cfg.Name}, p.Topic, int(p.Partitions), cfg.Committer.Branch
	r, err := proof.Check(ctx, tbl, p, o)
	if err != nil {
		return nil, fmt.Errorf("check the table: %w", err)
	}
	return r, nil
}
