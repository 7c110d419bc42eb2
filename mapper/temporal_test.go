package mapper

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestDatesAreThoseOfTheTimePackage(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	var text []byte
	for want := int32(minDay); want <= maxDay; want++ {
		text = day.AppendFormat(text[:0], time.DateOnly)
		got, f := parseDate(text)
		if f != nil || got != want {
			t.Fatalf("%s: %d, want %d: %v", day, got, want, f)
		}
		day = day.AddDate(0, 0, 1)
	}
	if day.Year() != 10000 {
		t.Fatal("the last day is not the last of year 9999")
	}
}

func TestStampsAreThoseOfTheTimePackage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var cache dayCache
	for range 100000 {
		at := time.UnixMicro(minMicros + r.Int64N(maxMicros-minMicros)).UTC()
		if r.IntN(2) == 0 {
			at = at.In(time.FixedZone("", (r.IntN(2*24*60-1)-24*60+1)*60))
		}
		if at.Year() < 1 || at.Year() > 9999 {
			continue
		}
		got, f := cache.stampText([]byte(at.Format(time.RFC3339Nano)), TimestampTz)
		if f != nil || got != at.UnixMicro() {
			t.Fatalf("%s: %d, want %d: %v", at, got, at.UnixMicro(), f)
		}
		nanos := time.Unix(0, int64(r.Uint64())).UTC()
		got, f = cache.stampText([]byte(nanos.Format(time.RFC3339Nano)), TimestampTzNs)
		if f != nil || got != nanos.UnixNano() {
			t.Fatalf("%s: %d, want %d: %v", nanos, got, nanos.UnixNano(), f)
		}
	}
}

// A text that fails half way must not poison the cache for the next one.
func TestDayCacheHoldsOnlyGoodDates(t *testing.T) {
	var cache dayCache
	for _, bad := range []string{"2024-02-30T00:00:00Z", "xxxx-xx-xxT00:00:00Z", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00T00:00:00Z"} {
		for range 2 {
			if _, f := cache.stampText([]byte(bad), TimestampTz); f == nil {
				t.Errorf("%q: accepted", bad)
			}
		}
	}
	for _, good := range []string{"2024-02-29T00:00:00Z", "2024-02-28T00:00:00Z", "2024-02-28T00:00:00Z", "2024-02-29T00:00:00Z"} {
		want, _ := time.Parse(time.RFC3339, good)
		if got, f := cache.stampText([]byte(good), TimestampTz); f != nil || got != want.UnixMicro() {
			t.Errorf("%s: %d, %v", good, got, f)
		}
	}
}

func TestNumbersAreThoseOfMathBig(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	digits := func(n int) string {
		s := make([]byte, n)
		for i := range s {
			s[i] = '0' + byte(r.IntN(10))
			if r.IntN(3) == 0 {
				s[i] = "09"[r.IntN(2)]
			}
		}
		return string(s)
	}
	for range 60000 {
		lit := strings.TrimLeft(digits(1+r.IntN(40)), "0")
		if lit == "" {
			lit = "0"
		}
		if r.IntN(2) == 0 {
			lit = "-" + lit
		}
		if r.IntN(2) == 0 {
			lit += "." + digits(1+r.IntN(40))
		}
		if r.IntN(2) == 0 {
			lit += string("eE"[r.IntN(2)]) + []string{"", "+", "-"}[r.IntN(3)] + digits(1+r.IntN(2))
		}
		if numberEnd([]byte(lit), 0) != len(lit) {
			t.Fatalf("%s: not a number", lit)
		}
		rat, _ := new(big.Rat).SetString(lit)
		want, ok := oracleNumber(&Type{Kind: Long}, lit)
		if got, f := split([]byte(lit)).int64(); ok != (f == nil) || ok && got != want {
			t.Fatalf("%s: %d %v, want %v %v", lit, got, f, want, ok)
		}
		p := 1 + r.IntN(38)
		ty := &Type{Kind: Decimal, Precision: p, Scale: r.IntN(p + 1)}
		want, ok = oracleNumber(ty, lit)
		got, f := split([]byte(lit)).decimal(nil, ty.Precision, ty.Scale)
		if ok != (f == nil) || ok && string(got) != want {
			t.Fatalf("%s as %s: %x %v, want %x %v (%s)", lit, ty, got, f, want, ok, rat)
		}
		f64, err := oracleNumber(&Type{Kind: Double}, lit)
		if v, f := float64Of([]byte(lit)); err != (f == nil) || err && v != f64 {
			t.Fatalf("%s: %v, want %v", lit, v, f64)
		}
	}
	if v, f := (number{neg: true, digits: []byte("9223372036854775808"), count: 19}).int64(); f != nil || v != math.MinInt64 {
		t.Fatal(v, f)
	}
}

func FuzzTextForms(f *testing.F) {
	for _, tc := range typeCases {
		for _, c := range tc.cases {
			f.Add(strings.Trim(c.in, `"`))
		}
	}
	cs := mustColumns(f, everyKind())
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range cs.Cols {
			if len(c.Kids) > 0 || c.kind == String {
				continue
			}
			if fault := c.appendKey([]byte(s)); fault == nil && c.kind == TimestampTz {
				at := time.UnixMicro(c.I64[0])
				back, fault := c.day.stampText(at.UTC().AppendFormat(nil, time.RFC3339Nano), TimestampTz)
				if fault != nil || back != c.I64[0] {
					t.Fatalf("%q: %v does not read back: %v", s, at, fault)
				}
			}
			if c.Len > 1 {
				t.Fatal("more than one value")
			}
			checkColumn(t, c, c.Len)
			c.truncate(0)
			checkColumn(t, c, 0)
		}
	})
}
