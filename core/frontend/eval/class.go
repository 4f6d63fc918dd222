package eval

import (
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Class is a class statement's result.
type Class struct {
	Name   string
	Def    *syntax.ClassDef
	Module *Module
	Bases  []any
	// Aggregate marks a class that kernels use as a structure of values.
	Aggregate bool
	// Fields are the annotated names in order, with their annotations.
	Fields []Field

	names []string // of attrs, in order
	attrs map[string]any
}

// Field is one annotated name of a class body.
type Field struct {
	Name       string
	Annotation syntax.Expr
	Type       any // the annotation's value; nil if it could not be computed
}

// Instance is an object of a Class.
type Instance struct {
	Class *Class
	Vars  map[string]any
}

// boundMethod is a method with its object.
type boundMethod struct {
	fn   *Function
	self any
}

func (b *boundMethod) Call(s *Session, args []any, kw []Keyword) any {
	return b.fn.Call(s, append([]any{b.self}, args...), kw)
}
func (b *boundMethod) TypeName() string { return "method" }

func (c *Class) setAttr(name string, v any) {
	if c.attrs == nil {
		c.attrs = make(map[string]any)
	}
	if _, ok := c.attrs[name]; !ok {
		c.names = append(c.names, name)
	}
	c.attrs[name] = v
}

// setField adds a field; one of a base class that is annotated anew keeps its
// place.
func (c *Class) setField(f Field) {
	for i := range c.Fields {
		if c.Fields[i].Name == f.Name {
			c.Fields[i] = f
			return
		}
	}
	c.Fields = append(c.Fields, f)
}

func (c *Class) hasField(name string) bool {
	for i := range c.Fields {
		if c.Fields[i].Name == name {
			return true
		}
	}
	return false
}

// wrapped is a method that a decorator changed: "classmethod", "staticmethod"
// or "property".
type wrapped struct {
	how string
	fn  *Function
}

func (w *wrapped) TypeName() string { return w.how }

// wrapper makes the decorator of that name.
func wrapper(how string) *Native {
	return native(how, 1, func(_ *Session, a []any) any {
		if fn, ok := a[0].(*Function); ok {
			return &wrapped{how, fn}
		}
		return a[0]
	})
}

// Attr is an attribute of the class or of one of its bases.
func (c *Class) Attr(name string) (any, bool) {
	if v, ok := c.attrs[name]; ok {
		if w, ok := v.(*wrapped); ok {
			switch w.how {
			case "classmethod":
				return &boundMethod{w.fn, c}, true
			case "staticmethod":
				return w.fn, true
			}
		}
		return v, true
	}
	for _, b := range c.Bases {
		switch a := b.(type) {
		case Base:
			if v, ok := a.ClassAttr(c, name); ok {
				return v, true
			}
		case Attributer:
			if v, ok := a.Attr(name); ok {
				return v, true
			}
		}
	}
	if name == "__name__" {
		return c.Name, true
	}
	return nil, false
}

func (c *Class) TypeName() string { return "type" }
func (c *Class) Repr() string     { return "<class '" + c.Name + "'>" }

// Method finds a function of the class.
func (c *Class) Method(name string) *Function {
	v, _ := c.Attr(name)
	fn, _ := v.(*Function)
	return fn
}

// MethodNames lists the names of c's functions, and of its bases', in order.
func (c *Class) MethodNames() []string {
	var names []string
	for _, b := range c.Bases {
		if b, ok := b.(*Class); ok {
			names = append(names, b.MethodNames()...)
		}
	}
	for _, n := range c.names {
		switch c.attrs[n].(type) {
		case *Function, *wrapped:
			names = append(names, n)
		}
	}
	return names
}

// Call makes an instance and runs its __init__.
func (c *Class) Call(s *Session, args []any, kw []Keyword) any {
	o := &Instance{Class: c, Vars: make(map[string]any, len(c.Fields))}
	if init := c.Method("__init__"); init != nil {
		init.Call(s, append([]any{o}, args...), kw)
		return o
	}
	if len(c.Fields) == 0 && len(args)+len(kw) > 0 {
		raise("TypeError", "%s() takes no arguments", c.Name)
	}
	// a dataclass
	for i, fld := range c.Fields {
		switch v, ok := c.Attr(fld.Name); {
		case i < len(args):
			o.Vars[fld.Name] = args[i]
		case ok:
			o.Vars[fld.Name] = v
		}
	}
	for _, k := range kw {
		o.Vars[k.Name] = k.Value
	}
	return o
}

// Attr is a field, or a method bound to the object.
func (o *Instance) Attr(name string) (any, bool) {
	if v, ok := o.Vars[name]; ok {
		return v, true
	}
	v, ok := o.Class.Attr(name)
	switch x := v.(type) {
	case *Function:
		if w, ok := o.Class.attrs[name].(*wrapped); ok && w.how == "staticmethod" {
			return x, true
		}
		return &boundMethod{x, o}, true
	case *wrapped: // a property
		return x.fn.Call(x.fn.Module.Session, []any{o}, nil), true
	}
	return v, ok
}
func (o *Instance) TypeName() string { return o.Class.Name }

// class runs a class body and makes the class.
func (f *frame) class(st *syntax.ClassDef) any {
	c := &Class{Name: st.Name, Def: st, Module: f.mod}
	named := false
	for _, b := range st.Bases {
		if lastName(b) == "NamedTuple" {
			named = true
			continue
		}
		base := f.eval(b)
		c.Bases = append(c.Bases, base)
		if b, ok := base.(*Class); ok {
			for _, fld := range b.Fields {
				c.setField(fld)
			}
		}
	}
	in := &frame{s: f.s, mod: f.mod, outer: f.enclosing(), vars: make(map[string]any), cur: f.cur}
	for _, s := range st.Body {
		in.cur = s.Loc()
		switch s := s.(type) {
		case *syntax.FunctionDef:
			v := in.function(s, c)
			in.vars[s.Name] = v
			c.setAttr(s.Name, v)
		case *syntax.AnnAssign:
			n, ok := s.Target.(*syntax.Name)
			if !ok {
				continue
			}
			fld := Field{Name: n.ID, Annotation: s.Annotation}
			if fail := Try(func() { fld.Type = in.eval(s.Annotation) }); fail != nil {
				fld.Type = nil
			}
			c.setField(fld)
			if s.Value != nil {
				v := in.eval(s.Value)
				in.vars[n.ID] = v
				c.setAttr(n.ID, v)
			}
		case *syntax.Assign:
			in.exec(s)
			for _, t := range s.Targets {
				if n, ok := t.(*syntax.Name); ok {
					c.setAttr(n.ID, in.vars[n.ID])
				}
			}
		default:
			in.exec(s)
		}
	}
	if named {
		nt := &NamedTuple{Name: st.Name}
		for _, fld := range c.Fields {
			nt.Fields = append(nt.Fields, fld.Name)
			if v, ok := c.attrs[fld.Name]; ok {
				nt.Defaults = append(nt.Defaults, v)
			}
		}
		return nt
	}
	for _, b := range c.Bases {
		if b == any(enumClass) {
			c.enumerate()
		}
	}
	return f.decorateClass(c, st)
}

// enumClass is the base of enumerations.
var enumClass = &Type{Name: "Enum", Has: func(any) bool { return false }}

// enumerate makes members of the values that an enumeration's body assigns.
func (c *Class) enumerate() {
	for _, n := range c.names {
		switch v := c.attrs[n].(type) {
		case *Function, *wrapped:
		default:
			c.attrs[n] = &Instance{Class: c, Vars: map[string]any{"name": n, "value": v}}
		}
	}
}

func (f *frame) decorateClass(c *Class, st *syntax.ClassDef) any {
	var v any = c
	for i := len(st.Decorators) - 1; i >= 0; i-- {
		d := st.Decorators[i]
		fail := Try(func() {
			if dec, ok := f.eval(d).(*Native); ok {
				v = dec.Call(f.s, []any{v}, nil)
			}
		})
		if fail != nil {
			if fail.Lacking {
				panic(fail.At(f.mod.File, d.Loc()))
			}
			f.note(d.Loc(), "decorator @%s of '%s' is skipped: %s", f.mod.File.Text(d.Loc()), st.Name, fail.Msg)
		}
	}
	return v
}
