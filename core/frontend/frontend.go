package frontend

import (
	"path"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/work"
)

// Facts is what the front end must know of the target.
type Facts = lang.Facts

// The parts of Facts.
type (
	MinDot       = lang.MinDot
	ModuleSource = lang.ModuleSource
	Alias        = lang.Alias
	Extern       = lang.Extern
	Property     = lang.Property
)

// Options say how to build a kernel: what the backend's options mean for the
// front end.
type Options struct {
	// NumWarps, NumStages and NumCTAs are what tl.extra and the like may ask.
	NumWarps, NumStages, NumCTAs int
	// Debug keeps device_assert; SanitizeOverflow adds overflow checks to it.
	Debug, SanitizeOverflow bool
	// DefaultDotPrecision overrides that of the target when not "".
	DefaultDotPrecision string
	// MaxNumImpreciseAcc is the default of that parameter of fp8 dots.
	MaxNumImpreciseAcc int64
	// Print receives what static_print and the like print; nil drops it.
	Print func(text string)
	// Warn receives warnings and notes; nil drops them.
	Warn func(d *diag.Diagnostic)
	// Meter counts what is visited and may stop it; then the error is the
	// Meter's. Nil stops nothing.
	Meter *work.Meter
}

// Definition gives a value to a dotted name.
type Definition struct{ Name, Value string }

// File is a parsed Python file.
type File struct {
	file   *eval.File
	broken string // why there is none, of an installed package
}

// Parse reads a file. Its path is in diagnostics; its name, which should
// not depend on where the file lies, in locations and callee symbols. A
// mistake is a *diag.Diagnostic.
func Parse(filePath, name string, src []byte) (*File, error) {
	tree, err := kept.parse(filePath, src)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = path.Base(filePath)
	}
	return &File{file: eval.NewFile(tree, name, "")}, nil
}

// ParseModule is Parse for a file that stands for a module of that dotted name,
// which relative imports in it refer to.
func ParseModule(filePath, name, module string, src []byte) (*File, error) {
	f, err := Parse(filePath, name, src)
	if err == nil {
		f = &File{file: eval.NewFile(f.file.Tree, f.file.Name, module)}
	}
	return f, err
}

// ParseInstalled is ParseModule for a file of an installed package. What in it
// cannot be understood fails only a kernel that needs it.
func ParseInstalled(filePath, name, module string, src []byte) *File {
	f, err := ParseModule(filePath, name, module, src)
	if err != nil {
		d := diag.All(err)[0]
		return &File{broken: "it cannot be read: " + d.Message + " (" + d.Pos.String() + ")"}
	}
	f.file.Installed = true
	return f
}

// Path of the file as diagnostics show it.
func (f *File) Path() string { return f.file.Path }

// Name stands for the file in locations.
func (f *File) Name() string { return f.file.Name }

// Source is the file's text with \n line ends, which positions refer to.
func (f *File) Source() string { return f.file.Source() }
