package frontend

import (
	"context"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/codegen"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
)

// Environment is what the evaluation of a file depends on besides its text.
type Environment struct {
	// Facts returns those of the target. It is called once, when code of the file
	// first asks for the target or a kernel is built; nil stands for no target.
	Facts func(ctx context.Context) (*Facts, error)
	// Module returns the text and the externs of a module of Facts that has none
	// itself; nil where there is no such module.
	Module func(ctx context.Context, name string) (text string, externs []Extern, err error)
	// Open finds the file of a module that the kernel's file imports, by its
	// dotted name; nil, or a nil file, when there is none.
	Open func(module string) (*File, error)
	// Define gives values to names of modules that are not there, as Python
	// expressions: "torch.float16" → "tl.float16".
	Define []Definition
	// Configs are the configurations of autotuned kernels, in the place of their
	// decorator's; nil to take those.
	Configs *ConfigFile
}

// Program is a Python file in its environment. All that is asked of the file is
// asked of its Program, so that everything in the file, decorators and code at
// module level too, sees the same target, imports and definitions. Its methods
// may be called from several goroutines at once. Their errors are diagnostics,
// or what the environment's functions returned.
type Program struct {
	file  *File
	env   Environment
	facts func(ctx context.Context) (*Facts, error)

	mu   sync.Mutex
	idle []*evaluation // Build may take them up again
}

// In returns the file as a program in an environment.
func (f *File) In(env Environment) *Program {
	p := &Program{file: f, env: env}
	var once sync.Once
	var facts *Facts
	var err error
	p.facts = func(ctx context.Context) (*Facts, error) {
		once.Do(func() {
			facts = &Facts{}
			if env.Facts != nil {
				facts, err = env.Facts(ctx)
			}
		})
		return facts, err
	}
	return p
}

// evaluation is one evaluation of the file's code. It belongs to one goroutine.
type evaluation struct {
	*Program
	ctx     context.Context // of the present question
	session *eval.Session
	lib     *lang.Lib
	module  *eval.Module
	configs map[*eval.Function]configList
	failed  error // the first that the environment returned: it explains what else went wrong
}

// evaluate has do look at a fresh evaluation of the file.
// It stops where the meter, or without one ctx, does.
func (p *Program) evaluate(ctx context.Context, meter *work.Meter, print func(string), do func(e *evaluation) error) error {
	return p.start().use(ctx, meter, print, do)
}

// start is an evaluation of which nothing has run yet.
func (p *Program) start() *evaluation {
	e := &evaluation{Program: p, session: &eval.Session{}}
	e.lib = lang.NewLib(e.session, func() *Facts {
		facts, err := p.facts(e.ctx)
		if err != nil {
			e.fail(err)
		}
		return facts
	})
	e.lib.Load = func(module string) (string, []Extern) {
		if p.env.Module == nil {
			return "", nil
		}
		text, externs, err := p.env.Module(e.ctx, module)
		if err != nil {
			e.fail(err)
		}
		return text, externs
	}
	e.session.Import = e.load
	return e
}

// use has do look at the evaluation.
func (e *evaluation) use(ctx context.Context, meter *work.Meter, print func(string), do func(e *evaluation) error) (err error) {
	if meter == nil {
		meter = work.Start(ctx)
		defer meter.End()
	}
	defer work.Catch(&err)
	meter.Enter("the front end")
	e.ctx = ctx
	e.session.Begin(meter, print)
	if e.module == nil {
		e.module = e.session.Module(e.file.file)
		err = e.define()
	}
	if err == nil {
		err = do(e)
	}
	if e.failed != nil {
		return e.failed
	}
	return err
}

// resume is an evaluation for another Build: one that a Build has left as good as
// fresh, or a new one. A file with thousands of configurations is then not
// evaluated anew for each of its variants.
func (p *Program) resume() *evaluation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		e := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return e
	}
	return p.start()
}

// leave keeps an evaluation for resume if the next Build cannot tell it from a
// fresh one.
func (e *evaluation) leave() {
	if e.session.Pure() {
		e.ctx = nil
		e.session.Begin(nil, nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.idle = append(e.idle, e)
	}
}

// fail ends what is being evaluated because of an error of the environment.
func (e *evaluation) fail(err error) {
	if e.failed == nil {
		e.failed = err
	}
	eval.Fail("%v", err)
}

// load finds a module for an import.
func (e *evaluation) load(name string) any {
	if lang.Yields(name) {
		if m := e.open(name); m != nil {
			return m
		}
	}
	if m := e.lib.Import(name); m != nil {
		return m
	}
	return e.open(name)
}

// open finds a module among the user's files.
func (e *evaluation) open(name string) any {
	if e.env.Open == nil {
		return nil
	}
	g, err := e.env.Open(name)
	switch {
	case err != nil:
		if e.failed == nil {
			e.failed = err
		}
		return nil
	case g == nil:
		return nil
	case g.broken != "":
		return &eval.Missing{Name: name, Reason: g.broken}
	}
	return e.session.Module(g.file)
}

// define evaluates the values that the user gives to missing names.
func (e *evaluation) define() error {
	for _, d := range e.env.Define {
		x, err := syntax.ParseExpr("--define", []byte(d.Value))
		if err != nil {
			return err
		}
		v, fail := evalIn(e.module, x)
		if fail != nil {
			return diag.Errorf(diag.Pos{File: "--define"}, "%s=%s: %s", d.Name, d.Value, fail.Msg)
		}
		if e.session.Define == nil {
			e.session.Define = make(map[string]any)
		}
		switch v.(type) {
		case nil, bool, int64, float64, string:
			v = &eval.Constexpr{Value: v} // or a kernel could not read it
		}
		e.session.Define[d.Name] = v
	}
	return nil
}

// Build compiles a variant of one of the program's kernels into a module of c,
// which must have core's dialects loaded.
func (p *Program) Build(ctx context.Context, c *ir.Context, v *Variant, opts *Options) (module *ir.Operation, err error) {
	e := p.resume()
	err = e.use(ctx, opts.Meter, opts.Print, func(e *evaluation) error {
		c.SetMeter(e.session.Meter)
		k, err := e.bind(v)
		if err != nil {
			return err
		}
		facts, err := p.facts(ctx)
		if err != nil {
			return err
		}
		lopts := &lang.Options{
			NumWarps: opts.NumWarps, NumStages: opts.NumStages, NumCTAs: opts.NumCTAs,
			Debug: opts.Debug, SanitizeOverflow: opts.SanitizeOverflow,
			DefaultDotPrecision: opts.DefaultDotPrecision, MaxNumImpreciseAcc: opts.MaxNumImpreciseAcc,
		}
		if d, ok := k.fn.Params.Debug.(bool); ok {
			lopts.Debug = lopts.Debug || d
		}
		var warnings diag.List
		module, warnings, err = codegen.Build(c, &codegen.Request{Kernel: k.fn, Params: k.params, Lib: e.lib, Facts: facts, Opts: lopts})
		if opts.Warn != nil {
			for _, w := range append(k.warnings, warnings...) {
				opts.Warn(w)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	e.leave()
	return module, nil
}

// evalIn evaluates an expression that is outside the file, with the file's
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
func (e *evaluation) find(spec *signature.Spec) (fn *eval.Function, err error) {
	fail := eval.Try(func() {
		if spec.Kernel == "" {
			fn, err = e.only()
			return
		}
		v, ok := e.module.Lookup(spec.Kernel)
		if fn, _ = v.(*eval.Function); ok && fn != nil && fn.Kind == eval.JIT {
			return
		}
		fn = nil
		err = e.noKernel(spec, ok)
	})
	if fail != nil {
		return nil, fail.Diagnostic()
	}
	return fn, err
}

func (e *evaluation) only() (*eval.Function, error) {
	list := kernels(e.module)
	switch len(list) {
	case 0:
		e.undefined()
		return nil, diag.Errorf(diag.Pos{File: e.file.Path()}, "the file defines no kernel").
			WithHelp("a kernel is a function decorated with @triton.jit")
	case 1:
		return list[0], nil
	}
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.Name()
	}
	return nil, diag.Errorf(diag.Pos{File: e.file.Path()}, "the file defines %s; say which one", diag.Count(len(list), "kernel")).
		WithHelp("-n takes one of %s", strings.Join(names, ", "))
}

func (e *evaluation) noKernel(spec *signature.Spec, exists bool) error {
	pos := diag.Pos{File: e.file.Path()}
	if spec.Text.File == e.file.Path() {
		pos = diag.Pos{File: e.file.Path(), Line: spec.Text.Line, Col: strings.Index(spec.Text.Full, spec.Kernel) + 1}
	}
	d := diag.Errorf(pos, "no kernel named '%s'", spec.Kernel)
	d.Line = spec.Text.Full
	if pos.Line == 0 {
		d.Line = ""
	}
	var names []string
	for _, k := range kernels(e.module) {
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
