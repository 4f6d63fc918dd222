//go:build !linux && !darwin && !freebsd

package serve

import (
	"errors"
	"net"
)

// Without sockets that tell who is at the other end there is no server.
const supported = false

func peerUser(*net.UnixConn) (uid int, err error) { return 0, errors.ErrUnsupported }
