package source

// Meter is what a Source may be besides: it tells what it has seen while it was reading.
type Meter interface {
	// Reading is called now and then, for metrics and status, from any goroutine. It must not wait for a network.
	Reading() Reading
}

// Reading is what a source has read since it was made.
type Reading struct {
	// Fetches counts the requests that were answered, FetchedBytes what they brought, as it came, compressed.
	Fetches, FetchedBytes int64
	// Ends says, for owned partitions that were heard of, where their records ended then: the position behind the last record that a
	// reader may see. The caller may keep the map.
	Ends map[Partition]Position
}
