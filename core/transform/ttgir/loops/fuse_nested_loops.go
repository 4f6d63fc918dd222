package loops

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// FuseNestedLoops takes pure operations out of counted loops that do not change
// in them, and makes one loop of an outer loop marked tt.flatten and the one
// loop in it, so that the pipeline that is made of it later does not run dry
// between two iterations of the outer loop:
//
//	for i { before(i); for j { body(i, j) }; after(i) }
//
// becomes
//
//	for … { if (t == 0) { i += …; before(i) }
//	        body(i, j)
//	        if (t == length-1) { after(i) }
//	        t = t == length-1 ? 0 : t+1 }
//
// where the inner loop runs at least once; where it never runs, a copy of the
// outer loop without it does. If the bounds of the inner loop change between
// iterations of the outer one, a loop ahead of it adds the trip counts up, and
// before(i) gives the length of its iteration. That takes bounds that are computed
// of the outer induction variable alone, without effects, and that are known to
// leave the inner loop an iteration at least (tl.assume(high > low)); others stay
// apart.
var FuseNestedLoops = &pass.Pass{
	Name:    "tritongpu-fuse-nested-loops",
	Doc:     "hoist invariants out of loops; fuse nested loops marked tt.flatten",
	Example: fuseNestedLoopsExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range forloop.All(r.Module) {
			if p := loop.Parent(); p != nil && p.Is(scf.For) && p.HasAttr(tt.FlattenAttr) {
				continue // together with the loop around it
			}
			r.Count("hoisted", hoistPure(loop))
			if !loop.HasAttr(tt.FlattenAttr) {
				continue
			}
			// What the outer loop would take over from the inner one, the fused
			// loop would have to carry in registers from iteration to iteration.
			if inner := fusable(loop); inner != nil {
				(&fusion{b: b, outer: loop, inner: inner}).run()
				r.Count("fused", 1)
				continue
			}
			for op := range loop.Body().Ops() {
				if op.Is(scf.For) {
					r.Count("hoisted", hoistPure(op))
				}
			}
			r.Count("hoisted", hoistPure(loop))
		}
		return nil
	},
}

// fusable is the loop that outer is to be joined with, or nil.
func fusable(outer *ir.Operation) *ir.Operation {
	if !outer.HasAttr(tt.FlattenAttr) {
		return nil
	}
	var inner *ir.Operation
	loops := 0
	makesDescriptor := ir.Walk(outer, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op != outer && (op.Is(scf.For) || op.Is(scf.While)):
			loops++
			inner = op
		case op.Is(tt.MakeTensorDesc):
			return ir.Stop // the fused loop would carry it
		}
		return ir.Advance
	})
	if makesDescriptor || loops != 1 || !inner.Is(scf.For) || inner.Block() != outer.Body() ||
		scf.Step(inner).Type() != scf.Step(outer).Type() {
		return nil
	}
	if forloop.DefinedInside(scf.Step(inner), outer) {
		return nil
	}
	if varies(outer, inner) && (boundSlice(outer, inner) == nil || !runs(inner)) {
		return nil
	}
	return inner
}

// varies reports whether the bounds of the inner loop change between iterations of
// the outer one.
func varies(outer, inner *ir.Operation) bool {
	return forloop.DefinedInside(scf.LowerBound(inner), outer) || forloop.DefinedInside(scf.UpperBound(inner), outer)
}

// boundSlice are the operations of the outer body, in order, that the bounds of the
// inner loop are computed by; nil if they have effects, or depend on what the outer
// loop carries. Bounds that are the outer induction variable itself have none: the
// slice is then empty.
func boundSlice(outer, inner *ir.Operation) []*ir.Operation {
	needed := map[*ir.Operation]bool{}
	carried := scf.IterArgs(outer)
	var add func(v *ir.Value) bool
	add = func(v *ir.Value) bool {
		op := v.Def()
		switch {
		case slices.Contains(carried, v):
			return false
		case op == nil || !forloop.DefinedInside(v, outer) || needed[op]:
			return true
		case op.NumRegions() > 0 || !ir.IsPure(op):
			return false
		}
		needed[op] = true
		for _, o := range op.OperandValues() {
			if !add(o) {
				return false
			}
		}
		return true
	}
	if !add(scf.LowerBound(inner)) || !add(scf.UpperBound(inner)) {
		return nil
	}
	slice := make([]*ir.Operation, 0, len(needed))
	for op := range outer.Body().Ops() {
		if needed[op] {
			slice = append(slice, op)
		}
	}
	return slice
}

// runs reports whether the inner loop is known to have an iteration: its bounds
// are constants that say so, or an assumption ahead of it compares them.
func runs(inner *ir.Operation) bool {
	lo, hi := scf.LowerBound(inner), scf.UpperBound(inner)
	low, isLow := arith.ConstantInt(lo)
	high, isHigh := arith.ConstantInt(hi)
	if isLow && isHigh {
		return low < high
	}
	for u := range hi.Users() {
		if !u.Is(arith.CmpI) {
			continue
		}
		c := arith.AsCmpI(u)
		above := c.Lhs() == hi && c.Rhs() == lo && c.Predicate() == arith.SGT
		below := c.Lhs() == lo && c.Rhs() == hi && c.Predicate() == arith.SLT
		if !above && !below {
			continue
		}
		for assume := range c.Result().Users() {
			if assume.Is(llvm.Assume) && assume.Block() == inner.Block() && assume.IsBeforeInBlock(inner) {
				return true
			}
		}
	}
	return false
}

// emitTripCount emits the number of iterations of a loop, negative or 0 for none.
func emitTripCount(b *ir.Builder, loop *ir.Operation) *ir.Value {
	return emitTrips(b, scf.LowerBound(loop), scf.UpperBound(loop), scf.Step(loop))
}

// emitTrips is emitTripCount of bounds.
func emitTrips(b *ir.Builder, lo, hi, step *ir.Value) *ir.Value {
	n := hi
	if k, ok := arith.ConstantInt(lo); !ok || k != 0 {
		n = arith.Binary(b, arith.SubI, hi, lo)
	}
	if k, ok := arith.ConstantInt(step); !ok || k != 1 {
		n = arith.Binary(b, arith.CeilDivSI, n, step)
	}
	return n
}

// fusion joins one pair of loops.
type fusion struct {
	b            *ir.Builder
	outer, inner *ir.Operation
	// before are the operations of the outer body ahead of the inner loop,
	// after those that follow it, the terminator apart.
	before, after []*ir.Operation
	// handed are the results of before that the inner loop's body or after use.
	handed []*ir.Value
	// bounds are the operations of before that the bounds of the inner loop are
	// computed by, if varying.
	bounds  []*ir.Operation
	varying bool
}

func (f *fusion) run() {
	b, outer := f.b, f.outer
	past := false
	for op := range outer.Body().Ops() {
		switch {
		case op == f.inner:
			past = true
		case op.IsTerminator():
		case past:
			f.after = append(f.after, op)
		default:
			f.before = append(f.before, op)
		}
	}
	f.findHanded()
	b.At(outer)
	if f.varying = varies(outer, f.inner); f.varying {
		f.bounds = boundSlice(outer, f.inner)
		outer.ReplaceAllUsesWith(f.fused(nil)...)
		outer.Erase()
		return
	}
	length := emitTripCount(b, f.inner)
	never := arith.Compare(b, arith.CmpI, arith.SLE, length, arith.Int(b, length.Type(), 0))
	branch := scf.AsIf(scf.NewIf(b, never, true, typesOf(outer.Results())...))
	b.SetToEnd(branch.ThenRegion().First())
	scf.NewYield(b, f.withoutInner().Results()...)
	b.SetToEnd(branch.ElseRegion().First())
	scf.NewYield(b, f.fused(length)...)
	outer.ReplaceAllUsesWith(branch.Results()...)
	outer.Erase()
}

// findHanded lists what before computes for later.
func (f *fusion) findHanded() {
	for _, op := range f.before {
		for _, r := range op.Results() {
			for u := range r.Users() {
				if u == f.inner {
					continue // bounds and inits are done with where an iteration begins
				}
				at := forloop.AncestorIn(f.outer.Body(), u)
				if at == f.inner || f.inner.IsBeforeInBlock(at) {
					f.handed = append(f.handed, r)
					break
				}
			}
		}
	}
}

func typesOf(values []*ir.Value) []ir.Type {
	types := make([]ir.Type, len(values))
	for i, v := range values {
		types[i] = v.Type()
	}
	return types
}

// withoutInner is a copy of the outer loop in which the inner one gives what it
// starts with.
func (f *fusion) withoutInner() *ir.Operation {
	b, m := f.b, ir.NewMapping()
	loop := b.Create(scf.For, ir.State{
		Operands: f.outer.OperandValues(), Types: typesOf(f.outer.Results()), Attrs: f.outer.Attrs(), Regions: 1,
	})
	body := scf.AsFor(loop).Region().AddBlock()
	for _, a := range f.outer.Body().Args() {
		m.Map(a, body.AddArg(a.Type(), a.Loc()))
	}
	p := b.Save()
	defer b.Restore(p)
	b.SetToEnd(body)
	f.clone(m, f.before)
	for i, v := range scf.Inits(f.inner) {
		m.Map(f.inner.Result(i), m.Lookup(v))
	}
	f.clone(m, f.after)
	b.Insert(forloop.Yield(f.outer).Clone(m))
	return loop
}

// clone copies operations to the builder's point.
func (f *fusion) clone(m *ir.Mapping, ops []*ir.Operation) {
	for _, op := range ops {
		f.b.Insert(op.Clone(m))
	}
}

// sum emits a loop that adds up the trip counts of the inner loop over all
// iterations of the outer one.
func (f *fusion) sum(zero *ir.Value) *ir.Value {
	b, m := f.b, ir.NewMapping()
	loop := scf.NewFor(b, scf.LowerBound(f.outer), scf.UpperBound(f.outer), scf.Step(f.outer), zero)
	p := b.Save()
	defer b.Restore(p)
	b.SetToEnd(loop.Body())
	m.Map(scf.InductionVar(f.outer), scf.InductionVar(loop))
	f.clone(m, f.bounds)
	scf.NewYield(b, arith.Binary(b, arith.AddI, scf.IterArgs(loop)[0], f.trips(m)))
	return loop.Result(loop.NumResults() - 1)
}

// trips emits the trip count of the inner loop in an iteration of the outer one
// whose values m has.
func (f *fusion) trips(m *ir.Mapping) *ir.Value {
	return emitTrips(f.b, m.Lookup(scf.LowerBound(f.inner)), m.Lookup(scf.UpperBound(f.inner)), scf.Step(f.inner))
}

// fused makes the one loop and returns what stands for the outer loop's
// results. It carries: the iteration of the inner loop, the two induction variables,
// what the outer and the inner loop carry, what before hands on, and, if bounds
// vary, the last iteration of the inner loop. Length is its trip count if they do
// not.
func (f *fusion) fused(length *ir.Value) []*ir.Value {
	b, outer, inner := f.b, f.outer, f.inner
	t := scf.Step(inner).Type()
	zero, one := arith.Int(b, t, 0), arith.Int(b, t, 1)
	var total, last *ir.Value
	firstJ := zero
	if f.varying {
		total = f.sum(zero)
	} else {
		firstJ = scf.LowerBound(inner)
		outerTrips := emitTripCount(b, outer)
		// never was false, so the length is at least 1; the maximum says so to
		// those who look at this value alone.
		atLeast1 := arith.Binary(b, arith.MaxSI, length, one)
		total = arith.Binary(b, arith.MulI, outerTrips, atLeast1)
		last = arith.Binary(b, arith.SubI, atLeast1, one)
	}
	inits := []*ir.Value{zero, arith.Binary(b, arith.SubI, scf.LowerBound(outer), scf.Step(outer)), firstJ}
	outs, ins := len(scf.Inits(outer)), len(scf.Inits(inner))
	inits = append(inits, scf.Inits(outer)...)
	for _, v := range scf.Inits(inner) {
		if forloop.DefinedInside(v, outer) {
			v = placeholder(b, v.Type())
		}
		inits = append(inits, v)
	}
	for _, v := range f.handed {
		inits = append(inits, placeholder(b, v.Type()))
	}
	if f.varying {
		inits = append(inits, zero)
	}
	attrs := make([]ir.NamedAttr, 0, len(outer.Attrs()))
	for _, a := range outer.Attrs() {
		if a.Name != tt.FlattenAttr {
			attrs = append(attrs, a)
		}
	}
	loop := scf.NewFor(b, zero, total, one, inits...)
	for _, a := range attrs {
		loop.SetAttr(a.Name, a.Attr)
	}
	p := b.Save()
	defer b.Restore(p)
	b.SetToEnd(loop.Body())
	args := scf.IterArgs(loop)
	iter, i, j := args[0], args[1], args[2]
	o, in, hand := args[3:3+outs], args[3+outs:3+outs+ins], args[3+outs+ins:][:len(f.handed)]

	// An iteration of the outer loop begins.
	m := ir.NewMapping()
	for k, a := range scf.IterArgs(outer) {
		m.Map(a, o[k])
	}
	given := append([]*ir.Value{j}, in...)
	given = append(append(given, hand...), i)
	if f.varying {
		given = append(given, args[len(args)-1])
	}
	begins := arith.Compare(b, arith.CmpI, arith.EQ, iter, zero)
	begin := scf.AsIf(scf.NewIf(b, begins, true, typesOf(given)...))
	b.SetToEnd(begin.ThenRegion().First())
	next := arith.Binary(b, arith.AddI, i, scf.Step(outer))
	m.Map(scf.InductionVar(outer), next)
	f.clone(m, f.before)
	yields := []*ir.Value{m.Lookup(scf.LowerBound(inner))}
	for k, v := range scf.Inits(inner) {
		if w := m.Lookup(v); forloop.DefinedInside(v, outer) {
			yields = append(yields, w)
		} else {
			yields = append(yields, in[k]) // set again at the end of the iteration
		}
	}
	for _, v := range f.handed {
		yields = append(yields, m.Lookup(v))
	}
	yields = append(yields, next)
	if f.varying {
		yields = append(yields, arith.Binary(b, arith.SubI, f.trips(m), one))
	}
	scf.NewYield(b, yields...)
	b.SetToEnd(begin.ElseRegion().First())
	scf.NewYield(b, given...)
	b.SetToEnd(loop.Body())

	// One iteration of the inner loop.
	begun := begin.Results() // in the order of given
	j, in, begun = begun[0], begun[1:1+ins], begun[1+ins:]
	hand, i = begun[:len(hand)], begun[len(hand)]
	if f.varying {
		last = begun[len(hand)+1]
	}
	m.Map(scf.InductionVar(outer), i)
	for k, v := range f.handed {
		m.Map(v, hand[k])
	}
	m.Map(scf.InductionVar(inner), j)
	for k, a := range scf.IterArgs(inner) {
		m.Map(a, in[k])
	}
	for op := range inner.Body().Ops() {
		if !op.IsTerminator() {
			b.Insert(op.Clone(m))
		}
	}
	results := make([]*ir.Value, ins)
	for k, v := range forloop.Yield(inner).Operands() {
		results[k] = m.Lookup(v)
		m.Map(inner.Result(k), results[k])
	}
	nextJ := arith.Binary(b, arith.AddI, j, scf.Step(inner))

	// An iteration of the outer loop ends.
	ends := arith.Compare(b, arith.CmpI, arith.EQ, iter, last)
	end := scf.AsIf(scf.NewIf(b, ends, true, append(typesOf(o), typesOf(results)...)...))
	b.SetToEnd(end.ThenRegion().First())
	f.clone(m, f.after)
	yields = nil
	for _, v := range forloop.Yield(outer).Operands() {
		yields = append(yields, m.Lookup(v))
	}
	for k, v := range scf.Inits(inner) {
		if forloop.DefinedInside(v, outer) {
			yields = append(yields, results[k])
		} else {
			yields = append(yields, v)
		}
	}
	scf.NewYield(b, yields...)
	b.SetToEnd(end.ElseRegion().First())
	scf.NewYield(b, append(append([]*ir.Value(nil), o...), results...)...)
	b.SetToEnd(loop.Body())

	following := arith.Binary(b, arith.AddI, iter, one)
	// Compared again, since a pipeline computes this one iterations ahead.
	again := arith.Compare(b, arith.CmpI, arith.EQ, iter, last)
	following = arith.NewSelect(b, again, zero, following)
	yields = append([]*ir.Value{following, i, nextJ}, end.Results()...)
	yields = append(yields, hand...)
	if f.varying {
		yields = append(yields, last)
	}
	scf.NewYield(b, yields...)
	results = loop.Results() // in the order of inits
	return results[3 : 3+outs]
}

// placeholder is some value of type t, which the first iteration of a fused loop
// replaces before anything looks at it.
func placeholder(b *ir.Builder, t ir.Type) *ir.Value {
	switch {
	case ir.IsInt(ir.ElemOf(t), 0):
		return arith.Int(b, t, 0)
	case ir.IsFloat(ir.ElemOf(t)):
		return arith.Float(b, t, 0)
	}
	return ub.NewPoison(b, t)
}
