package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Expected is what somebody wants a program's file to be.
type Expected struct {
	// By names the file that says so, for messages.
	By string
	// Sums are SHA-256 sums in hex, one of which the file must have.
	Sums []string
}

// UnexpectedError says that a program is not what it should be. It has not been started.
type UnexpectedError struct{ Err error }

func (e *UnexpectedError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *UnexpectedError) Unwrap() error { return e.Err }

// FileSum is the SHA-256 sum of a file in hex.
func FileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sumOf(f)
}

func sumOf(f *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// checkedFile is a program's open file that is what it should be.
type checkedFile struct {
	file   *os.File
	info   os.FileInfo // from before its content was read
	script bool        // an interpreter reads it by name
}

// openChecked opens the file and checks it; nil where nobody expects anything.
func openChecked(path string, want []Expected) (*checkedFile, error) {
	if len(want) == 0 {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	c := &checkedFile{file: f}
	if err := c.check(want); err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

func (c *checkedFile) check(want []Expected) (err error) {
	if c.info, err = c.file.Stat(); err != nil {
		return err
	}
	var start [2]byte
	if _, err := c.file.ReadAt(start[:], 0); err != nil && err != io.EOF {
		return err
	}
	c.script = bytes.Equal(start[:], []byte("#!"))
	sum, err := sumOf(c.file)
	if err != nil {
		return err
	}
	for _, w := range want {
		if !slices.ContainsFunc(w.Sums, func(s string) bool { return strings.EqualFold(s, sum) }) {
			return &UnexpectedError{fmt.Errorf("its SHA-256 is %s, but %s has %s", sum, w.By, strings.Join(w.Sums, " or "))}
		}
	}
	return nil
}

// unchanged is asked once the program runs, from when on the system lets nobody
// write to its file.
func (c *checkedFile) unchanged(path string) error {
	now, err := c.file.Stat()
	if err == nil && !execByDescriptor {
		now, err = os.Stat(path)
	}
	if err != nil {
		return err
	}
	if !os.SameFile(now, c.info) || now.Size() != c.info.Size() || !now.ModTime().Equal(c.info.ModTime()) || changeTime(now) != changeTime(c.info) {
		return errors.New("its file was changed while it was being started")
	}
	return nil
}
