package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// state is what is kept in demo.json.
type state struct {
	// Records is how many events were asked for.
	Records int64 `json:"records"`
	// Port is the broker's.
	Port int `json:"port"`
}

func loadState(dir string) (state, error) {
	var s state
	data, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the demo's state: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Records < 0 || s.Port < 0 || s.Port > 65535 {
		return s, fmt.Errorf("%s is not what floe wrote there: remove the folder and start again", filepath.Join(dir, "demo.json"))
	}
	return s, nil
}

func (s state) save(dir string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "demo.json"), append(data, '\n'))
}

// writeFile replaces a file: a reader sees the old content or the new.
func writeFile(path string, data []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// configText is floe.yaml.
func configText(dir, brokerAddr string) string {
	return strings.NewReplacer(
		"@BROKER@", quote(brokerAddr),
		"@CATALOG@", quote(filepath.Join(dir, "catalog.db")),
		"@WAREHOUSE@", quote(filepath.Join(dir, "warehouse")),
	).Replace(configTemplate)
}

const configTemplate = `# Written by floe demo, each time it runs. The broker lives inside of the demo: with a broker of your own at another
# address, change "brokers" and use a copy of this file.
name: demo

source:
  kafka:
    brokers: [@BROKER@]
    topics: [` + Topic + `]
    start: earliest

record:
  format: json

catalog:
  type: sqlite
  uri: @CATALOG@
  warehouse: @WAREHOUSE@

table:
  name: ` + TableName + `
  create:
    schema:
      - {name: id, type: long, required: true}
      - {name: region, type: string}
      - {name: event_time, type: timestamptz}
      - {name: user_id, type: long}
      - {name: event_type, type: string}
      - {name: amount, type: "decimal(10,2)"}
      - {name: page, type: string}
    partition_by: [region, day(event_time)]

writer:
  tasks: 2
  seal: {bytes: 64MiB, interval: 2s}

committer:
  interval: 1s

http: {listen: "off"}    # "127.0.0.1:9464" serves /metrics, /readyz and /status
memory: 256MiB
`

// quote writes text as a YAML value that stands for itself.
func quote(text string) string {
	return strings.ReplaceAll(strconv.Quote(text), "$", "$$")
}

// firstError keeps the first error that several goroutines see.
type firstError struct {
	mu struct {
		sync.Mutex
		err error
	}
}

func (f *firstError) set(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err == nil {
		f.mu.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.err
}
