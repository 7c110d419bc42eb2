package mapper

import "time"

// zone turns local times into instants. It belongs to one goroutine.
type zone struct {
	loc *time.Location
	// Local times from low to below high lie far inside a period of one offset, in seconds.
	low, high, offset int64
}

// zoneSlack is more than two offsets of one zone can differ by, in seconds.
const zoneSlack = 48 * 3600

func newZone(loc *time.Location) *zone {
	if loc == nil {
		return nil
	}
	return &zone{loc: loc}
}

// utc is the instant that local shows: seconds since 1970 on the clock's face. A local time that the zone has twice, or not
// at all, is a fault.
func (z *zone) utc(local int64) (int64, *fault) {
	if local >= z.low && local < z.high {
		return local - z.offset, nil
	}
	found, at := 0, int64(0)
	for t := local - zoneSlack; ; {
		start, end := time.Unix(t, 0).In(z.loc).ZoneBounds()
		offset := z.offsetAt(t)
		if u := local - offset; (found == 0 || u != at) && z.offsetAt(u) == offset {
			found, at = found+1, u
			z.remember(start, end, offset)
		}
		if end.IsZero() || t > local+zoneSlack {
			break
		}
		// ZoneBounds ends a period too early on the last day of leap years that the zone's rule is for.
		t = max(end.Unix(), t+86400)
	}
	switch found {
	case 0:
		return 0, faultSkipped
	case 1:
		return at, nil
	}
	return 0, faultTwofold
}

// offsetAt is the zone's offset at an instant, in seconds.
func (z *zone) offsetAt(t int64) int64 {
	_, offset := time.Unix(t, 0).In(z.loc).Zone()
	return int64(offset)
}

// remember keeps the period's part that no other period's local times reach.
func (z *zone) remember(start, end time.Time, offset int64) {
	z.low, z.high, z.offset = minDay*86400, (maxDay+1)*86400, offset
	if !start.IsZero() {
		z.low = start.Unix() + zoneSlack
	}
	if !end.IsZero() {
		z.high = end.Unix() - zoneSlack
	}
}

// utcParts is utc for a timestamp of a kind.
func (z *zone) utcParts(v int64, k Kind) (int64, *fault) {
	per := perSecond(k)
	sec, rest := v/per, v%per
	if rest < 0 {
		sec, rest = sec-1, rest+per
	}
	sec, f := z.utc(sec)
	if f != nil {
		return 0, f
	}
	return stampOf(sec, int(rest*(nanosPerSecond/per)), k)
}
