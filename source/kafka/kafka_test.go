package kafka_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/source/sourcetest"
)

func TestMain(m *testing.M) {
	if !kafka.ServeCanned() {
		goleak.VerifyTestMain(m)
	}
}

// config gives short times, so that tests see what takes minutes elsewhere.
func config(k *kafkatest.Cluster, topics ...string) kafka.Config {
	level := slog.LevelError
	if os.Getenv("FLOE_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return kafka.Config{
		Brokers: k.Addrs(), Topics: topics, Group: "group",
		FetchMaxWait: 50 * time.Millisecond, MetadataInterval: 200 * time.Millisecond,
		HeartbeatInterval: 100 * time.Millisecond, SessionTimeout: 10 * time.Second, RebalanceTimeout: 10 * time.Second,
		StartupTimeout: 5 * time.Second, CommitInterval: 10 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	}
}

func newSource(t *testing.T, cfg kafka.Config) *kafka.Source {
	t.Helper()
	src, err := kafka.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

func TestConformance(t *testing.T) {
	for name, versions := range map[string]*kversion.Versions{
		"newest": nil,
		"4.0":    kversion.V4_0_0(),
		"2.8, the first with topic ids but not in fetches": kversion.V2_8_0(),
		"2.4, without topic ids":                           kversion.V2_4_0(),
		"1.0, without leader epochs":                       kversion.V1_0_0(),
	} {
		t.Run(name, func(t *testing.T) { conformance(t, versions) })
	}
}

func conformance(t *testing.T, versions *kversion.Versions) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
		o := kafkatest.Options{Brokers: 2}
		if versions != nil {
			o.More = append(o.More, kfake.MaxVersions(versions))
		}
		k := kafkatest.Start(t, o)
		k.CreateTopic("topic", 2)
		var txns atomic.Int32
		return sourcetest.Fixture{
			Topic: "topic",
			Leaks: []goleak.Option{
				goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read"),
				goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read.func1"),
				goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).write"),
			},
			New: func(t *testing.T) source.Source { return newSource(t, config(k, "topic")) },
			Append: func(_ *testing.T, id int32, from, n int) {
				k.Produce("topic", id, kafkatest.Values(from, n)...)
			},
			Skip: func(_ *testing.T, id int32) {
				k.Transaction(fmt.Sprintf("t%d", txns.Add(1)), false, "topic", id, kafkatest.Values(1000, 3)...)
			},
			Truncate: func(_ *testing.T, id int32, first source.Position) { k.DeleteRecords("topic", id, int64(first)) },
		}
	})
}

// wantText holds that an error says something.
func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v; %q was expected", err, text)
	}
}

func asPosition(err error, pe **source.PositionError) bool { return errors.As(err, pe) }
