package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/tritonc/tritonc/core/diag"
)

// outFile is a file to be written below the output folder.
type outFile struct {
	name string
	data []byte
}

// writeFiles writes all files into dir, or none: each goes to a temporary file
// beside its place first, and only when all are whole are they renamed. A device or a
// pipe, such as /dev/null, is written to where it is.
func writeFiles(dir string, files []outFile) (err error) {
	for _, f := range files {
		if err := checkName(f.name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	var temps []string
	defer func() {
		if err != nil {
			for _, temp := range temps {
				os.Remove(temp)
			}
		}
	}()
	for i, f := range files {
		path := filepath.Join(dir, f.name)
		// A rename would fail on it, with the files before it already in place.
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("output: %s is a folder", path)
		}
		temp, err := writeTemp(dir, i, f)
		if err != nil {
			return unwritable(path, err)
		}
		temps = append(temps, temp)
	}
	for i, f := range files {
		if err := put(temps[i], filepath.Join(dir, f.name), f.data); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// unwritable is the error of a temporary file, for the file that the user knows.
func unwritable(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	return fmt.Errorf("output: %w", err)
}

// put makes the file temp, which holds data, the one at path.
func put(temp, path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return os.Rename(temp, path)
	}
	if err := os.Remove(temp); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// maxFileName is the longest name that file systems take, in bytes.
const maxFileName = 255

// checkName refuses a name that is more than a file's own: names of kernels and
// of stages come out of files and plugins, and none may lead out of the folder.
func checkName(name string) error {
	switch {
	case filepath.Base(name) != name || !filepath.IsLocal(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("output: %q cannot be the name of a file", name)
	case len(name) > maxFileName:
		return fmt.Errorf("output: the name %s… of %s is too long for a file; -o - writes one artifact to standard output",
			strings.ToValidUTF8(name[:40], ""), diag.Count(len(name), "byte"))
	}
	return nil
}

// writeTemp writes f, the i-th file, under a name that no other process uses and
// returns it.
func writeTemp(dir string, i int, f outFile) (string, error) {
	// The end of the name, for the whole may be as long as names can be.
	end := f.name[max(0, len(f.name)-maxFileName/2):]
	path := filepath.Join(dir, fmt.Sprintf(".%d.%d.%s.tmp", os.Getpid(), i, strings.ToValidUTF8(end, "")))
	// os.CreateTemp would take away the permissions that the umask leaves.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = file.Write(f.data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(path)
		return "", err
	}
	return path, nil
}
