package matrix

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/services"
)

var (
	real  = flag.Bool("services", false, "start real services and try all rows")
	write = flag.Bool("write", false, "write the rows that went well into docs/compatibility.md, and leave the others there as they are")
	built = flag.String("bin", "", "a folder with floe and proof, both built with -tags cloud; default: they are built")
	keep  = flag.String("dir", "", "a folder for configurations and logs, which are left there; default one that is removed")
)

// TestMatrix tries every row.
func TestMatrix(t *testing.T) {
	if !*real {
		t.Skip("it needs real services: go test -timeout 30m ./test/matrix -args -services")
	}
	dir := *keep
	if dir == "" {
		dir = t.TempDir()
	}
	b := &bench{dir: dir, made: map[string]any{}, s: services.New(dir, os.Stderr)}
	t.Cleanup(b.s.Stop)
	if *built != "" {
		b.floe, b.proof = filepath.Join(*built, "floe"), filepath.Join(*built, "proof")
	} else {
		b.floe, b.proof = build(t, dir, "./cmd/floe"), build(t, dir, "./test/proof")
	}
	reports, skipped := map[string]string{}, 0
	for _, row := range Rows {
		t.Run(row.Name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					skipped++
				}
			}()
			report := b.try(t, row)
			t.Log(report)
			if !t.Failed() {
				reports[row.Name] = report
			}
		})
	}
	t.Logf("%d rows went well, %d were skipped for want of a service", len(reports), skipped)
	if *write {
		for name, outcome := range documented(t) {
			if reports[name] == "" {
				reports[name] = outcome
			}
		}
		if err := os.WriteFile(document, []byte(text(reports)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var document = filepath.Join("..", "..", "docs", "compatibility.md")

const head = `# What floe has been run with

This page is written by the tests (` + "`go test -timeout 30m ./test/matrix -args -services -write`" + `), each row when it went well. In each row
records were produced in transactions, some aborted; ` + "`floe run`" + ` was killed with SIGKILL twice while it worked, and started again until it had
caught up; then the table, and each snapshot of its history, was compared with what was produced, row by row.

| test | Kafka | catalog | tables on | outcome |
|---|---|---|---|---|
`

const programs = `
| what | stood in for by | version |
|---|---|---|
`

const foot = `
Other engines work on the same table, on REST and S3, while ` + "`floe run`" + ` writes it (` + "`.ci/engines`" + `): Spark reads it, rewrites its data files and
manifests, rolls it back, adds a column, widens and renames one, expires all snapshots but one, deletes by copy-on-write and merge-on-read, and
merges; floe is killed in between. After each step every row is compared, as Spark, PyIceberg, DuckDB and a reader in JavaScript see it.

Not run with real services: ` + "`AWS_MSK_IAM`" + ` (the signed token is checked, TestMSKSignsItsToken); clouds themselves, for which the emulators above stand in;
Kerberos, remote signing of S3 requests and Nessie's branches, which floe does not have.
`

// notRun stands for a row's outcome until it has been run.
const notRun = "not run yet"

// text is the document.
func text(reports map[string]string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, r := range Rows {
		report, _, _ := strings.Cut(reports[r.Name], "\n")
		if report == "" {
			report = notRun
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Name, r.Kafka, r.Catalog, r.Store, report)
	}
	b.WriteString(programs)
	for _, p := range Programs {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p[0], p[1], services.Versions[p[2]])
	}
	fmt.Fprintf(&b, "| floe | built by Go | %s |\n", strings.TrimPrefix(runtime.Version(), "go"))
	b.WriteString(foot)
	return b.String()
}

// documented are the outcomes in the document, by row.
func documented(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | "); len(cells) == 5 {
			out[strings.TrimPrefix(cells[0], "| ")] = cells[4]
		}
	}
	return out
}

// TestTheDocumentHasTheRowsOfTheMatrix holds docs/compatibility.md against Rows: what is tried is what is told.
func TestTheDocumentHasTheRowsOfTheMatrix(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for line := range strings.Lines(string(data)) {
		if cells := strings.Split(line, " | "); len(cells) == 5 && (strings.Contains(cells[4], "0 lost, 0 doubled") || strings.HasPrefix(cells[4], notRun)) {
			have = append(have, strings.Join(cells[:4], " | "))
		}
	}
	var want []string
	for _, r := range Rows {
		want = append(want, fmt.Sprintf("| %s | %s | %s | %s", r.Name, r.Kafka, r.Catalog, r.Store))
	}
	if strings.Join(have, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/compatibility.md has\n%s\nthe matrix has\n%s\nwrite it anew: go test -timeout 30m ./test/matrix -args -services -write",
			strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	for _, p := range Programs {
		if v := services.Versions[p[2]]; v != "" && !strings.Contains(string(data), "| "+v+" |") {
			t.Errorf("docs/compatibility.md does not have version %s of %s", v, p[2])
		}
	}
}

// TestRowsHaveNamesOfTheirOwn: topics, tables and folders are named after the rows.
func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows {
		if seen[r.Name] || strings.ContainsAny(r.Name, "_ .") {
			t.Errorf("%q is there twice, or is no name", r.Name)
		}
		seen[r.Name] = true
	}
}
