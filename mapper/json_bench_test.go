package mapper

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

// Workload A: 143 bytes of JSON, six columns. Workload B: 1.2 kB, 40 columns, among them a struct and a list.

var (
	eventTypes = []string{"click", "view", "purchase", "add_to_cart", "search", "login", "logout", "share"}
	words      = []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima"}
	startOf    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func schemaA() *Schema {
	return &Schema{Fields: []Field{
		{Name: "id", Type: Type{Kind: Long}, Required: true}, {Name: "user_id", Type: Type{Kind: Long}},
		{Name: "event_type", Type: Type{Kind: String}}, {Name: "value", Type: Type{Kind: Double}},
		{Name: "info", Type: Type{Kind: String}}, {Name: "ts", Type: Type{Kind: TimestampTz}},
	}}
}

func appendWords(r *rand.Rand, b []byte, n int) []byte {
	for end := len(b) + n; len(b) < end; {
		b = append(b, words[r.IntN(len(words))]...)
		b = append(b, ' ')
	}
	return b[:len(b)-1]
}

func appendStamp(b []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
}

func recordsA(n int) []source.Record {
	r := rand.New(rand.NewPCG(1, 1))
	recs := make([]source.Record, n)
	for i := range recs {
		b := fmt.Appendf(nil, `{"id":%d,"user_id":%d,"event_type":"%s","value":%.2f,"info":"`, 1000000000+i, r.IntN(1000000),
			eventTypes[r.IntN(8)], r.Float64()*1000)
		b = append(appendWords(r, b, 27), `","ts":`...)
		b = append(appendStamp(b, startOf.UnixMilli()+int64(i)*3), '}')
		recs[i].Value = b
	}
	return recs
}

func schemaB() *Schema {
	s := &Schema{}
	add := func(name string, n int, k Kind) {
		for i := range n {
			full := name
			if n > 1 {
				full += "_" + strconv.Itoa(i)
			}
			s.Fields = append(s.Fields, Field{Name: full, Type: Type{Kind: k}})
		}
	}
	add("id", 1, Long)
	add("ts", 1, TimestampTz)
	add("metric", 10, Long)
	add("amount", 8, Double)
	add("status", 6, String)
	add("field", 8, String)
	add("flag", 3, Boolean)
	add("updated_at", 1, TimestampTz)
	s.Fields = append(s.Fields,
		Field{Name: "location", Type: Type{Kind: Struct, Fields: []Field{{Name: "lat", Type: Type{Kind: Double}},
			{Name: "lon", Type: Type{Kind: Double}}, {Name: "city", Type: Type{Kind: String}}, {Name: "country", Type: Type{Kind: String}}}}},
		Field{Name: "tags", Type: listOf(Field{Type: Type{Kind: String}})})
	return s
}

func recordsB(n int) []source.Record {
	r := rand.New(rand.NewPCG(2, 2))
	recs := make([]source.Record, n)
	for i := range recs {
		b := append(fmt.Appendf(nil, `{"id":%d,"ts":`, 1000000000+i), appendStamp(nil, startOf.UnixMilli()+int64(i)*3)...)
		for k := range 10 {
			b = fmt.Appendf(b, `,"metric_%d":`, k)
			if r.IntN(20) == 0 {
				b = append(b, "null"...)
			} else {
				b = strconv.AppendInt(b, int64(r.IntN(1<<(8+3*k%24))), 10)
			}
		}
		for k := range 8 {
			b = fmt.Appendf(b, `,"amount_%d":%v`, k, math.Round(r.Float64()*1e7)/1000)
		}
		for k := range 6 {
			b = fmt.Appendf(b, `,"status_%d":"%s"`, k, eventTypes[r.IntN(5)])
		}
		for k := range 8 {
			b = appendWords(r, fmt.Appendf(b, `,"field_%d":"`, k), 30+r.IntN(40))
			if r.IntN(40) == 0 {
				b = append(b, ` \"q\" \u00e9\n`...)
			}
			b = append(b, '"')
		}
		for k := range 3 {
			b = fmt.Appendf(b, `,"flag_%d":%v`, k, r.IntN(2) == 0)
		}
		b = appendStamp(append(b, `,"updated_at":`...), startOf.UnixMilli()+int64(i)*3+r.Int64N(10000))
		b = fmt.Appendf(b, `,"location":{"lat":%v,"lon":%v,"city":"%s","country":"DE"},"tags":[`, math.Round(r.Float64()*180e6-90e6)/1e6,
			math.Round(r.Float64()*360e6-180e6)/1e6, words[r.IntN(len(words))])
		for k := range r.IntN(5) {
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `"%s"`, words[r.IntN(len(words))])
		}
		recs[i].Value = append(b, "]}"...)
	}
	return recs
}

// cpuTime is what the process has used: the figure to trust on a shared machine.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// mapAll maps the records over and over, with a reset after each round, and reports the time of one record: on the whole,
// and in the stretch of stretchLen records that was disturbed least.
func mapAll(b *testing.B, s *Schema, recs []source.Record) {
	m, cs := mustJSON(b, s)
	measureMap(b, m, cs, recs)
}

func measureMap(b *testing.B, m Mapper, cs *Columns, recs []source.Record) {
	const stretchLen = 500
	size := int64(0)
	for round := range 2 {
		for i := range recs {
			if err := m.Map(&recs[i], cs); err != nil {
				b.Fatal(err)
			}
			size += int64(len(recs[i].Value)) * int64(1-round)
		}
		cs.Reset()
	}
	b.SetBytes(size / int64(len(recs)))
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime(b)
	k, best, at := 0, time.Duration(math.MaxInt64), start
	for i := range b.N {
		if err := m.Map(&recs[k], cs); err != nil {
			b.Fatal(err)
		}
		if k++; k == len(recs) {
			k = 0
			cs.Reset()
		}
		if i%stretchLen == stretchLen-1 {
			now := cpuTime(b)
			best, at = min(best, now-at), now
		}
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/record")
	if b.N >= stretchLen {
		b.ReportMetric(float64(best)/stretchLen, "best-cpu-ns/record")
	}
}

func BenchmarkJSONWorkloadA(b *testing.B) { mapAll(b, schemaA(), recordsA(5000)) }
func BenchmarkJSONWorkloadB(b *testing.B) { mapAll(b, schemaB(), recordsB(1000)) }

// Workload A as writers have it that put blanks behind colons and commas.
func BenchmarkJSONSpacedA(b *testing.B) { mapAll(b, schemaA(), spaced(recordsA(5000))) }

func spaced(recs []source.Record) []source.Record {
	for i := range recs {
		v := bytes.ReplaceAll(recs[i].Value, []byte(`":`), []byte(`": `))
		recs[i].Value = bytes.ReplaceAll(v, []byte(`,"`), []byte(`, "`))
	}
	return recs
}

// Keys in an order that changes from record to record, and a third of them unknown.
func BenchmarkJSONShuffledKeys(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	recs := make([]source.Record, 1000)
	for i := range recs {
		members := []string{`"id":1`, `"user_id":2`, `"event_type":"click"`, `"value":1.5`, `"info":"alpha"`, `"other":{"a":[1,2]}`, `"more":"text"`, `"x":1`}
		r.Shuffle(len(members), func(i, k int) { members[i], members[k] = members[k], members[i] })
		v := "{"
		for k, m := range members {
			if k > 0 {
				v += ","
			}
			v += m
		}
		recs[i].Value = []byte(v + "}")
	}
	mapAll(b, schemaA(), recs)
}

func BenchmarkAppendRows(b *testing.B) {
	for _, w := range []struct {
		name string
		s    *Schema
		recs []source.Record
	}{{"A", schemaA(), recordsA(10000)}, {"B", schemaB(), recordsB(2000)}} {
		b.Run(w.name, func(b *testing.B) {
			m, src := mustJSON(b, w.s)
			var rows []int32
			for i := range w.recs {
				if err := m.Map(&w.recs[i], src); err != nil {
					b.Fatal(err)
				}
				if i%4 == 0 {
					rows = append(rows, int32(i))
				}
			}
			dst := mustColumns(b, w.s)
			b.ReportAllocs()
			start := cpuTime(b)
			best, at := time.Duration(math.MaxInt64), start
			for b.Loop() {
				dst.Reset()
				if err := dst.AppendRows(src, rows); err != nil {
					b.Fatal(err)
				}
				now := cpuTime(b)
				best, at = min(best, now-at), now
			}
			b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N)/float64(len(rows)), "cpu-ns/row")
			b.ReportMetric(float64(best)/float64(len(rows)), "best-cpu-ns/row")
		})
	}
}

func TestSteadyMappingAllocatesNothing(t *testing.T) {
	for name, w := range map[string]struct {
		s    *Schema
		recs []source.Record
	}{"A": {schemaA(), recordsA(500)}, "A spaced": {schemaA(), spaced(recordsA(500))}, "B": {schemaB(), recordsB(500)}} {
		m, cs := mustJSON(t, w.s)
		parts := []*Columns{mustColumns(t, w.s), mustColumns(t, w.s)}
		rows := [2][]int32{}
		for i := range w.recs {
			rows[i&1] = append(rows[i&1], int32(i))
		}
		round := func() {
			cs.Reset()
			for i := range w.recs {
				if err := m.Map(&w.recs[i], cs); err != nil {
					t.Fatal(err)
				}
			}
			for i, part := range parts {
				part.Reset()
				if err := part.AppendRows(cs, rows[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		round()
		round()
		if n := testing.AllocsPerRun(5, round); n > 0 {
			t.Errorf("%s: %v allocations in %d records", name, n, len(w.recs))
		}
	}
}
