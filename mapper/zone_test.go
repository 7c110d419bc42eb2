package mapper

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// On the last day of leap years time.ZoneBounds gives an end that has passed, where the zone's rule tells the offset.
func TestLocalTimesOfTheLastDayOfALeapYear(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Sydney", "Pacific/Auckland"} {
		loc := zoneOf(t, name)
		for _, year := range []int{2040, 2096, 2400, 9996} {
			z := newZone(loc)
			for day := 28; day <= 34; day++ {
				want := time.Date(year, 12, day, 12, 34, 56, 0, loc)
				_, offset := want.Zone()
				if got, f := z.utc(want.Unix() + int64(offset)); f != nil || got != want.Unix() {
					t.Errorf("%s: %v: %d %v, want %d", name, want, got, f, want.Unix())
				}
			}
		}
	}
}
