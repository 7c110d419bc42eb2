//go:build unix && !linux

package bench

import "runtime"

// peakRSS is the largest resident set of this process.
func peakRSS() int64 {
	if runtime.GOOS == "darwin" {
		return maxRSS() // in bytes there, in KiB elsewhere
	}
	return maxRSS() << 10
}

// forgetPeak does nothing: the peak can't be set back here.
func forgetPeak() {}
