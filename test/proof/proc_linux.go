package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// ties makes the kernel kill a child when the thread that started it ends, and with it this process, however it ends. The
// child has a process group of its own: a terminal's Ctrl-C is for the soak, which then ends it.
func ties(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// starter starts all children from one thread that lasts: the kernel's promise of ties is bound to the thread, and Go ends
// threads as it likes. stop ends it, and so all that is left of the children.
func starter() (start func(*exec.Cmd) error, stop func()) {
	type job struct {
		cmd  *exec.Cmd
		done chan error
	}
	jobs, ended := make(chan job), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // without Unlock: the thread ends with the goroutine
		for j := range jobs {
			j.done <- j.cmd.Start()
		}
	}()
	return func(cmd *exec.Cmd) error {
		j := job{cmd, make(chan error, 1)}
		jobs <- j
		return <-j.done
	}, func() { close(jobs); <-ended }
}
