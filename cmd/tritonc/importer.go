package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/input"
)

// setImports lets the file import what lies beside it, in the folders include, and
// where Python finds its packages. A file of a package, which its folder's
// __init__.py makes it, finds what lies beside the package first.
func (f *compileFlags) setImports(env *environment, src *core.Source) {
	dirs := []string{beside(src)}
	if src.Path != standardInput {
		if module, root := env.dir.packageOf(src.Path); module != "" {
			src.Module = module
			dirs = []string{root, beside(src)}
		}
	}
	dirs = append(dirs, f.include...)
	src.Import = importer(env.dir, dirs, pythonPath(env, f.pythonPath), f.sourceRoot)
}

// pythonPath are the folders of installed packages: those of --python-path, of
// PYTHONPATH, and of the virtual environment that is active.
func pythonPath(env *environment, flags []string) []string {
	var dirs []string
	for _, list := range append(slices.Clone(flags), variable(env, "PYTHONPATH")) {
		for _, dir := range filepath.SplitList(list) {
			if dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	if venv := variable(env, "VIRTUAL_ENV"); venv != "" {
		found := env.dir.glob(filepath.Join(venv, "lib", "python*", "site-packages"))
		dirs = append(append(dirs, found...), filepath.Join(venv, "Lib", "site-packages"))
	}
	return dirs
}

func variable(env *environment, name string) string {
	v, _ := env.lookupEnv(name)
	return v
}

// packageOf is the dotted name of a file of a package, with the folder that the
// name counts from; "" for other files.
func (d folder) packageOf(file string) (module, root string) {
	abs, err := d.abs(file)
	if err != nil {
		return "", ""
	}
	root = filepath.Dir(file)
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "__init__.py")); err != nil || dir == filepath.Dir(dir) {
			break
		}
		module = filepath.Base(dir) + "." + module
		root = filepath.Join(root, "..")
	}
	if module == "" {
		return "", ""
	}
	return module + strings.TrimSuffix(filepath.Base(file), ".py"), root
}

// importer finds the modules that a kernel's file imports as Python does: in the
// first of dirs and installed that has them. a.b is a/b.py, or a/b/__init__.py.
func importer(here folder, dirs, installed []string, sourceRoot string) func(module string) (*core.Source, error) {
	all := append(slices.Clone(dirs), installed...)
	return func(module string) (*core.Source, error) {
		file := filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))
		for i, dir := range all {
			for _, ending := range []string{".py", "/__init__.py"} {
				path := filepath.Join(dir, file+ending)
				text, err := input.ReadFile(here.at(path), input.Text)
				if errors.Is(err, fs.ErrNotExist) || err != nil && i >= len(dirs) {
					continue
				}
				if err != nil {
					return nil, unreadable(path, err)
				}
				return &core.Source{Path: path, Name: here.importName(path, sourceRoot), Text: text, Installed: i >= len(dirs)}, nil
			}
		}
		return nil, nil
	}
}

// importName is the name of an imported file in locations. A library may well
// lie outside the kernel's source root.
func (d folder) importName(path, sourceRoot string) string {
	if name, err := d.sourceName(path, sourceRoot); err == nil {
		return name
	}
	return filepath.Base(path)
}
