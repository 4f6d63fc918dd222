package sdk

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// setParentDeath has the kernel kill the tool when the plugin itself is killed
// and cannot do so; Command.Run keeps the starting thread alive for it.
func setParentDeath(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// limitMemory bounds the address space of a process that has just started.
func limitMemory(pid int, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	lim := unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	err := unix.Prlimit(pid, unix.RLIMIT_AS, &lim, nil)
	if err == unix.ESRCH {
		return nil // it has ended already
	}
	return err
}
