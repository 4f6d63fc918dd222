// Package input reads what users name: regular files of a bounded size, whole. A
// device or a pipe would never end, or wait for a writer that does not come, and
// a file of many gigabytes take all memory before anybody sees what it is.
//
// The package is a leaf: it imports the standard library only.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Bounds of files, in bytes.
const (
	// Text bounds sources, IR, assembly and settings. The largest of Triton's
	// public kernels has 300 KiB, and its PTX 5 MiB.
	Text = 64 << 20
	// Library bounds libraries of LLVM IR.
	Library = 1 << 30
	// Array bounds arrays of numbers.
	Array = 16 << 30
)

// Error says why a file is not read.
type Error struct {
	Path   string
	Reason string // "it is a pipe"
	Help   string // the next step, or empty
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// ReadFile reads a regular file of at most limit bytes. The error is a *Error, or
// the system's as an *fs.PathError.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, size, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(path, f, size, limit)
}

// Read reads r, which messages call name, to its end: at most limit bytes.
func Read(name string, r io.Reader, limit int64) ([]byte, error) {
	return readAll(name, r, 0, limit)
}

// Open opens a regular file of at most limit bytes, and tells its size.
func Open(path string, limit int64) (f *os.File, size int64, err error) {
	if f, err = openFile(path); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = &Error{path, "it is a folder", ""}
	case !info.Mode().IsRegular():
		err = &Error{path, "it is " + kind(info.Mode()) + ", not a regular file", "copy what it gives into a file first"}
	case info.Size() > limit:
		err = tooLarge(path, limit)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func readAll(name string, r io.Reader, size, limit int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	// It may grow while it is read, and files of /proc have no size.
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		return nil, err
	case err != nil:
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	case n > limit:
		return nil, tooLarge(name, limit)
	}
	return b.Bytes(), nil
}

func tooLarge(path string, limit int64) error {
	return &Error{path, fmt.Sprintf("it has more than %d MiB, which is the limit", limit>>20), ""}
}

// kind names what is not a file.
func kind(mode os.FileMode) string {
	switch {
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}
