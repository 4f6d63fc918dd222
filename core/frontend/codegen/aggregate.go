package codegen

import (
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
)

// Triton's texts about classes of values.
const (
	errReferenced    = "Unsupported function referenced: %s"
	errUninitialized = "constructor for %s did not initialize attribute '%s'"
	errFieldType     = "Expected %s for attribute '%s', got %s"
)

// construct makes an object of an aggregate.
func (g *gen) construct(c *eval.Class, args []any, kwargs []eval.Keyword) any {
	g.checkAggregate(c)
	return g.finish(c.Call(g.u.session, args, kwargs))
}

// checkAggregate holds a class to what Triton takes: a constructor of its own,
// and no plain function among its methods.
func (g *gen) checkAggregate(c *eval.Class) {
	const help = "decorate it with @triton.jit, or with @triton.constexpr_function if it computes constants or sets fields"
	if c.Module.File.Library {
		return
	}
	for _, b := range c.Bases {
		if b, ok := b.(*eval.Class); ok && b.Aggregate {
			eval.FailHelp("inheritance came with Triton 3.8; write the fields of "+b.Name+" out", "%s inherits from the aggregate %s, which Triton 3.6 does not support", c.Name, b.Name)
		}
	}
	if c.Method("__init__") == nil {
		eval.FailHelp("write an __init__ that sets the fields, decorated with @triton.constexpr_function", errReferenced, c.Name+".__init__")
	}
	for _, name := range c.MethodNames() {
		if fn := c.Method(name); fn != nil && fn.Kind == eval.Plain {
			eval.FailHelp(help, errReferenced, c.Name+"."+name)
		}
	}
}

// finish checks that a new aggregate has its fields, of the annotated types.
// Other values it returns as they are.
func (g *gen) finish(v any) any {
	o, ok := v.(*eval.Instance)
	if !ok || !o.Class.Aggregate {
		return v
	}
	c := o.Class
	for _, f := range c.Fields {
		v, ok := o.Vars[f.Name]
		if !ok {
			eval.Fail(errUninitialized, c.Name, f.Name)
		}
		switch t := f.Type.(type) {
		case *eval.Type:
			if !t.Has(v) {
				help := ""
				switch {
				case t == lang.ConstexprType && !lang.IsRuntime(v):
					help = "the constructor sees what a constexpr holds: write tl.constexpr(…) around it"
				case t == lang.TensorType && eval.IsNumber(v):
					help = "pass a tensor: a number becomes one when it is assigned to a variable"
				}
				eval.FailHelp(help, errFieldType, t.Name, f.Name, lang.TypeString(v))
			}
		case *eval.Class:
			if i, ok := v.(*eval.Instance); !ok || i.Class != t {
				eval.Fail(errFieldType, t.Name, f.Name, lang.TypeString(v))
			}
		}
		o.Vars[f.Name] = unwrap(v)
	}
	return o
}
