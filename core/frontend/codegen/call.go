package codegen

import (
	"math/big"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// call compiles a call: the function, then the keyword arguments, then the
// positional ones, in Triton's order of evaluation.
func (g *gen) call(e *syntax.Call) any {
	fn := g.expr(e.Func)
	var kwargs []eval.Keyword
	for _, k := range e.Keywords {
		g.at(k.Span)
		loc := g.u.b.Loc
		v := g.expr(k.Value)
		g.u.b.Loc = loc
		if k.Arg != "" {
			kwargs = append(kwargs, eval.Keyword{Name: k.Arg, Value: v})
			continue
		}
		d, ok := v.(*eval.Dict)
		if !ok {
			eval.Fail("the argument after ** must be a dict of constants, not %s", lang.TypeString(v))
		}
		for i := range d.Keys {
			kwargs = append(kwargs, eval.Keyword{Name: eval.Str(d.Keys[i]), Value: d.Values[i]})
		}
	}
	args := g.arguments(e.Args)
	if f, ok := fn.(*eval.Function); ok && f.Kind == eval.JIT {
		g.checkPassed(e, args)
	}
	g.node = e.Loc()
	return g.apply(fn, args, kwargs)
}

// arguments compiles the positional arguments of a call.
func (g *gen) arguments(list []syntax.Expr) []any {
	args := make([]any, 0, len(list))
	for _, a := range list {
		s, ok := a.(*syntax.Starred)
		if !ok {
			args = append(args, g.expr(a))
			continue
		}
		v := g.expr(s.Value)
		t, ok := v.(*eval.Tuple)
		if !ok || t.Held || g.isFixed(s.Value) {
			g.node = s.Loc()
			eval.FailHelp("write the elements one by one; of a tuple that is not a constexpr, * gives the elements",
				"the value after * must be a tuple, and not one in a constexpr")
		}
		args = append(args, t.Elems...)
	}
	return args
}

// checkPassed refuses functions and modules as arguments of a jit function, but
// for jit functions and what is in a constexpr.
func (g *gen) checkPassed(e *syntax.Call, args []any) {
	check := func(at syntax.Expr, v any) {
		switch v.(type) {
		case *lang.Builtin, *lang.ExternFn, *eval.Native, *eval.Class, *eval.Type, *eval.Module:
			if !g.isFixed(at) {
				g.node = at.Loc()
				eval.FailHelp("give it a name first: f: tl.constexpr = "+g.file.Text(at.Loc())+"; f may be passed", "'%s' object has no attribute 'type'", eval.TypeName(v))
			}
		}
	}
	if len(args) == len(e.Args) { // else a tuple was spread
		for i, v := range args {
			check(e.Args[i], v)
		}
	}
}

// apply calls fn with values.
func (g *gen) apply(fn any, args []any, kwargs []eval.Keyword) any {
	switch fn := fn.(type) {
	case *bound:
		return g.apply(fn.fn, append([]any{fn.recv}, args...), kwargs)
	case *lang.Builtin:
		if f := g.u.e.Extended(fn, args, kwargs); f != nil {
			return g.apply(f, args, kwargs)
		}
		return g.u.e.Invoke(fn, args, kwargs)
	case *eval.Function:
		defer g.calledFrom(fn)
		switch fn.Kind {
		case eval.JIT:
			return g.u.CallJIT(fn, args, kwargs)
		case eval.ConstexprFunction:
			return g.atCompileTime(fn, args, kwargs)
		case eval.Extern:
			if fn.Builtin {
				args, kwargs = constants(args, kwargs)
			}
			return unwrap(fn.Call(g.u.session, args, kwargs))
		}
		if fn.Lambda != nil {
			return g.atCompileTime(fn, args, kwargs)
		}
		eval.FailHelp("decorate it with @triton.jit, or with @triton.constexpr_function if it computes constants",
			"'%s' is an ordinary Python function and cannot be called in a kernel", fn.Name())
	case *lang.DType:
		eval.FailHelp("cast with x.to(dtype) or tl.cast, or make a constant with tl.full", errNotCallable, "dtype")
	case *eval.Type, *eval.Native:
		return g.callNative(fn.(eval.Caller), args, kwargs)
	case *eval.NamedTuple:
		return fn.Call(g.u.session, args, kwargs)
	case *eval.Class:
		return g.construct(fn, args, kwargs)
	case *lang.ExternFn:
		return g.u.e.CallExtern(fn, args)
	case *eval.Missing:
		fn.Fail()
	case *lang.Marker:
		if fn == lang.Condition {
			return g.condition(args, kwargs)
		}
		if fn == lang.Range || fn == lang.StaticRange {
			return g.atCompileTime(eval.RangeType, args, nil)
		}
	}
	eval.Fail(errNotCallable, eval.TypeName(fn))
	return nil
}

// constants makes constexpr objects of the constants among arguments, as foreign
// builtins expect them.
func constants(args []any, kwargs []eval.Keyword) ([]any, []eval.Keyword) {
	object := func(v any) any {
		if v == nil || eval.IsNumber(v) || eval.TypeName(v) == "str" {
			return &eval.Constexpr{Value: v}
		}
		return v
	}
	args, kwargs = slices.Clone(args), slices.Clone(kwargs)
	for i := range args {
		args[i] = object(args[i])
	}
	for i := range kwargs {
		kwargs[i].Value = object(kwargs[i].Value)
	}
	return args, kwargs
}

// atCompileTime runs a Python function on constants.
func (g *gen) atCompileTime(fn eval.Caller, args []any, kwargs []eval.Keyword) any {
	f, _ := fn.(*eval.Function)
	for i, a := range args {
		// A constexpr_function may look at a tensor's type.
		if runtime(a) != nil && (f == nil || f.Kind != eval.ConstexprFunction) {
			eval.FailHelp("it computes constants: pass parameters annotated as tl.constexpr",
				"argument %d of %s is known at run time only (%s)", i, eval.Repr(fn), lang.TypeString(a))
		}
	}
	v := unwrap(fn.Call(g.u.session, args, kwargs))
	if f != nil {
		v = eval.Hold(v)
	}
	return v
}

// callNative calls one of Python's own functions, or a Go one of a module.
func (g *gen) callNative(fn eval.Caller, args []any, kwargs []eval.Keyword) any {
	switch fn := fn.(type) {
	case *eval.Native:
		switch fn.Name {
		case "min", "max":
			return g.minMax(fn, args, kwargs)
		case "print":
			return g.print(args, kwargs)
		case "isinstance":
			if len(args) == 2 {
				t, ok := args[1].(*eval.Tuple)
				if ok {
					eval.FailHelp("write isinstance(x, A) or isinstance(x, B)", "isinstance() in a kernel takes one type, not %s", eval.Repr(t))
				}
				if held, ok := args[0].(*eval.Tuple); ok && held.Held && args[1] == any(eval.TupleType) {
					return false
				}
			}
			return fn.Call(g.u.session, args, kwargs)
		case "len":
			return fn.Call(g.u.session, args, kwargs)
		case "getattr", "hasattr":
			return g.getattr(fn, args)
		}
		if strings.HasPrefix(fn.Name, "__") {
			return fn.Call(g.u.session, args, kwargs)
		}
	case *eval.Type:
		if fn == lang.ConstexprType && len(args) == 1 {
			return args[0]
		}
		if t, ok := first(args).(*eval.Tuple); ok && len(args) == 1 {
			switch fn {
			case eval.TupleType:
				return t
			case eval.ListType:
				return &eval.List{Elems: t.Elems}
			}
		}
	}
	return g.atCompileTime(fn, args, kwargs)
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func (g *gen) minMax(fn *eval.Native, args []any, kwargs []eval.Keyword) any {
	if len(args) < 2 {
		eval.FailHelp("of a tensor's elements take tl."+fn.Name, "%s requires at least 2 values", fn.Name)
	}
	dynamic := false
	for _, a := range args {
		dynamic = dynamic || runtime(a) != nil
	}
	if !dynamic {
		return g.atCompileTime(fn, args, kwargs)
	}
	v := args[0]
	for _, a := range args[1:] {
		if runtime(v) == nil && runtime(a) == nil {
			v = fn.Call(g.u.session, []any{v, a}, nil)
		} else {
			v = g.u.e.MinMax(fn.Name, v, a)
		}
	}
	return v
}

func (g *gen) print(args []any, kwargs []eval.Keyword) any {
	return g.u.e.Invoke(lang.BuiltinNamed("device_print"), args, kwargs)
}

func (g *gen) getattr(fn *eval.Native, args []any) any {
	if len(args) < 2 {
		eval.Fail("%s() needs an object and a name", fn.Name)
	}
	name, ok := args[1].(string)
	if !ok {
		eval.Fail("%s(): the name must be a string", fn.Name)
	}
	var v any
	fail := eval.Try(func() { v = g.attr(args[0], name) })
	switch {
	case fn.Name == "hasattr":
		return fail == nil
	case fail == nil:
		return v
	case len(args) > 2:
		return args[2]
	}
	panic(fail)
}

// CallJIT compiles fn for the arguments, unless the module has it already, and
// emits the call at the current place.
func (u *unit) CallJIT(fn *eval.Function, args []any, kwargs []eval.Keyword) any {
	checkParameters(fn)
	vals := fn.Bind(args, kwargs)
	checkDefaults(fn, vals, len(args), kwargs)
	for i, v := range vals {
		vals[i] = unwrap(v)
	}
	params := fn.ParamList()
	if fn.Params.NoInline {
		for i, v := range vals {
			if x := runtime(v); x != nil && lang.NumElements(x.Shape()) != 1 {
				eval.FailHelp("drop noinline=True, or pass scalars", "function %s is marked noinline, but was called with non-scalar argument %s:%s",
					fn.Name(), params[i].Name, x.T)
			}
		}
	}
	symbol, c := u.find(fn, vals)
	if c == nil {
		c = u.compile(fn, symbol, params, vals)
	}
	if !c.done {
		eval.FailHelp("write it as a loop", "function %s() calls itself; recursion is not supported", fn.Name())
	}
	var operands []*ir.Value
	for _, v := range vals {
		operands = lang.Flatten(v, operands)
	}
	results := lang.Flatten(c.result, nil)
	types := make([]ir.Type, len(results))
	for i, r := range results {
		types[i] = r.Type()
	}
	op := u.b.Create(tt.Call, ir.State{
		Operands: operands, Types: types,
		Attrs: []ir.NamedAttr{{Name: "callee", Attr: u.ctx.SymbolRef(symbol)}},
	})
	v, _ := lang.Rebuild(c.result, op.Results())
	return v
}

// checkParameters refuses the kinds of parameters that Triton does not know.
func checkParameters(fn *eval.Function) {
	a := fn.Args()
	switch {
	case a.Vararg != nil:
		eval.FailHelp("it came with Triton 3.7; pass a tuple", "function %s() has a parameter *%s, which Triton 3.6 does not support", fn.Name(), a.Vararg.Name)
	case a.Kwarg != nil:
		eval.FailHelp("name the parameters one by one", "function %s() has a parameter **%s, which Triton does not support", fn.Name(), a.Kwarg.Name)
	case len(a.KwOnly) > 0:
		eval.FailHelp("drop the * before it", "parameter '%s' of %s() can be given by keyword only, which Triton does not support", a.KwOnly[0].Name, fn.Name())
	case len(a.PosOnly) > 0:
		eval.FailHelp("drop the /", "parameter '%s' of %s() can be given by position only, which Triton does not support", a.PosOnly[0].Name, fn.Name())
	case fn.Module.File.Library:
		return
	}
	// Triton assigns the defaults to variables first, used or not.
	for i, p := range a.Args {
		v, ok := fn.Default(i)
		if !ok || p.Annotation != nil && lastName(p.Annotation) == "constexpr" {
			continue
		}
		switch v := v.(type) {
		case nil, lang.Type, *eval.Tuple, *eval.Missing:
		case *eval.Constexpr:
			checkDefault(p, v.Value)
		default:
			checkDefault(p, v)
		}
	}
}

func checkDefault(p *syntax.Arg, v any) {
	if v != nil && !eval.IsNumber(v) {
		eval.FailHelp("annotate the parameter: "+p.Name+": tl.constexpr", errConvert, eval.Str(v), eval.TypeName(v))
	}
}

// lastName is the name that an annotation ends with.
func lastName(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Name:
		return e.ID
	case *syntax.Attribute:
		return e.Attr
	case *syntax.Constant:
		s, _ := e.Value.(string)
		return s[strings.LastIndex(s, ".")+1:]
	}
	return ""
}

// checkDefaults refuses defaults that Triton cannot pass: it takes numbers,
// types and jit functions, and whatever is in a tl.constexpr.
func checkDefaults(fn *eval.Function, vals []any, given int, kwargs []eval.Keyword) {
	if fn.Module.File.Library {
		return
	}
	params := fn.ParamList()
	for i := given; i < len(vals); i++ {
		if slices.ContainsFunc(kwargs, func(k eval.Keyword) bool { return k.Name == params[i].Name }) {
			continue
		}
		switch v := vals[i].(type) {
		case nil, bool, int64, float64, *big.Int, *lang.DType, *lang.Pointer, *eval.Constexpr, *eval.Missing:
		case *eval.Function:
			if v.Kind == eval.JIT {
				continue
			}
			failDefault(fn, params[i], v)
		default:
			failDefault(fn, params[i], v)
		}
	}
}

func failDefault(fn *eval.Function, p *syntax.Arg, v any) {
	eval.FailHelp("pass it in the call, or write the default as tl.constexpr("+eval.Repr(v)+")",
		"the default of parameter '%s' of %s() is a %s, which Triton cannot pass to a function", p.Name, fn.Name(), eval.TypeName(v))
}

// calledFrom, deferred, tells a failure in a library's function that runs at compile time
// where the kernel calls it. Those that are compiled tell it themselves.
func (g *gen) calledFrom(fn *eval.Function) {
	if fn.Kind == eval.JIT || fn.Module == nil || !fn.Module.File.Library {
		return
	}
	if r := recover(); r != nil {
		if f, ok := r.(*eval.Failure); ok && f.File != nil && f.File.Library {
			f.Frames = append(f.Frames, eval.Frame{File: g.file, Span: g.node, Name: fn.Name() + "()"})
		}
		panic(r)
	}
}

// compile compiles fn as a private function of the module.
func (u *unit) compile(fn *eval.Function, symbol string, params []*syntax.Arg, vals []any) *compiled {
	caller := u.gen
	site := eval.Frame{File: caller.file, Span: caller.node, Name: fn.Name() + "()"}
	point := u.b.Save()
	u.depth++
	defer func() {
		u.depth--
		if r := recover(); r != nil {
			if f, ok := r.(*eval.Failure); ok {
				u.gen = caller
				if f.File == nil {
					f.At(caller.file, caller.node)
				} else {
					f.Frames = append(f.Frames, site)
				}
			}
			panic(r)
		}
	}()
	if u.depth > maxCallDepth {
		eval.Fail("calls are nested deeper than %d", maxCallDepth)
	}
	loc := u.defLoc(fn)
	var types []ir.Type
	var locs []ir.Location
	for i, v := range vals {
		for _, h := range lang.Flatten(v, nil) {
			types = append(types, h.Type())
			locs = append(locs, u.ctx.NameLoc(params[i].Name, loc))
		}
	}
	c := &compiled{name: symbol, fn: fn, args: vals}
	u.funcs[symbol] = c
	u.b.SetToEnd(u.body)
	u.b.Loc = loc
	c.op = tt.NewFunc(u.b, symbol, "private", u.ctx.Func(types, nil), nil, locs)
	c.op.SetAttr(tt.NoInlineAttr, u.ctx.BoolAttr(fn.Params.NoInline))
	g := u.newGen(fn)
	args := c.op.Body().Args()
	for i, v := range vals {
		v, args = lang.Rebuild(v, args)
		g.define(params[i].Name, v)
		if !lang.IsRuntime(v) {
			g.scope.fix(params[i].Name, v)
		}
	}
	func() {
		defer g.locate()
		g.body(c)
	}()
	u.b.Restore(point)
	return c
}
