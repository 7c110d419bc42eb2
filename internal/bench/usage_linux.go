package bench

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// peakRSS is the largest resident set of this process. The kernel hands getrusage's figure down from a parent to its
// children, so its own is read where it can be.
func peakRSS() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err == nil {
		_, after, _ := strings.Cut(string(data), "VmHWM:")
		if f := strings.Fields(after); len(f) > 1 {
			if kib, err := strconv.ParseInt(f[0], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return maxRSS() << 10
}

// forgetPeak gives unused memory back and has peakRSS begin anew, as far as the kernel lets it.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
