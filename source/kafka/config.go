package kafka

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"math"
	"net"
	"regexp"
	"strings"
	"time"
)

// Isolation says which records of transactions are read.
type Isolation string

const (
	// ReadCommitted reads committed transactions only. It is the default.
	ReadCommitted Isolation = "read_committed"
	// ReadUncommitted reads everything, also what was or will be aborted.
	ReadUncommitted Isolation = "read_uncommitted"
)

// Config says what to read and how. The zero values of all but Brokers, Group and one of Topics and TopicPattern are
// usable: each has a default.
type Config struct {
	// Brokers are the addresses to begin with, "host:port"; 9092 where the port is missing. Required.
	Brokers []string
	// Topics are read by name. Either Topics or TopicPattern is required, not both.
	Topics []string
	// TopicPattern is a regular expression; every topic whose name it matches is read, except for Kafka's internal ones. Write ^ and
	// $ where the whole name is meant.
	TopicPattern string
	// Group is the consumer group. Required.
	Group string
	// Start is where partitions start that the table has no position for; default StartEarliest.
	Start Start
	// Isolation defaults to ReadCommitted.
	Isolation Isolation

	// ClientID names this client in the brokers' logs and quotas; default "floe".
	ClientID string
	// Rack is this client's rack: the brokers may then send it to a replica nearby. Empty: always read from leaders.
	Rack string

	// FetchMinBytes is what a broker waits for before it answers, FetchMaxWait at most; default 1.
	FetchMinBytes int
	// FetchMaxBytes is about the most in one answer; default 16 MiB. A larger record batch still comes.
	FetchMaxBytes int
	// FetchMaxWait is how long a broker holds a request while there is nothing; default 500 ms.
	FetchMaxWait time.Duration
	// PartitionMaxBytes is about the most of one partition in one answer; default 1 MiB. A larger record batch still
	// comes: the size is raised for its partition until it fits.
	PartitionMaxBytes int
	// MaxRecordBatchBytes is the largest record batch that is read, compressed and decompressed; default 64 MiB. A
	// partition with a larger one fails, so that no batch can take all the memory.
	MaxRecordBatchBytes int
	// MaxBufferedBytes bounds what is delivered and not yet released; default 64 MiB. Beyond it, per broker one record
	// set and one batch can be in memory.
	MaxBufferedBytes int64

	// SessionTimeout is after how long without a sign of life the group gives the partitions to others; default 30 s.
	SessionTimeout time.Duration
	// RebalanceTimeout is how long the group waits for everyone to give up their partitions; default 60 s. The handler's
	// Revoked gets two thirds of it, source.RevokeGrace at most.
	RebalanceTimeout time.Duration
	// HeartbeatInterval is how often a sign of life is sent, and how soon a rebalance is noticed; default 3 s.
	HeartbeatInterval time.Duration

	// DialTimeout bounds making one connection, with TLS and SASL; default 10 s.
	DialTimeout time.Duration
	// RequestTimeout bounds one request and answer, beside the time that the broker may wait; default 30 s.
	RequestTimeout time.Duration
	// MetadataInterval is how often topics, partitions and leaders are looked at; default 30 s.
	MetadataInterval time.Duration
	// StartupTimeout is how long Run waits at its start for a broker to answer and for the topics to appear, and later for a
	// topic that is gone to come back; default 60 s.
	StartupTimeout time.Duration
	// CommitInterval is how long acks are gathered before the group's offsets are written; default 1 s.
	CommitInterval time.Duration

	// TLS is used where it is not nil.
	TLS *tls.Config
	// SASL is used where it is not nil; the functions SASL, OAuthBearer and MSK make one.
	SASL SASLMechanism
	// Dial replaces the dialer's connect function; nil for net.Dialer. Tests use it.
	Dial DialFunc
	// Logger is where passing trouble is described; nil for slog.Default.
	Logger *slog.Logger
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	dur := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	brokers := make([]string, len(c.Brokers))
	for i, b := range c.Brokers {
		brokers[i] = withPort(strings.TrimSpace(b))
	}
	c.Brokers = brokers
	if c.Isolation == "" {
		c.Isolation = ReadCommitted
	}
	if c.ClientID == "" {
		c.ClientID = "floe"
	}
	def(&c.FetchMinBytes, 1)
	def(&c.FetchMaxBytes, 16<<20)
	def(&c.PartitionMaxBytes, 1<<20)
	def(&c.MaxRecordBatchBytes, 64<<20)
	if c.MaxBufferedBytes == 0 {
		c.MaxBufferedBytes = 64 << 20
	}
	dur(&c.FetchMaxWait, 500*time.Millisecond)
	dur(&c.SessionTimeout, 30*time.Second)
	dur(&c.RebalanceTimeout, 60*time.Second)
	dur(&c.HeartbeatInterval, 3*time.Second)
	dur(&c.DialTimeout, 10*time.Second)
	dur(&c.RequestTimeout, 30*time.Second)
	dur(&c.MetadataInterval, 30*time.Second)
	dur(&c.StartupTimeout, 60*time.Second)
	dur(&c.CommitInterval, time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// withPort adds Kafka's port where addr has none.
func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil || addr == "" {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), "9092")
}

// Validate names the first field that is wrong, its value, and what would be right.
func (c Config) Validate() error {
	c = c.withDefaults()
	if len(c.Brokers) == 0 {
		return fmt.Errorf("kafka: brokers is empty; give at least one address, such as localhost:9092")
	}
	for _, b := range c.Brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			return fmt.Errorf("kafka: brokers has %q; an address looks like host:9092", b)
		}
	}
	if err := c.validateTopics(); err != nil {
		return err
	}
	if c.Group == "" {
		return fmt.Errorf("kafka: group is empty; give a consumer group, such as floe-orders")
	}
	if c.Isolation != ReadCommitted && c.Isolation != ReadUncommitted {
		return fmt.Errorf("kafka: isolation is %q; it is read_committed or read_uncommitted", c.Isolation)
	}
	if err := c.Start.validate(); err != nil {
		return err
	}
	if err := c.validateSizes(); err != nil {
		return err
	}
	return c.validateTimes()
}

func (c Config) validateTopics() error {
	if (len(c.Topics) == 0) == (c.TopicPattern == "") {
		return fmt.Errorf("kafka: give either topics or topic_pattern, and not both")
	}
	seen := map[string]bool{}
	for _, t := range c.Topics {
		if t == "" || len(t) > 249 {
			return fmt.Errorf("kafka: topics has %q; a topic's name has 1 to 249 characters", t)
		}
		if seen[t] {
			return fmt.Errorf("kafka: topics names %q twice", t)
		}
		seen[t] = true
	}
	if _, err := regexp.Compile(c.TopicPattern); err != nil {
		return fmt.Errorf("kafka: topic_pattern is no regular expression: %w", err)
	}
	return nil
}

func (c Config) validateSizes() error {
	for _, f := range []struct {
		name     string
		v, least int64
	}{
		{"fetch_min_bytes", int64(c.FetchMinBytes), 1},
		{"fetch_max_bytes", int64(c.FetchMaxBytes), 1024},
		{"partition_max_bytes", int64(c.PartitionMaxBytes), 1024},
		{"max_record_batch_bytes", int64(c.MaxRecordBatchBytes), 1024},
		{"max_buffered_bytes", c.MaxBufferedBytes, 1},
	} {
		if f.v < f.least || f.name != "max_buffered_bytes" && f.v > math.MaxInt32/2 {
			return fmt.Errorf("kafka: %s is %d; it is at least %d and below 1 GiB", f.name, f.v, f.least)
		}
	}
	if c.MaxRecordBatchBytes < c.PartitionMaxBytes {
		return fmt.Errorf("kafka: max_record_batch_bytes is %d, below partition_max_bytes %d; raise it",
			c.MaxRecordBatchBytes, c.PartitionMaxBytes)
	}
	return nil
}

func (c Config) validateTimes() error {
	for _, f := range []struct {
		name string
		v    time.Duration
	}{
		{"fetch_max_wait", c.FetchMaxWait}, {"session_timeout", c.SessionTimeout},
		{"rebalance_timeout", c.RebalanceTimeout}, {"heartbeat_interval", c.HeartbeatInterval},
		{"dial_timeout", c.DialTimeout}, {"request_timeout", c.RequestTimeout},
		{"metadata_interval", c.MetadataInterval}, {"startup_timeout", c.StartupTimeout},
		{"commit_interval", c.CommitInterval},
	} {
		if f.v < time.Millisecond || f.v > 24*time.Hour {
			return fmt.Errorf("kafka: %s is %s; it is at least 1ms and at most 24h", f.name, f.v)
		}
	}
	if c.HeartbeatInterval*2 > c.SessionTimeout {
		return fmt.Errorf("kafka: heartbeat_interval is %s; it is at most half of session_timeout, %s",
			c.HeartbeatInterval, c.SessionTimeout)
	}
	return nil
}
