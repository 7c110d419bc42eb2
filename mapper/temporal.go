package mapper

import (
	"encoding/binary"
	"math"
)

const (
	microsPerDay   = 86400 * 1000000
	nanosPerSecond = 1000000000
	minDay         = -719162 // 0001-01-01
	maxDay         = 2932896 // 9999-12-31
	minMicros      = minDay * microsPerDay
	maxMicros      = (maxDay+1)*microsPerDay - 1
)

// dayCache remembers one date text, and one text of a timestamp up to its minute: most timestamps of a stream fall on the
// day of the one before, and many into its minute.
type dayCache struct {
	a    uint64 // the first eight bytes; 0 where nothing is remembered
	b    uint16 // the last two
	days int32

	minute [2]uint64 // the sixteen bytes from the year to the minute; a column's begins as epochMinute, which start fits
	start  int64     // the minute's first second since 1970, in UTC
}

// epochMinute is what a column remembers before its first timestamp. Zeros would be sixteen control characters, which no
// JSON string holds.
var epochMinute = [2]uint64{load([]byte("1970-01-01T00:00"), 0), load([]byte("1970-01-01T00:00"), 8)}

// date reads YYYY-MM-DD at the start of t, which has ten bytes or more.
func (d *dayCache) date(t []byte) (int32, *fault) {
	a, b := binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint16(t[8:])
	if a == d.a && b == d.b && a != 0 {
		return d.days, nil
	}
	days, f := parseDate(t[:10])
	if f == nil {
		d.a, d.b, d.days = a, b, days
	}
	return days, f
}

func parseDate(t []byte) (int32, *fault) {
	if len(t) != 10 || t[4] != '-' || t[7] != '-' {
		return 0, faultDateForm
	}
	y1, y2, m, d := two(t, 0), two(t, 2), two(t, 5), two(t, 8)
	if y1|y2|m|d >= 128 {
		return 0, faultDateForm
	}
	y := y1*100 + y2
	if y == 0 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, faultDateRange
	}
	return daysFromCivil(y, m, d), nil
}

// two reads two digits at t[i:]. Where they are none the result is 128 or more, also when or-ed with others below 100.
func two(t []byte, i int) int {
	a, b := t[i]-'0', t[i+1]-'0'
	if a > 9 || b > 9 {
		return 128
	}
	return int(a)*10 + int(b)
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysFromCivil counts the days from 1970-01-01 in the Gregorian calendar, also before its time. Years are taken to begin
// in March, so that the leap day is a year's last; then the months' lengths follow (153m+2)/5.
func daysFromCivil(y, m, d int) int32 {
	if m <= 2 {
		y--
		m += 12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1
	return int32(days - 719468)
}

// clock reads HH:MM:SS at t[i:], which must have eight bytes; in seconds.
func clock(t []byte, i int, form *fault) (int, *fault) {
	if t[i+2] != ':' || t[i+5] != ':' {
		return 0, form
	}
	h, m, s := two(t, i), two(t, i+3), two(t, i+6)
	if h|m|s >= 128 {
		return 0, form
	}
	if h > 23 || m > 59 || s > 59 {
		return 0, faultTimeRange
	}
	return h*3600 + m*60 + s, nil
}

// fraction reads a fraction of a second at t[i:], which begins with the point where there is one, as nanoseconds. Digits
// finer than those must be zero; end is the index behind it.
func fraction(t []byte, i int, form *fault) (nanos, end int, f *fault) {
	if i >= len(t) || t[i] != '.' {
		return 0, i, nil
	}
	s := i + 1
	unit := 100000000
	for i = s; i < len(t); i++ {
		d := t[i] - '0'
		if d > 9 {
			break
		}
		if unit == 0 && d != 0 {
			return 0, 0, faultNanos
		}
		nanos += int(d) * unit
		unit /= 10
	}
	if i == s {
		return 0, 0, form
	}
	return nanos, i, nil
}

// parseTime reads HH:MM:SS with or without a fraction, as microseconds since midnight.
func parseTime(t []byte) (int64, *fault) {
	if len(t) < 8 {
		return 0, faultTimeForm
	}
	sec, f := clock(t, 0, faultTimeForm)
	if f != nil {
		return 0, f
	}
	nanos, end, f := fraction(t, 8, faultTimeForm)
	if f == faultNanos {
		f = faultMicros
	}
	if f != nil {
		return 0, f
	}
	if end != len(t) {
		return 0, faultTimeForm
	}
	if nanos%1000 != 0 {
		return 0, faultMicros
	}
	return int64(sec)*1000000 + int64(nanos/1000), nil
}

// parseStamp reads a timestamp of RFC 3339 as seconds and nanoseconds since the epoch. The date and the time may be
// parted by T, t or a space. zoned says whether the offset must be there, or must not.
func (d *dayCache) parseStamp(t []byte, zoned bool) (sec int64, nanos int, f *fault) {
	if len(t) < 19 || t[10]|0x20 != 't' && t[10] != ' ' {
		return 0, 0, faultStampForm
	}
	days, f := d.date(t)
	if f != nil {
		if f == faultDateForm {
			f = faultStampForm
		}
		return 0, 0, f
	}
	clk, f := clock(t, 11, faultStampForm)
	if f != nil {
		return 0, 0, f
	}
	nanos, i, f := fraction(t, 19, faultStampForm)
	if f != nil {
		return 0, 0, f
	}
	shift, f := offset(t[i:], zoned)
	sec = int64(days)*86400 + int64(clk)
	d.minute, d.start = [2]uint64{load(t, 0), load(t, 8)}, sec-int64(clk%60)
	return sec - int64(shift), nanos, f
}

// offset reads the offset from UTC that must be all of t, in seconds.
func offset(t []byte, zoned bool) (int, *fault) {
	if len(t) == 0 {
		if zoned {
			return 0, faultZoneMissing
		}
		return 0, nil
	}
	shift := 0
	switch {
	case len(t) == 1 && t[0]|0x20 == 'z':
	case len(t) == 6 && (t[0] == '+' || t[0] == '-') && t[3] == ':':
		h, m := two(t, 1), two(t, 4)
		if h > 23 || m > 59 {
			return 0, faultStampForm
		}
		shift = h*3600 + m*60
		if t[0] == '-' {
			shift = -shift
		}
	default:
		return 0, faultStampForm
	}
	if !zoned {
		return 0, faultZoneGiven
	}
	return shift, nil
}

// stampText reads a timestamp in the unit of the kind.
func (d *dayCache) stampText(t []byte, k Kind) (int64, *fault) {
	sec, nanos, f := d.parseStamp(t, k == TimestampTz || k == TimestampTzNs)
	if f == faultNanos && (k == Timestamp || k == TimestampTz) {
		f = faultMicros
	}
	if f != nil {
		return 0, f
	}
	return stampOf(sec, nanos, k)
}

// stampOf gives seconds and nanoseconds since the epoch in the unit of the kind, exactly or not at all.
func stampOf(sec int64, nanos int, k Kind) (int64, *fault) {
	if sec < minDay*86400 || sec >= (maxDay+1)*86400 {
		if k == TimestampNs || k == TimestampTzNs {
			return 0, faultNanoRange
		}
		return 0, faultStampRange
	}
	if k == Timestamp || k == TimestampTz {
		if nanos%1000 != 0 {
			return 0, faultMicros
		}
		return sec*1000000 + int64(nanos/1000), nil
	}
	return nanosOf(sec, nanos)
}

// nanosOf is sec*1e9+nanos where that fits. Below zero the sum is made from the next second, so that the lowest int64,
// whose seconds alone would not fit, is reached too.
func nanosOf(sec int64, nanos int) (int64, *fault) {
	n := int64(nanos)
	if sec < 0 {
		sec, n = sec+1, n-nanosPerSecond
	}
	if sec > math.MaxInt64/nanosPerSecond || sec < math.MinInt64/nanosPerSecond {
		return 0, faultNanoRange
	}
	v := sec * nanosPerSecond
	if n > 0 && v > math.MaxInt64-n || n < 0 && v < math.MinInt64-n {
		return 0, faultNanoRange
	}
	return v + n, nil
}

// stampMillis gives milliseconds since the epoch in the unit of the kind.
func stampMillis(ms int64, k Kind) (int64, *fault) {
	sec, rest := ms/1000, ms%1000
	if rest < 0 {
		sec, rest = sec-1, rest+1000
	}
	return stampOf(sec, int(rest)*1000000, k)
}
