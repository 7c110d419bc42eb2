package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/apache/iceberg-go/table"
)

func TestWhatIsPrintedReachesTheTerminalAsTextAlone(t *testing.T) {
	type named string
	for _, c := range []struct {
		in   any
		want string
	}{
		{"plain, ä, 漢, 🙂", "plain, ä, 漢, 🙂"},
		{"\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		{"one\nfloe: two\r\t", `one\nfloe: two\r\t`},
		{"\u009b31m \u202egpj\u200b\u2028", `\u009b31m \u202egpj\u200b\u2028`},
		{"\xff\xc2 \x7f", `\xff\xc2 \x7f`},
		{named("a\x1bb"), `a\x1bb`},
		{errors.New("a\nb"), `a\nb`},
		{lines("a\x1b\nb"), "a\\x1b\nb"},
		{time.Second, "1s"},
		{7, "7"},
	} {
		var b strings.Builder
		w := &errWriter{w: &b}
		w.printf("%v", c.in)
		if w.err != nil || b.String() != c.want {
			t.Errorf("%#v: got %q, %v; want %q", c.in, b.String(), w.err, c.want)
		}
	}
}

func TestJSONThatIsPrintedIsTheSameAndVisible(t *testing.T) {
	in := "ä漢🙂<&> \x1b\n\u007f\u0080\u009b\u202e\u2028\U000e0001"
	var b strings.Builder
	c := &cli{stdout: &b}
	if err := c.printJSON(map[string]string{in: in}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%U is printed: %q", r, b.String())
		}
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(b.String()), &out); err != nil || out[in] != in || !strings.Contains(b.String(), "ä漢🙂<&>") {
		t.Errorf("%s: %v", b.String(), err)
	}
}

// The names of a table's columns are anybody's who may change it.
func TestAHostileColumnNameIsPrintedAsText(t *testing.T) {
	w := newWorld(t)
	const column = `\u001b[2J\nfloe: all is well \u009b31m\u202e`
	cfg := w.config("{name: note, type: string}", "{name: note, type: long}")
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.renameNote(cfg, "\x1b[2J\nfloe: all is well \u009b31m\u202e")
	w.produce(0, `{"id":1}`, `{"id":2,"`+column+`":"x"}`, `{"id":3}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	for _, args := range [][]string{
		{"rejects", "list", cfg}, {"rejects", "count", cfg}, {"rejects", "show", cfg, "orders/0=1"}, {"validate", cfg},
		{"rejects", "list", "--json", cfg}, {"rejects", "show", "--json", cfg, "orders/0=1"}, {"rejects", "count", "--json", cfg},
		{"validate", "--json", cfg},
	} {
		a := call(t, args...)
		if a.code != exitDone {
			t.Errorf("%v: exit code %d", args, a.code)
		}
		if !strings.Contains(a.out, "all is well") {
			t.Errorf("%v does not name the field:\n%s", args, a.out)
		}
		for line := range strings.Lines(a.out + a.err) {
			if visible(strings.TrimSuffix(line, "\n")) != strings.TrimSuffix(line, "\n") || strings.HasPrefix(line, "floe: all") {
				t.Errorf("%v prints %q", args, line)
			}
		}
	}
	cfg = w.config("http: {listen: off}", "http: {listen: off}\nrecord: {on_bad_record: stop}", "name: orders\n", "name: other\n")
	if a := call(t, "run", "--until-caught-up", cfg); a.code != exitFailed || strings.ContainsAny(a.out+a.err, "\x1b\u009b\u202e") || strings.Contains(a.err, "\nfloe: all") {
		t.Errorf("%d\n%q\n%q", a.code, a.out, a.err)
	}
}

// renameNote renames the column note as another engine may.
func (w *world) renameNote(cfg, to string) {
	w.t.Helper()
	w.reshape(cfg, func(u *table.UpdateSchema) *table.UpdateSchema { return u.RenameColumn([]string{"note"}, to) })
}
