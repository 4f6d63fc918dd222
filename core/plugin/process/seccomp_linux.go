//go:build linux && (amd64 || arm64)

package process

import (
	"math"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusedCalls fail with EPERM in a sandbox. Landlock does not see them: they
// change modes, owners and times of files by name, look into other processes, or
// are ways around it that nothing a compiler does has a use for.
var refusedCalls = append([]uintptr{
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// Memory, queues and semaphores that other programs of the user may share.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_CONNECT,
}, refusedCallsHere...)

// newNamespaces are the flags of clone that would give a process other rights over
// the kernel's objects.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// What the filter reads of a call: struct seccomp_data of the kernel.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16 // of 8 bytes each, the lower half first on what we know
)

func argument(n int) uint32 { return uint32(dataArgs + 8*n) }

// bpf builds a program of the kernel's classic filter.
type bpf []unix.SockFilter

func (p *bpf) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (p *bpf) and(mask uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask})
}

func (p *bpf) end(action uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// when has the steps of then follow where what was loaded is value, and else
// passes them over.
func (p *bpf) when(value uint32, then func()) { p.jump(unix.BPF_JEQ, value, then) }

// from is when for all values from the least on.
func (p *bpf) from(least uint32, then func()) { p.jump(unix.BPF_JGE, least, then) }

func (p *bpf) jump(test uint16, value uint32, then func()) {
	at := len(*p)
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value})
	then()
	over := len(*p) - at - 1
	if over > math.MaxUint8 {
		panic("BUG: process: a jump too far in the filter of system calls")
	}
	(*p)[at].Jf = uint8(over)
}

func errnoAction(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// callFilter is the program for a kernel with that version of Landlock. The
// machine's other calling conventions, with other numbers, are refused.
func callFilter(landlock int) bpf {
	var p bpf
	p.load(dataArch)
	p.when(auditArch, func() {
		p.load(dataCall)
		p.from(foreignCalls, func() { p.end(errnoAction(unix.EPERM)) })
		refused := slices.Clone(refusedCalls)
		if landlock < 3 { // which does not see it
			refused = append(refused, unix.SYS_TRUNCATE)
		}
		for _, call := range refused {
			p.when(uint32(call), func() { p.end(errnoAction(unix.EPERM)) })
		}
		// The flags of clone3 are out of the filter's sight; without it there is clone.
		p.when(unix.SYS_CLONE3, func() { p.end(errnoAction(unix.ENOSYS)) })
		p.when(unix.SYS_CLONE, func() {
			p.load(argument(0))
			p.and(newNamespaces)
			p.from(1, func() { p.end(errnoAction(unix.EPERM)) })
			p.end(unix.SECCOMP_RET_ALLOW)
		})
		// Times of a descriptor's file may be set, of a named one not.
		p.when(unix.SYS_UTIMENSAT, func() {
			for half := range uint32(2) {
				p.load(argument(1) + 4*half)
				p.from(1, func() { p.end(errnoAction(unix.EPERM)) })
			}
			p.end(unix.SECCOMP_RET_ALLOW)
		})
		// A stream socket of Unix can be listened to, and cannot send to any
		// other than the one that connected.
		p.when(unix.SYS_SOCKET, func() {
			p.load(argument(0))
			p.when(unix.AF_UNIX, func() { p.allowKinds(unix.SOCK_STREAM) })
			p.end(errnoAction(unix.EACCES))
		})
		p.when(unix.SYS_SOCKETPAIR, func() { p.allowKinds(unix.SOCK_STREAM, unix.SOCK_SEQPACKET) })
		p.end(unix.SECCOMP_RET_ALLOW)
	})
	p.end(unix.SECCOMP_RET_KILL_PROCESS)
	return p
}

// allowKinds ends with the verdict over a socket's kind, without its flags.
func (p *bpf) allowKinds(kinds ...uint32) {
	const kindOfSocket = 0xf
	p.load(argument(1))
	p.and(kindOfSocket)
	for _, kind := range kinds {
		p.when(kind, func() { p.end(unix.SECCOMP_RET_ALLOW) })
	}
	p.end(errnoAction(unix.EACCES))
}

// restrictCalls puts the filter in force for this thread.
func restrictCalls(landlock int) error {
	p := callFilter(landlock)
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

func seccompAvailable() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
