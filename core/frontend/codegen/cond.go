package codegen

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

func (g *gen) ifStmt(st *syntax.If) {
	cond := g.expr(st.Test)
	x := runtime(cond)
	if x == nil {
		if g.constantCondition(cond, st.Test) {
			g.block(st.Body)
		} else {
			g.block(st.Orelse)
		}
		return
	}
	c := g.scalarCondition(x, st.Test)
	g.checkCalled(st)
	switch {
	case !containsReturn(st):
		g.ifRegion(st, c)
	case g.loops > 0:
		g.node = firstReturn(st)
		eval.FailHelp("compute the result and return after the loop", errReturnInLoop)
	default:
		g.ifBranch(st, c)
	}
}

// constantCondition is the truth of a condition known at compile time.
func (g *gen) constantCondition(v any, test syntax.Expr) bool {
	switch v := v.(type) {
	case nil, bool, int64:
		return eval.Truth(v)
	case *eval.Missing:
		v.Fail()
	}
	g.node = test.Loc()
	eval.Fail(errCondition, "bool, int, NoneType", eval.TypeName(v))
	return false
}

// scalarCondition makes an i1 of a run-time condition.
func (g *gen) scalarCondition(x *lang.Tensor, test syntax.Expr) *lang.Tensor {
	if x.IsBlock() {
		if lang.NumElements(x.Shape()) != 1 {
			g.node = test.Loc()
			eval.FailHelp("use tl.where, or reduce the condition with tl.max or tl.sum", errAmbiguous)
		}
		g.u.Warn(warnBlockCond, g.file.Text(test.Loc()))
		x = g.u.e.Item(x)
	}
	return g.u.e.Cast(x, lang.Int1)
}

// branches compiles both branches of a conditional, each into its block.
type branches struct {
	thenVars, elseVars []variable
	thenDefs, elseDefs []string
	thenEnd, elseEnd   *ir.Block // where each branch ends
}

func (g *gen) branches(st *syntax.If, thenBlock, elseBlock *ir.Block) branches {
	var r branches
	u := g.u
	u.b.SetToEnd(thenBlock)
	r.thenVars, r.thenDefs = g.region(func() { g.block(st.Body) })
	r.thenEnd = u.b.Block()
	u.b.SetToEnd(elseBlock)
	r.elseVars, r.elseDefs = g.region(func() { g.block(st.Orelse) })
	r.elseEnd = u.b.Block()
	return r
}

// merged lists the names that have new values after a conditional: first those
// alive before that a branch changed, in the order of their definition, then
// those that both branches define, sorted.
func (g *gen) merged(r *branches) []string {
	var names []string
	for _, v := range g.scope.vars {
		if !lang.IsRuntime(v.value) && !v.fixed {
			continue
		}
		a, b := valueIn(r.thenVars, v.name), valueIn(r.elseVars, v.name)
		checkBroken(a)
		checkBroken(b)
		if slices.Equal(lang.Flatten(a, nil), lang.Flatten(b, nil)) {
			continue
		}
		for _, x := range []struct {
			val  any
			name string
		}{{a, "then"}, {b, "else"}} {
			if !lang.SameType(x.val, v.value) {
				eval.FailHelp("give the variable one type before and in both branches; .to(…) converts",
					errIfInitial, v.name, lang.TypeString(v.value), x.name, lang.TypeString(x.val))
			}
		}
		names = append(names, v.name)
	}
	var both []string
	for _, n := range r.thenDefs {
		if slices.Contains(r.elseDefs, n) && !slices.Contains(names, n) {
			both = append(both, n)
		}
	}
	slices.Sort(both)
	for _, n := range both {
		a, b := valueIn(r.thenVars, n), valueIn(r.elseVars, n)
		checkBroken(a)
		checkBroken(b)
		if !lang.IsRuntime(a) && !lang.IsRuntime(b) {
			eval.FailHelp("annotate it as tl.constexpr before the conditional, or compute it without one",
				"'%s' object has no attribute 'type': a conditional known at run time only cannot choose the value of %s", eval.TypeName(a), n)
		}
		if !lang.SameType(a, b) {
			eval.FailHelp("give the variable one type in both branches; .to(…) converts", errIfMismatch, n, lang.TypeString(a), lang.TypeString(b))
		}
		names = append(names, n)
	}
	return names
}

func flatten(vars []variable, names []string) []*ir.Value {
	var hs []*ir.Value
	for _, n := range names {
		hs = lang.Flatten(valueIn(vars, n), hs)
	}
	return hs
}

// nameAll puts each name around the locations of its values.
func (g *gen) nameAll(vars []variable, names []string) {
	for _, n := range names {
		g.nameValues(n, lang.Flatten(valueIn(vars, n), nil))
	}
}

// define gives the names values like those of vars, out of hs.
func (g *gen) rebind(vars []variable, names []string, hs []*ir.Value) {
	for _, n := range names {
		var v any
		v, hs = lang.Rebuild(valueIn(vars, n), hs)
		g.define(n, v)
	}
}

// ifRegion compiles a conditional to scf.if.
func (g *gen) ifRegion(st *syntax.If, cond *lang.Tensor) {
	u := g.u
	point := u.b.Save()
	var thenRegion, elseRegion ir.Region
	g.loops++
	r := g.branches(st, thenRegion.AddBlock(), elseRegion.AddBlock())
	g.loops--
	g.node = st.Loc()
	names := g.merged(&r)
	thenVals, elseVals := flatten(r.thenVars, names), flatten(r.elseVars, names)
	g.nameAll(r.thenVars, names)
	u.b.Restore(point)
	types := make([]ir.Type, len(thenVals))
	for i, v := range thenVals {
		types[i] = v.Type()
	}
	op := u.b.Create(scf.If, ir.State{Operands: []*ir.Value{cond.V}, Types: types, Regions: 2})
	scf.AsIf(op).ThenRegion().TakeBody(&thenRegion)
	scf.AsIf(op).ElseRegion().TakeBody(&elseRegion)
	// a yield of values is where the last operation is, one of nothing
	// where the conditional does
	if len(names) == 0 {
		u.b.SetToEnd(r.thenEnd)
		scf.NewYield(u.b)
		u.b.SetToEnd(r.elseEnd)
		scf.NewYield(u.b)
	} else {
		g.toEnd(r.thenEnd)
		scf.NewYield(u.b, thenVals...)
		g.toEnd(r.elseEnd)
		g.nameAll(r.elseVars, names)
		scf.NewYield(u.b, elseVals...)
	}
	u.b.Restore(point)
	g.rebind(r.thenVars, names, op.Results())
}

// ifBranch compiles a conditional that returns to branches between blocks.
func (g *gen) ifBranch(st *syntax.If, cond *lang.Tensor) {
	u := g.u
	from := u.b.Block()
	region := from.Region()
	thenBlock := region.AddBlock()
	elseBlock := region.AddBlock()
	if op := from.Last(); op != nil {
		u.b.Loc = op.Loc()
	}
	cf.NewCondBr(u.b, cond.V, thenBlock, nil, elseBlock, nil)
	r := g.branches(st, thenBlock, elseBlock)
	g.node = st.Loc()
	names := g.merged(&r)
	join := region.AddBlock()
	thenVals := flatten(r.thenVars, names)
	for _, v := range thenVals {
		join.AddArg(v.Type(), u.b.Loc)
	}
	g.toEnd(r.thenEnd)
	cf.NewBr(u.b, join, thenVals...)
	g.toEnd(r.elseEnd)
	cf.NewBr(u.b, join, flatten(r.elseVars, names)...)
	u.b.SetToEnd(join)
	g.rebind(r.thenVars, names, join.Args())
}

// checkCalled looks at the functions of modules that statements under a run-time
// condition call: each must be there, even where a constant condition keeps the
// call from being compiled, since Triton looks for returns in all of them.
func (g *gen) checkCalled(n syntax.Node) {
	syntax.Inspect(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign, *syntax.AugAssign:
			return false
		case *syntax.If:
			for _, body := range [][]syntax.Stmt{n.Body, n.Orelse} {
				for _, st := range body {
					g.checkCalled(st)
				}
			}
			return false
		case *syntax.Call:
			f, ok := n.Func.(*syntax.Attribute)
			if !ok {
				return false
			}
			base, ok := f.Value.(*syntax.Name)
			if !ok {
				return false
			}
			if m, ok := g.fn.Module.Lookup(base.ID); ok && eval.TypeName(m) == "module" && !g.u.session.HasAttr(m, f.Attr) {
				g.node = f.Loc()
				g.u.session.Attr(m, f.Attr)
			}
			return false
		}
		return true
	})
}

// containsReturn reports whether a statement holds a return.
func containsReturn(n syntax.Node) bool { return firstReturn(n) != (syntax.Span{}) }

func firstReturn(n syntax.Node) (at syntax.Span) {
	syntax.Inspect(n, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Return); ok && at == (syntax.Span{}) {
			at = r.Loc()
		}
		_, isFunc := n.(*syntax.FunctionDef)
		return !isFunc
	})
	return at
}

func (g *gen) ifExp(e *syntax.IfExp) any {
	cond := g.expr(e.Test)
	x := runtime(cond)
	if x == nil {
		if g.constantCondition(cond, e.Test) {
			return g.expr(e.Body)
		}
		return g.expr(e.Orelse)
	}
	u := g.u
	c := g.scalarCondition(x, e.Test)
	point := u.b.Save()
	arm := func(e syntax.Expr, r *ir.Region) (*lang.Tensor, *ir.Block) {
		u.b.SetToEnd(r.AddBlock())
		v := g.expr(e)
		if lang.IsRuntime(v) && runtime(v) == nil {
			g.node = e.Loc()
			eval.Fail("a ternary with a run-time condition gives a tensor, not %s", lang.TypeString(v))
		}
		return u.e.ToTensor(v), u.b.Block()
	}
	var thenRegion, elseRegion ir.Region
	g.loops++
	a, thenEnd := arm(e.Body, &thenRegion)
	b, elseEnd := arm(e.Orelse, &elseRegion)
	g.loops--
	if !a.T.Equal(b.T) {
		g.node = e.Loc()
		eval.FailHelp("convert one of them with .to(…)", errTernary, a.T, b.T)
	}
	u.b.Restore(point)
	op := u.b.Create(scf.If, ir.State{Operands: []*ir.Value{c.V}, Types: []ir.Type{a.V.Type()}, Regions: 2})
	scf.AsIf(op).ThenRegion().TakeBody(&thenRegion)
	scf.AsIf(op).ElseRegion().TakeBody(&elseRegion)
	g.toEnd(thenEnd)
	scf.NewYield(u.b, a.V)
	g.toEnd(elseEnd)
	scf.NewYield(u.b, b.V)
	u.b.Restore(point)
	return &lang.Tensor{V: op.OneResult(), T: a.T}
}
