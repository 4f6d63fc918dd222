package trust

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Error says why a file or folder is not trusted.
type Error struct {
	Path   string
	Reason string // "it may be written by others (mode 0777)"
	Help   string // the next step: a command
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Check returns the *Error of a file or folder that another user than ours and
// root owns, or that others may write to; nil for all others.
func Check(path string, info os.FileInfo) error {
	if owner, foreign := foreignOwner(info); foreign {
		return &Error{path, fmt.Sprintf("it belongs to another user (%d)", owner), "remove it, or: chown " + self() + " " + path}
	}
	if WritableByOthers(info) {
		return writable(path, info)
	}
	return nil
}

// Dir checks a folder. That there is none is the error of os.Stat.
func Dir(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &Error{path, "it is not a folder", "remove it"}
	}
	return Check(path, info)
}

// ReadShared reads a file that somebody may have put there for others to use: whoever
// owns it is believed, as with the programs beside it, but nobody else may write to it.
func ReadShared(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if WritableByOthers(info) {
		return nil, writable(path, info)
	}
	return os.ReadFile(path)
}

func writable(path string, info os.FileInfo) error {
	return &Error{path, fmt.Sprintf("it may be written by others (mode %#o)", info.Mode().Perm()), "make it safe with: chmod go-w " + path}
}

// ReadFile reads a file that is trusted: a regular one, no link. The folder that
// it lies in is not looked at.
func ReadFile(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	data, err := readTrusted(path, f)
	return data, errors.Join(err, f.Close())
}

func readTrusted(path string, f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{path, "it is not a regular file", "remove it"}
	}
	if err := Check(path, info); err != nil {
		return nil, err
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}
