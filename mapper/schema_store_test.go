package mapper

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A stream of records whose schema nobody knows asks for it once a second; it may be registered meanwhile.
func TestAnUnknownSchemaIsAskedForOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := &schemas{byID: map[uint32]AvroSchema{1: recordOf("a long")}}
		s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
		m, cs := mustAvro(t, s, AvroOptions{Resolver: resolverFunc(reg.at)})
		for i := range 30 {
			if err := mapWire(t, m, cs, wire(9, zz(5))); codeOf(err) != CodeSchema || !strings.Contains(err.Error(), "the schema registry has no schema 9") {
				t.Fatalf("got %v", err)
			}
			if err := mapWire(t, m, cs, wire(1, zz(5))); err != nil {
				t.Fatal(err)
			}
			if want := int32(2 + i/10); reg.asks.Load() != want {
				t.Fatalf("record %d: asked %d times, want %d", i, reg.asks.Load(), want)
			}
			<-time.After(100 * time.Millisecond)
		}
		reg.byID[9] = recordOf("a int")
		if err := mapWire(t, m, cs, wire(9, zz(5))); err != nil {
			t.Errorf("got %v, though it is there now", err)
		}
	})
}

// Many writers that meet such a record at once ask once, and each has its answer.
func TestManyWritersAskForAnUnknownSchemaOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := &schemas{}
		factory := NewAvro(AvroOptions{Resolver: resolverFunc(func(id uint32) (AvroSchema, error) {
			<-time.After(3 * time.Second) // all have come by then
			return reg.at(id)
		})})
		s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				m, err := factory(s)
				if err != nil {
					t.Error(err)
					return
				}
				if err := mapWire(t, m, mustColumns(t, s), wire(9, zz(5))); codeOf(err) != CodeSchema {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if n := reg.asks.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestAMissingReferenceMakesRecordsBadForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := &schemas{err: fmt.Errorf("version 3 of the subject x, which it refers to: %w", ErrNoReference)}
		s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
		m, cs := mustAvro(t, s, AvroOptions{Resolver: resolverFunc(reg.at)})
		for range 60 {
			if err := mapWire(t, m, cs, wire(7, zz(5))); codeOf(err) != CodeSchema || !strings.Contains(err.Error(), "schema 7: version 3 of the subject x") {
				t.Fatalf("got %v", err)
			}
			<-time.After(time.Second)
		}
		if n := reg.asks.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		reg.err, reg.byID = nil, map[uint32]AvroSchema{7: recordOf("a long")}
		if err := mapWire(t, m, cs, wire(7, zz(5))); err != nil {
			t.Errorf("got %v, though it is there now", err)
		}
	})
}

func TestUnknownSchemasTakeBoundedMemory(t *testing.T) {
	reg := &schemas{}
	store := &schemaStore[AvroSchema]{}
	for id := range uint32(3 * mostDenied) {
		store.deny(SchemaRef{ID: id}, "none", time.Hour)
	}
	if n := len(store.mu.denied); n > mostDenied {
		t.Errorf("%d are remembered", n)
	}
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, cs := mustAvro(t, s, AvroOptions{Resolver: resolverFunc(reg.at)})
	if err := mapWire(t, m, cs, wire(1<<31)); codeOf(err) != CodeSchema || reg.asks.Load() != 0 {
		t.Errorf("an id that no registry gives: %v, asked %d times", err, reg.asks.Load())
	}
}
