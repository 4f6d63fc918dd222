package eval

import (
	"math/big"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// eval computes an expression.
func (f *frame) eval(e syntax.Expr) any {
	f.s.step()
	saved := f.cur
	f.cur = e.Loc()
	v := f.expr(e)
	f.cur = saved
	return v
}

func (f *frame) expr(e syntax.Expr) any {
	switch e := e.(type) {
	case *syntax.Constant:
		return Literal(e)
	case *syntax.Name:
		return f.name(e.ID)
	case *syntax.Attribute:
		v := f.eval(e.Value)
		return f.s.attr(v, e.Attr)
	case *syntax.Call:
		return f.call(e)
	case *syntax.BinOp:
		a := f.eval(e.Left)
		b := f.eval(e.Right)
		return Binary(e.Op, a, b)
	case *syntax.UnaryOp:
		if e.Op == syntax.Not {
			return !f.truth(e.Operand)
		}
		v := f.eval(e.Operand)
		if c, ok := v.(*Constexpr); ok {
			return &Constexpr{Unary(e.Op, c.Value)}
		}
		return Unary(e.Op, v)
	case *syntax.BoolOp:
		return f.boolOp(e)
	case *syntax.Compare:
		return f.compare(e)
	case *syntax.IfExp:
		if f.truth(e.Test) {
			return f.eval(e.Body)
		}
		return f.eval(e.Orelse)
	case *syntax.Tuple:
		return NewTuple(f.list(e.Elts)...)
	case *syntax.List:
		return &List{f.list(e.Elts)}
	case *syntax.Set:
		s := &Set{}
		for _, v := range f.list(e.Elts) {
			s.Dict.Set(v, nil)
		}
		return s
	case *syntax.Dict:
		return f.dict(e)
	case *syntax.Subscript:
		o := f.eval(e.Value)
		k := f.eval(e.Slice)
		f.cur = e.Loc()
		if kernel := f.s.kernel(o); kernel != nil {
			o = kernel
		}
		return Index(o, k)
	case *syntax.Slice:
		opt := func(x syntax.Expr) any {
			if x == nil {
				return nil
			}
			return f.eval(x)
		}
		return &Slice{opt(e.Lower), opt(e.Upper), opt(e.Step)}
	case *syntax.JoinedStr:
		return f.joined(e)
	case *syntax.Lambda:
		return f.lambda(e)
	case *syntax.NamedExpr:
		v := f.eval(e.Value)
		f.set(e.Target.ID, v)
		return v
	case *syntax.ListComp:
		var out []any
		f.comprehend(e.Generators, func(in *frame) { out = append(out, in.eval(e.Elt)) })
		return &List{out}
	case *syntax.GeneratorExp:
		var out []any
		f.comprehend(e.Generators, func(in *frame) { out = append(out, in.eval(e.Elt)) })
		return &List{out}
	case *syntax.SetComp:
		s := &Set{}
		f.comprehend(e.Generators, func(in *frame) { s.Dict.Set(in.eval(e.Elt), nil) })
		return s
	case *syntax.DictComp:
		d := &Dict{}
		f.comprehend(e.Generators, func(in *frame) {
			k := in.eval(e.Key)
			d.Set(k, in.eval(e.Value))
		})
		return d
	}
	Fail("this expression is not supported at compile time")
	return nil
}

// Literal is the value of a constant in the source.
func Literal(e *syntax.Constant) any {
	switch v := e.Value.(type) {
	case syntax.None:
		return nil
	case *big.Int:
		return Int(v)
	case complex128:
		Fail("complex numbers are not supported")
	}
	return e.Value
}

func (f *frame) list(elts []syntax.Expr) []any {
	out := make([]any, 0, len(elts))
	for _, e := range elts {
		if s, ok := e.(*syntax.Starred); ok {
			out = append(out, Iterate(f.eval(s.Value))...)
			continue
		}
		out = append(out, f.eval(e))
	}
	return out
}

func (f *frame) dict(e *syntax.Dict) any {
	d := &Dict{}
	for i, k := range e.Keys {
		if k == nil {
			o, ok := f.eval(e.Values[i]).(*Dict)
			if !ok {
				raise("TypeError", "argument after ** must be a mapping")
			}
			for j := range o.Keys {
				d.Set(o.Keys[j], o.Values[j])
			}
			continue
		}
		key := f.eval(k)
		d.Set(key, f.eval(e.Values[i]))
	}
	return d
}

func (f *frame) name(id string) any {
	for fr := f; fr != nil; fr = fr.outer {
		if fr.vars != nil && !fr.global[id] {
			if v, ok := fr.vars[id]; ok {
				return v
			}
		}
	}
	if v, ok := f.mod.Lookup(id); ok {
		return v
	}
	if v, ok := Builtin(id); ok {
		return v
	}
	raise("NameError", "name '%s' is not defined", id)
	return nil
}

func (f *frame) boolOp(e *syntax.BoolOp) any {
	var v any
	for _, x := range e.Values {
		v = f.eval(x)
		t := false // what is missing is false, and stays what it is
		if m, missing := v.(*Missing); !missing || m.Launch || f.s.Kernel != nil {
			t = Truth(v)
		}
		if t == (e.Op == syntax.Or) {
			return v
		}
	}
	return v
}

func (f *frame) compare(e *syntax.Compare) any {
	left := f.eval(e.Left)
	for i, op := range e.Ops {
		right := f.eval(e.Comparators[i])
		for _, v := range []any{left, right} {
			if m, ok := v.(*Missing); ok && op != syntax.Is && op != syntax.IsNot {
				return m
			}
		}
		if !Compare(op, left, right) {
			return false
		}
		left = right
	}
	return true
}

func (f *frame) lambda(e *syntax.Lambda) any {
	fn := &Function{Lambda: e, Module: f.mod, closure: f.enclosing()}
	fn.defaults, fn.kw = f.defaultsOf(e.Args)
	return fn
}

// enclosing is the frame that a function defined here closes over.
func (f *frame) enclosing() *frame {
	if f.vars == nil {
		return nil
	}
	return f
}

// defaultsOf evaluates the defaults of parameters. One that needs what is not
// here is its *Failure, for when it is asked for.
func (f *frame) defaultsOf(a *syntax.Arguments) (pos, kw []any) {
	eval := func(d syntax.Expr) (v any) {
		fail := Try(func() { v = f.eval(d) })
		if fail == nil {
			return v
		}
		fail.At(f.mod.File, f.cur)
		f.cur = a.Span
		if fail.Raised != "" || fail.Lacking {
			panic(fail)
		}
		return fail
	}
	for _, d := range a.Defaults {
		pos = append(pos, eval(d))
	}
	for _, d := range a.KwDefaults {
		if d == nil {
			kw = append(kw, nil)
			continue
		}
		kw = append(kw, eval(d))
	}
	return pos, kw
}

// function makes a Function and applies its decorators, innermost first. A
// decorator that is not here, or that does not work at compile time, is
// skipped with a note; one that Triton does not have is a mistake.
func (f *frame) function(st *syntax.FunctionDef, class *Class) any {
	fn := &Function{Def: st, Module: f.mod, Class: class}
	if class == nil {
		fn.closure = f.enclosing()
	}
	fn.defaults, fn.kw = f.defaultsOf(st.Args)
	return f.decorate(fn, st.Decorators, st.Name)
}

func (f *frame) decorate(v any, decorators []syntax.Expr, name string) any {
	for i := len(decorators) - 1; i >= 0; i-- {
		d := decorators[i]
		trying := f.trying
		f.trying = 0
		f.cur = d.Loc()
		fail := Try(func() {
			dec := f.eval(d)
			if m, ok := dec.(*Missing); ok {
				m.Fail()
			}
			if c, ok := dec.(Caller); ok {
				if dec, ok := dec.(*Function); ok && dec.Kind == Plain {
					fn, ok := v.(*Function)
					if !ok || !dec.makesBuiltins() {
						Fail("it is an ordinary Python function")
					}
					v = fn.With(func(fn *Function) { fn.Kind, fn.Builtin = Extern, true })
					return
				}
				v = c.Call(f.s, []any{v}, nil)
			}
		})
		f.trying = trying
		if fail != nil {
			fail.At(f.mod.File, f.cur)
			if fail.Lacking {
				panic(fail)
			}
			if fn, ok := v.(*Function); ok {
				fn.Skipped = append(fn.Skipped, Skipped{d, fail})
			}
			f.note(d.Loc(), "decorator @%s of '%s' is skipped: %s", f.mod.File.Text(d.Loc()), name, fail.Msg)
		}
	}
	return v
}

// makesBuiltins reports whether a decorator marks what it makes as a builtin of
// Triton's, which runs at compile time on the values of a kernel.
func (f *Function) makesBuiltins() (found bool) {
	if f.Def == nil {
		return false
	}
	for _, st := range f.Def.Body {
		if a, ok := st.(*syntax.Assign); ok {
			for _, t := range a.Targets {
				at, ok := t.(*syntax.Attribute)
				found = found || ok && at.Attr == "__triton_builtin__"
			}
		}
	}
	return found
}

func (f *frame) joined(e *syntax.JoinedStr) string {
	var b strings.Builder
	for _, part := range e.Values {
		switch p := part.(type) {
		case *syntax.Constant:
			b.WriteString(Str(Literal(p)))
		case *syntax.FormattedValue:
			v := f.eval(p.Value)
			spec := ""
			if p.FormatSpec != nil {
				spec = f.joined(p.FormatSpec)
			}
			b.WriteString(FormatValue(v, p.Conversion, spec))
		}
	}
	return b.String()
}

// comprehend runs body for each combination of the generators' values, in a
// frame of its own.
func (f *frame) comprehend(gens []*syntax.Comprehension, body func(in *frame)) {
	in := &frame{s: f.s, mod: f.mod, outer: f, vars: make(map[string]any, 2), cur: f.cur}
	var run func(i int)
	run = func(i int) {
		if i == len(gens) {
			body(in)
			return
		}
		g := gens[i]
		for _, v := range Iterate(in.eval(g.Iter)) {
			in.assign(g.Target, v)
			keep := true
			for _, c := range g.Ifs {
				keep = keep && Truth(in.eval(c))
			}
			if keep {
				run(i + 1)
			}
		}
	}
	run(0)
}

func (f *frame) call(e *syntax.Call) any {
	fn := f.eval(e.Func)
	args := f.list(e.Args)
	var kwargs []Keyword
	for _, k := range e.Keywords {
		v := f.eval(k.Value)
		if k.Arg != "" {
			kwargs = append(kwargs, Keyword{k.Arg, v})
			continue
		}
		d, ok := v.(*Dict)
		if !ok {
			raise("TypeError", "argument after ** must be a mapping, not %s", TypeName(v))
		}
		for i, key := range d.Keys {
			kwargs = append(kwargs, Keyword{Str(key), d.Values[i]})
		}
	}
	f.cur = e.Loc()
	return f.s.Apply(fn, args, kwargs)
}

// Apply calls fn at compile time.
func (s *Session) Apply(fn any, args []any, kwargs []Keyword) any {
	switch fn := fn.(type) {
	case *Missing:
		return fn.part("()")
	case *Constexpr:
		return s.Apply(fn.Value, args, kwargs)
	case Caller:
		return fn.Call(s, args, kwargs)
	}
	raise("TypeError", "'%s' object is not callable", TypeName(fn))
	return nil
}

// Eval computes an expression that is outside the file, with the module's
// names; more, if not nil, knows further ones.
func (m *Module) Eval(e syntax.Expr, more func(name string) (any, bool)) any {
	f := &frame{s: m.Session, mod: m, vars: map[string]any{}}
	if more != nil {
		syntax.Inspect(e, func(n syntax.Node) bool {
			if name, ok := n.(*syntax.Name); ok && !m.File.Binds(name.ID) {
				if v, ok := more(name.ID); ok {
					f.vars[name.ID] = v
				}
			}
			return true
		})
	}
	return f.eval(e)
}
