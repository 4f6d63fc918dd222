package codegen

import (
	"maps"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// bound is a function with its first argument.
type bound struct {
	recv any
	fn   any
}

func (b *bound) TypeName() string { return "method" }

func (g *gen) attribute(e *syntax.Attribute) any {
	v := g.expr(e.Value)
	return g.attr(v, e.Attr)
}

// attr is v.name.
func (g *gen) attr(v any, name string) any {
	switch v := v.(type) {
	case *lang.Tensor:
		return g.tensorAttr(v, name)
	case *lang.Desc:
		return g.descAttr(v, name)
	case *eval.Instance:
		if r, ok := v.Vars[name]; ok {
			return r
		}
		if fn := v.Class.Method(name); fn != nil {
			return &bound{v, fn}
		}
		eval.FailHelp(eval.DidYouMean(name, append(slices.Sorted(maps.Keys(v.Vars)), v.Class.MethodNames()...), ""), "'%s' has no attribute '%s'", v.Class.Name, name)
	}
	if name == "value" && !g.u.session.HasAttr(v, name) {
		return v // of a constexpr, which is without its wrapper here
	}
	return unwrap(g.u.session.Attr(v, name))
}

func (g *gen) tensorAttr(x *lang.Tensor, name string) any {
	switch name {
	case "dtype":
		return x.Scalar()
	case "type":
		return x.T
	case "shape":
		return lang.ShapeTuple(x.Shape())
	case "numel":
		return lang.NumElements(x.Shape())
	case "T":
		if len(x.Shape()) != 2 {
			eval.FailHelp("use tl.trans, which takes the order", "permute dims must have the same length as input shape")
		}
		return g.u.e.Trans(x, nil)
	}
	if b := lang.Method(name); b != nil {
		return &bound{x, b}
	}
	if fn := g.u.lib.LibraryMethod(name); fn != nil {
		return &bound{x, fn}
	}
	if fn := g.operator(name); fn != nil {
		return &bound{x, &eval.Native{Name: "__" + name, Fn: func(_ *eval.Session, a []any, _ []eval.Keyword) any {
			if len(a) != 2 {
				eval.Fail("%s() takes one argument", name)
			}
			return fn(a[0], a[1])
		}}}
	}
	help := attrHelp(name)
	if help == "" {
		names := append([]string{"dtype", "type", "shape", "numel", "logical_and", "logical_or"}, lang.Methods()...)
		help = eval.DidYouMean(name, append(names, lang.LibraryMethods()...), "")
	}
	eval.FailHelp(help, "'tensor' object has no attribute '%s'", name)
	return nil
}

// operator is the operation of a method such as __add__ or logical_and.
func (g *gen) operator(name string) func(a, b any) any {
	switch name {
	case "logical_and":
		return func(a, b any) any { return g.u.e.Logical(syntax.And, a, b) }
	case "logical_or":
		return func(a, b any) any { return g.u.e.Logical(syntax.Or, a, b) }
	}
	inner, ok := strings.CutPrefix(name, "__")
	if !ok {
		return nil
	}
	if inner, ok = strings.CutSuffix(inner, "__"); !ok {
		return nil
	}
	for op, n := range operatorNames {
		if n == inner && op != syntax.Pow && op != syntax.MatMult {
			return func(a, b any) any { return g.u.e.Binary(op, a, b) }
		}
	}
	return nil
}

// attrHelp speaks to people who think of torch or NumPy.
func attrHelp(name string) string {
	switch name {
	case "size", "dim", "ndim":
		return "use x.shape"
	case "float":
		return "use x.to(tl.float32)"
	case "half":
		return "use x.to(tl.float16)"
	case "int", "long", "bool", "astype", "type_as":
		return "use x.to(tl.int32) or another type"
	case "unsqueeze":
		return "use x[:, None] or tl.expand_dims"
	case "sort":
		return "use tl.sort(x): the method does nothing in Triton 3.6"
	case "mean":
		return "divide tl.sum by the number of elements"
	}
	return ""
}

func (g *gen) descAttr(d *lang.Desc, name string) any {
	switch name {
	case "dtype":
		return d.Block.Elem
	case "block_type", "type":
		return d.Block
	case "block_shape":
		return lang.ShapeTuple(d.Block.Shape)
	case "shape", "strides":
		list := d.Shape
		if name == "strides" {
			list = d.Strides
		}
		t := &eval.Tuple{}
		for _, x := range list {
			t.Elems = append(t.Elems, x)
		}
		return t
	}
	if b := lang.DescMethod(name); b != nil {
		return &bound{d, b}
	}
	names := append([]string{"dtype", "type", "block_type", "block_shape", "shape", "strides"}, lang.DescMethods()...)
	eval.FailHelp(eval.DidYouMean(name, names, ""), "'tensor_descriptor' object has no attribute '%s'", name)
	return nil
}
