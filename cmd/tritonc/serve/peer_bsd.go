//go:build darwin || freebsd

package serve

import (
	"net"

	"golang.org/x/sys/unix"
)

const supported = true

// solLocal is SOL_LOCAL of sys/un.h.
const solLocal = 0

// peerUser is the user of the process at the other end.
func peerUser(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptXucred(int(fd), solLocal, unix.LOCAL_PEERCRED) }); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return int(cred.Uid), nil
}
