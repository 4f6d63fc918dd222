//go:build unix

package process

import (
	"os"
	"syscall"
)

// writableByOthers reports whether somebody else may change the file or folder.
// Our own primary group may: on many systems it has us as its only member, and
// everything that we make is writable for it.
func writableByOthers(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return mode&0o020 != 0 && ok && int(st.Gid) != os.Getegid()
}
