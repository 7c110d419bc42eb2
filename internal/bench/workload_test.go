package bench

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestRecordsAreWhatTheyAreSaidToBe(t *testing.T) {
	for _, c := range []struct {
		name          string
		bytes, mean   int
		columns, keys int
	}{{"a", 0, 143, 6, 6}, {"a", 5000, 5000, 6, 6}, {"a", MaxRecordBytes, MaxRecordBytes, 6, 6}, {"b", 0, 1200, 40, 40}} {
		w, err := WorkloadOf(c.name)
		if err != nil || len(w.Columns) != c.columns {
			t.Fatal(err, len(w.Columns))
		}
		g := newGenerator(w, 1, c.bytes)
		n, size := min(200, 1+2*MaxRecordBytes/c.mean), 0
		for i := range int64(n) {
			rec := g.append(nil, i)
			size += len(rec)
			var m map[string]any
			if err := json.Unmarshal(rec, &m); err != nil {
				t.Fatalf("%v: %s", err, rec)
			}
			if len(m) != c.keys || m["id"] != float64(firstID+i) {
				t.Fatalf("%s", rec)
			}
			for _, col := range w.Columns {
				if _, ok := m[col.Name]; !ok {
					t.Fatalf("%s is missing: %s", col.Name, rec)
				}
			}
		}
		if mean := size / n; mean < c.mean*95/100 || mean > c.mean*105/100 {
			t.Errorf("%s: %d bytes a record, want about %d", c.name, mean, c.mean)
		}
	}
}

func TestARecordFollowsFromItsNumberAndTheSeed(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		w, err := WorkloadOf(name)
		if err != nil {
			t.Fatal(err)
		}
		g, again, other := newGenerator(w, 5, 0), newGenerator(w, 5, 0), newGenerator(w, 6, 0)
		var all []string
		for i := range int64(50) {
			all = append(all, string(g.append(nil, i)))
		}
		for i := int64(49); i >= 0; i-- {
			if got := string(again.append(nil, i)); got != all[i] {
				t.Errorf("%s, record %d: %s, and before %s", name, i, got, all[i])
			}
			if got := string(other.append(nil, i)); got == all[i] {
				t.Errorf("another seed makes the same record: %s", got)
			}
		}
	}
}

func TestDecimal(t *testing.T) {
	for want, got := range map[string]string{
		"0.05": string(decimal(nil, 5, 2)), "-12.340000": string(decimal(nil, -12340000, 6)), "7.": string(decimal(nil, 7, 0)),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestBatchesAreRead holds what the packer makes against a client that knows nothing of it.
func TestBatchesAreRead(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for codec := range codecs {
		j := Job{Brokers: c.ListenAddrs(), Topic: "t-" + codec, Workload: "a", Seed: 3, Records: 7503, Partitions: 3, Codec: codec}
		p, err := newProducer(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		p.client.Close()
		sum := readAll(t, j)
		if p.done.Load() != j.Records || p.bytes.Load() != sum {
			t.Errorf("%s: %d records of %d bytes, read were %d bytes", codec, p.done.Load(), p.bytes.Load(), sum)
		}
	}
}

// TestATopicIsTakenForWhatItIs says what is wrong with a topic that is there.
func TestATopicIsTakenForWhatItIs(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	produce := func(change func(*Job)) (int64, error) {
		j := Job{Brokers: c.ListenAddrs(), Topic: "t", Workload: "a", Seed: 1, Records: 3000, Partitions: 2, Codec: "lz4"}
		change(&j)
		p, err := newProducer(context.Background(), j)
		if err != nil {
			return 0, err
		}
		defer p.client.Close()
		err = p.run(context.Background())
		return p.bytes.Load(), err
	}
	made, err := produce(func(*Job) {})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := produce(func(j *Job) { j.Produced = true }); err != nil || again != made {
		t.Errorf("%d bytes the second time, %d the first; %v", again, made, err)
	}
	for want, change := range map[string]func(*Job){
		"it exists; name another, or say --produced": func(*Job) {},
		"has 2 partitions and not 3":                 func(j *Job) { j.Produced, j.Partitions = true, 3 },
		"holds 3000 records and not 3001":            func(j *Job) { j.Produced, j.Records = true, 3001 },
		"UNKNOWN_TOPIC_OR_PARTITION":                 func(j *Job) { j.Produced, j.Topic = true, "none" },
		"make the topic t: unable to dial":           func(j *Job) { j.Brokers = []string{"127.0.0.1:1"} },
	} {
		if _, err := produce(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// readAll compares every record with the one of its place, and gives their size.
func readAll(t *testing.T, j Job) (size int64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(j.Brokers...), kgo.ConsumeTopics(j.Topic), kgo.DisableClientMetrics(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	w, err := WorkloadOf(j.Workload)
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(w, j.Seed, j.RecordBytes)
	for n := int64(0); n < j.Records; {
		fetches := cl.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			size += int64(len(r.Value))
			batch := r.Offset/batchRecords*int64(j.Partitions) + int64(r.Partition)
			i := batch*batchRecords + r.Offset%batchRecords
			if want := string(g.append(nil, i)); string(r.Value) != want || r.Key != nil || r.Timestamp.UnixMilli() != startOf+i*apart {
				t.Fatalf("%d/%d: %s at %s, want %s", r.Partition, r.Offset, r.Value, r.Timestamp, want)
			}
		})
	}
	return size
}

func TestSettingsAreWordsOfAConfiguration(t *testing.T) {
	s := Settings{Workload: "a", Records: 1, Partitions: 1, Writers: 3, Codec: "lz4", IcebergPartitions: 10, SealRecords: 5, SealBytes: "1MiB", Memory: "64MiB"}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	text := s.ConfigText(Place{Brokers: []string{"h:1", "h:2"}, Topic: "t$", Group: "g", Catalog: `/a "b"`, Table: "bench.t"})
	for _, want := range []string{`brokers: ["h:1", "h:2"]`, `topics: ["t$$"]`, `uri: "/a \"b\""`, `partition_by: ["bucket(10, id)"]`, "tasks: 3", "records: 5", `bytes: "1MiB"`, `memory: "64MiB"`, "name: ts, type: \"timestamptz\""} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if s.IcebergPartitions = 1; strings.Contains(s.ConfigText(Place{}), "partition_by") {
		t.Error("one bucket is a partition")
	}
}
