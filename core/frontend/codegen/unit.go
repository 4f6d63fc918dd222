package codegen

import (
	"errors"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
)

// Param is what a signature says of one parameter of a kernel.
type Param struct {
	// Type of a run-time argument; nil for a constant.
	Type lang.Type
	// Value of a constant.
	Value any
	// Elems are the elements of a tuple argument, which has neither of both.
	Elems []Param
	Tuple bool
	// Attrs are those of the argument in the IR.
	Attrs []Attr
}

// Attr is an integer attribute of an argument, such as tt.divisibility = 16.
type Attr struct {
	Name  string
	Value int64
}

// Request is one compile.
type Request struct {
	Kernel *eval.Function
	Params []Param // in the order of the kernel's parameters
	Lib    *lang.Lib
	Facts  *lang.Facts
	Opts   *lang.Options
}

// Build compiles one kernel. Warnings come back with or without a module; the
// error is a *diag.Diagnostic, or a diag.List of several.
func Build(ctx *ir.Context, req *Request) (module *ir.Operation, warnings diag.List, err error) {
	b := ir.NewBuilder(ctx)
	u := &unit{
		ctx: ctx, b: b, lib: req.Lib, session: req.Lib.Session, opts: req.Opts,
		funcs: make(map[string]*compiled, 8),
	}
	u.e = &lang.Emitter{B: b, C: ctx, Gen: u, Session: u.session, Lib: req.Lib, Facts: req.Facts, Opts: req.Opts}
	u.session.Host = u.e
	defer u.overMemory(&module, &err)
	fail := eval.Try(func() { u.kernel(req) })
	u.session.Host = nil
	if fail != nil {
		u.failed(fail)
	}
	u.warnings = append(u.warnings, u.session.Notes...)
	switch len(u.errs) {
	case 0:
	case 1:
		return nil, u.warnings, u.errs[0]
	default:
		return nil, u.warnings, u.errs
	}
	return u.module, u.warnings, nil
}

// overMemory is deferred: a build that takes too much memory ends with a
// diagnostic at the place that it has come to.
func (u *unit) overMemory(module **ir.Operation, err *error) {
	r := recover()
	if r == nil {
		return
	}
	var over *work.OverMemory
	if !errors.As(work.Stopped(r), &over) {
		panic(r)
	}
	f := &eval.Failure{Msg: over.Error(), Help: work.OverMemoryHelp}
	if u.gen != nil {
		f.At(u.gen.file, u.gen.node)
	}
	*module, *err = nil, f.Diagnostic()
}

// unit is one compile.
type unit struct {
	ctx      *ir.Context
	b        *ir.Builder
	e        *lang.Emitter
	lib      *lang.Lib
	session  *eval.Session
	opts     *lang.Options
	module   *ir.Operation
	body     *ir.Block
	funcs    map[string]*compiled
	gen      *gen // the function being compiled
	depth    int
	warnings diag.List
	errs     diag.List
	missing  []*eval.Missing // what errs have said is missing
	// unrolling counts the loops over static_range around the statement, and
	// unrolled the statements that such loops expanded to.
	unrolling, unrolled int
}

// compiled is a function of the module.
type compiled struct {
	op     *ir.Operation
	name   string
	fn     *eval.Function
	args   []any // of the call that it was first compiled for
	done   bool
	result any // a value like the one it returns; its SSA values mean nothing
}

// maxCallDepth bounds nested calls of jit functions.
const maxCallDepth = 100

func (u *unit) kernel(req *Request) {
	fn := req.Kernel
	loc := u.defLoc(fn)
	u.module = ir.NewOperation(builtin.Module, &ir.State{Ctx: u.ctx, Loc: loc, Regions: 1})
	if req.Facts.AnyBlockSizes {
		u.module.SetAttr(ir.AnyBlockSizes, u.ctx.Unit())
	}
	u.body = builtin.AsModule(u.module).BodyRegion().AddBlock()
	params := fn.ParamList()
	g := u.newGen(fn)
	defer g.locate()
	var types []ir.Type
	var locs []ir.Location
	var attrs []*ir.DictAttr
	var flatten func(name string, p *Param)
	flatten = func(name string, p *Param) {
		switch {
		case p.Tuple:
			for i := range p.Elems {
				flatten(name, &p.Elems[i])
			}
		case p.Type != nil:
			u.e.CheckSupported(p.Type)
			for _, t := range lang.ArgTypes(u.ctx, p.Type) {
				types = append(types, t)
				locs = append(locs, u.ctx.NameLoc(name, loc))
				attrs = append(attrs, u.argAttrs(p.Attrs))
			}
		}
	}
	checkParameters(fn)
	for i, p := range params {
		g.node = p.Span
		flatten(p.Name, &req.Params[i])
	}
	u.b.SetToEnd(u.body)
	u.b.Loc = loc
	c := &compiled{name: u.kernelName(req), fn: fn}
	c.op = tt.NewFunc(u.b, c.name, "public", u.ctx.Func(types, nil), attrs, locs)
	c.op.SetAttr(tt.NoInlineAttr, u.ctx.BoolAttr(false))
	u.funcs[c.name] = c
	args := c.op.Body().Args()
	var value func(p *Param) any
	value = func(p *Param) any {
		switch {
		case p.Tuple:
			t := &eval.Tuple{}
			for i := range p.Elems {
				t.Elems = append(t.Elems, value(&p.Elems[i]))
			}
			return t
		case p.Type != nil:
			var v lang.Value
			v, args = lang.NewValue(p.Type, args)
			return v
		}
		return unwrap(p.Value)
	}
	for i, p := range params {
		v := value(&req.Params[i])
		if p.Annotation != nil && g.isConstexprAnnotation(p.Annotation) {
			v = eval.Hold(v)
		}
		g.define(p.Name, v)
		if !lang.IsRuntime(v) {
			g.scope.fix(p.Name, v)
		}
	}
	g.body(c)
	if len(lang.Flatten(c.result, nil)) > 0 {
		g.node = fn.Span()
		eval.FailHelp("store the result through a pointer argument", "kernel '%s' returns a value, but a kernel must not", fn.Name())
	}
}

func (u *unit) argAttrs(list []Attr) *ir.DictAttr {
	if len(list) == 0 {
		return nil
	}
	entries := make([]ir.NamedAttr, len(list))
	for i, a := range list {
		entries[i] = ir.NamedAttr{Name: a.Name, Attr: u.ctx.I32Attr(a.Value)}
	}
	return u.ctx.DictAttr(entries...)
}

// defLoc is where a function is defined: its def, at column 0 since Triton
// sees the function's text alone.
func (u *unit) defLoc(fn *eval.Function) ir.Location {
	return u.ctx.FileLoc(fn.Module.File.Name, int(fn.Span().Line), 0)
}

// maxErrors bounds the mistakes that are reported of one kernel.
const maxErrors = 20

// failed notes a mistake, once.
func (u *unit) failed(f *eval.Failure) {
	for name, c := range u.funcs {
		if !c.done && c.op != nil && tt.AsFunc(c.op).SymVisibility() == "private" {
			delete(u.funcs, name) // it was being compiled
		}
	}
	if f.Silent || len(u.errs) == maxErrors || slices.ContainsFunc(u.missing, f.Missing.SameImport) {
		return
	}
	d := f.Diagnostic()
	for _, e := range u.errs {
		if e.Pos == d.Pos && (e.Message == d.Message || u.unrolling > 0) {
			return
		}
	}
	u.errs = append(u.errs, d)
	if f.Missing != nil {
		u.missing = append(u.missing, f.Missing)
	}
}

// Warn adds a warning at the node being compiled.
func (u *unit) Warn(format string, args ...any) { u.WarnHelp("", format, args...) }

// WarnHelp is Warn with a next step for the user, or "".
func (u *unit) WarnHelp(help, format string, args ...any) {
	g := u.gen
	pos, end := g.file.Pos(g.node)
	d := diag.Errorf(pos, format, args...)
	d.Severity, d.EndCol, d.Help = diag.Warning, end, help
	for _, w := range u.warnings {
		if w.Pos == d.Pos && w.Message == d.Message {
			return
		}
	}
	u.warnings = append(u.warnings, d.WithSource(g.file.Source()))
}

// unwrap takes a value out of its constexpr.
func unwrap(v any) any {
	if c, ok := v.(*eval.Constexpr); ok {
		return eval.Hold(c.Value)
	}
	return v
}
