package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rootMarks are the files and folders that mark a module's or repository's root.
var rootMarks = []string{".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg", "go.mod"}

// sourceName returns the name of file for locations: its path relative to root,
// or, when root is empty, to the module or repository that it lies in; the base
// name when it lies in none. Slashes separate on every system.
func (d folder) sourceName(file, root string) (string, error) {
	full, err := d.abs(file)
	if err != nil {
		return "", err
	}
	top := ""
	if root == "" {
		if top = findRoot(filepath.Dir(full)); top == "" {
			return filepath.Base(full), nil
		}
	} else if top, err = d.abs(root); err != nil {
		return "", err
	}
	name, err := filepath.Rel(top, full)
	if err != nil || name == ".." || strings.HasPrefix(name, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%s does not lie below the source root %s", file, root)
	}
	return filepath.ToSlash(name), nil
}

// findRoot returns dir or the nearest folder above it with a root's mark, or "".
func findRoot(dir string) string {
	for {
		for _, mark := range rootMarks {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
