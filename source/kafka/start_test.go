package kafka_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/source/sourcetest"
)

func TestStartVariants(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	base := time.UnixMilli(1_700_000_000_000)
	for i := range 10 {
		k.Produce("topic", 0, &kgo.Record{Value: []byte("x"), Timestamp: base.Add(time.Duration(i) * time.Second)})
	}
	k.Transaction("t", false, "topic", 0, kafkatest.Values(0, 2)...)
	k.DeleteRecords("topic", 0, 2)
	commit(t, k, "topic", 0, 6)
	for _, tt := range []struct {
		name      string
		start     kafka.Start
		isolation kafka.Isolation
		origin    source.Origin
		part      int32
		want      source.Position
	}{
		{name: "earliest is the default", want: 2},
		{name: "earliest", start: kafka.Start{Kind: kafka.StartEarliest}, want: 2},
		{name: "latest", start: kafka.Start{Kind: kafka.StartLatest}, want: 13},
		{name: "latest uncommitted", start: kafka.Start{Kind: kafka.StartLatest}, isolation: kafka.ReadUncommitted, want: 13},
		{name: "latest gives way to a partition that was added", start: kafka.Start{Kind: kafka.StartLatest}, origin: source.OriginFirst, want: 2},
		{name: "group", start: kafka.Start{Kind: kafka.StartGroup}, want: 6},
		{name: "group without an offset", start: kafka.Start{Kind: kafka.StartGroup}, part: 1, want: 0},
		{name: "time", start: kafka.Start{Kind: kafka.StartTime, Time: base.Add(4500 * time.Millisecond)}, want: 5},
		{name: "time behind the last record", start: kafka.Start{Kind: kafka.StartTime, Time: time.Now().Add(time.Hour)}, want: 13},
		{name: "offsets", start: offsets(8), want: 8},
		{name: "offsets without the partition", start: offsets(8), part: 1, want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(k, "topic")
			cfg.Start, cfg.Isolation = tt.start, tt.isolation
			src := newSource(t, cfg)
			all, err := src.Partitions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := src.Start(t.Context(), all[tt.part].Partition, tt.origin)
			if err != nil || got != tt.want {
				t.Errorf("Start gave %d, %v; %d was expected", got, err, tt.want)
			}
		})
	}
}

func offsets(pos source.Position) kafka.Start {
	return kafka.Start{Kind: kafka.StartOffsets, Offsets: map[string]map[int32]source.Position{"topic": {0: pos}}}
}

func commit(t *testing.T, k *kafkatest.Cluster, topic string, id int32, offset int64) {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = "group", -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset = id, offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	// Before version 10 topics are named, not numbered.
	res, err := req.RequestWith(t.Context(), k.Client(kgo.MaxVersions(kversion.V3_0_0())))
	if err != nil {
		t.Fatal(err)
	}
	if err := kerr.ErrorForCode(res.Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}

// outcome runs a source that is expected to end by itself.
func outcome(t *testing.T, cfg kafka.Config) error {
	t.Helper()
	src := newSource(t, cfg)
	return sourcetest.Go(t, src, sourcetest.NewRecorder(t, src)).Wait()
}

func wantFatal(t *testing.T, err error, words ...string) {
	t.Helper()
	var fatal *source.FatalError
	if !errors.As(err, &fatal) {
		t.Fatalf("Run gave %v; a FatalError was expected", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not say %q", err, w)
		}
	}
}

func TestMissingTopicEndsTheRun(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("there", 1)
	cfg := config(k, "there", "missing")
	cfg.StartupTimeout = 100 * time.Millisecond
	wantFatal(t, outcome(t, cfg), `"missing"`, "create it")
	src := newSource(t, cfg)
	d, err := src.Describe(t.Context())
	if err != nil || len(d.Topics) != 2 || d.Topics[0].Err == nil || d.Topics[1].Err != nil {
		t.Errorf("Describe gave %+v, %v; an error for the missing topic was expected", d, err)
	}
}

func TestTopicThatAppearsInTimeIsRead(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	src := newSource(t, config(k, "late"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.Wait("word of the missing topic", func() bool { return len(rec.TroublesLocked()) > 0 })
	k.CreateTopic("late", 1)
	rec.WaitOwned(1)
	r.MustStop()
}

func TestNoBrokerEndsTheRun(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	err = outcome(t, kafka.Config{Brokers: []string{addr}, Topics: []string{"topic"}, Group: "group", StartupTimeout: 50 * time.Millisecond})
	wantFatal(t, err, addr, "refused")
}

func TestRunEndsWhileNoBrokerAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c // and never a word
		}
	}()
	src := newSource(t, kafka.Config{Brokers: []string{l.Addr().String()}, Topics: []string{"topic"}, Group: "group"})
	r := sourcetest.Go(t, src, sourcetest.NewRecorder(t, src))
	c := <-accepted
	defer c.Close()
	r.MustStop()
}

func TestSASL(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{More: []kfake.Opt{kfake.EnableSASL(), kfake.SeedTopics(1, "topic"),
		kfake.Superuser("PLAIN", "user", "secret"), kfake.Superuser("SCRAM-SHA-256", "user2", "secret"),
		kfake.Superuser("SCRAM-SHA-512", "user5", "secret")}})
	mechanism := func(a scram.Algorithm, user, password string) sasl.Mechanism {
		m, err := scram.Mechanism(a, user, password)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, m := range map[string]sasl.Mechanism{
		"PLAIN": plain.Mechanism{Username: "user", Password: "secret"},
		"256":   mechanism(scram.SHA256, "user2", "secret"),
		"512":   mechanism(scram.SHA512, "user5", "secret"),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(k, "topic")
			cfg.SASL, cfg.Group = m, name
			src := newSource(t, cfg)
			rec := sourcetest.NewRecorder(t, src)
			r := sourcetest.Go(t, src, rec)
			rec.WaitOwned(1)
			r.MustStop()
		})
	}
	for name, m := range map[string]sasl.Mechanism{
		"wrong password":       plain.Mechanism{Username: "user", Password: "wrong"},
		"wrong SCRAM password": mechanism(scram.SHA256, "user2", "wrong"),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(k, "topic")
			cfg.SASL, cfg.StartupTimeout = m, time.Millisecond // kfake closes the connection instead of answering
			err := outcome(t, cfg)
			wantFatal(t, err, "check the SASL mechanism, the user and the password")
			if strings.Contains(err.Error(), "wrong") {
				t.Errorf("the error %q tells the password", err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	defer server.Close()
	k := kafkatest.Start(t, kafkatest.Options{More: []kfake.Opt{kfake.SeedTopics(1, "topic"),
		kfake.TLS(&tls.Config{Certificates: server.TLS.Certificates})}})
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	t.Run("trusted", func(t *testing.T) {
		cfg := config(k, "topic")
		cfg.TLS = &tls.Config{RootCAs: pool}
		src := newSource(t, cfg)
		rec := sourcetest.NewRecorder(t, src)
		r := sourcetest.Go(t, src, rec)
		rec.WaitOwned(1)
		r.MustStop()
	})
	t.Run("an unknown authority ends the run", func(t *testing.T) {
		cfg := config(k, "topic")
		cfg.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
		wantFatal(t, outcome(t, cfg), "tls.ca_file")
	})
	t.Run("without TLS the error says so", func(t *testing.T) {
		cfg := config(k, "topic")
		cfg.StartupTimeout = time.Millisecond
		wantFatal(t, outcome(t, cfg), "TLS")
	})
	t.Run("TLS to a plain port ends the run", func(t *testing.T) {
		k := kafkatest.Start(t, kafkatest.Options{})
		cfg := config(k, "topic")
		cfg.TLS = &tls.Config{RootCAs: pool}
		cfg.StartupTimeout, cfg.DialTimeout = time.Millisecond, 200*time.Millisecond // kfake waits for more
		wantFatal(t, outcome(t, cfg), "TLS")
	})
}

func TestMissingRightsAreNamed(t *testing.T) {
	acl := func(kind kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true}
	}
	describe := acl(kmsg.ACLResourceTypeTopic, "topic", kmsg.ACLOperationDescribe)
	read := acl(kmsg.ACLResourceTypeTopic, "topic", kmsg.ACLOperationRead)
	group := acl(kmsg.ACLResourceTypeGroup, "group", kmsg.ACLOperationRead)
	k := kafkatest.Start(t, kafkatest.Options{More: []kfake.Opt{kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "topic"),
		kfake.User("PLAIN", "nothing", "x"), kfake.User("PLAIN", "nogroup", "x", read, describe),
		kfake.User("PLAIN", "noread", "x", describe, group), kfake.User("PLAIN", "all", "x", describe, read, group)}})
	for _, tt := range []struct{ user, words string }{
		{"nothing", "grant the user Read and Describe on the topic"},
		{"nogroup", "grant the user Read on the consumer group"},
		{"noread", "grant the user Read and Describe on the topic"},
		{"all", ""},
	} {
		t.Run(tt.user, func(t *testing.T) {
			cfg := config(k, "topic")
			cfg.SASL = plain.Mechanism{Username: tt.user, Password: "x"}
			src := newSource(t, cfg)
			if err := src.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			d, err := src.Describe(t.Context())
			if err == nil && len(d.Topics) == 1 {
				err = d.Topics[0].Err
			}
			if tt.words == "" && err != nil || tt.words != "" && (err == nil || !strings.Contains(err.Error(), tt.words)) {
				t.Errorf("Describe gave %v; %q was expected", err, tt.words)
			}
			rec := sourcetest.NewRecorder(t, src)
			rec.OnAssigned = func(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
				return map[source.Partition]source.Position{ps[0]: 0}, nil
			}
			r := sourcetest.Go(t, src, rec)
			switch tt.user {
			case "nothing", "nogroup":
				wantFatal(t, r.Wait(), tt.words)
			case "noread":
				if err := rec.WaitFailed("topic", 0); !strings.Contains(err.Error(), tt.words) {
					t.Errorf("the failure is %q", err)
				}
			default:
				rec.WaitOwned(1)
				r.MustStop()
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{Brokers: 2, More: []kfake.Opt{kfake.ClusterID("the-cluster")}})
	k.CreateTopic("topic", 3)
	k.Produce("topic", 1, kafkatest.Values(0, 7)...)
	d, err := newSource(t, config(k, "topic")).Describe(t.Context())
	if err != nil || d.ClusterID != "the-cluster" || d.Brokers != 2 || len(d.Topics) != 1 {
		t.Fatalf("Describe gave %+v, %v", d, err)
	}
	if got := d.Topics[0]; got.Err != nil || got.Partitions != 3 || got.Records != 7 || got.Incarnation == "" {
		t.Errorf("the topic is described as %+v", got)
	}
}
