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

// stateOf is whether a process is stopped, and by whom.
func stateOf(pid int) state {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return running
	}
	i := bytes.LastIndexByte(stat, ')') // ends the program's name, which may hold anything
	switch {
	case i < 0:
	case bytes.HasPrefix(stat[i:], []byte(") T")):
		return stopped
	case bytes.HasPrefix(stat[i:], []byte(") t")):
		return debugged
	}
	return running
}
