package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

const (
	orderV1 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`
	orderV2 = `{"type":"record","name":"Order","fields":[{"name":"note","type":["null",{"type":"enum","name":"Note","symbols":["NEW","PAID"]}],"default":null},{"name":"id","type":"int"},{"name":"more","type":{"type":"map","values":"double"}}]}`
)

// avroWorld is a world with a schema registry that knows two schemas of an order, as 1 and 2.
func avroWorld(t *testing.T, opts ...srfake.Option) (*world, *srfake.Registry) {
	w, reg := newWorld(t), srfake.New(opts...)
	t.Cleanup(reg.Close)
	w.masks = append(w.masks, strings.TrimPrefix(reg.URL(), "http://"), "REGISTRY")
	reg.SeedSchema("orders-value", 1, 1, sr.Schema{Schema: orderV1})
	reg.SeedSchema("orders-value", 2, 2, sr.Schema{Schema: orderV2})
	return w, reg
}

func (w *world) avroConfig(record string) string {
	return w.config("http: {listen: off}", "http: {listen: off}\nrecord: {format: avro, "+record+"}")
}

// order is an order as Avro, without a header.
func order(t *testing.T, schema string, v map[string]any) string {
	b, err := avro.MustParse(schema).Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// headed is a body behind the header of the wire format.
func headed(id uint32, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0}, id)) + body
}

// orders are the rows of the table, "id note", sorted by id.
func (w *world) orders(cfg string) map[int64]string {
	w.t.Helper()
	rows, err := w.table(cfg).Scan().ToArrowTable(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Release()
	out := map[int64]string{}
	for c, ids := range rows.Column(0).Data().Chunks() {
		notes := rows.Column(1).Data().Chunk(c)
		for i := range ids.Len() {
			id := ids.(*array.Int64).Value(i)
			if _, twice := out[id]; twice {
				w.t.Errorf("order %d is there twice", id)
			}
			if out[id] = notes.ValueStr(i); notes.IsNull(i) {
				out[id] = ""
			}
		}
	}
	return out
}

func (w *world) wantOrders(cfg string, want map[int64]string) {
	w.t.Helper()
	if got := w.orders(cfg); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("got %v, want %v", got, want)
	}
}

func TestAvroRecordsOfTwoSchemasWhileTheRegistryIsAway(t *testing.T) {
	w, reg := avroWorld(t)
	cfg := w.avroConfig(fmt.Sprintf("registry: {url: %q}", reg.URL()))
	v2 := func(id int32, note any) string {
		return headed(2, order(t, orderV2, map[string]any{"id": id, "note": note, "more": map[string]any{"a": 1.5}}))
	}
	w.produce(0, headed(1, order(t, orderV1, map[string]any{"id": int64(1)})), v2(2, "PAID"), headed(1, order(t, orderV1, map[string]any{"id": int64(3)})))
	w.produce(1, headed(1, order(t, orderV1, map[string]any{"id": int64(4)})), v2(5, nil))
	// The second schema can't be had at first.
	var away atomic.Bool
	away.Store(true)
	var asked [3]atomic.Int32
	reg.Intercept(func(rw http.ResponseWriter, req *http.Request) bool {
		var id int
		_, _ = fmt.Sscanf(req.URL.Path, "/schemas/ids/%d", &id)
		asked[id].Add(1)
		if id == 2 && away.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	log := &lockedBuffer{}
	done := make(chan int, 1)
	signals := make(chan os.Signal, 1)
	c := &cli{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: log, env: noEnv,
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	go func() { done <- c.main([]string{"run", "--until-caught-up", cfg}) }()
	log.find(t, "holds its records until schema")
	away.Store(false)
	select {
	case code := <-done:
		if code != exitDone {
			t.Fatalf("exit code %d\n%s", code, log)
		}
	case <-time.After(30 * time.Second):
		signals <- os.Interrupt
		<-done
		t.Fatal(log)
	}
	w.wantOrders(cfg, map[int64]string{1: "", 2: "PAID", 3: "", 4: "", 5: ""})
	if n := asked[1].Load(); n != 1 {
		t.Errorf("schema 1 was asked for %d times by two writers", n)
	}
}

func TestAnAvroRecordWithoutASchemaStops(t *testing.T) {
	w, reg := avroWorld(t)
	cfg := w.avroConfig(fmt.Sprintf("on_bad_record: stop, registry: {url: %q}", reg.URL()))
	w.produce(1, headed(1, order(t, orderV1, map[string]any{"id": int64(1)})), headed(9, "x"))
	var all strings.Builder
	all.WriteString(w.want(exitFailed, "validate", cfg))
	all.WriteString(w.want(exitFailed, "run", "--until-caught-up", cfg))
	golden(t, "avro-unknown-schema", all.String())
	w.wantOrders(cfg, map[int64]string{1: ""})
}

func TestARegistryThatIsNotThereIsTold(t *testing.T) {
	w, reg := avroWorld(t, srfake.WithAuth("Basic YXBwOnMzY3JldA==")) // app:s3cret
	w.produce(0, headed(1, order(t, orderV1, map[string]any{"id": int64(1)})))
	var all strings.Builder
	host := strings.TrimPrefix(reg.URL(), "http://")
	for _, record := range []string{
		fmt.Sprintf(`registry: {url: %q, username: app, password: wr0ng-one}`, reg.URL()),
		fmt.Sprintf(`registry: {url: "http://app:wr0ng-one@%s"}`, host),
		`registry: {url: "http://127.0.0.1:1", token: wr0ng-one}`,
	} {
		cfg := w.avroConfig(record)
		all.WriteString(w.want(exitFailed, "validate", cfg))
		out := w.want(exitFailed, "run", "--until-caught-up", cfg)
		if !regexp.MustCompile(`has waited \d+s for schema 1: `).MatchString(out) {
			t.Error(out)
		}
		all.WriteString(out)
	}
	if strings.Contains(all.String(), "wr0ng-one") {
		t.Error(all.String())
	}
	for _, want := range []string{"failed   registry       the registry at http://REGISTRY refuses the credentials (HTTP 403)", "failed   registry       the registry at http://127.0.0.1:1 can't be asked"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in\n%s", want, all.String())
		}
	}
	cfg := w.avroConfig(fmt.Sprintf(`registry: {url: "http://app:s3cret@%s"}`, host))
	if out := w.want(exitDone, "validate", cfg); !strings.Contains(out, "ok       registry       http://REGISTRY answers") {
		t.Error(out)
	}
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: ""})
}

func TestAvroWithASchemaFile(t *testing.T) {
	w := newWorld(t)
	write := func(name, text string) string {
		path := filepath.Join(w.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	schema := write("order.avsc", orderV2)
	reader := write("reader.avsc", `{"type":"record","name":"Order","fields":[{"name":"number","aliases":["id"],"type":"long"}]}`)
	w.produce(0, order(t, orderV2, map[string]any{"id": int32(1), "note": "NEW", "more": map[string]any{}}))
	cfg := w.avroConfig(fmt.Sprintf("avro: {schema_file: %q}", schema))
	w.want(exitDone, "validate", cfg)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: "NEW"})
	// What does not fit is refused before anything is read.
	for _, record := range []string{
		fmt.Sprintf("avro: {schema_file: %q, reader_schema_file: %q}", schema, reader),
		fmt.Sprintf("avro: {schema_file: %q}", write("other.avsc", `{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}`)),
		fmt.Sprintf("avro: {schema_file: %q}", write("none.avsc", `{"type":"recod"}`)),
	} {
		for _, command := range [][]string{{"validate"}, {"run", "--until-caught-up"}} {
			a := call(t, append(command, w.avroConfig(record))...)
			if a.code == exitDone {
				t.Errorf("%s was taken by %v", record, command)
			}
		}
	}
}
