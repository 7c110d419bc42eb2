package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stormfloe/floe/internal/proof"
)

// Pattern says what lies at each offset of a topic, so that hardly anything has to be written down while records are produced. In
// each partition transactions follow one another: Records records and one marker. It is only true of a topic with a single
// producer, which stops when it finds a record of another one.
//
// Where a transaction's coordinator dies, its successor may write markers that are there already. They move what follows: see
// Moved and Spoiled.
type Pattern struct {
	Topic      string `json:"topic"`
	Partitions int32  `json:"partitions"`
	// Seed makes the payloads of two topics differ.
	Seed uint64 `json:"seed"`
	// Records of a transaction in each partition.
	Records int64 `json:"records"`
	// AbortEvery is how many transactions there are for an aborted one; 0 for none.
	AbortEvery int64 `json:"abort_every"`
	// TombstoneEvery is about how many records there are for one without a value; 0 for none.
	TombstoneEvery uint64 `json:"tombstone_every"`
	// BadEvery is about how many records there are for one that can't become a row; 0 for none.
	BadEvery uint64 `json:"bad_every,omitempty"`
	// Transactions that have ended.
	Transactions int64 `json:"transactions"`
	// Moved are the markers that were written twice, in order.
	Moved []Move `json:"moved,omitempty"`
	// Spoiled are transactions that were aborted, against the plan, because such a marker moved their records.
	Spoiled []int64 `json:"spoiled,omitempty"`
}

// Move says that a partition holds markers without a transaction, By of them, before a transaction and those behind it.
type Move struct {
	Partition   int32 `json:"partition"`
	Transaction int64 `json:"transaction"`
	By          int64 `json:"by"`
}

// validate names the field that is wrong.
func (p Pattern) validate() error {
	switch {
	case p.Topic == "":
		return errors.New("topic is empty")
	case p.Partitions < 1:
		return fmt.Errorf("partitions is %d; it must be at least 1", p.Partitions)
	case p.Records < 1:
		return fmt.Errorf("records is %d; it must be at least 1", p.Records)
	case p.AbortEvery < 0 || p.AbortEvery == 1:
		return fmt.Errorf("abort_every is %d; it must be 0 or at least 2", p.AbortEvery)
	case p.Transactions < 0:
		return fmt.Errorf("transactions is %d; it must not be negative", p.Transactions)
	}
	return nil
}

// block is the number of offsets that a transaction takes in each partition.
func (p Pattern) block() int64 { return p.Records + 1 }

// first is the offset of the first record of a transaction.
func (p Pattern) first(partition int32, txn int64) int64 {
	off := txn * p.block()
	for _, m := range p.Moved {
		if m.Partition == partition && m.Transaction <= txn {
			off += m.By
		}
	}
	return off
}

// at is the transaction whose records and markers an offset lies among, and its place there: a record's, or at least Records.
func (p Pattern) at(partition int32, offset int64) (txn, place int64) {
	for txn = offset / p.block(); p.first(partition, txn) > offset; txn-- {
	}
	return txn, offset - p.first(partition, txn)
}

// aborted says whether a transaction is to be aborted.
func (p Pattern) aborted(txn int64) bool {
	return p.AbortEvery > 0 && txn%p.AbortEvery == p.AbortEvery-1 || slices.Contains(p.Spoiled, txn)
}

// End is the offset behind the last marker.
func (p Pattern) End(partition int32) int64 {
	if partition < 0 || partition >= p.Partitions {
		return 0
	}
	return p.first(partition, p.Transactions)
}

// Payload is what the row of a record holds. It is false for markers, for aborted and bad records and for tombstones.
func (p Pattern) Payload(partition int32, offset int64) (payload string, row bool) {
	if p.Outcome(partition, offset) != proof.Row {
		return "", false
	}
	return p.payload(partition, offset), true
}

func (p Pattern) tombstone(partition int32, offset int64) bool {
	return p.TombstoneEvery > 0 && p.hash(partition, offset, 1)%p.TombstoneEvery == 0
}

// payload differs at each offset, in its length too, and names the region.
func (p Pattern) payload(partition int32, offset int64) string {
	h := p.hash(partition, offset, 2)
	return fmt.Sprintf("%d/%d/%s/", partition, offset, p.region(partition, offset)) +
		strings.Repeat(strconv.FormatUint(h, 36), int(h%5))
}

// regions are the values of the column that tables are partitioned by.
const regions = 3

func (p Pattern) region(partition int32, offset int64) string {
	return "r" + strconv.FormatUint(p.hash(partition, offset, 3)%regions, 10)
}

// Value is the value of the record at an offset: nil for a tombstone. Aborted records have one, too, which no row may ever
// show.
func (p Pattern) Value(partition int32, offset int64) []byte {
	if p.tombstone(partition, offset) {
		return nil
	}
	good := fmt.Appendf(nil, `{"part":%d,"off":%d,"region":%q,"payload":%q}`, partition, offset, p.region(partition, offset),
		p.payload(partition, offset))
	if kind, bad := p.bad(partition, offset); bad {
		return []byte(kind.value(string(good), offset))
	}
	return good
}

// count is how many records of everything that has been produced have an outcome.
func (p Pattern) count(what proof.Outcome) (n int64) {
	for part := range p.Partitions {
		for off := range p.End(part) {
			if p.Outcome(part, off) == what {
				n++
			}
		}
	}
	return n
}

// hash mixes the numbers (splitmix64's finisher).
func (p Pattern) hash(partition int32, offset int64, what uint64) uint64 {
	x := p.Seed
	for _, n := range [...]uint64{uint64(uint32(partition)), uint64(offset), what} {
		x += n + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// save writes the pattern to a file, whole or not at all.
func (p Pattern) save(path string) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// loadPattern reads what save wrote.
func loadPattern(path string) (p Pattern, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("read the pattern %s: %w", path, err)
	}
	if err := p.validate(); err != nil {
		return p, fmt.Errorf("read the pattern %s: %w", path, err)
	}
	return p, nil
}
