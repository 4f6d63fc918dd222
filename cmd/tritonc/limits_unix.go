//go:build unix

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkLimits refuses limits of the shell under which nothing can be compiled.
func checkLimits() error {
	for _, l := range []struct {
		resource int
		unit     uint64
		least    uint64
		what     string
		flag     string
		shell    uint64 // bytes of the shell's unit
	}{
		{unix.RLIMIT_AS, 1 << 20, minAddressSpace, "MiB of address space", "-v", 1 << 10},
		{unix.RLIMIT_NOFILE, 1, minOpenFiles, "open files", "-n", 1},
		{unix.RLIMIT_NPROC, 1, minProcesses, "processes", "-u", 1},
	} {
		var lim unix.Rlimit
		if unix.Getrlimit(l.resource, &lim) != nil {
			continue // a system without this limit
		}
		if have := uint64(lim.Cur); have < l.least*l.unit { //nolint:unconvert // FreeBSD has an int64
			return fmt.Errorf("the shell's limit is %d %s; tritonc needs %d\n  help: ulimit %s %d, or more",
				have/l.unit, l.what, l.least, l.flag, l.least*l.unit/l.shell)
		}
	}
	return nil
}
