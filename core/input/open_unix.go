//go:build unix

package input

import (
	"errors"
	"os"
	"syscall"
)

// openFile opens without waiting for the writer of a pipe.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ENXIO) { // what Linux says of a socket
		return nil, &Error{path, "it is a socket, not a regular file", ""}
	}
	return f, err
}
