package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// RSS reads the resident set of a process, and the largest it has had, in bytes.
func RSS(pid int) (now, peak int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	if now, err = field(string(data), "VmRSS:"); err != nil {
		return 0, 0, err
	}
	peak, err = field(string(data), "VmHWM:")
	return now, peak, err
}

// field reads a line such as "VmRSS:  1234 kB", in bytes.
func field(status, name string) (int64, error) {
	_, after, _ := strings.Cut(status, name)
	f := strings.Fields(after)
	if len(f) == 0 {
		return 0, fmt.Errorf("the kernel does not say %s", name)
	}
	kib, err := strconv.ParseInt(f[0], 10, 64)
	return kib << 10, err
}
