package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Config is a whole configuration with its defaults filled in.
type Config struct {
	// Name is the topology's identity in the table: 1 to 128 letters, digits, dots, dashes and underscores. Required.
	Name string `yaml:"name" required:"true"`
	// Source is what records come from. Required.
	Source Source `yaml:"source" required:"true"`
	// Record says how a record becomes a row.
	Record Record `yaml:"record"`
	// Catalog has the catalog's own keys, verbatim: type, uri, warehouse and so on. Required.
	Catalog Catalog `yaml:"catalog" required:"true"`
	// Table is the table that is written to. Required.
	Table Table `yaml:"table" required:"true"`
	// Rejects says where records go that can't become rows, and when there are too many.
	Rejects Rejects `yaml:"rejects"`
	// Writer is the writers' part.
	Writer Writer `yaml:"writer"`
	// Committer is the committer's part.
	Committer Committer `yaml:"committer"`
	// HTTP is the server for the page, metrics, health and status.
	HTTP HTTP `yaml:"http"`
	// Memory bounds the process. Default 256MiB.
	Memory Size `yaml:"memory"`
	// Log is how the log is written.
	Log Log `yaml:"log"`
	// StartupTimeout is how long a catalog or a broker that is away is waited for at the start. Default 60s.
	StartupTimeout time.Duration `yaml:"startup_timeout"`
	// ShutdownTimeout is how long the open batches may take to be sealed and committed at the end. Default 30s.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout"`

	file    string
	lines   map[string]int
	secrets []string
}

// Source is what records come from. Kafka is the only one.
type Source struct {
	// Kafka is the cluster that is read, and what of it. Required.
	Kafka *Kafka `yaml:"kafka" required:"true"`
}

// Kafka is source.kafka.
type Kafka struct {
	// Brokers are host:port, at least one.
	Brokers []string `yaml:"brokers" required:"true"`
	// Topics or TopicPattern say what is read. The pattern is a regular expression; write ^ and $ where it is to match the
	// whole name.
	Topics       []string `yaml:"topics"`
	TopicPattern string   `yaml:"topic_pattern"`
	// Group is the consumer group. Default floe-<name>.
	Group string `yaml:"group"`
	// Start is where topics start that the table has no position for. Default earliest.
	Start Start `yaml:"start"`
	// Isolation is read_committed (default) or read_uncommitted.
	Isolation string `yaml:"isolation" oneof:"read_committed read_uncommitted"`
	// SASL is who floe is to the brokers. Default nobody.
	SASL *SASL `yaml:"sasl"`
	// TLS is used where the key is present, also with nothing in it.
	TLS *TLS `yaml:"tls"`
	// Rack lets a broker of the same rack answer fetches.
	Rack string `yaml:"rack"`
	// ClientID is told to the broker. Default floe.
	ClientID string `yaml:"client_id"`
	// Fetch is how much the brokers are asked for at a time.
	Fetch Fetch `yaml:"fetch"`
	// DialTimeout and RequestTimeout bound connecting and each request. Defaults 10s and 30s.
	DialTimeout    time.Duration `yaml:"dial_timeout"`
	RequestTimeout time.Duration `yaml:"request_timeout"`
	// SessionTimeout, HeartbeatInterval and RebalanceTimeout are the consumer group's. Defaults 30s, 3s and 60s.
	SessionTimeout    time.Duration `yaml:"session_timeout"`
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval"`
	RebalanceTimeout  time.Duration `yaml:"rebalance_timeout"`
	// MetadataInterval is how often new partitions and topics are looked for. Default 30s.
	MetadataInterval time.Duration `yaml:"metadata_interval"`
}

// TLS is source.kafka.tls and record.registry.tls. Relative paths start at the configuration's folder.
type TLS struct {
	// CAFile holds the certificates that are trusted. Default: the system's.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the client's own, both or neither.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is expected in the broker's certificate. Default: the host that was dialled.
	ServerName string `yaml:"server_name"`
	// InsecureSkipVerify trusts any certificate.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify"`
}

// Fetch is source.kafka.fetch.
type Fetch struct {
	// MaxWait is how long the broker may wait for MinBytes. Defaults 500ms and 1.
	MaxWait  time.Duration `yaml:"max_wait"`
	MinBytes Size          `yaml:"min_bytes"`
	// MaxBytes bounds an answer, PartitionMaxBytes each partition's part in it. Defaults 16MiB and 1MiB. A record batch
	// that is larger is still read.
	MaxBytes          Size `yaml:"max_bytes"`
	PartitionMaxBytes Size `yaml:"partition_max_bytes"`
	// MaxRecordBatchBytes is the largest record batch that is read, compressed and decompressed; a partition with a
	// larger one is stopped. Default 64MiB.
	MaxRecordBatchBytes Size `yaml:"max_record_batch_bytes"`
}

// Catalog holds the catalog's own keys, verbatim: type, uri, warehouse and so on.
type Catalog struct {
	Properties Properties
}

// Table is the table that is written to.
type Table struct {
	// Name is namespace.table, with as many levels of namespace as the catalog has.
	Name string `yaml:"name" required:"true"`
	// Create makes the table where it does not exist. Nil: it must exist.
	Create *Create `yaml:"create"`
	// Evolve are the changes of the schema that records may ask for: add, widen, optional. Default none.
	Evolve []string `yaml:"evolve" oneof:"add widen optional"`
	// EvolveMaxColumns is how many columns the table may have for a record to add one, those inside of others counted.
	// Default 1000.
	EvolveMaxColumns int `yaml:"evolve_max_columns"`
}

// Writer is the writers' part.
type Writer struct {
	// Tasks is the number of writers. Default 2.
	Tasks int `yaml:"tasks"`
	// GroupBy are columns: fields grouping. Default: by source partition.
	GroupBy []string `yaml:"group_by"`
	// Seal says when a batch is closed: on the first threshold that is crossed.
	Seal Seal `yaml:"seal"`
	// MaxOpenFiles caps the Iceberg partitions open at once in one writer. Default 256.
	MaxOpenFiles int `yaml:"max_open_files"`
}

// Seal says when a batch is closed: on the first threshold that is crossed.
type Seal struct {
	// Records, where it is not zero.
	Records int64 `yaml:"records"`
	// Bytes: default 128MiB where Records is not set either, and otherwise none.
	Bytes Size `yaml:"bytes"`
	// Interval is the batch's age. Default 30s, also beside the others, so that a quiet stream is sealed; 0 is none.
	Interval time.Duration `yaml:"interval"`
}

// Committer is the committer's part.
type Committer struct {
	// Interval gathers batches into one commit. Default 5s.
	Interval time.Duration `yaml:"interval"`
	// MaxDataFiles commits earlier. Default 1000.
	MaxDataFiles int `yaml:"max_data_files"`
	// WALNamespace separates WAL folders, and nothing else.
	WALNamespace string `yaml:"wal_namespace"`
	// Branch is committed to. Default main.
	Branch string `yaml:"branch"`
	// ExpireSnapshots takes old snapshots off the table, by its own properties. Default false.
	ExpireSnapshots bool `yaml:"expire_snapshots"`
}

// HTTP is the server for metrics, health and status.
type HTTP struct {
	// Listen is host:port. Default 127.0.0.1:9464. Empty or off: no server.
	Listen string `yaml:"listen"`
	// Pprof adds Go's profiles at /debug/pprof, for whoever can reach Listen. Default false.
	Pprof bool `yaml:"pprof"`
}

// Off says that no server is wanted.
func (h HTTP) Off() bool { return h.Listen == "" || h.Listen == "off" }

// Log is how the log is written.
type Log struct {
	// Level is debug, info (default), warn or error.
	Level string `yaml:"level" oneof:"debug info warn error"`
	// Format is text (default) or json.
	Format string `yaml:"format" oneof:"text json"`
}

// Load reads the configuration at path. A configuration that is wrong is Errors; a file that can't be read is an
// *Error.
func Load(path string, env Env) (*Config, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, &Error{File: path, Msg: "there is no such file; give the path of a configuration"}
	case err == nil && info.IsDir():
		return nil, &Error{File: path, Msg: "is a folder; give the path of the configuration in it"}
	case err == nil && info.Size() > maxFile:
		return nil, &Error{File: path, Msg: fmt.Sprintf("has %d bytes; a configuration has at most %d", info.Size(), maxFile)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{File: path, Msg: fmt.Sprintf("can't be read: %v", plainPathError(err))}
	}
	return Parse(path, data, env)
}

// Parse reads a configuration from memory. file is its name in errors, and its folder is where relative paths start.
func Parse(file string, data []byte, env Env) (*Config, error) {
	cfg := defaults()
	d := &decoder{file: file, lines: map[string]int{}, x: expander{env: env, dir: filepath.Dir(file)}}
	d.document(data, cfg)
	cfg.file, cfg.lines, cfg.secrets = file, d.lines, d.x.secrets
	if len(d.errs) == 0 {
		cfg.finish()
		d.errs = cfg.validate()
	}
	if len(d.errs) > 0 {
		return nil, d.report()
	}
	return cfg, nil
}

// File is the path the configuration came from.
func (c *Config) File() string { return c.file }

// Redact takes every secret out of a text that comes from elsewhere: passwords, the content of files, and what variables
// brought into the catalog's keys.
func (c *Config) Redact(text string) string { return redact(text, c.secrets) }

func redact(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, redacted)
	}
	return text
}

func defaults() *Config {
	return &Config{
		Record:          Record{Format: "json", Case: "exact", Envelope: "none", Debezium: defaultDebezium(), OnBadRecord: "reject", Tombstones: "filter"},
		Table:           Table{EvolveMaxColumns: 1000},
		Rejects:         Rejects{Stop: RejectsStop{Share: 0.5, Of: 1000, Per: time.Minute}},
		Writer:          Writer{Tasks: 2, MaxOpenFiles: 256, Seal: Seal{Interval: 30 * time.Second}},
		Committer:       Committer{Interval: 5 * time.Second, MaxDataFiles: 1000, Branch: "main"},
		HTTP:            HTTP{Listen: "127.0.0.1:9464"},
		Memory:          256 << 20,
		Log:             Log{Level: "info", Format: "text"},
		StartupTimeout:  60 * time.Second,
		ShutdownTimeout: 30 * time.Second,
	}
}

func defaultKafka() *Kafka {
	return &Kafka{
		Isolation:         "read_committed",
		ClientID:          "floe",
		Fetch:             Fetch{MaxWait: 500 * time.Millisecond, MinBytes: 1, MaxBytes: 16 << 20, PartitionMaxBytes: 1 << 20, MaxRecordBatchBytes: 64 << 20},
		DialTimeout:       10 * time.Second,
		RequestTimeout:    30 * time.Second,
		SessionTimeout:    30 * time.Second,
		HeartbeatInterval: 3 * time.Second,
		RebalanceTimeout:  60 * time.Second,
		MetadataInterval:  30 * time.Second,
	}
}

// finish fills in what depends on other values, and makes paths absolute where they are relative to the file.
func (c *Config) finish() {
	c.Record.finish(c)
	c.finishUnknown()
	c.finishCreate()
	c.Rejects.finish(c)
	k := c.Source.Kafka
	if k == nil {
		return
	}
	if k.Group == "" {
		k.Group = "floe-" + c.Name
	}
	c.absoluteTLS(k.TLS)
	if k.SASL != nil {
		c.absolute(&k.SASL.TokenFile)
	}
	if s := &c.Writer.Seal; s.Records == 0 && s.Bytes == 0 {
		s.Bytes = 128 << 20
	}
}

func (c *Config) absoluteTLS(t *TLS) {
	if t != nil {
		c.absolute(&t.CAFile, &t.CertFile, &t.KeyFile)
	}
}

// absolute lets relative paths start at the configuration's folder.
func (c *Config) absolute(paths ...*string) {
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(c.file), *p)
		}
	}
}
