package process

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignCalls is beyond all numbers: there is one way to call.
const foreignCalls = 1 << 31

var refusedCallsHere []uintptr
