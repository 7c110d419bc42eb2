package child

import (
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
)

// Tie makes the kernel kill a child when the thread that started it ends, and with it this process, however it ends. The
// child has a process group of its own: a terminal's Ctrl-C is for this process, which then ends it.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// RunAs lets root start the child as another user.
func RunAs(cmd *exec.Cmd, u *user.User) error {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// Starter starts all children from one thread that lasts: the kernel's promise of Tie is bound to the thread, and Go ends
// threads as it likes. stop ends it, and so all that is left of the children. start may be called from any goroutine, until stop.
func Starter() (start func(*exec.Cmd) error, stop func()) {
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
