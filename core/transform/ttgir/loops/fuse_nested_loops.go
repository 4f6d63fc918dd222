package loops

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
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
//
// Under ttg.always-fuse, which Triton's tests set, a whole nest becomes one loop:
// several inner loops, loops in these, and loops that may have no iteration.
var FuseNestedLoops = &pass.Pass{
	Name:    "tritongpu-fuse-nested-loops",
	Doc:     "hoist invariants out of loops; fuse nested loops marked tt.flatten",
	Example: fuseNestedLoopsExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range forloop.All(r.Module) {
			switch {
			case marked(loop.Parent(), tt.FlattenAttr) || inMarkedNest(loop):
				// together with the loop around it
			case loop.HasAttr(tt.AlwaysFuseAttr):
				_, n := fuseNest(b, loop)
				r.Count("fused", n)
			default:
				r.Count("hoisted", hoistPure(loop))
				fuseFlattened(b, loop, r)
			}
		}
		return nil
	},
}

// marked reports whether op is a counted loop with the attribute attr.
func marked(op *ir.Operation, attr string) bool {
	return op != nil && op.Is(scf.For) && op.HasAttr(attr)
}

// inMarkedNest reports whether loop is part of a nest that becomes one loop.
func inMarkedNest(loop *ir.Operation) bool {
	for p := loop.Parent(); p != nil && p.Is(scf.For); p = p.Parent() {
		if p.HasAttr(tt.AlwaysFuseAttr) {
			return true
		}
	}
	return false
}

// fuseNest fuses the loops of a nest, inner ones first. It returns the loop that
// takes the nest's place, and how many loops were fused with the ones around them.
func fuseNest(b *ir.Builder, outer *ir.Operation) (*ir.Operation, int) {
	var inner []*ir.Operation
	for op := range outer.Body().Ops() {
		if op.Is(scf.For) {
			inner = append(inner, op)
		}
	}
	fused := 0
	f := fusion{b: b, outer: outer}
	for _, loop := range inner {
		loop, n := fuseNest(b, loop)
		fused += n
		if p := partOf(outer, loop); p != nil && !makesDescriptor(outer) {
			p.hoistBounds(outer)
			f.parts = append(f.parts, p)
		}
	}
	if len(f.parts) == 0 {
		return outer, fused
	}
	return f.run(), fused + len(f.parts)
}

// fuseFlattened fuses a loop marked tt.flatten with the only loop in it if that one
// surely runs, or runs in each iteration or none, which a condition then tells.
func fuseFlattened(b *ir.Builder, outer *ir.Operation, r *pass.Run) {
	if !outer.HasAttr(tt.FlattenAttr) {
		return
	}
	p := fusable(outer)
	if p == nil {
		for op := range outer.Body().Ops() {
			if op.Is(scf.For) {
				r.Count("hoisted", hoistPure(op))
			}
		}
		r.Count("hoisted", hoistPure(outer))
		return
	}
	r.Count("sunk", sinkPure(outer, p.loop))
	p.hoistBounds(outer)
	if !p.varying {
		b.At(outer)
		p.length = emitTripCount(b, p.loop)
		p.runs = true
		splitEmpty(b, outer, p)
	}
	f := fusion{b: b, outer: outer, parts: []*part{p}}
	f.run()
	r.Count("fused", 1)
}

// fusable is the loop that outer is to be joined with, or nil.
func fusable(outer *ir.Operation) *part {
	var inner *ir.Operation
	loops := 0
	ir.Walk(outer, func(op *ir.Operation) ir.WalkResult {
		if op != outer && (op.Is(scf.For) || op.Is(scf.While)) {
			loops++
			inner = op
		}
		return ir.Advance
	})
	if loops != 1 || !inner.Is(scf.For) || inner.Block() != outer.Body() || makesDescriptor(outer) {
		return nil
	}
	p := partOf(outer, inner)
	if p == nil || p.varying && !p.runs {
		return nil
	}
	return p
}

// makesDescriptor reports whether loop makes a descriptor. A fused loop would carry
// it, in registers, from iteration to iteration.
func makesDescriptor(loop *ir.Operation) bool {
	return ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.MakeTensorDesc) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// part is a loop that is to be fused with the loop around it.
type part struct {
	loop *ir.Operation
	// bounds are the operations of the outer body, in order, that compute bounds and
	// step; varying says that these may change between iterations of the outer loop.
	bounds  []*ir.Operation
	varying bool
	runs    bool      // has an iteration at least
	length  *ir.Value // the number of iterations

	before []*ir.Operation // the operations between the part ahead and the loop
	handed []*ir.Value     // results of before that come to be used later

	// What the fused loop carries for the part: its length if that varies, its
	// induction variable, results, and handed.
	lengthNow, j       *carried
	results, handedNow []*carried
}

// partOf looks at the bounds of inner; nil if they have effects, or depend on what
// the outer loop carries.
func partOf(outer, inner *ir.Operation) *part {
	if scf.AsFor(outer).UnsignedCmp() || scf.AsFor(inner).UnsignedCmp() {
		return nil
	}
	p := &part{loop: inner, runs: runs(inner)}
	iv := scf.InductionVar(outer)
	needed := map[*ir.Operation]bool{}
	var add func(v *ir.Value) bool
	add = func(v *ir.Value) bool {
		op := v.Def()
		switch {
		case v == iv:
			p.varying = true
			return true
		case !forloop.DefinedInside(v, outer):
			return true
		case op == nil || op.Block() != outer.Body() || op.NumRegions() > 0 || !ir.IsPure(op):
			return false
		case needed[op]:
			return true
		}
		needed[op] = true
		for _, o := range op.OperandValues() {
			if !add(o) {
				return false
			}
		}
		return true
	}
	if !add(scf.LowerBound(inner)) || !add(scf.UpperBound(inner)) || !add(scf.Step(inner)) {
		return nil
	}
	for op := range outer.Body().Ops() {
		if needed[op] {
			p.bounds = append(p.bounds, op)
			p.varying = p.varying || !hoistable(op)
		}
	}
	return p
}

// hoistable reports whether a computation of bounds may be executed where no iteration
// of the outer loop is. arith.ceildivsi comes of loops that were fused before, and
// divides by their steps.
func hoistable(op *ir.Operation) bool {
	return speculatable(op) || op.Is(arith.CeilDivSI)
}

// hoistBounds moves what computes bounds ahead of the outer loop if they do not
// change in it.
func (p *part) hoistBounds(outer *ir.Operation) {
	if p.varying {
		return
	}
	for _, op := range p.bounds {
		op.MoveBefore(outer)
	}
	p.bounds = nil
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

// sinkPure moves pure operations ahead of the inner loop whose results only what
// follows it uses to after it, so that the fused loop does not carry them.
func sinkPure(outer, inner *ir.Operation) int {
	sunk := map[*ir.Operation]bool{}
	place := inner.Next()
	for op := inner.Prev(); op != nil; {
		prev := op.Prev()
		if ir.IsPure(op) && !op.Is(tt.Dot) && !op.Is(tt.DotScaled) && usedOnlyAfter(op, inner, outer.Body()) {
			op.MoveBefore(place)
			place = op
			sunk[op] = true
		}
		op = prev
	}
	return len(sunk)
}

// usedOnlyAfter reports whether op has users, and all of them in body are after loop.
func usedOnlyAfter(op, loop *ir.Operation, body *ir.Block) bool {
	used := false
	for _, r := range op.Results() {
		for u := range r.Users() {
			used = true
			if at := forloop.AncestorIn(body, u); at == loop || at.IsBeforeInBlock(loop) {
				return false
			}
		}
	}
	return used
}

// splitEmpty puts outer on the side of a condition where p's loop has iterations.
// On the other one is a copy of outer without that loop.
func splitEmpty(b *ir.Builder, outer *ir.Operation, p *part) {
	never := arith.Compare(b, arith.CmpI, arith.SLE, p.length, arith.Int(b, p.length.Type(), 0))
	branch := scf.AsIf(scf.NewIf(b, never, true, typesOf(outer.Results())...))
	outer.ReplaceAllUsesWith(branch.Results()...)

	b.SetToEnd(branch.ThenRegion().First())
	m := ir.NewMapping()
	rest := outer.Clone(m)
	b.Insert(rest)
	rest.SetAttr(tt.WarpSpecializeAttr, nil)
	for op := range rest.Body().Ops() {
		if op.Is(scf.For) {
			op.ReplaceAllUsesWith(scf.Inits(op)...)
			op.Erase()
		}
	}
	scf.NewYield(b, rest.Results()...)

	b.SetToEnd(branch.ElseRegion().First())
	outer.MoveBefore(scf.NewYield(b, outer.Results()...))
}
