//go:build unix

package main

import (
	"os"
	"syscall"
)

// signals of the kinds; Stop is followed by goOn.
var signals = map[Kind]os.Signal{Kill: syscall.SIGKILL, Stop: syscall.SIGSTOP, Term: syscall.SIGTERM}

var goOn os.Signal = syscall.SIGCONT
