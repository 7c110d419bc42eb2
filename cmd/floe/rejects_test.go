package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kgo"
)

// badOrders are records of more than a dozen kinds that can't become orders, with the code that says why.
var badOrders = []struct {
	code  string
	value []byte
}{
	{"empty", []byte{}},
	{"syntax", []byte(`no JSON`)},
	{"syntax", []byte(`{"id":5`)},
	{"syntax", []byte(`{"id":5} more`)},
	{"syntax", []byte(`{"id":05}`)},
	{"syntax", []byte(`{"id":5,}`)},
	{"syntax", []byte("\xef\xbb\xbf{\"id\":5}")},
	{"syntax", []byte("{\"id\":5,\"note\":\"a\x01\"}")},
	{"type", []byte(`[]`)},
	{"type", []byte(`{"id":"5"}`)},
	{"type", []byte(`{"id":true}`)},
	{"type", []byte(`{"id":5,"note":7}`)},
	{"range", []byte(`{"id":9223372036854775808}`)},
	{"precision", []byte(`{"id":5.5}`)},
	{"required", []byte(`{}`)},
	{"required", []byte(`{"id":null}`)},
	{"duplicate_key", []byte(`{"id":5,"id":5}`)},
	{"utf8", []byte("{\"id\":5,\"note\":\"\xff\"}")},
	{"utf8", []byte(`{"id":5,"note":"\ud800"}`)},
	{"depth", []byte(`{"id":5,"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`)},
}

// produceBad puts a good record before and behind each of the bad ones; the good ones have the ids 0, 1, ...
func (w *world) produceBad() (good int64) {
	var records []*kgo.Record
	add := func() {
		records = append(records, &kgo.Record{Value: fmt.Appendf(nil, `{"id":%d}`, good)})
		good++
	}
	add()
	for i, b := range badOrders {
		records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "key %d\x00", i), Value: b.value,
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{byte(i), 0xff}}, {Key: "none"}}})
		add()
	}
	w.send(records...)
	return good
}

func (w *world) list(cfg string, args ...string) (out rejectsList) {
	w.t.Helper()
	a := call(w.t, append([]string{"rejects", "list", "--json", "--limit", "0", cfg}, args...)...)
	if err := json.Unmarshal([]byte(a.out), &out); err != nil || a.code != exitDone {
		w.t.Fatalf("exit code %d, %v\n%s%s", a.code, err, a.out, a.err)
	}
	return out
}

func TestBadRecordsBecomeRejectsAndAreListedWhole(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	if out := w.want(exitDone, "rejects", "list", cfg); !strings.Contains(out, "record  state") {
		t.Error(out)
	}
	good := w.produceBad()
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if rows := w.orders(cfg); int64(len(rows)) != good {
		t.Errorf("%d rows, want %d", len(rows), good)
	}
	list := w.list(cfg)
	if len(list.Rejects) != len(badOrders) || list.More != 0 || list.Table != "db.orders_rejects" {
		t.Fatalf("got %+v", list)
	}
	for i, r := range list.Rejects {
		if r.Code != badOrders[i].code || r.Offset != int64(2*i+1) || r.State != "open" || r.Topic != "orders" || r.Partition != 0 || r.Record != nil {
			t.Errorf("want %s, got %+v", badOrders[i].code, r)
		}
		var shown rejectsList
		a := call(t, "rejects", "show", "--json", cfg, fmt.Sprintf("orders/0=%d", r.Offset))
		if err := json.Unmarshal([]byte(a.out), &shown); err != nil || len(shown.Rejects) != 1 {
			t.Fatal(err, a.out, a.err)
		}
		c := shown.Rejects[0].Record
		if string(c.Value) != string(badOrders[i].value) || string(c.Key) != fmt.Sprintf("key %d\x00", i) || len(c.Headers) != 2 ||
			string(c.Headers[0].Value) != string([]byte{byte(i), 0xff}) || c.TimestampMs == nil {
			t.Errorf("reject %d is not whole: %s", i, a.out)
		}
		if c.Headers[1].Value != nil || !strings.Contains(a.out, base64.StdEncoding.EncodeToString(c.Key)) {
			t.Errorf("reject %d: %s", i, a.out)
		}
	}
	// Again: nothing is there twice.
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if again := w.list(cfg, "--all"); len(again.Rejects) != len(badOrders) {
		t.Errorf("%d rejects after a second run", len(again.Rejects))
	}
	text := w.want(exitDone, "rejects", "count", cfg) + w.want(exitDone, "rejects", "list", "--limit", "3", cfg) + w.want(exitDone, "positions", "show", cfg) +
		w.want(exitFailed, "rejects", "show", cfg, "orders/0=0") + w.want(exitUsage, "rejects", "show", cfg, "orders:0") + w.want(exitUsage, "rejects", "mend", cfg) + w.want(exitUsage, "rejects", "replay", "--all", cfg) + w.want(exitUsage, "rejects", "list", cfg, "x")
	golden(t, "rejects", text)
}

func TestTheFirstRecordsAreMostlyBadAndTheTopologyStops(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("http: {listen: off}", "http: {listen: off}\nrejects: {table: db.bad, stop: {share: 0.4, of: 20}}")
	w.produceBad()
	out := w.want(exitFailed, "run", "--until-caught-up", cfg)
	if !strings.Contains(out, "syntax") || strings.Contains(out, "no JSON\"") {
		t.Error(out)
	}
	if list := w.list(cfg); len(list.Rejects) != 0 {
		t.Errorf("%d rejects of a configuration that is wrong", len(list.Rejects))
	}
}

func TestAfterARollbackRejectsAreHistoryUntilTheyAreThereAgain(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	w.produce(0, `{"id":1}`, `{"id":"bad"}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.produce(0, `{"id":2}`, `{"id":"worse"}`, `{"id":3}`)
	before := w.head(cfg)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.rollback(cfg, before)
	states := func() string {
		var out []string
		for _, r := range w.list(cfg, "--all").Rejects {
			out = append(out, fmt.Sprint(r.Offset, " ", r.State))
		}
		return strings.Join(out, ", ")
	}
	if got := states(); got != "1 open, 3 history" {
		t.Error(got)
	}
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: "", 2: "", 3: ""})
	if got := states(); got != "1 open, 3 history, 3 open" && got != "1 open, 3 open, 3 history" {
		t.Error(got)
	}
	if list := w.list(cfg); len(list.Rejects) != 2 {
		t.Errorf("got %+v", list.Rejects)
	}
}

// head is the table's newest snapshot.
func (w *world) head(cfg string) int64 {
	w.t.Helper()
	return w.table(cfg).CurrentSnapshot().SnapshotID
}

// rollback sets the table's main branch to a snapshot.
func (w *world) rollback(cfg string, to int64) {
	w.setBack(cfg, "orders", func(*table.Table) int64 { return to })
}

// setBack sets the main branch of a table to a snapshot.
func (w *world) setBack(cfg, name string, to func(*table.Table) int64) {
	w.t.Helper()
	cat, closeCatalog := w.catalog(cfg)
	defer closeCatalog()
	tbl, err := cat.LoadTable(w.t.Context(), table.Identifier{"db", name})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, _, err := cat.CommitTable(w.t.Context(), tbl.Identifier(), nil,
		[]table.Update{table.NewSetSnapshotRefUpdate("main", to(tbl), table.BranchRef, -1, -1, -1)}); err != nil {
		w.t.Fatal(err)
	}
}

func TestARejectsTableThatWasSetBackIsSettledByAnAnswer(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	w.produce(0, `{"id":1}`, `{"id":"bad"}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.produce(0, `{"id":"worse"}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if list := w.list(cfg); len(list.Rejects) != 2 {
		t.Fatalf("got %+v", list.Rejects)
	}
	w.setBack(cfg, "orders_rejects", func(tbl *table.Table) int64 { return *tbl.CurrentSnapshot().ParentSnapshotID })
	if list := w.list(cfg); len(list.Rejects) != 1 {
		t.Fatalf("got %+v", list.Rejects)
	}
	w.want(exitUsage, "rejects", "settle", cfg)
	w.want(exitUsage, "rejects", "settle", cfg, "perhaps")
	for range 2 { // the second time nothing is asked about
		w.want(exitDone, "rejects", "settle", cfg, "missing")
		if list := w.list(cfg); len(list.Rejects) != 2 {
			t.Fatalf("got %+v", list.Rejects)
		}
	}
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if list := w.list(cfg, "--all"); len(list.Rejects) != 2 {
		t.Errorf("got %+v", list.Rejects)
	}
}

// dropRejects drops the rejects table and leaves its files.
func (w *world) dropRejects(cfg string) {
	w.t.Helper()
	cat, closeCatalog := w.catalog(cfg)
	defer closeCatalog()
	if err := cat.DropTable(w.t.Context(), table.Identifier{"db", "orders_rejects"}); err != nil {
		w.t.Fatal(err)
	}
}

// The outbox still names what the last commit passed when the rejects table is dropped.
func TestRejectsOfATableThatWasDroppedAreSettledByAnAnswer(t *testing.T) {
	for _, answer := range []string{"missing", "there"} {
		w := newWorld(t)
		cfg := w.config()
		w.produce(0, `{"id":1}`, `{"id":"bad"}`, `{"id":"worse"}`)
		w.want(exitDone, "run", "--until-caught-up", cfg)
		before := w.want(exitDone, "rejects", "show", cfg, "orders/0=2")
		w.dropRejects(cfg)
		w.produce(0, `{"id":2}`)
		if out := w.want(exitFailed, "run", "--until-caught-up", cfg); !strings.Contains(out, "is another one now") || !strings.Contains(out, "floe rejects settle") {
			t.Fatal(out)
		}
		out := w.want(exitFailed, "rejects", "settle", cfg, "there")
		for _, want := range []string{"2 rejects of commit", "2 among orders/0=0 to 2", "file ", "2 of them will not be in db.orders_rejects", "Type yes", "nothing was changed"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		w.want(exitDone, "rejects", "settle", "--yes", cfg, answer)
		w.want(exitDone, "rejects", "settle", cfg, "missing") // nothing is asked about any more
		w.want(exitDone, "run", "--until-caught-up", cfg)
		w.wantOrders(cfg, map[int64]string{1: "", 2: ""})
		list := w.list(cfg)
		if answer == "there" {
			if len(list.Rejects) != 0 {
				t.Errorf("got %+v", list.Rejects)
			}
			continue
		}
		if after := w.want(exitDone, "rejects", "show", cfg, "orders/0=2"); after != before || len(list.Rejects) != 2 {
			t.Errorf("got %+v\n%s\nbefore\n%s", list.Rejects, after, before)
		}
	}
}

func TestAReplayBringsMendedRecordsInOnce(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("type: long", "type: int")
	w.produce(0, `{"id":1}`, `{"id":5000000000}`, `{"id":2}`, `no JSON`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	text := w.want(exitDone, "rejects", "replay", cfg)
	w.widen(cfg)
	text += w.want(exitDone, "rejects", "replay", cfg) + w.want(exitDone, "rejects", "replay", cfg) + w.want(exitDone, "rejects", "list", "--all", cfg)
	w.wantOrders(cfg, map[int64]string{1: "", 2: "", 5000000000: ""})
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: "", 2: "", 5000000000: ""})
	golden(t, "rejects-replay", text)
}

// widen makes the ids 64 bits wide.
func (w *world) widen(cfg string) {
	w.t.Helper()
	w.reshape(cfg, func(u *table.UpdateSchema) *table.UpdateSchema {
		return u.UpdateColumn([]string{"id"}, table.ColumnUpdate{
			FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}})
	})
}

// reshape changes the schema of the table as another engine may.
func (w *world) reshape(cfg string, change func(*table.UpdateSchema) *table.UpdateSchema) {
	w.t.Helper()
	w.anotherEngine(cfg, func(tx *table.Transaction) error { return change(tx.UpdateSchema(true, false)).Commit() })
}
