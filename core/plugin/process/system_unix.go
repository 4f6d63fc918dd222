//go:build unix

package process

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// tempVars name the folder of temporary files.
var tempVars = []string{"TMPDIR"}

// keepDescriptors has children inherit none of the descriptors that somebody left
// open for us. Go's own are marked from the start, and os/exec passes others on
// whatever their mark.
func keepDescriptors() {
	if closeRangeOnExec() {
		return
	}
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// wasKilled reports whether a process ended by a signal that programs get from
// others only.
func wasKilled(state *os.ProcessState) bool {
	w, ok := state.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && (w.Signal() == syscall.SIGKILL || w.Signal() == syscall.SIGTERM)
}
