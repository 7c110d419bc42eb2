package kafka

import (
	"fmt"
	"time"

	"github.com/stormfloe/floe/source"
)

// StartKind says how Start is meant.
type StartKind string

const (
	// StartEarliest is the log's start. It is the default.
	StartEarliest StartKind = "earliest"
	// StartLatest is the end: under read_committed the last stable offset.
	StartLatest StartKind = "latest"
	// StartGroup is the group's committed offset; the log's start where it has none.
	StartGroup StartKind = "group"
	// StartTime is the first record whose time is not below Start.Time; the end where there is none.
	StartTime StartKind = "time"
	// StartOffsets is Start.Offsets; the log's start for partitions that are not in there.
	StartOffsets StartKind = "offsets"
)

// Start says where a partition starts that the table has no position for. The zero value is the log's start.
type Start struct {
	Kind StartKind
	// Time is used by StartTime.
	Time time.Time
	// Offsets is used by StartOffsets: by topic and partition.
	Offsets map[string]map[int32]source.Position
}

func (s Start) validate() error {
	switch s.Kind {
	case "", StartEarliest, StartLatest, StartGroup:
		return nil
	case StartTime:
		if s.Time.IsZero() || s.Time.UnixMilli() < 0 {
			return fmt.Errorf("kafka: start is a time, but %s is none after 1970", s.Time)
		}
		return nil
	case StartOffsets:
		if len(s.Offsets) == 0 {
			return fmt.Errorf("kafka: start.offsets is empty; give offsets by topic and partition")
		}
		for t, ps := range s.Offsets {
			for p, o := range ps {
				if p < 0 || o < 0 {
					return fmt.Errorf("kafka: start.offsets has %s/%d: %d; partitions and offsets are not negative", t, p, o)
				}
			}
		}
		return nil
	}
	return fmt.Errorf("kafka: start is %q; it is earliest, latest, group, a time, or offsets", s.Kind)
}
