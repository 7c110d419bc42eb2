package topology

// Shares is how one memory bound is split, in bytes. The source is configured with Prefetch by whoever makes it; the
// rest is held by the topology. A quarter of the bound is left to what can't be counted: catalog clients, metadata,
// garbage that is not collected yet.
type Shares struct {
	// Prefetch is what the source may read ahead, buffers in use included.
	Prefetch int64
	// Queues is what may wait between the source and the writer tasks, over all tasks.
	Queues int64
	// OpenFiles is what the open batches of all tasks may buffer.
	OpenFiles int64
	// Descriptors is what sealed batches that wait for their commit may take, over all tasks.
	Descriptors int64
}

// MemoryShares splits total bytes: a quarter for prefetch, an eighth for the queues, five sixteenths for open files, a
// sixteenth for descriptors.
func MemoryShares(total int64) Shares {
	if total <= 0 {
		total = defaultMemory
	}
	return Shares{Prefetch: total / 4, Queues: total / 8, OpenFiles: total / 16 * 5, Descriptors: total / 16}
}

const (
	// maxInFlight is how many sealed batches of one task may wait for their answer. At that number, or at its share of
	// memory, the committer is asked not to wait for its interval, and the task takes nothing more.
	maxInFlight = 64
	// fileWeight and descriptorWeight estimate what a descriptor takes in memory: the metrics of a data file with some
	// tens of columns, and what surrounds them.
	fileWeight       = 4 << 10
	descriptorWeight = 2 << 10
	// queueLength is how many batches may wait for one task, whatever their size.
	queueLength = 8
)
