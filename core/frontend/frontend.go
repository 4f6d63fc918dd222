package frontend

import (
	"path"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/codegen"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
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

// Options say how to build.
type Options struct {
	// Facts of the target; nil for none.
	Facts *Facts
	// NumWarps, NumStages and NumCTAs are what tl.extra and the like may ask.
	NumWarps, NumStages, NumCTAs int
	// Debug keeps device_assert; SanitizeOverflow adds overflow checks to it.
	Debug, SanitizeOverflow bool
	// DefaultDotPrecision overrides that of the target when not "".
	DefaultDotPrecision string
	// Open finds the file of a module that the kernel's file imports, by its
	// dotted name; nil, or a nil file, when there is none.
	Open func(module string) *File
	// Define gives values to names of modules that are not there, as Python
	// expressions: "torch.float16" → "tl.float16".
	Define []Definition
	// Configs are the configurations of an autotuned kernel, in the place of its
	// decorator's; nil to take those.
	Configs *ConfigFile
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

// Parse reads a file. Its path stands in diagnostics; its name, which should
// not depend on where the file lies, in locations and callee symbols. A
// mistake is a *diag.Diagnostic.
func Parse(filePath, name string, src []byte) (*File, error) {
	tree, err := syntax.Parse(filePath, src)
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

// Signatures are those in the file's comments, in order.
func (f *File) Signatures() ([]*signature.Spec, error) {
	return signature.FromComments(f.file.Tree)
}

// session makes the evaluator of one build.
func (f *File) session(opts *Options) (*eval.Session, *lang.Lib, *lang.Options, *Facts) {
	facts := opts.Facts
	if facts == nil {
		facts = &Facts{}
	}
	lopts := &lang.Options{
		NumWarps: opts.NumWarps, NumStages: opts.NumStages, NumCTAs: opts.NumCTAs,
		Debug: opts.Debug, SanitizeOverflow: opts.SanitizeOverflow, DefaultDotPrecision: opts.DefaultDotPrecision,
	}
	s := &eval.Session{Print: opts.Print, Meter: opts.Meter}
	if s.Meter == nil {
		s.Meter = &work.Meter{}
	}
	s.Meter.Enter("the front end")
	lib := lang.NewLib(s, facts, lopts)
	opened := map[string]*File{}
	open := func(name string) any {
		if opts.Open == nil {
			return nil
		}
		g, known := opened[name]
		if !known {
			g = opts.Open(name)
			opened[name] = g
		}
		switch {
		case g == nil:
			return nil
		case g.broken != "":
			return &eval.Missing{Name: name, Reason: g.broken}
		}
		return s.Module(g.file)
	}
	s.Import = func(name string) any {
		if lang.Yields(name) {
			if m := open(name); m != nil {
				return m
			}
		}
		if m := lib.Import(name); m != nil {
			return m
		}
		return open(name)
	}
	return s, lib, lopts, facts
}

// Build compiles one kernel for one signature into a module of ctx, which must
// have core's dialects loaded. The error is a *diag.Diagnostic or a diag.List.
func Build(ctx *ir.Context, f *File, spec *signature.Spec, opts *Options) (module *ir.Operation, err error) {
	defer work.Catch(&err)
	if opts == nil {
		opts = &Options{}
	}
	s, lib, lopts, facts := f.session(opts)
	ctx.SetMeter(s.Meter)
	if err := f.define(s, opts); err != nil {
		return nil, err
	}
	m := s.Module(f.file)
	fn, err := f.find(m, spec)
	if err != nil {
		return nil, err
	}
	params, err := f.bind(m, fn, spec)
	if err != nil {
		return nil, err
	}
	if d, ok := fn.Params.Debug.(bool); ok {
		lopts.Debug = lopts.Debug || d
	}
	module, warnings, err := codegen.Build(ctx, &codegen.Request{Kernel: fn, Params: params, Lib: lib, Facts: facts, Opts: lopts})
	if opts.Warn != nil {
		for _, w := range warnings {
			opts.Warn(w)
		}
	}
	return module, err
}

// define evaluates the values that the user gives to missing names.
func (f *File) define(s *eval.Session, opts *Options) error {
	for _, d := range opts.Define {
		e, err := syntax.ParseExpr("--define", []byte(d.Value))
		if err != nil {
			return err
		}
		v, fail := evalIn(s.Module(f.file), e)
		if fail != nil {
			return diag.Errorf(diag.Pos{File: "--define"}, "%s=%s: %s", d.Name, d.Value, fail.Msg)
		}
		if s.Define == nil {
			s.Define = make(map[string]any)
		}
		switch v.(type) {
		case nil, bool, int64, float64, string:
			v = &eval.Constexpr{Value: v} // or a kernel could not read it
		}
		s.Define[d.Name] = v
	}
	return nil
}

// evalIn evaluates an expression that stands outside the file, with the file's
// names, tl, and modules by their names.
func evalIn(m *eval.Module, e syntax.Expr) (v any, fail *eval.Failure) {
	fail = eval.Try(func() {
		v = m.Eval(e, func(name string) (any, bool) {
			full := name
			if name == "tl" {
				full = "triton.language"
			}
			v := m.Session.Load(full)
			return v, v != nil
		})
	})
	if c, ok := v.(*eval.Constexpr); ok {
		v = c.Value
	}
	return v, fail
}

// find is the kernel that a signature names; without a name, the only one.
func (f *File) find(m *eval.Module, spec *signature.Spec) (fn *eval.Function, err error) {
	fail := eval.Try(func() {
		if spec.Kernel == "" {
			fn, err = f.only(m)
			return
		}
		v, ok := m.Lookup(spec.Kernel)
		if fn, _ = v.(*eval.Function); ok && fn != nil && fn.Kind == eval.JIT {
			return
		}
		fn = nil
		err = f.noKernel(m, spec, ok)
	})
	if fail != nil {
		return nil, fail.Diagnostic()
	}
	return fn, err
}

func (f *File) only(m *eval.Module) (*eval.Function, error) {
	list := kernels(m)
	switch len(list) {
	case 0:
		f.undefined(m)
		return nil, diag.Errorf(diag.Pos{File: f.Path()}, "the file defines no kernel").
			WithHelp("a kernel is a function decorated with @triton.jit")
	case 1:
		return list[0], nil
	}
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.Name()
	}
	return nil, diag.Errorf(diag.Pos{File: f.Path()}, "the file defines %d kernels; say which one", len(list)).
		WithHelp("-n takes one of %s", strings.Join(names, ", "))
}

func (f *File) noKernel(m *eval.Module, spec *signature.Spec, exists bool) error {
	pos := diag.Pos{File: f.Path()}
	if spec.Text.File == f.Path() {
		pos = diag.Pos{File: f.Path(), Line: spec.Text.Line, Col: strings.Index(spec.Text.Full, spec.Kernel) + 1}
	}
	d := diag.Errorf(pos, "no kernel named '%s'", spec.Kernel)
	d.Line = spec.Text.Full
	if pos.Line == 0 {
		d.Line = ""
	}
	var names []string
	for _, k := range kernels(m) {
		names = append(names, k.Name())
	}
	switch near := diag.Closest(spec.Kernel, names); {
	case exists:
		return d.WithHelp("'%s' exists, but is not decorated with @triton.jit", spec.Kernel)
	case near != "":
		return d.WithHelp("did you mean '%s'?", near)
	case len(names) > 0:
		return d.WithHelp("the file defines %s", strings.Join(names, ", "))
	}
	return d.WithHelp("the file defines no function decorated with @triton.jit")
}
