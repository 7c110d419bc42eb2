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
	report, err := checkTable(ctx, tbl, p, cfg.Name, cfg.Committer.Branch, !*partial)
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

func checkTable(ctx context.Context, tbl *table.Table, p Pattern, topology, branch string, whole bool) (*proof.Report, error) {
	r, err := proof.Check(ctx, tbl, p, proof.Options{Topologies: []string{topology}, Topic: p.Topic, Partitions: int(p.Partitions),
		Branch: branch, Whole: whole})
	if err != nil {
		return nil, fmt.Errorf("check the table: %w", err)
	}
	return r, nil
}
