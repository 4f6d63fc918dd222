package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// outFile is a file to be written below the output folder.
type outFile struct {
	name string
	data []byte
}

// writeFiles writes all files into dir, or none: each goes to a temporary file
// beside its place first, and only when all are whole are they renamed.
func writeFiles(dir string, files []outFile) (err error) {
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
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		// A rename would fail on it, with the files before it already in place.
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("output: %s is a folder", path)
		}
		temp, err := writeTemp(dir, f)
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
		temps = append(temps, temp)
	}
	for i, f := range files {
		if err := os.Rename(temps[i], filepath.Join(dir, f.name)); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// writeTemp writes f under a name that no other process uses and returns it.
func writeTemp(dir string, f outFile) (string, error) {
	path := filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp", f.name, os.Getpid()))
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
