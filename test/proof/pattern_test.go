package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/proof"
)

func somePattern() Pattern {
	return Pattern{Topic: "t", Partitions: 2, Seed: 3, Records: 3, AbortEvery: 3, TombstoneEvery: 5, Transactions: 30}
}

func TestPatternKnowsEveryOffset(t *testing.T) {
	p := somePattern()
	var rows, tombstones int64
	for part := range p.Partitions {
		if p.End(part) != 30*4 {
			t.Fatalf("partition %d ends at %d", part, p.End(part))
		}
		for off := range p.End(part) {
			payload, row := p.Payload(part, off)
			txn, at := off/4, off%4
			value := p.Value(part, off)
			switch {
			case at == 3, txn%3 == 2, value == nil:
				if row || payload != "" {
					t.Errorf("partition %d, offset %d, which is a marker, aborted or a tombstone, is to become %q", part, off, payload)
				}
			case !row:
				t.Errorf("partition %d, offset %d is to become no row", part, off)
			default:
				rows++
				wantValue(t, value, part, off, payload)
			}
			if value == nil {
				tombstones++
			}
		}
	}
	if rows != p.count(proof.Row) || rows == 0 || tombstones == 0 {
		t.Errorf("%d rows, counted %d; %d tombstones", rows, p.count(proof.Row), tombstones)
	}
}

// TestAPatternKnowsWhereMarkersAreTwice lays the blocks of a partition out one by one and compares.
func TestAPatternKnowsWhereMarkersAreTwice(t *testing.T) {
	p := somePattern()
	p.TombstoneEvery = 0
	p.Moved, p.Spoiled = []Move{{1, 4, 1}, {0, 6, 2}, {1, 6, 1}, {1, 30, 1}}, []int64{3, 5}
	for part, extra := range []map[int64]int{{6: 2}, {4: 1, 6: 1, 30: 1}} {
		var want []bool
		for txn := range p.Transactions + 1 {
			want = append(want, make([]bool, extra[txn])...)
			if txn < p.Transactions {
				row := txn%3 != 2 && txn != 3 && txn != 5
				want = append(want, row, row, row, false)
			}
		}
		if got := p.End(int32(part)); got != int64(len(want)) {
			t.Fatalf("partition %d ends at %d, not at %d", part, got, len(want))
		}
		for off, is := range want {
			if _, row := p.Payload(int32(part), int64(off)); row != is {
				t.Errorf("partition %d, offset %d: a row is %v, want %v", part, off, row, is)
			}
		}
	}
}

func wantValue(t *testing.T, value []byte, part int32, off int64, payload string) {
	t.Helper()
	var got struct {
		Part    int32
		Off     int64
		Region  string
		Payload string
	}
	if err := json.Unmarshal(value, &got); err != nil || got.Part != part || got.Off != off || got.Payload != payload ||
		!strings.Contains(payload, got.Region) {
		t.Errorf("partition %d, offset %d: %s (%v), want the payload %s", part, off, value, err, payload)
	}
}

func TestNothingIsOutsideOfAPattern(t *testing.T) {
	p := somePattern()
	for _, at := range []struct {
		part int32
		off  int64
	}{{0, -1}, {0, 120}, {2, 0}, {-1, 0}} {
		if _, row := p.Payload(at.part, at.off); row {
			t.Errorf("partition %d, offset %d is a row", at.part, at.off)
		}
	}
	if p.End(2) != 0 || p.End(-1) != 0 {
		t.Error("a partition that does not exist has an end")
	}
}

func TestPatternsOfTwoSeedsDiffer(t *testing.T) {
	p, q := somePattern(), somePattern()
	q.Seed++
	a, _ := p.Payload(0, 0)
	b, _ := q.Payload(0, 0)
	if a == b || string(p.Value(0, 0)) == string(q.Value(0, 0)) {
		t.Errorf("both have %s", a)
	}
}

func TestPatternIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.json")
	want := somePattern()
	want.Moved, want.Spoiled = []Move{{Partition: 1, Transaction: 4, By: 1}}, []int64{3}
	if err := want.save(path); err != nil {
		t.Fatal(err)
	}
	if got, err := loadPattern(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWrongPatternIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.json")
	for text, want := range map[string]string{
		`{`:                            "JSON",
		`{}`:                           "topic",
		`{"topic":"t"}`:                "partitions is 0",
		`{"topic":"t","partitions":1}`: "records is 0",
		`{"topic":"t","partitions":1,"records":1,"abort_every":1}`:   "abort_every is 1",
		`{"topic":"t","partitions":1,"records":1,"transactions":-1}`: "transactions is -1",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadPattern(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
