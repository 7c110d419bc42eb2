//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// signals is nil: this system has no SIGSTOP, and no soak.
var signals map[Kind]os.Signal

var goOn os.Signal = os.Kill

func ties(*exec.Cmd) {}

func starter() (start func(*exec.Cmd) error, stop func()) {
	return (*exec.Cmd).Start, func() {}
}
