//go:build unix

package plugin

import (
	"fmt"
	"os"
	"syscall"
)

// identityOf tells a file from another one in its place.
func identityOf(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Dev, st.Ino)
	}
	return ""
}
