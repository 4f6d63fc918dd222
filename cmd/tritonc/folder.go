package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core/input"
)

// folder is the one that a command runs in, which the paths that its user writes are
// relative to; empty is that of this process. A server compiles for clients in other
// folders than its own. Messages have paths as the user wrote them.
type folder string

// at is where the file is that a user calls path.
func (d folder) at(path string) string {
	if d == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(string(d), path)
}

// abs is filepath.Abs in the folder.
func (d folder) abs(path string) (string, error) { return filepath.Abs(d.at(path)) }

// glob is filepath.Glob in the folder; what it finds is named as pattern is.
func (d folder) glob(pattern string) []string {
	found, _ := filepath.Glob(d.at(pattern)) // a pattern that is wrong matches nothing
	if d != "" && !filepath.IsAbs(pattern) {
		for i, path := range found {
			found[i] = strings.TrimPrefix(path, string(d)+string(filepath.Separator))
		}
	}
	return found
}

// read reads a text that the user named.
func (d folder) read(path string) ([]byte, error) {
	text, err := input.ReadFile(d.at(path), input.Text)
	return text, unreadable(path, err)
}

// has reports whether a file or folder is there.
func (d folder) has(path string) bool {
	_, err := os.Lstat(d.at(path))
	return err == nil
}

// short is a path as seen from the folder, where it is below that.
func (d folder) short(file string) string {
	here, err := d.abs(".")
	if err != nil || file == "" {
		return file
	}
	if rel, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}

// beside is the folder of a file, or the one of the command where there is none.
func (d folder) beside(file string) string {
	if file == "" || file == "-" {
		return d.at(".")
	}
	return filepath.Dir(d.at(file))
}
