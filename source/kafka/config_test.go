package kafka

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/stormfloe/floe/source"
)

func TestConfigIsChecked(t *testing.T) {
	good := func() Config { return Config{Brokers: []string{"localhost"}, Topics: []string{"t"}, Group: "g"} }
	if err := good().Validate(); err != nil {
		t.Fatalf("a good configuration is refused: %v", err)
	}
	if got := good().withDefaults().Brokers[0]; got != "localhost:9092" {
		t.Errorf("the address became %q", got)
	}
	for _, tt := range []struct {
		words string
		edit  func(*Config)
	}{
		{"brokers is empty", func(c *Config) { c.Brokers = nil }},
		{`brokers has ""`, func(c *Config) { c.Brokers = []string{""} }},
		{"either topics or topic_pattern", func(c *Config) { c.Topics = nil }},
		{"either topics or topic_pattern", func(c *Config) { c.TopicPattern = "x" }},
		{`names "t" twice`, func(c *Config) { c.Topics = []string{"t", "t"} }},
		{"1 to 249 characters", func(c *Config) { c.Topics = []string{""} }},
		{"no regular expression", func(c *Config) { c.Topics, c.TopicPattern = nil, "(" }},
		{"group is empty", func(c *Config) { c.Group = "" }},
		{`isolation is "serializable"`, func(c *Config) { c.Isolation = "serializable" }},
		{`start is "newest"`, func(c *Config) { c.Start.Kind = "newest" }},
		{"start is a time", func(c *Config) { c.Start.Kind = StartTime }},
		{"start.offsets is empty", func(c *Config) { c.Start.Kind = StartOffsets }},
		{"not negative", func(c *Config) {
			c.Start = Start{Kind: StartOffsets, Offsets: map[string]map[int32]source.Position{"t": {0: -1}}}
		}},
		{"fetch_max_bytes is 10", func(c *Config) { c.FetchMaxBytes = 10 }},
		{"max_record_batch_bytes is 2000, below", func(c *Config) { c.MaxRecordBatchBytes = 2000 }},
		{"session_timeout is -1s", func(c *Config) { c.SessionTimeout = -time.Second }},
		{"at most half of session_timeout", func(c *Config) { c.HeartbeatInterval = 20 * time.Second }},
	} {
		c := good()
		tt.edit(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("got %v; %q was expected", err, tt.words)
		}
		if _, err := New(c); err == nil {
			t.Errorf("New took what Validate refuses: %s", tt.words)
		}
	}
}

func TestEvenBalancer(t *testing.T) {
	member := func(id string, topics ...string) kafkago.GroupMember {
		return kafkago.GroupMember{ID: id, Topics: topics}
	}
	var parts []kafkago.Partition
	for i := range 6 {
		parts = append(parts, kafkago.Partition{Topic: fmt.Sprintf("t%d", i), ID: 0})
	}
	got := evenBalancer{}.AssignGroups([]kafkago.GroupMember{
		member("a", "t0", "t1", "t2", "t3", "t4", "t5"), member("b", "t0", "t1", "t2", "t3", "t4", "t5"), member("c", "t5")}, parts)
	want := kafkago.GroupMemberAssignments{
		"a": {"t0": {0}, "t2": {0}, "t4": {0}},
		"b": {"t1": {0}, "t3": {0}},
		"c": {"t5": {0}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; %v was expected", got, want)
	}
	if got := (evenBalancer{}).AssignGroups(nil, parts); len(got) != 0 {
		t.Errorf("nobody got %v", got)
	}
}

func TestAcks(t *testing.T) {
	p := source.Partition{Topic: "t", ID: 1}
	other := source.Partition{Topic: "t", ID: 2}
	var commits []string
	var fail error
	a := newAcks([]source.Partition{p}, time.Hour, func(o map[string]map[int]int64) error {
		commits = append(commits, fmt.Sprint(o))
		return fail
	}, func(error) {})
	ack := func(q source.Partition, to source.Position) { a.add([]source.Range{{Partition: q, To: to}}) }
	flush := func(want string) {
		t.Helper()
		commits = nil
		a.flush()
		if got := strings.Join(commits, " "); got != want {
			t.Errorf("committed %q; %q was expected", got, want)
		}
	}
	ack(other, 5)
	flush("")
	ack(p, 3)
	ack(p, 7)
	ack(p, 4)
	flush("map[t:map[1:7]]")
	ack(p, 6)
	flush("")
	fail = errors.New("broken")
	ack(p, 8)
	flush("map[t:map[1:8]]")
	fail = nil
	flush("map[t:map[1:8]]") // what failed is tried again
	a.rewind(p, 2)
	ack(p, 4)
	flush("map[t:map[1:4]]")
	fail = kafkago.UnknownTopicOrPartition
	ack(p, 9)
	flush("map[t:map[1:9]]")
	flush("") // a topic that is gone takes nothing
	a.close()
	ack(p, 20)
	flush("")
}

func TestSASLNames(t *testing.T) {
	for _, name := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		if m, err := SASL(name, "user", "secret"); err != nil || m.Name() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tt := range []struct{ name, user, password, words string }{
		{"GSSAPI", "user", "secret", `sasl.mechanism is "GSSAPI"`},
		{"PLAIN", "", "secret", "needs a username"},
		{"PLAIN", "user", "", "needs a username and a password"},
		{"SCRAM-SHA-256", "user", "secret\x00", "characters that SCRAM forbids"},
	} {
		_, err := SASL(tt.name, tt.user, tt.password)
		if err == nil || !strings.Contains(err.Error(), tt.words) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v; %q was expected", err, tt.words)
		}
	}
}
