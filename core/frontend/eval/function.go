package eval

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Kind says what a function's decorators made of it.
type Kind uint8

const (
	// Plain functions run at compile time only.
	Plain Kind = iota
	// JIT functions are compiled.
	JIT
	// ConstexprFunction functions run at compile time, called from kernels.
	ConstexprFunction
	// Extern functions run at compile time too, on run-time values: they call
	// builtins, which emit code.
	Extern
)

// Function is a def or lambda with its surroundings.
type Function struct {
	Def    *syntax.FunctionDef // nil for a lambda
	Lambda *syntax.Lambda
	Module *Module
	Kind   Kind
	Params JITParams
	// Builtin functions of Extern kind are foreign ones, which see constants as
	// constexpr objects, and may return such.
	Builtin bool
	// Class is the class that the function is a method of, or nil.
	Class *Class

	// Skipped are the decorators that do not work at compile time.
	Skipped []Skipped

	closure  *frame
	defaults []any // of Args.Defaults, evaluated at definition
	kw       []any
}

// JITParams are the arguments of @triton.jit and the decorators around it.
type JITParams struct {
	NoInline                   bool
	Debug                      any // nil or bool
	DoNotSpecialize            []any
	DoNotSpecializeOnAlignment []any
	Repr                       any
	// Launchers are the decorators that complete a launch, outermost first, which
	// is the order in which they run: each is an *Autotune or a *Heuristics.
	Launchers []any
	Recorded  *Recorded // or nil
}

// Recorded is what a decorator says of the launches that a kernel was made for,
// as those of torch's Inductor do.
type Recorded struct {
	// Signature is that of the arguments, less the constants that configurations
	// give.
	Signature string
	Options   []Keyword
}

// Skipped is a decorator that was passed over, and why.
type Skipped struct {
	Decorator syntax.Expr
	Failure   *Failure
}

// Autotune is what @triton.autotune says.
type Autotune struct {
	Configs []any
	Key     []any
	// Prune, PerfModel and TopK are those of prune_configs_by, nil where it does
	// not name them.
	Prune, PerfModel, TopK any
	// ResetToZero and RestoreValue name arguments whose memory is reset before a
	// launch that is measured, or restored after it.
	ResetToZero, RestoreValue []any
	// PreHook and PostHook are functions to call around such a launch, instead.
	PreHook, PostHook any
	// Warmup and Rep are milliseconds, nil where they are not given; Graph has graphs
	// of launches measured.
	Warmup, Rep any
	Graph       bool
	DoBench     bool // a function to measure with is given
}

// Heuristics is what @triton.heuristics says: a function of the arguments for
// each parameter or option.
type Heuristics struct{ Values *Dict }

// Autotune returns the outermost @triton.autotune, or nil.
func (p *JITParams) Autotune() *Autotune {
	for _, l := range p.Launchers {
		if a, ok := l.(*Autotune); ok {
			return a
		}
	}
	return nil
}

// Computes reports whether some @triton.heuristics gives name its value.
func (p *JITParams) Computes(name string) bool {
	for _, l := range p.Launchers {
		if h, ok := l.(*Heuristics); ok {
			if _, ok := h.Values.Get(name); ok {
				return true
			}
		}
	}
	return false
}

// Name of the function; "<lambda>" for a lambda.
func (f *Function) Name() string {
	if f.Def == nil {
		return "<lambda>"
	}
	return f.Def.Name
}

// QualName is the name as Python's __qualname__ gives it.
func (f *Function) QualName() string {
	switch {
	case f.Class != nil:
		return f.Class.Name + "." + f.Name()
	case f.closure != nil && f.closure.fn != nil:
		return f.closure.fn.QualName() + ".<locals>." + f.Name()
	}
	return f.Name()
}

// Args is the parameter list.
func (f *Function) Args() *syntax.Arguments {
	if f.Def != nil {
		return f.Def.Args
	}
	return f.Lambda.Args
}

// With returns a copy of f that change has changed.
func (f *Function) With(change func(*Function)) *Function {
	c := *f
	change(&c)
	return &c
}

// Span is where the function is defined.
func (f *Function) Span() syntax.Span {
	if f.Def != nil {
		return f.Def.Span
	}
	return f.Lambda.Span
}

func (f *Function) TypeName() string {
	switch f.Kind {
	case JIT:
		return "JITFunction"
	case ConstexprFunction:
		return "ConstexprFunction"
	}
	return "function"
}

// Repr names the function with its module, as Triton's JITFunction does.
func (f *Function) Repr() string {
	if f.Kind == JIT {
		return "JITFunction(" + f.Module.File.ModuleName + ":" + f.QualName() + ")"
	}
	return "<function " + f.QualName() + ">"
}

// Equal compares by definition, so that copies made by decorators are one.
func (f *Function) Equal(other any) bool {
	g, ok := other.(*Function)
	return ok && (f == g || f.Def != nil && f.Def == g.Def && f.Class == g.Class && f.closure == g.closure)
}

// Captured finds a variable of the functions around f.
func (f *Function) Captured(name string) (any, bool) {
	for fr := f.closure; fr != nil; fr = fr.outer {
		if v, ok := fr.vars[name]; ok && fr.fn != nil {
			return v, true
		}
	}
	return nil, false
}

// Attr gives the few attributes that kernels and decorators look at.
func (f *Function) Attr(name string) (any, bool) {
	switch name {
	case "__name__":
		return f.Name(), true
	case "__qualname__":
		return f.QualName(), true
	case "__module__":
		return f.Module.File.ModuleName, true
	case "fn", "__wrapped__", "func":
		return f, true
	case "arg_names": // that autotuners of libraries look at
		if f.Kind != JIT {
			return nil, false
		}
		names := &List{}
		for _, p := range f.ParamList() {
			names.Elems = append(names.Elems, p.Name)
		}
		return names, true
	}
	return nil, false
}

// Default is the default value of a parameter, which is the i-th of PosOnly
// and Args together.
func (f *Function) Default(i int) (any, bool) {
	a := f.Args()
	first := len(a.PosOnly) + len(a.Args) - len(a.Defaults)
	if i < first {
		return nil, false
	}
	return present(f.defaults[i-first]), true
}

func present(v any) any {
	if fail, ok := v.(*Failure); ok {
		panic(fail)
	}
	return v
}

// KwDefault is the default value of the i-th keyword-only parameter.
func (f *Function) KwDefault(i int) (any, bool) {
	if f.Args().KwDefaults[i] == nil {
		return nil, false
	}
	return present(f.kw[i]), true
}

// Bind distributes the arguments of a call over f's parameters: one value a
// parameter in the order PosOnly, Args, Vararg (a *Tuple), KwOnly, Kwarg
// (a *Dict).
func (f *Function) Bind(args []any, kwargs []Keyword) []any {
	a := f.Args()
	name := f.Name()
	pos := len(a.PosOnly) + len(a.Args)
	out := make([]any, 0, pos+len(a.KwOnly)+2)
	used := make([]bool, len(kwargs))
	take := func(param string) (any, bool) {
		for i, k := range kwargs {
			if k.Name == param {
				used[i] = true
				return k.Value, true
			}
		}
		return nil, false
	}
	if a.Kwarg == nil {
		for _, k := range kwargs {
			if !slices.ContainsFunc(a.Args, k.names) && !slices.ContainsFunc(a.KwOnly, k.names) {
				var names []string
				for _, p := range append(slices.Clone(a.Args), a.KwOnly...) {
					names = append(names, p.Name)
				}
				raiseHelp("TypeError", DidYouMean(k.Name, names, ""), "%s() got an unexpected keyword argument '%s'", name, k.Name)
			}
		}
	}
	if len(args) > pos && a.Vararg == nil {
		raise("TypeError", "%s() takes %s but %d %s given", name, diag.Count(pos, "positional argument"), len(args), wasWere(len(args)))
	}
	for i := range pos {
		p := paramAt(a, i)
		if i < len(args) {
			if i >= len(a.PosOnly) {
				if _, twice := take(p.Name); twice {
					raise("TypeError", "%s() got multiple values for argument '%s'", name, p.Name)
				}
			}
			out = append(out, args[i])
			continue
		}
		if i >= len(a.PosOnly) {
			if v, ok := take(p.Name); ok {
				out = append(out, v)
				continue
			}
		}
		v, ok := f.Default(i)
		if !ok {
			raise("TypeError", "%s() missing a required argument: '%s'", name, p.Name)
		}
		out = append(out, v)
	}
	if a.Vararg != nil {
		rest := &Tuple{}
		if len(args) > pos {
			rest.Elems = append(rest.Elems, args[pos:]...)
		}
		out = append(out, rest)
	}
	for i, p := range a.KwOnly {
		v, ok := take(p.Name)
		if !ok {
			if v, ok = f.KwDefault(i); !ok {
				raise("TypeError", "%s() missing a required keyword-only argument: '%s'", name, p.Name)
			}
		}
		out = append(out, v)
	}
	extra := &Dict{}
	for i, k := range kwargs {
		if !used[i] {
			extra.Set(k.Name, k.Value)
		}
	}
	if a.Kwarg != nil {
		out = append(out, extra)
	}
	return out
}

// ParamList lists f's parameters in the order of Bind.
func (f *Function) ParamList() []*syntax.Arg {
	a := f.Args()
	out := make([]*syntax.Arg, 0, len(a.PosOnly)+len(a.Args)+len(a.KwOnly)+2)
	out = append(append(out, a.PosOnly...), a.Args...)
	if a.Vararg != nil {
		out = append(out, a.Vararg)
	}
	out = append(out, a.KwOnly...)
	if a.Kwarg != nil {
		out = append(out, a.Kwarg)
	}
	return out
}

// names reports whether k is for the parameter p.
func (k Keyword) names(p *syntax.Arg) bool { return k.Name == p.Name }

func paramAt(a *syntax.Arguments, i int) *syntax.Arg {
	if i < len(a.PosOnly) {
		return a.PosOnly[i]
	}
	return a.Args[i-len(a.PosOnly)]
}

// Call runs f at compile time.
func (f *Function) Call(s *Session, args []any, kwargs []Keyword) any {
	if f.Kind == JIT && s.Kernel != nil {
		FailHelp("a kernel is launched as "+f.Name()+"[grid](…)", "cannot call the jit function %s() without a grid", f.Name())
	}
	if f.Kind == JIT {
		FailHelp("a @triton.jit function may be called from another one only", "cannot call the jit function %s() at compile time", f.Name())
	}
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxCalls {
		raise("RecursionError", "maximum recursion depth exceeded")
	}
	if s.Host != nil && !f.Module.File.Library {
		s.ran = true
	}
	fr := &frame{s: s, mod: f.Module, fn: f, outer: f.closure, vars: make(map[string]any, 8)}
	bound := f.Bind(args, kwargs)
	for i, p := range f.ParamList() {
		fr.vars[p.Name] = bound[i]
	}
	defer fr.locate()
	if f.Lambda != nil {
		return fr.eval(f.Lambda.Body)
	}
	if fr.block(f.Def.Body) == ctlReturn {
		return fr.result
	}
	return nil
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
