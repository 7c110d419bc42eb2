package proof

import "strconv"

// Generated is the truth of records that follow from a seed: a producer and a checker in different processes need nothing
// else in common. Any goroutine.
type Generated struct {
	Seed uint64
	// Ends are the positions behind the last record of each partition.
	Ends []int64
}

var _ Truth = Generated{}

// End is the position behind the last record; 0 for a partition beyond Ends.
func (g Generated) End(partition int32) int64 {
	if partition < 0 || int(partition) >= len(g.Ends) {
		return 0
	}
	return g.Ends[partition]
}

// Payload follows from the seed, the partition and the position alone. Every record below the end becomes a row.
func (g Generated) Payload(partition int32, position int64) (string, bool) {
	if position < 0 || position >= g.End(partition) {
		return "", false
	}
	return g.payload(partition, position), true
}

// payload is some 20 to 50 characters.
func (g Generated) payload(partition int32, position int64) string {
	h := g.hash(partition, position)
	b := make([]byte, 0, 64)
	b = strconv.AppendUint(b, h, 36)
	for n := h % 32; n > 0; n-- {
		h = mix(h)
		b = append(b, 'a'+byte(h%26))
	}
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(partition), 10)
	b = append(b, '-')
	return string(strconv.AppendInt(b, position, 10))
}

// Regions is how many values of region there are.
const Regions = 5

// Value is the record's value, as JSON: part, off, payload and region, which is "r0" to "r4". It does not look at Ends.
func (g Generated) Value(partition int32, position int64) []byte {
	b := make([]byte, 0, 128)
	b = append(b, `{"part":`...)
	b = strconv.AppendInt(b, int64(partition), 10)
	b = append(b, `,"off":`...)
	b = strconv.AppendInt(b, position, 10)
	b = append(b, `,"region":"r`...)
	b = strconv.AppendUint(b, mix(g.hash(partition, position))%Regions, 10)
	b = append(b, `","payload":"`...)
	b = append(b, g.payload(partition, position)...)
	return append(b, `"}`...)
}

func (g Generated) hash(partition int32, position int64) uint64 {
	return mix(mix(mix(g.Seed)^uint64(uint32(partition))) ^ uint64(position))
}

// mix is SplitMix64's.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
