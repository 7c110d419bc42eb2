//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time of this process, all its threads together.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// maxRSS is the largest resident set of this process, in the unit of the operating system.
func maxRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) //nolint:unconvert // it is not 64 bits wide everywhere
}
