package process

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreignCalls is the first of the numbers that x32 has for the same calls.
const foreignCalls = 0x40000000

// refusedCallsHere are those that newer machines have no more.
var refusedCallsHere = []uintptr{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
