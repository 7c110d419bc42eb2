package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/proof"
)

func mkdir(dir string) error { return os.MkdirAll(dir, 0o755) }

// finish ends the replicas, by a signal that the seed draws, lets floe catch up with everything that was produced, and
// checks the whole table.
func (r *round) finish(ctx context.Context) error {
	r.waking.Wait()
	last := Fault{Kind: Kill, Victims: []int{0, 1}}
	if r.schedule.one(2) {
		last.Kind = Term
	}
	for _, p := range r.lives {
		p.end(last.Kind)
	}
	for i, p := range r.lives {
		if !p.hasEnded(shutdownTimeout + 10*time.Second) {
			r.found("hang", fmt.Sprintf("replica %d does not end after %s\n%s", i, last.Kind, lastLines(r.log(i), tail)))
			return errFound
		}
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if r.proxy != nil {
		// What is still under way to the catalog arrives before the last look.
		_, _ = r.proxy.handler.Release()
	}
	r.hands.Wait()
	cfg, err := r.directConfig()
	if err != nil {
		return err
	}
	return r.check(ctx, cfg, r.producer.produced, true)
}

// catchUp runs both replicas until the table holds everything.
func (r *round) catchUp(ctx context.Context) error {
	for i := range replicas {
		if err := r.launch(i, true); err != nil {
			return err
		}
	}
	for i, p := range r.lives {
		if !p.hasEnded(r.o.hang) {
			r.found("hang", fmt.Sprintf("replica %d has not caught up in %s\n%s", i, r.o.hang, lastLines(r.log(i), tail)))
			return errFound
		}
		if !p.state.Success() {
			r.found("exit", fmt.Sprintf("replica %d, to run until it has caught up, ended with %s\n%s", i, p.state, lastLines(r.log(i), tail)))
			return errFound
		}
	}
	return ctx.Err()
}

// killAll ends what is left.
func (r *round) killAll() {
	for _, p := range r.lives {
		if p != nil && p.askedFor() == "" {
			p.end(Kill)
		} else if p != nil {
			_ = p.cmd.Process.Kill()
		}
	}
	for _, p := range r.lives {
		if p != nil {
			<-p.done
		}
	}
	r.waking.Wait()
	r.hands.Wait()
}

// sum adds a round's end to the figures.
func (r *round) sum(tbl *table.Table, p Pattern, report *proof.Report) {
	commits := 0
	for _, s := range tbl.Metadata().Snapshots() {
		if s.Summary != nil && s.Summary.Properties["storm.iceberg.commit-id"] != "" {
			commits++
		}
	}
	var files int64
	if s := tbl.CurrentSnapshot(); s != nil && s.Summary != nil {
		files, _ = strconv.ParseInt(s.Summary.Properties["total-data-files"], 10, 64) // 0 where nobody has counted
	}
	rows, rejects := p.count(proof.Row), p.count(proof.Rejected)
	r.count.add(func(f *Figures) {
		f.Transactions += p.Transactions
		f.Records += p.Transactions * p.Records * int64(p.Partitions)
		f.Rows += rows
		f.Rejects += rejects
		f.Snapshots += report.Snapshots
		f.Commits += commits
		f.Files += files
	})
}
