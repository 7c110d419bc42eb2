package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/topology"
)

// fileRunner does for demo and bench what run does, by the same code, with a configuration file that they have written. The log
// is a file beside it.
type fileRunner struct {
	cli    *cli
	killed <-chan struct{}
}

func (f fileRunner) runFile(ctx context.Context, path string, untilCaughtUp bool, started func(*topology.Topology)) (err error) {
	cfg, err := config.Load(path, f.cli.env)
	if err != nil {
		return err
	}
	logFile, err := os.OpenFile(filepath.Join(filepath.Dir(path), "floe.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer func() {
		if cerr := logFile.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("close the log: %w", cerr)
		}
	}()
	r := &runner{cfgs: []*config.Config{cfg}, log: newLogger(logFile, cfg), untilCaughtUp: untilCaughtUp, killed: f.killed,
		started: func(_ int, t *topology.Topology) { started(t) }}
	errs, err := r.run(ctx)
	if err != nil {
		return err
	}
	return errs[0]
}
