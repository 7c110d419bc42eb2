package mapper

import "github.com/stormfloe/floe/source"

// PartitionSetter is what a Mapper is besides if its rows tell which topic and partition they came from: a record does not
// know. A Mapper that wraps another one passes the partition on with SetPartition.
type PartitionSetter interface {
	// SetPartition is called before the first record of each batch, from the goroutine that calls Map. All records are of p
	// until the next call.
	SetPartition(p source.Partition)
}

// SetPartition tells m the partition of the records that come next, if it wants to know.
func SetPartition(m Mapper, p source.Partition) {
	if s, ok := m.(PartitionSetter); ok {
		s.SetPartition(p)
	}
}
