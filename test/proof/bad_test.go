package main

import (
	"errors"
	"testing"

	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// Every kind is there, is refused for the reason that it is made for, and nothing else is refused.
func TestEveryKindOfBadRecordIsRefusedForItsReason(t *testing.T) {
	p := Pattern{Topic: "t", Partitions: 3, Seed: 5, Records: 200, TombstoneEvery: 20, BadEvery: 10, Transactions: 10}
	schema := &mapper.Schema{Fields: []mapper.Field{
		{ID: 1, Name: "part", Type: mapper.Type{Kind: mapper.Int}, Required: true}, {ID: 2, Name: "off", Type: mapper.Type{Kind: mapper.Long}, Required: true},
		{ID: 3, Name: "region", Type: mapper.Type{Kind: mapper.String}}, {ID: 4, Name: "payload", Type: mapper.Type{Kind: mapper.String}},
	}}
	m, err := mapper.NewJSON(mapper.JSONOptions{})(schema)
	if err != nil {
		t.Fatal(err)
	}
	cols, err := mapper.NewColumns(schema)
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]bool{}
	for part := range p.Partitions {
		for off := range p.End(part) {
			outcome := p.Outcome(part, off)
			if outcome == proof.Skipped {
				continue
			}
			err := m.Map(&source.Record{Value: p.Value(part, off)}, cols)
			var bad *mapper.BadRecordError
			switch {
			case errors.As(err, &bad):
				found[p.hash(part, off, 5)%uint64(len(badKinds))] = true
				if want := p.Reject(part, off).Code; outcome != proof.Rejected || string(bad.Code) != want {
					t.Errorf("%q: %v; want outcome %d and code %s", p.Value(part, off), err, outcome, want)
				}
			case (err == nil) != (outcome == proof.Row) || errors.Is(err, mapper.ErrFiltered) != (outcome == proof.Filtered):
				t.Errorf("%q: %v, want outcome %d", p.Value(part, off), err, outcome)
			}
		}
	}
	if len(found) != len(badKinds) {
		t.Errorf("only %d of %d kinds were there", len(found), len(badKinds))
	}
}
