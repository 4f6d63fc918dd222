package process

import (
	"bytes"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeRangeOnExec marks all descriptors but the standard ones, where the kernel
// can do so at once.
func closeRangeOnExec() bool {
	return unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil
}

// isStopped reports whether a process has been stopped by a signal. One that a
// debugger holds does not count.
func isStopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(stat, ')') // ends the program's name, which may hold anything
	return i >= 0 && bytes.HasPrefix(stat[i:], []byte(") T"))
}
