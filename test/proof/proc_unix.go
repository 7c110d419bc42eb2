//go:build unix && !linux

package main

import (
	"os/exec"
	"syscall"
)

// ties puts a child into a process group of its own: a terminal's Ctrl-C is for the soak, which then ends the child. A soak
// that is itself killed leaves its children behind here; on Linux the kernel ends them.
func ties(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// starter starts children.
func starter() (start func(*exec.Cmd) error, stop func()) {
	return (*exec.Cmd).Start, func() {}
}
