package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core"
)

// importer finds the modules that a kernel's file imports as Python would if
// the file were run: beside it. a.b is a/b.py, or a/b/__init__.py.
func importer(file, sourceRoot string) func(module string) (*core.Source, error) {
	dir := filepath.Dir(file)
	return func(module string) (*core.Source, error) {
		base := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(module, ".", "/")))
		for _, path := range []string{base + ".py", filepath.Join(base, "__init__.py")} {
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			name, err := sourceName(path, sourceRoot)
			return &core.Source{Path: path, Name: name, Text: text}, err
		}
		return nil, nil
	}
}
