//go:build !unix

package bench

import "time"

// cpuTime is 0 where the operating system has no getrusage.
func cpuTime() time.Duration { return 0 }

// peakRSS is 0 where the operating system has no getrusage.
func peakRSS() int64 { return 0 }

// forgetPeak does nothing: the peak can't be set back here.
func forgetPeak() {}
