package eval

import (
	"maps"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// control says how a statement ended.
type control uint8

const (
	ctlNext control = iota
	ctlBreak
	ctlContinue
	ctlReturn
)

// frame is one running function, class body or module.
type frame struct {
	s      *Session
	mod    *Module
	fn     *Function      // nil in a class body and in a module
	outer  *frame         // of a closure
	vars   map[string]any // nil: the module's globals
	global map[string]bool
	result any
	cur    syntax.Span
	trying int // depth of try blocks that catch
}

// locate gives a passing failure the place of f.
func (f *frame) locate() {
	if r := recover(); r != nil {
		if fail, ok := r.(*Failure); ok {
			fail.At(f.mod.File, f.cur)
		}
		panic(r)
	}
}

func (f *frame) block(body []syntax.Stmt) control {
	for _, st := range body {
		if c := f.exec(st); c != ctlNext {
			return c
		}
	}
	return ctlNext
}

func (f *frame) exec(st syntax.Stmt) control {
	f.s.step()
	f.cur = st.Loc()
	switch st := st.(type) {
	case *syntax.FunctionDef:
		f.set(st.Name, f.function(st, nil))
	case *syntax.ClassDef:
		f.set(st.Name, f.class(st))
	case *syntax.Return:
		f.result = nil
		if st.Value != nil {
			f.result = f.eval(st.Value)
		}
		return ctlReturn
	case *syntax.Assign:
		v := f.eval(st.Value)
		for _, t := range st.Targets {
			f.assign(t, v)
		}
	case *syntax.AugAssign:
		f.augAssign(st)
	case *syntax.AnnAssign:
		f.annAssign(st)
	case *syntax.For:
		return f.forLoop(st)
	case *syntax.While:
		for f.truth(st.Test) {
			switch f.block(st.Body) {
			case ctlBreak:
				return ctlNext
			case ctlReturn:
				return ctlReturn
			}
		}
		return f.block(st.Orelse)
	case *syntax.If:
		if f.truth(st.Test) {
			return f.block(st.Body)
		}
		return f.block(st.Orelse)
	case *syntax.With:
		return f.with(st)
	case *syntax.Try:
		return f.try(st)
	case *syntax.TryStar:
		return f.try(&st.Try)
	case *syntax.Raise:
		f.raise(st)
	case *syntax.Assert:
		if !Truth(f.eval(st.Test)) {
			msg := ""
			if st.Msg != nil {
				msg = Str(f.eval(st.Msg))
			}
			f.cur = st.Loc()
			raise("AssertionError", "assertion failed: %s", msg)
		}
	case *syntax.Import:
		f.imports(st)
	case *syntax.ImportFrom:
		f.importFrom(st)
	case *syntax.ExprStmt:
		if m, ok := f.eval(st.Value).(*Missing); ok && f.s.Effects {
			m.Fail()
		}
	case *syntax.Delete:
		for _, t := range st.Targets {
			f.del(t)
		}
	case *syntax.Global:
		if f.global == nil {
			f.global = make(map[string]bool)
		}
		for _, n := range st.Names {
			f.global[n] = true
		}
	case *syntax.Break:
		return ctlBreak
	case *syntax.Continue:
		return ctlContinue
	case *syntax.Pass, *syntax.Nonlocal, *syntax.AsyncFunctionDef, *syntax.TypeAlias:
	default:
		Fail("this statement is not supported at compile time")
	}
	return ctlNext
}

// truth is the truth of a condition. One that depends on a module that is not
// here is taken to be false, with a note: such conditions ask what a machine or
// a library can do.
func (f *frame) truth(e syntax.Expr) bool {
	v := f.eval(e)
	if m, ok := v.(*Missing); ok && !m.Launch && f.s.Kernel == nil {
		f.note(e.Loc(), "'%s' is not known here and taken to be false", m.Name)
		return false
	}
	return Truth(v)
}

func (f *frame) forLoop(st *syntax.For) control {
	for _, v := range Iterate(f.eval(st.Iter)) {
		f.assign(st.Target, v)
		switch f.block(st.Body) {
		case ctlBreak:
			return ctlNext
		case ctlReturn:
			return ctlReturn
		}
	}
	return f.block(st.Orelse)
}

// with evaluates its items and runs the body; nothing is entered or left, since
// compile-time objects hold no resources.
func (f *frame) with(st *syntax.With) control {
	for _, item := range st.Items {
		v := f.eval(item.ContextExpr)
		if item.OptionalVars != nil {
			f.assign(item.OptionalVars, v)
		}
	}
	return f.block(st.Body)
}

func (f *frame) try(st *syntax.Try) control {
	c := ctlNext
	if len(st.Handlers) > 0 {
		f.trying++
	}
	fail := Try(func() { c = f.block(st.Body) })
	if len(st.Handlers) > 0 {
		f.trying--
	}
	if fail == nil {
		if c == ctlNext {
			c = f.block(st.Orelse)
		}
	} else if h := f.handler(st, fail); h != nil {
		if h.Name != "" {
			f.set(h.Name, &Instance{Class: &Class{Name: fail.Raised}, Vars: map[string]any{"args": NewTuple(fail.Msg)}})
		}
		c = f.block(h.Body)
	} else {
		f.block(st.Finalbody)
		panic(fail)
	}
	if fc := f.block(st.Finalbody); fc != ctlNext {
		return fc
	}
	return c
}

// parents names the base of each exception that compile-time code raises;
// those not listed derive from Exception.
var parents = map[string]string{
	"ModuleNotFoundError": "ImportError", "KeyError": "LookupError", "IndexError": "LookupError",
	"ZeroDivisionError": "ArithmeticError", "OverflowError": "ArithmeticError",
	"RecursionError": "RuntimeError", "NotImplementedError": "RuntimeError", "FileNotFoundError": "OSError",
}

func (f *frame) handler(st *syntax.Try, fail *Failure) *syntax.ExceptHandler {
	if fail.Raised == "" {
		return nil
	}
	for _, h := range st.Handlers {
		if h.Type == nil {
			return h
		}
		types := []syntax.Expr{h.Type}
		if t, ok := h.Type.(*syntax.Tuple); ok {
			types = t.Elts
		}
		for _, t := range types {
			want := lastName(t)
			if want == "Exception" || want == "BaseException" {
				return h
			}
			for have := fail.Raised; have != ""; have = parents[have] {
				if have == want {
					return h
				}
			}
		}
	}
	return nil
}

func lastName(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Name:
		return e.ID
	case *syntax.Attribute:
		return e.Attr
	}
	return ""
}

func (f *frame) raise(st *syntax.Raise) {
	if st.Exc == nil {
		raise("RuntimeError", "no active exception to re-raise")
	}
	class, msg := lastName(st.Exc), ""
	if call, ok := st.Exc.(*syntax.Call); ok {
		class = lastName(call.Func)
		if len(call.Args) > 0 {
			msg = Str(f.eval(call.Args[0]))
		}
	}
	f.cur = st.Loc()
	if msg == "" {
		raise(class, "%s", class)
	}
	raise(class, "%s: %s", class, msg)
}

func (f *frame) set(name string, v any) {
	switch {
	case f.vars == nil || f.global[name]:
		f.mod.vals[name] = v
	default:
		f.vars[name] = v
	}
}

func (f *frame) assign(t syntax.Expr, v any) {
	switch t := t.(type) {
	case *syntax.Name:
		f.set(t.ID, v)
	case *syntax.Tuple:
		f.unpack(t.Elts, v)
	case *syntax.List:
		f.unpack(t.Elts, v)
	case *syntax.Subscript:
		setItem(f.eval(t.Value), f.eval(t.Slice), v)
	case *syntax.Attribute:
		switch o := f.eval(t.Value).(type) {
		case *Instance:
			if o.Class.Aggregate && !o.Class.hasField(t.Attr) {
				raise("AttributeError", "%s has no attribute '%s'", o.Class.Name, t.Attr)
			}
			o.Vars[t.Attr] = v
		case *Class:
			o.setAttr(t.Attr, v)
		case AttrSetter:
			if !o.SetAttr(t.Attr, v) {
				raise("AttributeError", "cannot set attribute '%s' of '%s' object", t.Attr, TypeName(o))
			}
		case *Missing, *Function:
			// an attribute of a foreign object, which nobody reads here
		default:
			raise("AttributeError", "cannot set attribute '%s' of '%s' object", t.Attr, TypeName(o))
		}
	default:
		Fail("cannot assign to this at compile time")
	}
}

func setItem(o, key, v any) {
	switch o := o.(type) {
	case *Dict:
		o.Set(unwrap(key), v)
	case *List:
		i, ok := AsInt(unwrap(key))
		if !ok {
			raise("TypeError", "list indices must be integers, not %s", TypeName(key))
		}
		o.Elems[position(i, len(o.Elems), "list assignment")] = v
	case *Missing:
		// an item of a foreign object, which nobody reads here
	default:
		raise("TypeError", "'%s' object does not support item assignment", TypeName(o))
	}
}

func (f *frame) unpack(targets []syntax.Expr, v any) {
	vals := Iterate(v)
	star := -1
	for i, t := range targets {
		if _, ok := t.(*syntax.Starred); ok {
			star = i
		}
	}
	if star < 0 {
		if len(vals) != len(targets) {
			raise("ValueError", "cannot unpack %s into %s", diag.Count(len(vals), "value"), diag.Count(len(targets), "name"))
		}
		for i, t := range targets {
			f.assign(t, vals[i])
		}
		return
	}
	after := len(targets) - star - 1
	if len(vals) < star+after {
		raise("ValueError", "not enough values to unpack (expected at least %d, got %d)", star+after, len(vals))
	}
	for i := range star {
		f.assign(targets[i], vals[i])
	}
	f.assign(targets[star].(*syntax.Starred).Value, &List{append([]any(nil), vals[star:len(vals)-after]...)})
	for i := range after {
		f.assign(targets[star+1+i], vals[len(vals)-after+i])
	}
}

func (f *frame) augAssign(st *syntax.AugAssign) {
	old := f.eval(st.Target)
	v := f.eval(st.Value)
	f.cur = st.Loc()
	if l, ok := old.(*List); ok && st.Op == syntax.Add {
		l.Elems = extended(l.Elems, Iterate(v))
		return
	}
	f.assign(st.Target, Binary(st.Op, old, v))
}

func (f *frame) annAssign(st *syntax.AnnAssign) {
	if st.Value == nil {
		return
	}
	v := f.eval(st.Value)
	f.assign(st.Target, v)
	if n, ok := st.Target.(*syntax.Name); ok && f.vars == nil && lastName(st.Annotation) == "constexpr" {
		if f.mod.annotated == nil {
			f.mod.annotated = make(map[string]bool)
		}
		f.mod.annotated[n.ID] = true
	}
}

func (f *frame) del(t syntax.Expr) {
	switch t := t.(type) {
	case *syntax.Name:
		if f.vars == nil {
			delete(f.mod.vals, t.ID)
		} else {
			delete(f.vars, t.ID)
		}
	case *syntax.Subscript:
		if d, ok := f.eval(t.Value).(*Dict); ok {
			d.Delete(unwrap(f.eval(t.Slice)))
			return
		}
		Fail("cannot delete this at compile time")
	case *syntax.Tuple:
		for _, e := range t.Elts {
			f.del(e)
		}
	}
}

// module finds the module of that name; one that is not here is Missing, or an
// ImportError where a try statement waits for it.
func (f *frame) module(name string, span syntax.Span) any {
	v := f.s.load(name)
	if m, ok := v.(*Missing); ok || v == nil {
		if f.trying > 0 {
			raise("ModuleNotFoundError", "No module named '%s'", name)
		}
		reason := ""
		if m != nil {
			reason = m.Reason
		}
		return &Missing{Name: name, File: f.mod.File, Span: span, Reason: reason}
	}
	return v
}

func (f *frame) imports(st *syntax.Import) {
	for _, a := range st.Names {
		if a.Asname != "" {
			f.set(a.Asname, f.module(a.Name, a.Span))
			continue
		}
		root, rest, dotted := strings.Cut(a.Name, ".")
		v := f.module(root, a.Span)
		if m, ok := v.(*Missing); ok && dotted {
			// the package is not a module of its own, but the full name may be
			if full := f.s.load(a.Name); full != nil {
				v = &Package{root, map[string]any{}}
				v.(*Package).put(rest, full)
			} else {
				v = m
			}
		}
		f.set(root, v)
	}
}

func (f *frame) importFrom(st *syntax.ImportFrom) {
	name := f.mod.absolute(st)
	from := f.module(name, st.Span)
	for _, a := range st.Names {
		if a.Name == "*" {
			continue // looked through by Module.Lookup
		}
		var v any
		found := false
		if m, ok := from.(*Missing); ok {
			v, found = f.fromMissing(m, a), true
		} else if at, ok := from.(Attributer); ok {
			v, found = at.Attr(a.Name)
			if m, ok := v.(*Missing); ok && f.trying > 0 && m.Reason != "" {
				found = false
			}
		}
		if !found {
			if v = f.s.load(name + "." + a.Name); v == nil {
				f.cur = a.Span
				raise("ImportError", "cannot import name '%s' from '%s'", a.Name, name)
			}
		}
		f.set(importedName(a), v)
	}
}

// conventional names are imported from a project's own module where it wants
// to live without Triton, too.
var conventional = map[string]string{"triton": "triton", "tl": "triton.language"}

func (f *frame) fromMissing(m *Missing, a *syntax.Alias) any {
	if v, ok := f.s.Define[m.Name+"."+a.Name]; ok {
		return v
	}
	if v := f.s.load(m.Name + "." + a.Name); v != nil {
		return v
	}
	if known := conventional[a.Name]; known != "" {
		if v := f.s.load(known); v != nil {
			f.note(a.Span, "'%s' of '%s', which is not here, is taken for %s", a.Name, m.Name, known)
			return v
		}
	}
	v, _ := m.Attr(a.Name)
	return v
}

// Package is a namespace that stands for packages on the way to a module.
type Package struct {
	Name  string
	Parts map[string]any
}

// Attr is a module or package inside p.
func (p *Package) Attr(name string) (any, bool) {
	v, ok := p.Parts[name]
	return v, ok
}

// Names lists what p holds, sorted.
func (p *Package) Names() []string    { return slices.Sorted(maps.Keys(p.Parts)) }
func (p *Package) TypeName() string   { return "module" }
func (p *Package) Repr() string       { return "<module '" + p.Name + "'>" }
func (p *Package) ModuleName() string { return p.Name }

func (p *Package) put(path string, v any) {
	first, rest, dotted := strings.Cut(path, ".")
	if !dotted {
		p.Parts[first] = v
		return
	}
	sub := &Package{p.Name + "." + first, map[string]any{}}
	p.Parts[first] = sub
	sub.put(rest, v)
}

// note records something that was skipped.
func (f *frame) note(span syntax.Span, format string, args ...any) {
	pos, end := f.mod.File.Pos(span)
	d := diag.Errorf(pos, format, args...)
	d.Severity, d.EndCol = diag.Note, end
	f.s.Notes = append(f.s.Notes, d.WithSource(f.mod.File.Source()))
}
