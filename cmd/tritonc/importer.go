package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core"
)

// importer finds the modules that a kernel's file imports as Python does: in the
// first of dirs that has them. a.b is a/b.py, or a/b/__init__.py.
func importer(dirs []string, sourceRoot string) func(module string) (*core.Source, error) {
	return func(module string) (*core.Source, error) {
		file := filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))
		for _, dir := range dirs {
			for _, ending := range []string{".py", "/__init__.py"} {
				path := filepath.Join(dir, file+ending)
				text, err := os.ReadFile(path)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return nil, err
				}
				return &core.Source{Path: path, Name: importName(path, sourceRoot), Text: text}, nil
			}
		}
		return nil, nil
	}
}

// importName is the name of an imported file in locations. A library may well
// lie outside the kernel's source root.
func importName(path, sourceRoot string) string {
	if name, err := sourceName(path, sourceRoot); err == nil {
		return name
	}
	return filepath.Base(path)
}
