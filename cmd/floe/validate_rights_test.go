package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestValidateTriesTheStorageAndLeavesNothing(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	w.produce(0, `{"id":1}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	before := w.files()
	if out := w.want(exitDone, "validate", cfg); !strings.Contains(out, "ok       storage        files can be written") {
		t.Errorf("storage is not told of:\n%s", out)
	}
	if out := w.want(exitDone, "validate", "--no-probe", cfg); strings.Contains(out, "storage") {
		t.Errorf("it was tried:\n%s", out)
	}
	if after := w.files(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	log := filepath.Join(w.dir, "warehouse", "db.db", "orders", "metadata", "_storm_wal")
	if err := errors.Join(os.RemoveAll(log), os.WriteFile(log, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out := w.want(exitFailed, "validate", cfg); !strings.Contains(out, "failed   storage        ") || !strings.Contains(out, "_storm_wal") {
		t.Errorf("a file in the log's place is not told of:\n%s", out)
	}
}

// files are the names of all files of the warehouse.
func (w *world) files() string {
	var out []string
	err := filepath.WalkDir(filepath.Join(w.dir, "warehouse"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func TestValidateSaysThatATopicMayNotBeRead(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`)
	w.cluster.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, rt := range req.Topics {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
			for _, p := range rt.Partitions {
				one := kmsg.NewFetchResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, one)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
	if out := w.want(exitFailed, "validate", "--samples", "0", w.config()); !strings.Contains(out, "failed   kafka          ") || !strings.Contains(out, `read topic "orders"`) {
		t.Errorf("it is not told of:\n%s", out)
	}
}

func TestValidateCountsBadRecordsByTheirReason(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`, `{"id":2}`, `{"id":"x"}`, `nothing`, `{"id":`, `{"id":3}`, `{"id":4}`)
	if out := w.want(exitDone, "validate", w.config()); !strings.Contains(out, "would become rejects (2 syntax, 1 type); the first: ") {
		t.Errorf("reasons are not counted:\n%s", out)
	}
}
