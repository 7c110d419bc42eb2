//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// Tie puts a child into a process group of its own: a terminal's Ctrl-C is for this process, which then ends the child. One
// that is itself killed leaves its children behind here; on Linux the kernel ends them.
func Tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
