package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAStreamGrowsAtItsRateAndForgets looks at the start and the end of a partition as a client sees them.
func TestAStreamGrowsAtItsRateAndForgets(t *testing.T) {
	j := testJob(1 << 40)
	j.Rate, j.Keep = 50_000, 100*time.Millisecond
	began := time.Now()
	s, err := StartStream([]string{os.Args[0], "broker"}, j)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers()...), kgo.DisableClientMetrics(), kgo.ConsumeTopics(j.Topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	p := &producer{job: j, client: cl}
	if err := p.lookUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	offset := func(part kmsg.MetadataResponseTopicPartition, stamp int64) int64 {
		n, err := p.offset(context.Background(), part, stamp)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for offset(p.topic.Partitions[0], -2) == 0 || offset(p.topic.Partitions[1], -2) == 0 {
		if cl.PollFetches(ctx); ctx.Err() != nil { // something new is there
			t.Fatal("no partition has forgotten anything")
		}
	}
	n, err := s.Produced()
	most := int64(time.Since(began).Seconds()*j.Rate) + batchRecords
	if err != nil || n == 0 || n > most {
		t.Errorf("%d records, at most %d may be; %v", n, most, err)
	}
}
