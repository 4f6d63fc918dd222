//go:build unix

package sdk

import (
	"os"

	"golang.org/x/sys/unix"
)

// shieldStdout keeps the real standard output for go-plugin's handshake alone
// and points descriptor 1 at stderr. What C code or a careless child writes to
// descriptor 1 can then neither break the handshake nor, later, fill a pipe
// that nobody drains, which would hang the plugin.
func shieldStdout() error {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := dup2(2, 1); err != nil {
		return os.NewSyscallError("dup2", err)
	}
	os.Stdout = os.NewFile(uintptr(fd), "handshake")
	return nil
}
