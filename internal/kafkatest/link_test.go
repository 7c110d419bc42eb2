package kafkatest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/kafkatest"
)

// asked dials through a link and asks for the versions; it gives the connection before the answer was read.
func asked(t *testing.T, l *kafkatest.Link, k *kafkatest.Cluster) net.Conn {
	t.Helper()
	c, err := l.Dial(t.Context(), "tcp", k.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	// Key 18, version 0, correlation 7, no client id.
	if _, err := c.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLinkResetsInTheMiddle(t *testing.T) {
	k, l := kafkatest.Start(t, kafkatest.Options{}), kafkatest.NewLink(t)
	l.Rule(func(m kafkatest.Message) kafkatest.Fate { return kafkatest.Fate{Reset: m.Answer, Bytes: 6} })
	b, err := io.ReadAll(asked(t, l, k))
	if len(b) > 6 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes and %v; 6 at most and a reset were expected", len(b), err)
	}
}

func TestLinkHoldsAndEdits(t *testing.T) {
	k, l := kafkatest.Start(t, kafkatest.Options{}), kafkatest.NewLink(t)
	arrived, release := make(chan int, 1), make(chan struct{})
	l.Rule(func(m kafkatest.Message) kafkatest.Fate {
		if !m.Answer {
			return kafkatest.Fate{}
		}
		arrived <- m.N
		return kafkatest.Fate{Wait: release, Edit: func(res kmsg.Response) {
			r := res.(*kmsg.ApiVersionsResponse)
			r.ErrorCode, r.ApiKeys = 99, nil
		}}
	})
	c := asked(t, l, k)
	if n := <-arrived; n != 1 {
		t.Errorf("the answer is number %d", n)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	b := make([]byte, 100)
	if n, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes of an answer that is held, %v", n, err)
	}
	close(release)
	_ = c.SetReadDeadline(time.Time{})
	n, err := io.ReadAtLeast(c, b, 14)
	if want := string([]byte{0, 0, 0, 10, 0, 0, 0, 7, 0, 99, 0, 0, 0, 0}); err != nil || string(b[:n]) != want {
		t.Errorf("the answer is % x, %v; % x was expected", b[:n], err, want)
	}
}

func TestLinkBreaksAndMends(t *testing.T) {
	k, l := kafkatest.Start(t, kafkatest.Options{}), kafkatest.NewLink(t)
	c := asked(t, l, k)
	if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	l.Break()
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection gave %v; a reset was expected", err)
	}
	if _, err := l.Dial(t.Context(), "tcp", k.Addrs()[0]); err == nil {
		t.Error("a link that is down was dialed")
	}
	l.Mend()
	if _, err := io.ReadFull(asked(t, l, k), make([]byte, 10)); err != nil {
		t.Errorf("the link was mended, but gives %v", err)
	}
}
