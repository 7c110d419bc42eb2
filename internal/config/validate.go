package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	topologyName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	topicName    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
	walNamespace = regexp.MustCompile(`^[A-Za-z0-9._-]{0,128}$`)
)

// minMemory is the least that the fetch, the open files and the descriptors waiting fit in.
const minMemory = 64 << 20

// validator collects what is wrong with values that have the right type.
type validator struct {
	c    *Config
	errs Errors
}

func (c *Config) validate() Errors {
	v := &validator{c: c}
	if c.Name == "" {
		v.fail("name", "is missing; write a name for this topology, such as %q: it is its identity in the table", "orders")
	} else {
		v.check(topologyName.MatchString(c.Name) && c.Name != "." && c.Name != "..", "name",
			"%q must be 1 to 128 letters, digits, dots, dashes and underscores", c.Name)
	}
	v.kafka()
	v.record()
	v.rejects()
	v.catalogAndTable()
	v.writerAndCommitter()
	v.process()
	return v.errs
}

// fail records an error at key, with the line of the nearest key that is in the file.
func (v *validator) fail(key, format string, args ...any) {
	line := 0
	for at := key; at != "" && line == 0; {
		line = v.c.lines[at]
		i := strings.LastIndexAny(at, ".[")
		at = at[:max(i, 0)]
	}
	v.errs = append(v.errs, &Error{File: v.c.file, Line: line, Key: key, Msg: fmt.Sprintf(format, args...)})
}

func (v *validator) check(ok bool, key, format string, args ...any) {
	if !ok {
		v.fail(key, format, args...)
	}
}

// oneOf checks a word: those of the key are in its field's tag.
func (v *validator) oneOf(key, value string) {
	words := wordsOf(key)
	if !slices.Contains(words, value) {
		v.fail(key, "%q is not known; write %s", value, either(words))
	}
}

func (v *validator) kafka() {
	k := v.c.Source.Kafka
	if k == nil {
		v.fail("source.kafka", "is missing; write the brokers and topics to read")
		return
	}
	v.check(len(k.Brokers) > 0, "source.kafka.brokers", `is missing; write at least one, such as ["localhost:9092"]`)
	for i, b := range k.Brokers {
		v.hostPort(fmt.Sprintf("source.kafka.brokers[%d]", i), b, "localhost:9092")
	}
	v.topics(k)
	v.check(k.Group != "", "source.kafka.group", "is empty; write a name or remove the key")
	v.oneOf("source.kafka.isolation", k.Isolation)
	v.security(k)
	f := k.Fetch
	v.size("source.kafka.fetch.min_bytes", f.MinBytes, 1)
	v.size("source.kafka.fetch.max_bytes", f.MaxBytes, 1<<10)
	v.size("source.kafka.fetch.partition_max_bytes", f.PartitionMaxBytes, 1<<10)
	v.size("source.kafka.fetch.max_record_batch_bytes", f.MaxRecordBatchBytes, 1<<10)
	v.check(f.MaxRecordBatchBytes >= f.PartitionMaxBytes, "source.kafka.fetch.max_record_batch_bytes",
		"%s is below partition_max_bytes (%s); raise it", f.MaxRecordBatchBytes, f.PartitionMaxBytes)
	for key, d := range map[string]time.Duration{
		"fetch.max_wait": f.MaxWait, "dial_timeout": k.DialTimeout, "request_timeout": k.RequestTimeout,
		"session_timeout": k.SessionTimeout, "heartbeat_interval": k.HeartbeatInterval,
		"rebalance_timeout": k.RebalanceTimeout, "metadata_interval": k.MetadataInterval,
	} {
		v.check(d >= time.Millisecond && d <= 24*time.Hour, "source.kafka."+key, "%s must be between 1ms and 24h", d)
	}
	v.check(k.HeartbeatInterval*2 <= k.SessionTimeout, "source.kafka.heartbeat_interval",
		"%s must be at most half of session_timeout (%s)", k.HeartbeatInterval, k.SessionTimeout)
	v.check(f.MaxWait < k.RequestTimeout, "source.kafka.fetch.max_wait",
		"%s must be below request_timeout (%s)", f.MaxWait, k.RequestTimeout)
}

func (v *validator) topics(k *Kafka) {
	switch {
	case len(k.Topics) == 0 && k.TopicPattern == "":
		v.fail("source.kafka.topics", "is missing; write the topics to read, such as [orders], or a topic_pattern")
	case len(k.Topics) > 0 && k.TopicPattern != "":
		v.fail("source.kafka.topic_pattern", "stands beside topics; write one of the two")
	}
	seen := map[string]bool{}
	for i, t := range k.Topics {
		key := fmt.Sprintf("source.kafka.topics[%d]", i)
		v.check(topicName.MatchString(t) && t != "." && t != "..", key,
			"%q is not a topic's name: 1 to 249 letters, digits, dots, dashes and underscores; for a regular expression use topic_pattern", t)
		v.check(!seen[t], key, "%q is listed twice; remove one", t)
		seen[t] = true
	}
	if k.TopicPattern != "" {
		_, err := regexp.Compile(k.TopicPattern)
		var syn *syntax.Error
		why := ""
		if errors.As(err, &syn) {
			why = ": " + syn.Code.String()
		}
		v.check(err == nil, "source.kafka.topic_pattern", "%q is not a regular expression%s; write one such as \"^orders-.*$\"", k.TopicPattern, why)
	}
	if k.Start.Kind == StartTime {
		v.check(k.Start.Time.UnixMilli() >= 0, "source.kafka.start", "%s is before 1970; %s", k.Start, startHint)
	}
	if k.Start.Kind == StartOffsets {
		v.check(len(k.Start.Offsets) > 0, "source.kafka.start", "has no offsets; %s", startHint)
	}
	for t := range k.Start.Offsets {
		v.check(k.TopicPattern != "" || seen[t], "source.kafka.start.offsets."+t, "the topic is not among source.kafka.topics")
	}
}

func (v *validator) security(k *Kafka) {
	if k.SASL != nil {
		v.sasl(k.SASL)
	}
	if k.TLS != nil {
		v.tls("source.kafka.tls", k.TLS)
	}
}

func (v *validator) tls(key string, t *TLS) {
	v.file(key+".ca_file", t.CAFile)
	v.file(key+".cert_file", t.CertFile)
	v.file(key+".key_file", t.KeyFile)
	v.check((t.CertFile == "") == (t.KeyFile == ""), key, "cert_file and key_file belong together; write both or neither")
}

func (v *validator) file(key, path string) {
	if path == "" {
		return
	}
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		v.fail(key, "there is no file %s; a relative path starts at the folder of the configuration", path)
	case err != nil:
		v.fail(key, "%s can't be read: %v", path, plainPathError(err))
	case info.IsDir():
		v.fail(key, "%s is a folder; write the path of a file", path)
	}
}

func (v *validator) catalogAndTable() {
	v.check(len(v.c.Catalog.Properties) > 0, "catalog",
		"is missing; write the catalog's own keys, such as {type: rest, uri: \"http://localhost:8181\"} or {type: sqlite, uri: catalog.db, warehouse: /data/warehouse}")
	t := v.c.Table
	switch parts := strings.Split(t.Name, "."); {
	case t.Name == "":
		v.fail("table.name", "is missing; write namespace and table, such as db.orders")
	case len(parts) < 2:
		v.fail("table.name", "%q has no namespace; write namespace and table, such as db.%s", t.Name, t.Name)
	default:
		for _, p := range parts {
			if strings.TrimSpace(p) == "" {
				v.fail("table.name", "%q has an empty part; write namespace and table, such as db.orders", t.Name)
				break
			}
		}
	}
	v.evolve()
	switch reg := v.c.Record.Registry; {
	case t.Create != nil:
		v.create(t.Create)
	case reg != nil:
		v.check(reg.Subject == "", "record.registry.subject", "belongs to table.create.from: registry; write that, or remove the key")
	}
}

func (v *validator) writerAndCommitter() {
	w, c := v.c.Writer, v.c.Committer
	v.between("writer.tasks", int64(w.Tasks), 1, 1024)
	v.between("writer.max_open_files", int64(w.MaxOpenFiles), 1, 1_000_000)
	v.check(w.Seal.Records >= 0, "writer.seal.records", "%d is negative; write 0 for no limit", w.Seal.Records)
	v.check(w.Seal.Bytes >= 0, "writer.seal.bytes", "%d is negative; write 0 for no limit", w.Seal.Bytes)
	seen := map[string]bool{}
	for i, g := range w.GroupBy {
		v.check(g != "" && !seen[g], fmt.Sprintf("writer.group_by[%d]", i), "%q is empty or there twice; write each column once", g)
		seen[g] = true
	}
	v.check(c.Interval <= time.Hour, "committer.interval", "%s is longer than an hour; rows are visible only after it", c.Interval)
	v.between("committer.max_data_files", int64(c.MaxDataFiles), 1, 1_000_000)
	v.check(walNamespace.MatchString(c.WALNamespace) && c.WALNamespace != "." && c.WALNamespace != "..", "committer.wal_namespace",
		"%q must be letters, digits, dots, dashes and underscores: it names a folder", c.WALNamespace)
	v.check(c.Branch != "", "committer.branch", "is empty; write main or remove the key")
}

func (v *validator) process() {
	c := v.c
	if !c.HTTP.Off() {
		v.hostPort("http.listen", c.HTTP.Listen, "127.0.0.1:9464")
	}
	v.check(c.Memory >= minMemory, "memory", "%s is too little; write at least %s", c.Memory, Size(minMemory))
	v.oneOf("log.level", c.Log.Level)
	v.oneOf("log.format", c.Log.Format)
	v.check(c.ShutdownTimeout > 0, "shutdown_timeout", "is 0; write how long the last commit may take, such as 30s")
	v.check(c.StartupTimeout > 0, "startup_timeout", "is 0; write how long to wait for the catalog and the brokers, such as 60s")
}

func (v *validator) between(key string, value, low, high int64) {
	v.check(value >= low && value <= high, key, "%d must be between %d and %d", value, low, high)
}

// size checks a size that travels to the broker in 31 bits.
func (v *validator) size(key string, s, least Size) {
	v.check(s >= least && s < 1<<30, key, "%s must be at least %s and below 1GiB", s, least)
}

func (v *validator) hostPort(key, value, example string) {
	host, port, err := net.SplitHostPort(value)
	n, perr := strconv.ParseUint(port, 10, 16)
	ok := err == nil && perr == nil && (host != "" || key == "http.listen") && (n > 0 || key == "http.listen")
	v.check(ok, key, "%q is not host:port; write it such as %q", value, example)
}
