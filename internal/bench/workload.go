package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Workload is a kind of record and the table it goes into.
type Workload struct {
	Name string
	// Columns are the table's, in the words of a configuration.
	Columns []Column
	// append adds record i to dst.
	append func(dst []byte, g *generator, i int64) []byte
	// base is the record's size where it can be widened, and 0 where it can't.
	base int
	// schema is the Avro schema of the records, empty where they are JSON.
	schema string
}

// Column is a column of a workload's table.
type Column struct {
	Name, Type string
	Required   bool
}

// MaxRecordBytes is the largest record that is made.
const MaxRecordBytes = 1 << 20

// firstID is the id of record 0.
const firstID = 1_000_000_000

// Workloads are the names that WorkloadOf knows.
func Workloads() []string { return []string{"a", "b", "avro-a"} }

// WorkloadOf gives a workload by its name.
func WorkloadOf(name string) (Workload, error) {
	switch name {
	case "a":
		return Workload{Name: "a", Columns: columnsA, append: appendA, base: 143}, nil
	case "b":
		return Workload{Name: "b", Columns: columnsB(), append: appendB}, nil
	case "avro-a":
		return Workload{Name: "avro-a", Columns: columnsA, append: appendAvroA, schema: schemaA}, nil
	}
	return Workload{}, fmt.Errorf("there is no workload %q; write a, b or avro-a", name)
}

var columnsA = []Column{
	{"id", "long", true}, {"user_id", "long", false}, {"event_type", "string", false}, {"value", "double", false},
	{"info", "string", false}, {"ts", "timestamptz", false},
}

// columnsB are 40, a struct and a list among them.
func columnsB() []Column {
	cols := []Column{{"id", "long", true}, {"ts", "timestamptz", false}}
	for _, g := range []struct {
		name, kind string
		n          int
	}{{"metric", "long", 10}, {"amount", "double", 8}, {"status", "string", 6}, {"field", "string", 8}, {"flag", "boolean", 3}} {
		for i := range g.n {
			cols = append(cols, Column{g.name + "_" + strconv.Itoa(i), g.kind, false})
		}
	}
	return append(cols, Column{"updated_at", "timestamptz", false},
		Column{"location", "struct<lat: double, lon: double, city: string, country: string>", false},
		Column{"tags", "list<string>", false})
}

var (
	eventTypes = strings.Fields("click view purchase add_to_cart search login logout share")
	words      = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima")
	startOf    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()
)

// generator makes the records of one workload. Record i is the same whatever was made before it.
type generator struct {
	w    Workload
	seed uint64
	pcg  rand.PCG
	r    *rand.Rand
	// wide is how many bytes the record's free text has beyond its usual ones.
	wide int
}

func newGenerator(w Workload, seed uint64, recordBytes int) *generator {
	g := &generator{w: w, seed: seed}
	g.r = rand.New(&g.pcg)
	if recordBytes > 0 {
		g.wide = recordBytes - w.base
	}
	return g
}

// append adds record i to dst.
func (g *generator) append(dst []byte, i int64) []byte {
	// An odd constant spreads neighbours over the whole state.
	g.pcg.Seed(g.seed, uint64(i)*0x9e3779b97f4a7c15)
	return g.w.append(dst, g, i)
}

// text adds n bytes of words, or a few more.
func (g *generator) text(dst []byte, n int) []byte {
	for end := len(dst) + n; len(dst) < end; {
		dst = append(dst, words[g.r.IntN(len(words))]...)
		dst = append(dst, ' ')
	}
	return dst[:len(dst)-1]
}

// decimal adds n with that many decimal places.
func decimal(dst []byte, n int64, places int) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	unit := int64(1)
	for range places {
		unit *= 10
	}
	dst = append(strconv.AppendInt(dst, n/unit, 10), '.')
	for n %= unit; places > 0; places-- {
		unit /= 10
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}

func stamp(dst []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(dst, `"2006-01-02T15:04:05.000Z"`)
}

// appendA adds a record of workload A: 143 bytes, or as many as were asked for.
func appendA(dst []byte, g *generator, i int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), firstID+i, 10)
	dst = strconv.AppendInt(append(dst, `,"user_id":`...), g.r.Int64N(1_000_000), 10)
	dst = append(append(dst, `,"event_type":"`...), eventTypes[g.r.IntN(len(eventTypes))]...)
	dst = decimal(append(dst, `","value":`...), g.r.Int64N(100_000), 2)
	dst = g.text(append(dst, `,"info":"`...), max(1, 27+g.wide))
	return append(stamp(append(dst, `","ts":`...), startOf+i*apart), '}')
}

// appendB adds a record of workload B: about 1.2 kB.
func appendB(dst []byte, g *generator, i int64) []byte {
	ms := startOf + i*apart
	dst = strconv.AppendInt(append(dst, `{"id":`...), firstID+i, 10)
	dst = stamp(append(dst, `,"ts":`...), ms)
	for k := range 10 {
		dst = numbered(dst, "metric_", k)
		if g.r.IntN(20) == 0 {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendInt(dst, g.r.Int64N(1<<(8+3*k%24)), 10)
		}
	}
	for k := range 8 {
		dst = decimal(numbered(dst, "amount_", k), g.r.Int64N(10_000_000), 3)
	}
	for k := range 6 {
		dst = append(append(append(numbered(dst, "status_", k), '"'), eventTypes[g.r.IntN(5)]...), '"')
	}
	for k := range 8 {
		dst = g.text(append(numbered(dst, "field_", k), '"'), 30+g.r.IntN(40))
		if g.r.IntN(40) == 0 {
			dst = append(dst, ` \"q\" \u00e9\n`...)
		}
		dst = append(dst, '"')
	}
	for k := range 3 {
		dst = strconv.AppendBool(numbered(dst, "flag_", k), g.r.IntN(2) == 0)
	}
	dst = stamp(append(dst, `,"updated_at":`...), ms+g.r.Int64N(10_000))
	return g.appendNested(dst)
}

// appendNested adds B's struct and list and closes the record.
func (g *generator) appendNested(dst []byte) []byte {
	dst = decimal(append(dst, `,"location":{"lat":`...), g.r.Int64N(180e6)-90e6, 6)
	dst = decimal(append(dst, `,"lon":`...), g.r.Int64N(360e6)-180e6, 6)
	dst = append(append(dst, `,"city":"`...), words[g.r.IntN(len(words))]...)
	dst = append(dst, `","country":"DE"},"tags":[`...)
	for k := range g.r.IntN(5) {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), words[g.r.IntN(len(words))]...), '"')
	}
	return append(dst, "]}"...)
}

// numbered adds the key name_k.
func numbered(dst []byte, name string, k int) []byte {
	return append(strconv.AppendInt(append(append(dst, `,"`...), name...), int64(k), 10), `":`...)
}
