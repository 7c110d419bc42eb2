package main

import (
	"fmt"
	"strings"

	"github.com/stormfloe/floe/internal/proof"
)

// badKind is one way in which a record can't become a row: its value, made from the good one and its offset, and the code that floe
// must give.
type badKind struct {
	code  string
	value func(good string, off int64) string
}

// with puts text in the place of another inside a good value.
func with(old, text string) func(string, int64) string {
	return func(good string, off int64) string {
		return strings.Replace(good, strings.ReplaceAll(old, "OFF", fmt.Sprint(off)), strings.ReplaceAll(text, "OFF", fmt.Sprint(off)), 1)
	}
}

func behind(text string) func(string, int64) string {
	return func(good string, _ int64) string { return good + text }
}

// badKinds are twenty. Each value but the empty one names its offset, so that no two rejects are alike.
var badKinds = [...]badKind{
	{"empty", func(string, int64) string { return "" }},
	{"syntax", func(_ string, off int64) string { return fmt.Sprintf("record %d", off) }},
	{"syntax", func(good string, _ int64) string { return good[:len(good)-1] }},
	{"syntax", behind(" {}")},
	{"syntax", func(good string, _ int64) string { return "\ufeff" + good }},
	{"syntax", with(`"off":OFF`, `"off":0OFF`)},
	{"syntax", with(`"payload":"`, "\"payload\":\"\x01")},
	{"syntax", with(`{"part"`, `{'part'`)},
	{"type", func(good string, _ int64) string { return "[" + good + "]" }},
	{"utf8", with(`"payload":"`, "\"payload\":\"\xff")},
	{"utf8", with(`"payload":"`, `"payload":"\ud800`)},
	{"type", with(`"off":OFF`, `"off":"OFF"`)},
	{"precision", with(`"off":OFF`, `"off":OFF.5`)},
	{"range", with(`"off":OFF`, `"off":9223372036854775808`)},
	{"range", with(`{"part":`, `{"part":2147483648`)},
	{"required", with(`"off":OFF,`, `"OFF":1,`)},
	{"required", with(`"off":OFF`, `"off":null,"was":OFF`)},
	{"duplicate_key", with(`"off":OFF`, `"off":OFF,"off":OFF`)},
	{"depth", with(`{"part"`, `{"deep":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`,"part"`)},
	{"type", with(`"payload":"`, `"payload":{},"was":"`)},
}

// bad says whether the record at an offset is one, and of which kind. Kinds begin in turn, so that even few of them are all there.
func (p Pattern) bad(partition int32, offset int64) (badKind, bool) {
	if p.BadEvery == 0 || p.tombstone(partition, offset) || p.hash(partition, offset, 4)%p.BadEvery != 0 {
		return badKind{}, false
	}
	return badKinds[p.hash(partition, offset, 5)%uint64(len(badKinds))], true
}

// Outcome is what is to become of the record at an offset.
func (p Pattern) Outcome(partition int32, offset int64) proof.Outcome {
	if offset < 0 || offset >= p.End(partition) {
		return proof.Skipped
	}
	switch txn, place := p.at(partition, offset); {
	case place >= p.Records || p.aborted(txn):
		return proof.Skipped
	case p.tombstone(partition, offset):
		return proof.Filtered
	}
	if _, bad := p.bad(partition, offset); bad {
		return proof.Rejected
	}
	return proof.Row
}

// Reject is what the rejects table is to hold of a bad record.
func (p Pattern) Reject(partition int32, offset int64) proof.Reject {
	kind, _ := p.bad(partition, offset)
	return proof.Reject{Code: kind.code, Value: p.Value(partition, offset)}
}

var _ proof.FullTruth = Pattern{}
