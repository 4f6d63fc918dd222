package sdk

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// setParentDeath has the kernel kill the tool when the plugin itself is killed
// and cannot do so; Command.Run keeps the starting thread alive for it.
func setParentDeath(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// ownMemoryLimit returns the bound of this process's address space, which a
// child inherits and only root may raise; 0 where there is none.
func ownMemoryLimit() int64 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &lim) != nil || lim.Cur > math.MaxInt64 {
		return 0
	}
	return int64(lim.Cur)
}

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
