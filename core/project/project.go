package project

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/plugin/manifest"
)

// FileName is the name of a project's file, in the project's folder.
const FileName = "tritonc.toml"

// backends is the table of pins.
const backends = "backends"

// File is a project's file.
type File struct {
	Path string
	Pins []Pin // in the order of the file
	Farm Farm

	text    []byte
	entries []entry
}

// Pin says which backend compiles for the targets of a pattern.
type Pin struct {
	Target string // a pattern over "backend:arch"
	Ref    manifest.Ref
	Line   int

	key word
}

// Find returns the path of the file in dir or the nearest folder above it that has
// one; "" where none has.
func Find(dir string) (string, error) { return FindFile(dir, FileName) }

// FindFile is Find for another file of a project.
func FindFile(dir, name string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", nil
		}
		dir = above
	}
}

// Load reads the file at a path of Find, which diagnostics call shown; nil for "".
func Load(file, shown string) (*File, error) {
	if file == "" {
		return nil, nil
	}
	text, err := input.ReadFile(file, input.Text)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err // the path comes before it already
		}
		return nil, diag.Errorf(diag.Pos{File: shown}, "the file cannot be read: %v", err)
	}
	return Parse(shown, text)
}

// Parse reads the text of a project's file. at names it in diagnostics.
func Parse(at string, text []byte) (*File, error) {
	entries, err := parseEntries(at, text)
	if err != nil {
		return nil, err
	}
	f := &File{Path: at, text: text, entries: entries}
	var errs diag.List
	for i := range entries {
		if d := f.add(&entries[i]); d != nil {
			errs = append(errs, d)
		}
	}
	for i := range f.Pins {
		if p := &f.Pins[i]; p.Ref.Name == "" && errs == nil {
			errs = append(errs, p.key.errorf("the pin of %s has no name", p.Target).WithHelp(pinHelp))
		}
	}
	if d := f.Farm.check(); d != nil && errs == nil {
		errs = append(errs, d)
	}
	for _, d := range errs {
		d.WithSource(string(text))
	}
	if errs != nil {
		return nil, errs
	}
	return f, nil
}

// Line is the text of a line, counted from 1.
func (f *File) Line(n int) string { return diag.LineAt(string(f.text), n) }

const pinHelp = `a pin is "KIND:ARCH" = "NAME@VERSION", or { name = "NAME", version = "VERSION", sha256 = "SUM" }`

// add takes in one entry of the file.
func (f *File) add(e *entry) *diag.Diagnostic {
	first := e.path[0]
	switch {
	case first.name == farm:
		return f.Farm.add(e)
	case first.name != backends:
		return first.errorf("unknown key %q", first.name).WithHelp("%s has the tables [%s] and [%s]", FileName, backends, farm)
	case len(e.path) == 1 && e.header && !e.array:
		return nil
	case len(e.path) == 1 || e.array:
		return first.errorf("[%s] is one table of pins", backends).WithHelp(pinHelp)
	case len(e.path) > 3 || len(e.path) == 3 && e.header:
		last := e.path[len(e.path)-1]
		return last.errorf("unknown key %q", last.name).WithHelp(pinHelp)
	}
	key := e.path[1]
	if _, err := path.Match(key.name, ""); err != nil || key.name == "" {
		return key.errorf("%q is not a pattern of targets, KIND:ARCH or KIND:*", key.name)
	}
	pin := f.pin(key)
	switch {
	case e.header:
		return nil // a table, whose values follow
	case !e.text:
		return e.value.errorf("this is not a string").WithHelp(pinHelp)
	case len(e.path) == 3:
		return setPart(&pin.Ref, e)
	}
	var err error
	if pin.Ref, err = manifest.ParseRef(e.value.name); err != nil {
		return e.value.errorf("%v", err)
	}
	return nil
}

// pin is the pin of a key, which may have been there before.
func (f *File) pin(key word) *Pin {
	i := slices.IndexFunc(f.Pins, func(p Pin) bool { return p.Target == key.name })
	if i < 0 {
		i = len(f.Pins)
		f.Pins = append(f.Pins, Pin{Target: key.name, Line: key.pos.Line, key: key})
	}
	return &f.Pins[i]
}

// setPart sets one part of a pin that is a table.
func setPart(ref *manifest.Ref, e *entry) *diag.Diagnostic {
	value := e.value.name
	switch part := e.path[2]; part.name {
	case "name":
		if _, err := manifest.ParseRef(value + "@0"); err != nil {
			return e.value.errorf("%q is not the name of a backend", value)
		}
		ref.Name = value
	case "version":
		if _, err := manifest.ParseRef("x@" + value); err != nil {
			return e.value.errorf("%q is not a version", value)
		}
		ref.Version = value
	case "sha256":
		if err := manifest.CheckSum(value); err != nil {
			return e.value.errorf("%v", err)
		}
		ref.SHA256 = value
	default:
		d := part.errorf("unknown key %q", part.name)
		if near := diag.Closest(part.name, []string{"name", "version", "sha256"}); near != "" {
			return d.WithHelp("did you mean %s?", near)
		}
		return d.WithHelp(pinHelp)
	}
	return nil
}
