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
// where Python finds its packages. A file of a package finds what lies beside the
// package first. Last come the folders above it, up to the root of its project: a
// program that imports from there is run with one of them in Python's path.
func (f *compileFlags) setImports(env *environment, src *core.Source) {
	dirs := []string{beside(src)}
	var above []string
	if src.Path != standardInput {
		p := env.dir.packageOf(src.Path)
		src.Module = p.module
		switch {
		case p.inside:
			dirs = []string{p.root, beside(src)}
		case p.module != "":
			dirs = append(dirs, p.root)
		}
		above = p.above
	}
	dirs = append(dirs, f.include...)
	src.Import = importer(env.dir, dirs, append(pythonPath(env, f.pythonPath), above...), f.sourceRoot)
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

// filePlace is where a file lies among packages and projects.
type filePlace struct {
	module string   // its dotted name; "" where it is of no package
	root   string   // the folder that the name counts from
	inside bool     // its own folder has an __init__.py: Python runs no such file by itself
	above  []string // the folders above it, the nearest first, to the root of its project
}

// packageOf says which package a file is of: the folders with an __init__.py that it lies
// in, and those without one between them, which Python takes for packages, too. Above a
// folder without one it looks no further than the root of the project.
func (d folder) packageOf(file string) (p filePlace) {
	abs, err := d.abs(file)
	if err != nil {
		return p
	}
	project := findRoot(filepath.Dir(abs))
	var names []string // of the folders, the innermost first
	packages := 0      // how many of them belong to its name
	rel := filepath.Dir(file)
	within := project != "" // the project
	for dir := filepath.Dir(abs); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "__init__.py"))
		has := err == nil
		if within {
			p.above = append(p.above, rel)
		}
		if within = within && dir != project; !has && !within {
			break
		}
		names = append(names, filepath.Base(dir))
		rel = filepath.Join(rel, "..")
		if has {
			packages, p.root = len(names), rel
			p.inside = p.inside || packages == 1
		}
	}
	if packages == 0 {
		return p
	}
	slices.Reverse(names)
	names = names[len(names)-packages:]
	p.module = strings.Join(append(names, strings.TrimSuffix(filepath.Base(file), ".py")), ".")
	return p
}

// importer finds the modules that a kernel's file imports as Python does: in the
// first of dirs and installed that has them. a.b is a/b.py, or a/b/__init__.py. Of
// what is installed, a file that cannot be read is not there.
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
