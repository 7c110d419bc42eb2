package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// TableName is the demo's table.
const TableName = "demo.events"

// DefaultRecords is how many events a new folder gets.
const DefaultRecords = 100_000

// CatalogName is what the SQLite catalog calls itself; readers of the file must use the same.
const CatalogName = "default"

// Runner runs floe itself, by a configuration file: the demo does what `floe run` does.
type Runner interface {
	// RunUntilCaughtUp runs the topology of the configuration until the table holds everything the broker held at the
	// start. committed is told now and then how many records are in the table, counted by its positions.
	RunUntilCaughtUp(ctx context.Context, config string, committed func(n int64)) error
	// Table is the table of the configuration, to be read back.
	Table(config string) (Table, error)
}

// Table is a table that Load loads; Close is called when it is not used any more.
type Table interface {
	Load(ctx context.Context) (*table.Table, error)
	Close() error
}

// Options of a demo.
type Options struct {
	// Dir keeps everything. Empty: a new temporary folder, which is kept as well.
	Dir string
	// Records is how many events there are to be in all, over all runs on one folder. 0: as many as the run before
	// wanted, DefaultRecords in a new folder. A folder that holds more keeps them.
	Records int64
	// Runner is required.
	Runner Runner
	// Progress is told what the demo is doing, from one goroutine at a time. It may be nil.
	Progress func(Progress)
}

// Progress is a step of the demo and how far it has come.
type Progress struct {
	// Step is "produce", "ingest" or "verify".
	Step string
	// Done of Total events.
	Done, Total int64
}

// Outcome is what a demo has done. It is the object that --json prints.
type Outcome struct {
	OK bool `json:"ok"`
	// Records is how many events the broker holds, Produced how many of them this run appended.
	Records  int64 `json:"records"`
	Produced int64 `json:"produced"`
	// Check is what was found in the table.
	Check Check `json:"check"`
	// ProduceSeconds, IngestSeconds and VerifySeconds are how long the steps took.
	ProduceSeconds float64 `json:"produce_seconds"`
	IngestSeconds  float64 `json:"ingest_seconds"`
	VerifySeconds  float64 `json:"verify_seconds"`

	Dir              string     `json:"dir"`
	Config           string     `json:"config"`
	Table            string     `json:"table"`
	Location         string     `json:"location"`
	MetadataLocation string     `json:"metadata_location"`
	Snapshots        []Snapshot `json:"snapshots"`
	Queries          Queries    `json:"queries"`
}

// Run runs the demo. Where it fails it may give an Outcome as well: with a Check that is not OK, or with the folder.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Records < 0 {
		return nil, fmt.Errorf("the number of records is %d; it must not be negative", o.Records)
	}
	dir, err := prepare(o.Dir)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Dir: dir, Config: filepath.Join(dir, "floe.yaml"), Table: TableName}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, err := loadState(dir)
	if err != nil {
		return out, err
	}
	if o.Records == 0 {
		o.Records = st.Records
	}
	if o.Records == 0 {
		o.Records = DefaultRecords
	}
	b, err := startBroker(filepath.Join(dir, "broker"), st.Port)
	if err != nil {
		return out, err
	}
	defer b.close()
	st.Records, st.Port = o.Records, b.port()
	if err := errors.Join(st.save(dir), writeFile(out.Config, []byte(configText(dir, b.addr)))); err != nil {
		return out, fmt.Errorf("write the configuration: %w", err)
	}
	return out, steps(ctx, o, b, out)
}

// steps produces, runs the topology, and looks at the table.
func steps(ctx context.Context, o Options, b *broker, out *Outcome) error {
	began := time.Now()
	var err error
	out.Produced, err = b.produce(ctx, o.Records, func(held int64) {
		o.Progress(Progress{Step: "produce", Done: held, Total: max(o.Records, held)})
	})
	out.Records, out.ProduceSeconds = b.held(), since(began)
	if err != nil {
		return err
	}
	began = time.Now()
	ingested := func(n int64) {
		o.Progress(Progress{Step: "ingest", Done: min(n, out.Records), Total: out.Records})
	}
	ingested(0)
	err = o.Runner.RunUntilCaughtUp(ctx, out.Config, ingested)
	out.IngestSeconds = since(began)
	var gone *source.PositionError
	switch {
	case errors.As(err, &gone):
		return fmt.Errorf("the records in %s are not those that the table was written from, since one of the two was removed or "+
			"replaced; remove %s and start again: %w", filepath.Join(out.Dir, "broker"), out.Dir, gone)
	case err != nil:
		return fmt.Errorf("run %s: %w", out.Config, err)
	}
	ingested(out.Records)
	return readBack(ctx, o, b, out)
}

// readBack looks at every row of the table.
func readBack(ctx context.Context, o Options, b *broker, out *Outcome) (err error) {
	began := time.Now()
	t, err := o.Runner.Table(out.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	tbl, err := t.Load(ctx)
	if err != nil {
		return err
	}
	out.describe(tbl)
	out.Check, err = verify(ctx, tbl, b.ends(), func(rows int64) {
		o.Progress(Progress{Step: "verify", Done: rows, Total: out.Records})
	})
	out.VerifySeconds = since(began)
	if err != nil {
		return err
	}
	out.OK = out.Check.OK()
	if !out.OK {
		return fmt.Errorf("the table %s does not hold each event once: %s", TableName, out.Check)
	}
	return nil
}

func since(t time.Time) float64 { return float64(time.Since(t).Milliseconds()) / 1000 }

// plainPath is a path that means the same to every reader of the table's metadata, where it stands in URIs.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9._/:-]+$`)

// prepare makes the folder and gives its absolute path.
func prepare(dir string) (string, error) {
	if dir == "" {
		dir, err := os.MkdirTemp("", "floe-demo-")
		if err != nil {
			return "", fmt.Errorf("make a temporary folder: %w", err)
		}
		return dir, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", dir, err)
	}
	if !plainPath.MatchString(filepath.ToSlash(abs)) {
		return "", fmt.Errorf("the folder %s has characters in its path that Iceberg's readers do not agree on; choose another with --dir, "+
			"of letters, digits and - _ . /", abs)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fmt.Errorf("make the folder %s: %w; choose another with --dir", abs, errors.Unwrap(err))
	}
	return abs, nil
}
