package codegen

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// expr compiles an expression. After it the builder's location is that of e, as
// the node visited last.
func (g *gen) expr(e syntax.Expr) any {
	g.u.ctx.Meter().Visit()
	outer := g.node
	g.at(e.Loc())
	loc := g.u.b.Loc
	v := g.visit(e)
	g.node = outer
	g.u.b.Loc = loc
	return v
}

func (g *gen) visit(e syntax.Expr) any {
	switch e := e.(type) {
	case *syntax.Name:
		return g.name(e.ID)
	case *syntax.Constant:
		if e.EndLine > e.Line {
			e = g.dedented(e)
		}
		return eval.Literal(e)
	case *syntax.BinOp:
		lhs := g.expr(e.Left)
		rhs := g.expr(e.Right)
		return g.binary(e.Op, lhs, rhs)
	case *syntax.Call:
		return g.call(e)
	case *syntax.Attribute:
		return g.attribute(e)
	case *syntax.Subscript:
		return g.subscript(e)
	case *syntax.Compare:
		return g.compare(e)
	case *syntax.BoolOp:
		return g.boolOp(e)
	case *syntax.UnaryOp:
		return g.unary(e)
	case *syntax.IfExp:
		return g.ifExp(e)
	case *syntax.Tuple:
		return g.tuple(e.Elts)
	case *syntax.List:
		return g.tuple(e.Elts)
	case *syntax.Slice:
		return g.slice(e)
	case *syntax.JoinedStr:
		return g.joined(e)
	case *syntax.ListComp:
		return g.listComp(e)
	case *syntax.NamedExpr:
		eval.FailHelp("it came with Triton 3.7; assign on a line before", errNode, nodeName(e))
	}
	eval.Fail(errNode, nodeName(e))
	return nil
}

// builtinNames are the names that kernels may use of Python's own.
var builtinNames = []string{"len", "list", "range", "float", "int", "isinstance", "getattr", "hasattr", "print", "min", "max"}

func (g *gen) name(id string) any {
	if v, ok := g.scope.get(id); ok {
		checkBroken(v)
		g.warnUndefined(v)
		return v
	}
	if v, ok := g.fn.Captured(id); ok {
		return g.global(id, v)
	}
	if v, ok := g.fn.Module.Lookup(id); ok {
		return g.global(id, v)
	}
	for _, n := range builtinNames {
		if n == id {
			v, _ := eval.Builtin(id)
			return v
		}
	}
	eval.FailHelp(g.undefinedHelp(id), errUndefined, id)
	return nil
}

// undefinedHelp guesses why a name is not defined: it is assigned elsewhere in
// the function, or it is a slip of another.
func (g *gen) undefinedHelp(id string) string {
	assigned := map[string]bool{}
	for _, st := range g.fn.Def.Body {
		assignedNames(st, assigned)
	}
	if assigned[id] {
		return "it is assigned in one branch, in a loop, or further down: give it a value before"
	}
	names := g.file.Names()
	for _, v := range g.scope.vars {
		names = append(names, v.name)
	}
	if near := diag.Closest(id, names); near != "" {
		return "did you mean '" + near + "'?"
	}
	return ""
}

// global is a name of the module or of a function around, where a kernel may use it: constants must be
// constexpr, so that a later change of the variable cannot go unseen.
func (g *gen) global(id string, v any) any {
	switch v := v.(type) {
	case *eval.Constexpr:
		if fn, ok := v.Value.(*eval.Function); ok && fn.Kind == eval.Plain {
			// a constexpr of a Python function is called on constants
			return fn.With(func(f *eval.Function) { f.Kind = eval.ConstexprFunction })
		}
		return v.Value
	case nil, *eval.Missing, *eval.Module, *eval.Package, *lang.Language, *lang.Builtin, *lang.DType, *lang.Pointer, *lang.Block,
		*lang.Marker, *lang.ExternFn, *eval.Type, *eval.NamedTuple:
		return v
	case *eval.Native:
		if v.Global {
			return v
		}
		eval.FailHelp("import the module, and call module."+v.Name, errGlobal, id)
	case *eval.Class:
		if v.Aggregate {
			return v
		}
		eval.FailHelp("decorate it with triton.language.core._aggregate, or compute with it in a @triton.constexpr_function", errGlobal, id)
	case *eval.Function:
		if v.Kind != eval.Plain {
			return v
		}
		eval.FailHelp("decorate '"+id+"' with @triton.jit, or with @triton.constexpr_function if it computes constants", errGlobal, id)
	}
	if eval.TypeName(v) == "module" {
		return v
	}
	help := "write " + id + " = tl.constexpr(…) at module level"
	if g.fn.Module.IsConstexpr(id) {
		help += "; an annotation does not make it one"
	}
	if _, ok := g.fn.Captured(id); ok {
		help = "make it a tl.constexpr(…) in the function around this one"
	}
	eval.FailHelp(help, errGlobal, id)
	return nil
}

// runtime returns v as a tensor where it is one.
func runtime(v any) *lang.Tensor {
	t, _ := v.(*lang.Tensor)
	return t
}

func (g *gen) binary(op syntax.Operator, lhs, rhs any) any {
	if runtime(lhs) == nil && runtime(rhs) == nil {
		if m := g.operatorMethod(op, lhs, rhs); m != nil {
			return m()
		}
		return eval.Binary(op, lhs, rhs)
	}
	if op == syntax.Pow || op == syntax.MatMult {
		help := "multiply, or use tl.exp2 and tl.log2"
		if op == syntax.MatMult {
			help = "use tl.dot"
		}
		eval.FailHelp(help, "AST binary operator '%s' is not (currently) implemented.", op)
	}
	return g.u.e.Binary(op, lhs, rhs)
}

// operatorMethod finds __add__ and the like on an aggregate.
func (g *gen) operatorMethod(op syntax.Operator, lhs, rhs any) func() any {
	o, ok := lhs.(*eval.Instance)
	if !ok {
		return nil
	}
	name := "__" + operatorNames[op] + "__"
	if fn := o.Class.Method(name); fn != nil {
		return func() any { return g.apply(fn, []any{o, rhs}, nil) }
	}
	return nil
}

var operatorNames = map[syntax.Operator]string{
	syntax.Add: "add", syntax.Sub: "sub", syntax.Mult: "mul", syntax.Div: "truediv", syntax.FloorDiv: "floordiv", syntax.Mod: "mod",
	syntax.Pow: "pow", syntax.LShift: "lshift", syntax.RShift: "rshift", syntax.BitAnd: "and", syntax.BitOr: "or", syntax.BitXor: "xor",
	syntax.MatMult: "matmul",
}

func (g *gen) unary(e *syntax.UnaryOp) any {
	v := g.expr(e.Operand)
	x := runtime(v)
	if x == nil {
		if lang.IsRuntime(v) {
			eval.Fail("bad operand type for unary %s: %s", strings.TrimSpace(e.Op.Symbol()), lang.TypeString(v))
		}
		return eval.Unary(e.Op, v)
	}
	switch e.Op {
	case syntax.USub:
		return g.u.e.Neg(x)
	case syntax.Invert:
		return g.u.e.Invert(x)
	case syntax.Not:
		return g.u.e.Not(x)
	}
	eval.FailHelp("drop the +", "'tensor' object has no attribute '__pos__'")
	return nil
}

func (g *gen) compare(e *syntax.Compare) any {
	if len(e.Ops) != 1 {
		eval.FailHelp("write a < b and b < c as two comparisons joined by &", errCompareChain)
	}
	lhs := g.expr(e.Left)
	rhs := g.expr(e.Comparators[0])
	op := e.Ops[0]
	for _, v := range []any{lhs, rhs} {
		if m, ok := v.(*eval.Missing); ok {
			m.Fail()
		}
	}
	switch op {
	case syntax.Is, syntax.IsNot:
		same := lhs == nil && rhs == nil
		if runtime(lhs) == nil && runtime(rhs) == nil {
			same = eval.Identical(lhs, rhs)
		}
		return same == (op == syntax.Is)
	case syntax.In, syntax.NotIn:
		eval.FailHelp("compare with == and join with `or`", "AST comparison operator '%s' is not (currently) implemented.", op)
	}
	if runtime(lhs) != nil || runtime(rhs) != nil {
		return g.u.e.Compare(op, lhs, rhs)
	}
	if _, ok := lhs.(*eval.Tuple); ok && op != syntax.Eq && op != syntax.NotEq {
		eval.FailHelp("compare the elements", "'%s' is not supported between tuples", op.Symbol())
	}
	return eval.Compare(op, lhs, rhs)
}

// boolOp stops at a constant that decides; run-time operands are all computed
// and combined bit by bit, the last two first.
func (g *gen) boolOp(e *syntax.BoolOp) any {
	var open []any
	var v any
	for _, x := range e.Values {
		v = g.expr(x)
		t := runtime(v)
		if t == nil {
			if eval.Truth(v) == (e.Op == syntax.Or) {
				return v
			}
			continue
		}
		if t.IsBlock() {
			g.u.Warn(warnLogicalBlock)
		}
		open = append(open, v)
	}
	if len(open) == 0 {
		return v
	}
	for len(open) > 1 {
		n := len(open)
		open = append(open[:n-2], g.u.e.Logical(e.Op, open[n-2], open[n-1]))
	}
	return open[0]
}

func (g *gen) tuple(elts []syntax.Expr) any {
	t := &eval.Tuple{Elems: make([]any, 0, len(elts))}
	for _, e := range elts {
		if s, ok := e.(*syntax.Starred); ok {
			t.Elems = append(t.Elems, eval.Iterate(g.expr(s.Value))...)
			continue
		}
		t.Elems = append(t.Elems, g.expr(e))
	}
	return t
}

func (g *gen) slice(e *syntax.Slice) any {
	opt := func(x syntax.Expr) any {
		if x == nil {
			return nil
		}
		v := g.expr(x)
		if runtime(v) != nil {
			return v // said to be wrong where it is used
		}
		return v
	}
	s := &eval.Slice{}
	s.Start, s.Stop, s.Step = opt(e.Lower), opt(e.Upper), opt(e.Step)
	return s
}

// dedented is a text of several lines as it is in Triton, which parses a
// function's source less its indentation: inside the text, too, and with no
// lines of white space only.
func (g *gen) dedented(e *syntax.Constant) *syntax.Constant {
	if _, ok := e.Value.(string); !ok {
		return e
	}
	var b strings.Builder
	for n := e.Line; n <= e.EndLine; n++ {
		line := diag.LineAt(g.file.Source(), int(n))
		switch start := int(e.Col); {
		case n == e.Line:
			line = line[start:]
		case strings.Trim(line, " \t") == "":
			line = ""
		case len(line)-len(strings.TrimLeft(line, " \t")) < g.dedent:
			return e
		case n == e.EndLine:
			line = line[g.dedent:e.EndCol]
		default:
			line = line[g.dedent:]
		}
		b.WriteString(line + "\n")
	}
	x, err := syntax.ParseExpr(g.file.Path, []byte("("+strings.TrimSuffix(b.String(), "\n")+")"))
	if c, ok := x.(*syntax.Constant); ok && err == nil {
		return c
	}
	return e
}

func (g *gen) joined(e *syntax.JoinedStr) string {
	var b strings.Builder
	for _, part := range e.Values {
		switch p := part.(type) {
		case *syntax.Constant:
			b.WriteString(eval.Str(eval.Literal(p)))
		case *syntax.FormattedValue:
			v := g.expr(p.Value)
			if runtime(v) != nil {
				g.node = p.Loc()
				eval.FailHelp("only compile-time constants can appear in an f-string; print values with tl.device_print",
					"Cannot evaluate f-string containing non-constexpr conversion values, found conversion of type %s", lang.TypeString(v))
			}
			spec := ""
			if p.FormatSpec != nil {
				spec = g.joined(p.FormatSpec)
			}
			b.WriteString(eval.FormatValue(v, p.Conversion, spec))
		}
	}
	return b.String()
}

func (g *gen) listComp(e *syntax.ListComp) any {
	if len(e.Generators) != 1 {
		eval.Fail("list comprehensions in kernels have one `for`")
	}
	gen := e.Generators[0]
	it := g.expr(gen.Iter)
	if len(gen.Ifs) > 0 {
		g.node = gen.Ifs[0].Loc()
		g.u.Warn("Triton 3.6 ignores the condition of a comprehension, and so does this compiler")
	}
	out := &eval.Tuple{}
	t, ok := it.(*eval.Tuple)
	if !ok || t.Held || g.isFixed(gen.Iter) {
		g.node = gen.Iter.Loc()
		eval.FailHelp("compute the list in a @triton.constexpr_function", "only tuple comprehensions are supported, and of no tuple in a constexpr")
	}
	saved, savedDefs := g.scope.snapshot(), g.defs
	for _, v := range t.Elems {
		g.store(gen.Target, v)
		out.Elems = append(out.Elems, g.expr(e.Elt))
	}
	g.scope.restore(saved)
	g.defs = savedDefs
	return out
}

func (g *gen) subscript(e *syntax.Subscript) any {
	v := g.expr(e.Value)
	key := g.expr(e.Slice)
	switch v := v.(type) {
	case *lang.Tensor:
		return g.u.e.Index(v, key)
	case *eval.Instance:
		if fn := v.Class.Method("__getitem__"); fn != nil {
			return g.apply(fn, []any{v, key}, nil)
		}
	}
	if runtime(key) != nil {
		eval.FailHelp("the index must be a constant", "%s cannot be indexed with a run-time value", lang.TypeString(v))
	}
	if _, ok := key.(string); ok {
		if _, missing := v.(*eval.Missing); !missing {
			eval.FailHelp("look it up in a @triton.constexpr_function", "'str' object has no attribute 'type': a kernel indexes with integers only")
		}
	}
	t, ok := v.(*eval.Tuple)
	if !ok || !t.Held {
		return unwrap(eval.Index(v, key))
	}
	if _, ok := key.(*eval.Slice); ok {
		eval.FailHelp("slice it in a @triton.constexpr_function", "tuple indices must be integers or slices, not slice")
	}
	return eval.Hold(unwrap(eval.Index(v, key)))
}
