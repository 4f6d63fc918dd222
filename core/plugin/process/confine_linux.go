package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// confineLacks says what this kernel lacks for a sandbox; limits it always has.
func confineLacks(sandbox bool) error {
	switch {
	case !sandbox:
		return nil
	case landlockVersion() == 0:
		return errors.New("this kernel has no Landlock, or it is not enabled (Linux 5.13 or newer, lsm=landlock)")
	case auditArch == 0:
		return errors.New("tritonc has no filter of system calls for " + runtime.GOARCH)
	case !seccompAvailable():
		return errors.New("this kernel has no filters of system calls (seccomp)")
	}
	return nil
}

// bounce makes this process the program that the text describes, and returns only
// if that fails. All of it belongs to the thread that executes the program in the
// end, and to nothing else.
func bounce(text string) error {
	runtime.LockOSThread()
	var spec bounceSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	path := spec.Path
	if spec.Descriptor != 0 {
		path = "/proc/self/fd/" + strconv.Itoa(spec.Descriptor)
		if !spec.Script {
			unix.CloseOnExec(spec.Descriptor)
		}
	}
	if spec.Sandbox != nil {
		if err := enter(spec.Sandbox); err != nil {
			return err
		}
	}
	if spec.Memory > 0 {
		// Of the data, not of the address space: Go, Java and sanitizers reserve
		// far more of that than they use.
		lim := unix.Rlimit{Cur: uint64(spec.Memory), Max: uint64(spec.Memory)}
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &lim); err != nil {
			return os.NewSyscallError("setrlimit", err)
		}
	}
	return &os.PathError{Op: "exec", Path: spec.Path, Err: syscall.Exec(path, []string{spec.Path}, os.Environ())}
}

// enter gives up, for this thread and what it becomes, all that the sandbox does
// not list.
func enter(s *Sandbox) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	version := landlockVersion()
	if err := restrictFiles(version, s); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return restrictCalls(version)
}

// dropCapabilities leaves root with a user's rights over the files of root, for
// good. There is nothing to do for other users.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL || err == unix.EPERM { // the last one, or never had them
			break
		}
		if err != nil {
			return os.NewSyscallError("prctl(PR_CAPBSET_DROP)", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}
