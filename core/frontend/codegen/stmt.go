package codegen

import (
	"maps"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// block compiles statements up to a return among them. What follows one that
// returns inside, as a conditional does, is compiled even where it cannot be
// reached, as Triton does: its mistakes are mistakes.
func (g *gen) block(body []syntax.Stmt) {
	for _, st := range body {
		g.stmt(st)
		if _, ok := st.(*syntax.Return); ok {
			return
		}
	}
}

// stmt compiles one statement. In the kernel itself a mistake is noted, and what
// the statement would have assigned is marked as broken, so that independent
// mistakes are found in one run.
func (g *gen) stmt(st syntax.Stmt) {
	g.u.ctx.Meter().Visit()
	if g.outer != nil {
		g.statement(st)
		return
	}
	point, loops, defs, prefix := g.u.b.Save(), g.loops, g.defs, g.prefix
	fail := eval.Try(func() { g.statement(st) })
	if fail == nil {
		return
	}
	g.u.failed(fail.At(g.file, g.node))
	g.u.gen, g.u.depth = g, 0
	g.loops, g.defs, g.prefix = loops, defs, prefix
	g.u.b.Restore(point)
	names := map[string]bool{}
	assignedNames(st, names)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		g.define(n, broken)
	}
}

// brokenValue stands for what a mistake kept from being computed.
type brokenValue struct{ _ byte }

var broken = &brokenValue{}

// checkBroken fails without a word where v is broken: the mistake that broke it
// has been reported.
func checkBroken(v any) {
	if v == any(broken) {
		panic(&eval.Failure{Msg: "no value because of an earlier mistake", Silent: true})
	}
}

func (g *gen) statement(st syntax.Stmt) {
	g.at(st.Loc())
	loc := g.u.b.Loc
	switch st := st.(type) {
	case *syntax.Assign:
		g.assign(st)
	case *syntax.AugAssign:
		g.augAssign(st)
	case *syntax.AnnAssign:
		g.annAssign(st)
	case *syntax.ExprStmt:
		g.exprStmt(st)
	case *syntax.If:
		g.ifStmt(st)
	case *syntax.For:
		g.forStmt(st)
	case *syntax.While:
		g.whileStmt(st)
	case *syntax.Return:
		g.returnStmt(st)
	case *syntax.Assert:
		g.assertStmt(st)
	case *syntax.With:
		g.withStmt(st)
	case *syntax.Pass:
	case *syntax.FunctionDef:
		eval.FailHelp("define it at the top level of the file", "nested function definition is not supported.")
	case *syntax.Break, *syntax.Continue:
		eval.FailHelp("use a condition: `while` with a flag, or tl.where on the values", errNode, nodeName(st))
	default:
		eval.Fail(errNode, nodeName(st))
	}
	g.node = st.Loc()
	g.u.b.Loc = loc
}

// checkTarget refuses tuples inside a tuple of targets.
func (g *gen) checkTarget(target syntax.Expr) {
	t, ok := target.(*syntax.Tuple)
	if !ok {
		return
	}
	for _, e := range t.Elts {
		switch e.(type) {
		case *syntax.Tuple, *syntax.List:
			g.node = e.Loc()
			eval.FailHelp("unpack the inner one on a line of its own", "a tuple of names inside another one cannot be assigned to")
		}
	}
}

func (g *gen) assign(st *syntax.Assign) {
	if len(st.Targets) != 1 {
		eval.FailHelp("write one assignment per line", "Simultaneous multiple assignment is not supported.")
	}
	g.checkTarget(st.Targets[0])
	g.assignTo(st.Targets[0], st.Value)
}

// assignTo evaluates e under the name of its target and stores it.
func (g *gen) assignTo(target, e syntax.Expr) {
	var v any
	if n, ok := target.(*syntax.Name); ok {
		outer := g.prefix
		g.prefix = n.ID
		v = g.materialize(g.expr(e))
		g.prefix = outer
	} else {
		v = g.materialize(g.expr(e))
	}
	g.store(target, v)
}

// materialize is what assignment does to a value: numbers become tensors;
// None, types, functions and tuples stay.
func (g *gen) materialize(v any) any {
	switch v := v.(type) {
	case *eval.Tuple:
		if v.Held {
			eval.FailHelp("annotate the variable as tl.constexpr to keep the value", errConvert, eval.Str(v), "tuple")
		}
		t := &eval.Tuple{Elems: make([]any, len(v.Elems)), Fields: v.Fields, Class: v.Class}
		for i, e := range v.Elems {
			if e, ok := e.(lang.Type); ok {
				eval.FailHelp("annotate the variable as tl.constexpr", "'dtype' object has no attribute 'type': a tuple in a variable cannot hold %s", e)
			}
			t.Elems[i] = g.materialize(e)
		}
		return t
	case *eval.Constexpr:
		return g.materialize(v.Value)
	case *eval.Missing:
		v.Fail()
	case nil, lang.Type:
		return v
	}
	if eval.IsNumber(v) {
		return g.u.e.ToTensor(v)
	}
	if !lang.IsRuntime(v) {
		eval.FailHelp("annotate the variable as tl.constexpr to keep the value", errConvert, eval.Str(v), eval.TypeName(v))
	}
	return v
}

// isFixed reports whether an expression's value, which is none of Triton's own
// kinds, is in a constexpr: a literal, or a variable annotated so.
func (g *gen) isFixed(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Constant:
		return true
	case *syntax.Name:
		return g.scope.isFixed(e.ID)
	}
	return false
}

func (g *gen) store(target syntax.Expr, v any) {
	switch t := target.(type) {
	case *syntax.Name:
		g.define(t.ID, v)
	case *syntax.Tuple:
		g.unpack(t.Elts, v)
	case *syntax.List:
		eval.FailHelp("write a, b = …", "a list of names cannot be assigned to")
	case *syntax.Subscript:
		eval.FailHelp("tensors have no elements to assign; use tl.where, or store through a pointer", "__setitem__ is not supported in triton")
	case *syntax.Attribute:
		eval.Fail("Attribute assignment is not supported in triton")
	default:
		eval.Fail(errNode, nodeName(target))
	}
}

func (g *gen) unpack(targets []syntax.Expr, v any) {
	var vals []any
	switch v := v.(type) {
	case *eval.Tuple:
		vals = v.Elems
	case *eval.List:
		vals = v.Elems
	default:
		eval.Fail("cannot unpack %s into %s", lang.TypeString(v), diag.Count(len(targets), "name"))
	}
	if len(vals) < len(targets) {
		eval.Fail("cannot unpack %s into %s", diag.Count(len(vals), "value"), diag.Count(len(targets), "name"))
	}
	if len(vals) > len(targets) {
		g.u.Warn("Triton drops the last %d of these %s, and so does this compiler", len(vals)-len(targets), diag.Count(len(vals), "value"))
	}
	for i, t := range targets {
		g.store(t, vals[i])
	}
}

func (g *gen) augAssign(st *syntax.AugAssign) {
	target := st.Target
	n, ok := target.(*syntax.Name)
	if !ok {
		g.store(target, nil) // says why not
	}
	outer := g.prefix
	g.prefix = n.ID
	g.at(st.Loc())
	// as the expression target op value, at the statement's place
	lhs := g.expr(n)
	rhs := g.expr(st.Value)
	v := g.materialize(g.binary(st.Op, lhs, rhs))
	g.prefix = outer
	g.store(n, v)
}

func (g *gen) annAssign(st *syntax.AnnAssign) {
	if st.Value == nil {
		return
	}
	n, ok := st.Target.(*syntax.Name)
	if !ok {
		g.store(st.Target, nil)
		return
	}
	if !g.isConstexprAnnotation(st.Annotation) {
		switch st.Annotation.(type) {
		case *syntax.Name, *syntax.Attribute:
			g.expr(st.Annotation) // it must be there, and means nothing
		}
		g.assignTo(n, st.Value)
		return
	}
	if _, exists := g.scope.get(n.ID); exists {
		eval.FailHelp("use another name", errConstexprAgain, n.ID)
	}
	v := unwrap(g.expr(st.Value))
	if runtime(v) != nil {
		g.node = st.Value.Loc()
		g.u.Warn("'%s' is annotated as constexpr, but its value is known at run time only (%s)", n.ID, lang.TypeString(v))
	}
	g.define(n.ID, v)
	g.scope.fix(n.ID, v)
}

// isConstexprAnnotation looks at the annotation's last name, and at what it is
// where that name is another.
func (g *gen) isConstexprAnnotation(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Attribute:
		return e.Attr == "constexpr"
	case *syntax.Constant:
		s, _ := e.Value.(string)
		return s == "constexpr" || strings.HasSuffix(s, ".constexpr")
	case *syntax.Name:
		if e.ID == "constexpr" {
			return true
		}
		v, _ := g.fn.Module.Lookup(e.ID)
		return v == any(lang.ConstexprType)
	}
	return false
}

func (g *gen) exprStmt(st *syntax.ExprStmt) {
	if c, ok := st.Value.(*syntax.Constant); ok {
		if _, doc := c.Value.(string); doc {
			return
		}
	}
	v := g.expr(st.Value)
	if call, ok := st.Value.(*syntax.Call); ok && v != nil {
		if b := g.calledBuiltin(call); b != nil && b.MustUse {
			g.node = st.Value.Loc()
			eval.FailHelp("assign it: the function does not change its argument", "The result of %s is not being used.", g.file.Text(call.Loc()))
		}
	}
}

// calledBuiltin is the builtin that a call names, without evaluating its
// arguments again.
func (g *gen) calledBuiltin(call *syntax.Call) *lang.Builtin {
	if a, ok := call.Func.(*syntax.Attribute); ok {
		return lang.BuiltinNamed(a.Attr)
	}
	return nil
}

func (g *gen) returnStmt(st *syntax.Return) {
	if g.loops > 0 {
		eval.FailHelp("compute the result and return after the loop", errReturnInLoop)
	}
	var v any
	if st.Value != nil {
		v = g.expr(st.Value)
		if v == nil && g.isFixed(st.Value) {
			eval.FailHelp("write `return` alone", errConvert, "None", "NoneType")
		}
		v = g.decay(v)
	}
	hs := lang.Flatten(v, nil)
	g.u.b.Op(tt.Return, hs)
	if g.returned && !lang.SameType(g.result, v) {
		eval.FailHelp("all return statements of a function must return values of one type",
			errReturnTypes, returnType(g.result), returnType(v))
	}
	g.returned, g.result = true, v
	g.u.b.SetToEnd(g.u.b.Block().Region().AddBlock()) // which nothing reaches
}

func returnType(v any) string {
	if v == nil {
		return "void"
	}
	return lang.TypeString(v)
}

// decay makes tensors of the numbers in a value that is returned.
func (g *gen) decay(v any) any {
	switch x := v.(type) {
	case *eval.Tuple:
		t := &eval.Tuple{Elems: make([]any, len(x.Elems)), Fields: x.Fields, Class: x.Class}
		for i, e := range x.Elems {
			t.Elems[i] = g.decay(e)
		}
		return t
	case *eval.Constexpr:
		return g.decay(x.Value)
	case *eval.Missing:
		x.Fail()
	}
	if eval.IsNumber(v) {
		return g.u.e.ToTensor(v)
	}
	if v != nil && !lang.IsRuntime(v) {
		eval.FailHelp("a function returns tensors, numbers and tuples of them; a @triton.constexpr_function returns constants of any type",
			errConvert, eval.Str(v), eval.TypeName(v))
	}
	return v
}

func (g *gen) assertStmt(st *syntax.Assert) {
	cond := g.expr(st.Test)
	msg := ""
	if st.Msg != nil {
		v := g.expr(st.Msg)
		s, ok := v.(string)
		if !ok {
			eval.Fail("the message of an assert must be a string known at compile time")
		}
		msg = s
	}
	if !lang.IsRuntime(cond) {
		if cond = eval.Truth(cond); cond == any(false) {
			g.node = st.Loc()
			g.u.Warn("this assertion is false, and checked at run time only, with debug; tl.static_assert checks constants")
		}
	}
	g.u.e.DeviceAssert(cond, msg, nil)
}

// withStmt refuses: nothing of triton.language can be entered.
func (g *gen) withStmt(st *syntax.With) {
	for _, item := range st.Items {
		if m, ok := g.expr(item.ContextExpr).(*eval.Missing); ok {
			m.Fail()
		}
	}
	eval.Fail("`with` has no use in a kernel: nothing of triton.language can be entered")
}
