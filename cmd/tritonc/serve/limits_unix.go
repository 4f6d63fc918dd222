//go:build linux || darwin || freebsd

package serve

import "golang.org/x/sys/unix"

// processLimits are the limits of this process that a compile may run into.
func processLimits() (list []uint64) {
	for _, resource := range []int{unix.RLIMIT_AS, unix.RLIMIT_CPU, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE} {
		var lim unix.Rlimit
		if err := unix.Getrlimit(resource, &lim); err != nil {
			lim.Cur = 0 // as for a client with the same error
		}
		list = append(list, uint64(lim.Cur)) //nolint:unconvert // FreeBSD has an int64
	}
	return list
}
