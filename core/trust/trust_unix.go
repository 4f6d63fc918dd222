//go:build unix

package trust

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// WritableByOthers reports whether somebody else may change the file or folder.
// Our own primary group may: on many systems it has us as its only member, and
// everything that we make is writable for it.
func WritableByOthers(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return mode&0o020 != 0 && ok && int(st.Gid) != os.Getegid()
}

// foreignOwner returns the owner, and whether that is neither us nor root.
func foreignOwner(info os.FileInfo) (uid int, foreign bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), st.Uid != 0 && int(st.Uid) != os.Geteuid()
}

func self() string { return strconv.Itoa(os.Geteuid()) }

// openFile opens a file, but follows no link and waits for nobody who would write
// into a pipe.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Error{path, "it is a symbolic link", "remove it"}
	}
	return f, err
}
