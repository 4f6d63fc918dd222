//go:build unix

package process

import (
	"io"
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

// readPipe reads what the program has written, and waits for it where that is nothing yet.
// Nothing is taken from the pipe but with the mutex held, so that drain sees the pipe and
// the reader as they are together.
func (o *outlet) readPipe(p []byte) (n int, err error) {
	conn, err := o.read.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failure error
	err = conn.Read(func(fd uintptr) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		for {
			n, failure = unix.Read(int(fd), p)
			if failure != unix.EINTR {
				break
			}
		}
		empty := failure == unix.EAGAIN
		o.wait(empty)
		return !empty
	})
	switch {
	case err != nil:
		return 0, err
	case failure != nil:
		return 0, failure
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// wait says whether the reader waits for the program; mu is held.
func (o *outlet) wait(waiting bool) {
	if o.waiting = waiting; waiting && o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// readable reports whether there is something to read now, or the end of it.
func readable(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = conn.Control(func(fd uintptr) {
		n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return err == nil && n > 0
}
