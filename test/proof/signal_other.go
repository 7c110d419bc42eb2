//go:build !unix

package main

import "os"

// signals is nil: this system has no SIGSTOP, and no soak.
var signals map[Kind]os.Signal

var goOn os.Signal = os.Kill
