//go:build unix

package serve

import (
	"errors"
	"os"
	"syscall"
)

// identity tells a folder from another one of its name.
func identity(path string) (device, inode uint64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	return uint64(st.Dev), uint64(st.Ino), nil //nolint:unconvert // systems differ in the types
}
