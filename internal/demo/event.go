package demo

import (
	"strconv"
	"time"
)

const (
	// Topic is what the events are produced to.
	Topic = "events"
	// Partitions is the number of its partitions.
	Partitions = 8
	// Days is the number of days that the events are spread over, from FirstDay on.
	Days = 3
)

// FirstDay is the day of the earliest events.
var FirstDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

var (
	regions    = []string{"ap-south", "eu-north", "eu-west", "us-east", "us-west"}
	eventTypes = []string{"view", "click", "search", "add_to_cart", "remove_from_cart", "checkout", "purchase", "refund"}
	pages      = []string{"/", "/search", "/product", "/cart", "/checkout", "/account"}
)

// Event is one record of the demo. All of it follows from its id.
type Event struct {
	// ID is offset*Partitions + partition, so that all ids below a number divisible by Partitions are used once each.
	ID     int64
	Region string
	// TimeMicros is in microseconds since the epoch, UTC.
	TimeMicros int64
	UserID     int64
	Type       string
	// AmountCents is the amount with its two decimal places.
	AmountCents int64
	// Page is empty where the event has none.
	Page string
}

// EventAt is the event at an offset of a partition.
func EventAt(partition int32, offset int64) Event {
	return EventOf(offset*Partitions + int64(partition))
}

// EventOf is the event of an id.
func EventOf(id int64) Event {
	a, b := mix(uint64(id)), mix(uint64(id)^0xa5a5a5a5a5a5a5a5)
	e := Event{
		ID:          id,
		Region:      regions[a%uint64(len(regions))],
		TimeMicros:  FirstDay.UnixMicro() + int64((a>>8)%uint64(Days*24*time.Hour/time.Microsecond)),
		UserID:      int64(b % 50_000),
		Type:        eventTypes[(b>>32)%uint64(len(eventTypes))],
		AmountCents: int64((b >> 16) % 1_000_000),
	}
	if n := (b >> 40) % uint64(len(pages)+1); n > 0 {
		e.Page = pages[n-1]
	}
	return e
}

// mix is the finalizer of splitmix64: neighbouring ids give unrelated numbers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// AppendJSON appends the event as the record's value.
func (e Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, e.ID, 10)
	dst = append(dst, `,"region":"`...)
	dst = append(dst, e.Region...)
	dst = append(dst, `","event_time":"`...)
	dst = time.UnixMicro(e.TimeMicros).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	dst = append(dst, `","user_id":`...)
	dst = strconv.AppendInt(dst, e.UserID, 10)
	dst = append(dst, `,"event_type":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `","amount":`...)
	dst = strconv.AppendInt(dst, e.AmountCents/100, 10)
	dst = append(dst, '.', byte('0'+e.AmountCents/10%10), byte('0'+e.AmountCents%10))
	if e.Page != "" {
		dst = append(dst, `,"page":"`...)
		dst = append(dst, e.Page...)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// perPartition is how many of n events belong to a partition: they are dealt out in turn.
func perPartition(n int64, partition int32) int64 {
	k := n / Partitions
	if int64(partition) < n%Partitions {
		k++
	}
	return k
}
