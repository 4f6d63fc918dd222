package codegen

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// maxUnroll bounds the statements that loops over static_range expand to.
const maxUnroll = 100_000

func (g *gen) forStmt(st *syntax.For) {
	call, ok := st.Iter.(*syntax.Call)
	if !ok {
		g.node = st.Iter.Loc()
		eval.FailHelp("write `for i in tl.static_range(n)` and index with i", errIterator)
	}
	it := g.expr(call.Func)
	if fn, ok := it.(*eval.Function); ok && fn.Kind == eval.Extern && len(st.Orelse) == 0 {
		g.node = call.Loc()
		if made, ok := g.expr(call).(*lang.RangeCall); ok {
			r := g.rangeOf(made.Args, made.Kwargs)
			g.forLoop(st, &r)
			return
		}
		eval.FailHelp("iterate over range(…), tl.range(…) or tl.static_range(…)", errIterator)
	}
	args := g.arguments(call.Args)
	var kwargs []eval.Keyword
	for _, k := range call.Keywords {
		g.at(k.Span)
		loc := g.u.b.Loc
		v := g.expr(k.Value)
		g.u.b.Loc = loc
		kwargs = append(kwargs, eval.Keyword{Name: k.Arg, Value: v})
	}
	if len(st.Orelse) > 0 {
		g.node = st.Orelse[0].Loc()
		eval.Fail("a for loop in a kernel cannot have an else block")
	}
	g.node = call.Loc()
	switch it {
	case any(lang.StaticRange):
		g.unroll(st, args, kwargs)
	case any(lang.Range), any(eval.RangeType):
		if it == any(eval.RangeType) && len(kwargs) > 0 {
			g.u.Warn("Triton ignores '%s' of Python's range, and so does this compiler; tl.range takes it", kwargs[0].Name)
			kwargs = nil
		}
		r := g.rangeOf(args, kwargs)
		g.forLoop(st, &r)
	default:
		eval.FailHelp("iterate over range(…), tl.range(…) or tl.static_range(…)", errIterator)
	}
}

// rangeParams are the parameters of tl.range after the bounds.
var rangeParams = []string{
	"num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer", "flatten", "warp_specialize", "disable_licm",
}

// bounds reads the positional arguments of a range.
func bounds(args []any, kwargs []eval.Keyword) (start, end, step any, rest []eval.Keyword) {
	pos := append([]any(nil), args...)
	if n := len(rangeParams); len(pos) > 3 && len(pos) <= 3+n {
		for i, v := range pos[3:] {
			rest = append(rest, eval.Keyword{Name: rangeParams[i], Value: v})
		}
		pos = pos[:3]
	}
	for _, k := range kwargs {
		i := slices.Index([]string{"arg1", "arg2", "step"}, k.Name)
		if i < 0 {
			rest = append(rest, k)
			continue
		}
		for len(pos) <= i {
			pos = append(pos, nil)
		}
		pos[i] = k.Value
	}
	start, step = int64(0), int64(1)
	switch {
	case len(pos) == 0 || len(pos) > 3:
		eval.Fail("a range takes 1 to 3 bounds and %s, not %s", diag.Count(len(rangeParams), "hint"), diag.Count(len(pos), "argument"))
	case len(pos) == 1 || pos[1] == nil:
		end = pos[0]
	default:
		start, end = pos[0], pos[1]
	}
	if len(pos) == 3 && pos[2] != nil {
		step = pos[2]
	}
	return start, end, step, rest
}

func (g *gen) unroll(st *syntax.For, args []any, kwargs []eval.Keyword) {
	start, end, step, rest := bounds(args, kwargs)
	if len(rest) > 0 {
		eval.FailKeyword("static_range", rest[0].Name, []string{"arg1", "arg2", "step"}, "")
	}
	vals := [3]int64{}
	for i, v := range []any{start, end, step} {
		eval.Fits64(v, "")
		n, ok := eval.AsInt(v)
		if !ok {
			eval.FailHelp("use range(…) for bounds known at run time", errStaticRange, lang.TypeString(v), [...]string{"start", "end", "step"}[i])
		}
		vals[i] = n
	}
	if vals[2] == 0 {
		eval.Fail("the step of a range must not be zero")
	}
	target, ok := st.Target.(*syntax.Name)
	if !ok {
		g.node = st.Target.Loc()
		eval.Fail("a for loop counts with one variable")
	}
	r := eval.Range{Start: vals[0], Stop: vals[1], Step: vals[2]}
	if r.Len() > maxUnroll {
		eval.FailHelp("use range(…), which makes a loop", "tl.static_range would unroll into %d copies of its body", r.Len())
	}
	g.u.unrolling++
	defer func() { g.u.unrolling-- }()
	for i := range r.Len() {
		if g.u.unrolled > maxUnroll {
			return // an error says so
		}
		if g.u.unrolled += len(st.Body); g.u.unrolled > maxUnroll {
			g.node = st.Loc()
			eval.FailHelp("use range(…), which makes a loop", "loops over tl.static_range unroll into more than %d statements", maxUnroll)
		}
		g.scope.fix(target.ID, r.Start+i*r.Step)
		g.block(st.Body)
	}
}

// rng is a run-time range with the hints of tl.range.
type rng struct {
	start, end, step any
	attrs            []ir.NamedAttr
}

func (g *gen) rangeOf(args []any, kwargs []eval.Keyword) rng {
	start, end, step, rest := bounds(args, kwargs)
	r := rng{start: start, end: end, step: step}
	c := g.u.ctx
	for _, k := range rest {
		if k.Value == nil {
			continue
		}
		if lang.IsRuntime(k.Value) {
			eval.Fail("range(): '%s' must be a compile-time constant", k.Name)
		}
		n, isInt := eval.AsInt(k.Value)
		switch k.Name {
		case "num_stages", "loop_unroll_factor":
			if !isInt {
				eval.Fail("range(): '%s' must be an integer, not %s", k.Name, eval.Repr(k.Value))
			}
			if n != int64(int32(n)) {
				eval.Fail("range(): '%s' must fit in 32 bits, and is %d", k.Name, n)
			}
			r.attrs = append(r.attrs, ir.NamedAttr{Name: "tt." + k.Name, Attr: c.I32Attr(n)})
		case "disallow_acc_multi_buffer", "flatten", "warp_specialize":
			if eval.Truth(k.Value) {
				r.attrs = append(r.attrs, ir.NamedAttr{Name: "tt." + k.Name, Attr: c.Unit()})
			}
		case "disable_licm":
			if eval.Truth(k.Value) {
				r.attrs = append(r.attrs, g.noLICM())
			}
		default:
			eval.FailKeyword("range", k.Name, append([]string{"arg1", "arg2", "step"}, rangeParams...), "range takes "+strings.Join(rangeParams, ", "))
		}
	}
	return r
}

func (g *gen) noLICM() ir.NamedAttr {
	return ir.NamedAttr{Name: llvm.LoopAnnotationAttr, Attr: g.u.ctx.OpaqueAttr("llvm", "loop_annotation<licm = #llvm.loop_licm<disable = true, versioningDisable = true>>")}
}

// carried is what a loop carries from iteration to iteration: the variables alive before
// it that its body assigns, with their SSA values spread out.
type carried struct {
	names []string
	inits []any
	hs    []*ir.Value // of inits
}

// candidates finds what a loop may carry: every name assigned in it that is
// alive with a run-time value. Those that keep their value are dropped later.
func (g *gen) candidates(except string, bodies ...[]syntax.Stmt) carried {
	assigned := map[string]bool{}
	for _, b := range bodies {
		for _, st := range b {
			assignedNames(st, assigned)
		}
	}
	var c carried
	for _, v := range g.scope.vars {
		if v.name != except && assigned[v.name] && lang.IsRuntime(v.value) {
			c.names = append(c.names, v.name)
			c.inits = append(c.inits, v.value)
			c.hs = lang.Flatten(v.value, c.hs)
		}
	}
	return c
}

// assignedNames collects the names that a statement assigns, nested loops'
// induction variables apart, which end with their loop.
func assignedNames(n syntax.Node, into map[string]bool) {
	var target func(e syntax.Expr)
	target = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.Name:
			into[e.ID] = true
		case *syntax.Tuple:
			for _, x := range e.Elts {
				target(x)
			}
		case *syntax.List:
			for _, x := range e.Elts {
				target(x)
			}
		}
	}
	syntax.Inspect(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			for _, t := range n.Targets {
				target(t)
			}
		case *syntax.AugAssign:
			target(n.Target)
		case *syntax.AnnAssign:
			target(n.Target)
		case *syntax.WithItem:
			if n.OptionalVars != nil {
				target(n.OptionalVars)
			}
		}
		return true
	})
}

// enter gives the carried names the arguments of a loop's block.
func (g *gen) enter(c *carried, args []*ir.Value) {
	for i, n := range c.names {
		var v any
		v, args = lang.Rebuild(c.inits[i], args)
		g.nameValues(n, lang.Flatten(v, nil))
		g.define(n, v)
	}
}

// check compares what the body left with what it began with: types must stay,
// and constants must not change.
func (g *gen) check(st syntax.Stmt, c *carried, left []variable) {
	g.node = st.Loc()
	for i, n := range c.names {
		v := valueIn(left, n)
		checkBroken(v)
		if !lang.SameType(c.inits[i], v) {
			eval.FailHelp("convert with .to(…) so that every iteration gives the type of the first",
				errLoopType, n, lang.TypeString(c.inits[i]), lang.TypeString(v))
		}
	}
	for _, v := range g.scope.vars {
		if lang.IsRuntime(v.value) || v.value == any(broken) {
			continue
		}
		now := valueIn(left, v.name)
		checkBroken(now)
		if lang.IsRuntime(now) || !lang.SameType(v.value, now) {
			eval.FailHelp("give it a run-time value before the loop", errLoopConstexpr, v.name)
		}
	}
}

// warnEndless warns of constant bounds whose last step passes the end of the
// variable's type t: the variable wraps, and scf.for, which compares it with the
// bound, goes on.
func (g *gen) warnEndless(r *rng, t *lang.DType) {
	start, ok1 := eval.AsInt(r.start)
	end, ok2 := eval.AsInt(r.end)
	step, ok3 := eval.AsInt(r.step)
	if !ok1 || !ok2 || !ok3 || start >= end || t.IsUnsigned() {
		return
	}
	greatest := int64(1)<<(t.Bits()-1) - 1
	// last is the final value that Python's range has; end - start may need 64 bits
	last := start + int64((uint64(end-start)-1)/uint64(step)*uint64(step))
	if last > greatest-step {
		g.u.WarnHelp("take another bound, or a variable of more bits", "the loop does not end: after %d its variable, of type %s, wraps", last, t)
	}
}

// forLoop compiles a counted loop to scf.for.
func (g *gen) forLoop(st *syntax.For, r *rng) {
	u := g.u
	target, ok := st.Target.(*syntax.Name)
	if !ok {
		g.node = st.Target.Loc()
		eval.Fail("a for loop counts with one variable")
	}
	// scf.for counts upward: a negative constant step swaps the bounds, and the
	// variable is computed from the counter
	negative := false
	if n, ok := eval.AsInt(r.step); ok && n < 0 {
		negative = true
		r.step, r.start, r.end = -n, r.end, r.start
	} else if ok && n == 0 {
		eval.Fail("the step of a range must not be zero")
	}
	e := u.e
	lo, hi, step := e.ToTensor(r.start), e.ToTensor(r.end), e.ToTensor(r.step)
	ivType := lang.LoopType(lo, hi, step, errLoopBounds)
	g.warnEndless(r, ivType)
	lo, hi, step = e.Cast(lo, ivType), e.Cast(hi, ivType), e.Cast(step, ivType)
	// after the loop the variable is there, but of no particular value
	g.define(target.ID, &lang.Tensor{V: g.undefined(lo.V.Type(), target.ID, target.Loc()), T: ivType})
	point := u.b.Save()

	c := g.candidates(target.ID, st.Body)
	var region ir.Region
	body := region.AddBlock()
	iv := body.AddArg(lo.V.Type(), u.ctx.UnknownLoc())
	args := make([]*ir.Value, len(c.hs))
	for i, h := range c.hs {
		args[i] = body.AddArg(h.Type(), u.ctx.UnknownLoc())
	}
	u.b.SetToEnd(body)
	counter := iv
	if negative {
		d := arith.Binary(u.b, arith.SubI, hi.V, iv)
		counter = arith.Binary(u.b, arith.AddI, d, lo.V)
	}
	g.loops++
	left, _ := g.region(func() {
		g.define(target.ID, &lang.Tensor{V: counter, T: ivType})
		g.enter(&c, args)
		g.block(st.Body)
	})
	g.loops--
	end, endLoc := u.b.Block(), u.b.Loc
	g.check(st, &c, left)
	if negative {
		if first := body.First().Next().Next(); first != nil {
			body.First().SetLoc(first.Loc())
			body.First().Next().SetLoc(first.Loc())
		}
	}
	g.nameValues(target.ID, []*ir.Value{counter})

	keep, yields := g.settle(&c, args, left)
	g.yield(end, endLoc, point, yields)
	hints := g.hints(&c, args, keep, 1)
	dropArgs(body, 1, keep, c.hs)
	u.b.Restore(point)
	inits := kept(c.hs, keep)
	types := make([]ir.Type, len(inits))
	for i, v := range inits {
		types[i] = v.Type()
	}
	op := u.b.Create(scf.For, ir.State{
		Operands: append([]*ir.Value{lo.V, hi.V, step.V}, inits...), Types: types, Regions: 1, Attrs: r.attrs,
	})
	setAttrs(op, hints)
	scf.AsFor(op).Region().TakeBody(&region)
	g.leave(&c, keep, op.Results())
}

// yield ends a loop's body. A yield of nothing has the place of the loop.
func (g *gen) yield(end *ir.Block, loc ir.Location, loop ir.Point, vals []*ir.Value) {
	b := g.u.b
	if len(vals) == 0 {
		b.Restore(loop)
		loc = b.Loc
	}
	b.SetToEnd(end)
	b.Loc = loc
	scf.NewYield(b, vals...)
}

// settle decides which candidates a loop really carries: those of which the
// body left another value. keep has an entry a name.
func (g *gen) settle(c *carried, args []*ir.Value, left []variable) (keep []bool, yields []*ir.Value) {
	keep = make([]bool, len(c.hs))
	at := 0
	for _, n := range c.names {
		hs := lang.Flatten(valueIn(left, n), nil)
		changed := !slices.Equal(hs, args[at:at+len(hs)])
		for i := range hs {
			keep[at+i] = changed
		}
		if changed {
			yields = append(yields, hs...)
		}
		at += len(hs)
	}
	return keep, yields
}

// hints are what the body said of the arguments that stay: attributes of the
// loop, named after the argument's number, which begins with first. Triton walks
// a body once with the values from before the loop, so those have them too.
func (g *gen) hints(c *carried, args []*ir.Value, keep []bool, first int) []ir.NamedAttr {
	var attrs []ir.NamedAttr
	e := g.u.e
	for i, n := 0, len(e.ArgHints); i < n; i++ {
		h := e.ArgHints[i]
		at := slices.Index(args, h.Arg)
		if at < 0 {
			continue
		}
		e.Hint(c.hs[at], h.Hint)
		if keep[at] {
			name := h.Hint.Name + "_arg" + strconv.Itoa(first+len(kept(args[:at], keep)))
			attrs = append(attrs, ir.NamedAttr{Name: name, Attr: h.Hint.Attr})
		}
	}
	return attrs
}

func setAttrs(op *ir.Operation, attrs []ir.NamedAttr) {
	for _, a := range attrs {
		op.SetAttr(a.Name, a.Attr)
	}
}

func kept(hs []*ir.Value, keep []bool) []*ir.Value {
	var out []*ir.Value
	for i, h := range hs {
		if keep[i] {
			out = append(out, h)
		}
	}
	return out
}

// dropArgs removes the block arguments that are not kept; what they stood for
// takes their place.
func dropArgs(b *ir.Block, first int, keep []bool, inits []*ir.Value) {
	for i := len(keep) - 1; i >= 0; i-- {
		if !keep[i] {
			b.Arg(first + i).ReplaceAllUsesWith(inits[i])
			b.EraseArg(first + i)
		}
	}
}

// leave gives the carried names the results of the loop.
func (g *gen) leave(c *carried, keep []bool, results []*ir.Value) {
	at := 0
	for i, n := range c.names {
		size := len(lang.Flatten(c.inits[i], nil))
		if size > 0 && keep[at] {
			var v any
			v, results = lang.Rebuild(c.inits[i], results)
			g.define(n, v)
			g.nameValues(n, lang.Flatten(v, nil))
		}
		at += size
	}
}

// loopCondition is tl.condition(…), the test of a while loop with a hint.
type loopCondition struct {
	cond   any
	noLICM bool
}

func (g *gen) condition(args []any, kwargs []eval.Keyword) any {
	c := &loopCondition{}
	for _, k := range kwargs {
		switch k.Name {
		case "disable_licm":
			c.noLICM = eval.Truth(k.Value)
		case "arg1":
			args = append(args, k.Value)
		default:
			eval.FailKeyword("condition", k.Name, []string{"arg1", "disable_licm"}, "")
		}
	}
	if len(args) == 2 {
		c.noLICM = eval.Truth(args[1])
	} else if len(args) != 1 {
		eval.Fail("condition() takes one condition")
	}
	c.cond = args[0]
	return c
}

// whileStmt compiles a loop to scf.while: the test in its first region, the
// body in its second, both with the carried values as arguments.
func (g *gen) whileStmt(st *syntax.While) {
	u := g.u
	if len(st.Orelse) > 0 {
		g.node = st.Orelse[0].Loc()
		eval.Fail("a while loop in a kernel cannot have an else block")
	}
	point := u.b.Save()
	c := g.candidates("", st.Body, []syntax.Stmt{&syntax.ExprStmt{Value: st.Test}})
	var beforeRegion, afterRegion ir.Region
	before, after := beforeRegion.AddBlock(), afterRegion.AddBlock()
	for _, h := range c.hs {
		before.AddArg(h.Type(), u.ctx.UnknownLoc())
		after.AddArg(h.Type(), u.ctx.UnknownLoc())
	}
	var cond *lang.Tensor
	var noLICM bool
	g.loops++
	g.region(func() {
		u.b.SetToEnd(before)
		g.enter(&c, before.Args())
		cond, noLICM = g.whileTest(st.Test)
	})
	condEnd := u.b.Block()
	left, _ := g.region(func() {
		u.b.SetToEnd(after)
		g.enter(&c, after.Args())
		g.block(st.Body)
	})
	g.loops--
	end, endLoc := u.b.Block(), u.b.Loc
	g.check(st, &c, left)
	keep, yields := g.settle(&c, after.Args(), left)
	g.yield(end, endLoc, point, yields)
	g.toEnd(condEnd)
	scf.NewCondition(u.b, cond.V, kept(before.Args(), keep)...)
	hints := append(g.hints(&c, before.Args(), keep, 0), g.hints(&c, after.Args(), keep, 0)...)
	dropArgs(before, 0, keep, c.hs)
	dropArgs(after, 0, keep, c.hs)
	u.b.Restore(point)
	inits := kept(c.hs, keep)
	types := make([]ir.Type, len(inits))
	for i, v := range inits {
		types[i] = v.Type()
	}
	op := u.b.Create(scf.While, ir.State{Operands: inits, Types: types, Regions: 2})
	if noLICM {
		a := g.noLICM()
		op.SetAttr(a.Name, a.Attr)
	}
	setAttrs(op, hints)
	scf.AsWhile(op).Before().TakeBody(&beforeRegion)
	scf.AsWhile(op).After().TakeBody(&afterRegion)
	g.leave(&c, keep, op.Results())
}

// whileTest compiles the test of a while loop, and says whether tl.condition
// asks for no code to be moved out of the loop.
func (g *gen) whileTest(test syntax.Expr) (cond *lang.Tensor, noLICM bool) {
	v := g.expr(test)
	if lc, ok := v.(*loopCondition); ok {
		v, noLICM = lc.cond, lc.noLICM
	}
	x := runtime(v)
	if x == nil {
		g.node = test.Loc()
		help := "the condition is never true: drop the loop"
		if g.constantCondition(v, test) {
			help = "the condition is always true, so the loop would never end"
		}
		eval.FailHelp(help, "a while loop needs a condition known at run time")
	}
	if t := lang.ScalarOf(x.T); !t.Equal(lang.Int1) {
		g.node = test.Loc()
		eval.FailHelp("compare it with something: "+g.file.Text(test.Loc())+" != 0", "the condition of a while loop must be of type int1, but is of type %s", t)
	}
	return g.scalarCondition(x, test), noLICM
}
