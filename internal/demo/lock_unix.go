//go:build darwin || linux || freebsd || netbsd || openbsd

package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps a second demo out of the folder: two brokers on the same files would tear them. The operating system
// releases it when the process ends, however it ends.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another floe demo runs in %s: wait for it, end it, or use another --dir", dir)
		}
		return nil, fmt.Errorf("lock the folder: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
