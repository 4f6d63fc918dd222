package loops

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// ReduceEarly reduces what a loop computes before it is scaled and masked, as
// attention does with its scores:
//
//	%y = arith.mulf %x, splat(%scale)
//	%s = arith.select %mask, %y, %other
//	%max = tt.reduce(%s) by maximum
//
// The maximum of %y is that of %x, scaled, where the scale is positive: rounding
// keeps the order. And most iterations have no element that the mask hides, which
// scalars show, since the mask compares ranges of numbers. So an iteration needs neither
// the products nor the choices before it reduces, only one comparison, and
// corrects itself where that fails:
//
//	%early = arith.mulf tt.reduce(%x), splat(%scale)
//	%part:2 = scf.if %same -> … {
//	  scf.yield %x, %early
//	} else {
//	  … %s as before …
//	  scf.yield %s, tt.reduce(%s)
//	}
//	%left = arith.select %same, %scale, 1.0
//	%s' = arith.mulf %part#0, splat(%left)
//
// All that uses %s then takes %s', whose product is part of a fused multiplication
// and addition, where a difference from the maximum follows. The branch comes where
// the reduction has waited for all of its operand anyway.
var ReduceEarly = &pass.Pass{
	Name:    "tritongpu-reduce-early",
	Doc:     "reduce before masks and scales where the result is the same",
	Example: reduceEarlyExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		var reductions []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Reduce) && op.NumOperands() == 1 && op.Parent().Is(scf.For) {
				reductions = append(reductions, op)
			}
			return ir.Advance
		})
		b := ir.NewBuilder(r.Module.Context())
		made := make(map[*ir.Value]bool)
		for _, op := range reductions {
			if made[tt.AsReduce(op).SrcsAt(0)] { // reduced for the second time
				continue
			}
			if e := earlyReductionOf(op); e != nil && e.worthwhile() {
				b.Loc = op.Loc()
				if s := e.rewrite(b); s != nil {
					made[s] = true
					r.Count("reduced", 1)
				}
			}
		}
		return nil
	},
}

// earlyReduction is the reduction of a block that is scaled, masked, or both.
type earlyReduction struct {
	reduce *ir.Operation
	// whole is what is reduced, x what it is made of.
	whole, x *ir.Value
	// choice masks: it takes the scaled x where its condition holds; or nil.
	choice *ir.Operation
	// product scales: x times factor, a tensor of equal elements; or nil.
	product *ir.Operation
	factor  *ir.Value
}

// earlyReductionOf finds what op reduces; nil where there is nothing to gain.
func earlyReductionOf(op *ir.Operation) *earlyReduction {
	block := tt.AsReduce(op).SrcsAt(0)
	e := &earlyReduction{reduce: op, whole: block, x: block}
	if block.DefIs(arith.Select) {
		if choice := arith.AsSelect(block.Def()); tensors.Type(choice.Condition()) != nil {
			e.choice, e.x = choice.Op, choice.TrueValue()
		}
	}
	if e.x.DefIs(arith.MulF) && keepsOrder(op) {
		isScale := func(v *ir.Value) bool {
			c, constant := floatSplat(v)
			return constant && 0 < c && c < math.Inf(1) || v.DefIs(tt.Splat)
		}
		switch product := arith.AsMulF(e.x.Def()); {
		case isScale(product.Lhs()):
			e.product, e.factor, e.x = product.Op, product.Lhs(), product.Rhs()
		case isScale(product.Rhs()):
			e.product, e.factor, e.x = product.Op, product.Rhs(), product.Lhs()
		}
	}
	if e.choice == nil && e.product == nil {
		return nil
	}
	return e
}

// keepsOrder reports whether op finds the greatest or the least element.
func keepsOrder(op *ir.Operation) bool {
	body := tt.AsReduce(op).CombineOp().First()
	combine := body.First()
	switch combine.Def() {
	case arith.MaxNumF, arith.MaximumF, arith.MinNumF, arith.MinimumF:
		of := arith.AsBinary(combine)
		x, y := of.Lhs(), of.Rhs()
		return x != y && slices.Contains(body.Args(), x) && slices.Contains(body.Args(), y) &&
			tt.AsReduceReturn(body.Terminator()).ResultAt(0) == of.Result()
	}
	return false
}

// floatSplat is the number that all elements of the constant v are; ok is false
// where they differ or v is not a constant.
func floatSplat(v *ir.Value) (x float64, ok bool) {
	d, ok := arith.ConstantValue(v).(*ir.DenseElementsAttr)
	if !ok || !d.IsSplat() {
		return 0, false
	}
	t, ok := ir.ElemOf(v.Type()).(*ir.FloatType)
	if !ok {
		return 0, false
	}
	return ir.BitsToFloat(t.Kind, d.Values[0]), true
}

// leastRegisters is how many elements of a block a thread has, at least, where a
// branch costs less than what it saves.
const leastRegisters = 16

// worthwhile reports whether threads have enough of the block, and whether all
// others that use it come after the reduction.
func (e *earlyReduction) worthwhile() bool {
	t := tensors.Type(e.whole)
	l, err := encoding.Get(t).Linear(t.Shape)
	if err != nil || l.InSize(layout.Register) < leastRegisters {
		return false
	}
	for u := range e.whole.Users() {
		if u = forloop.AncestorIn(e.reduce.Block(), u); u == nil || u != e.reduce && u.IsBeforeInBlock(e.reduce) {
			return false
		}
	}
	return true
}

// rewrite makes the reduction early. It returns what takes the place of the block;
// nil, and changes nothing, where no scalar says when that comes to the same.
func (e *earlyReduction) rewrite(b *ir.Builder) *ir.Value {
	tests := &uniformTests{b: b, at: e.reduce}
	if e.choice != nil && !tests.addMask(arith.AsSelect(e.choice).Condition()) {
		return nil
	}
	var scale *ir.Value
	if e.product != nil {
		scale = e.positive(tests)
	}
	same := tests.joined()

	b.SetBefore(e.reduce)
	early := e.reduced(b, e.x)
	block, left := e.x, scale
	if scale != nil {
		early = arith.Binary(b, arith.MulF, early, spread(b, scale, early.Type()))
	}
	if same != nil {
		block, early = e.corrected(b, same, early)
		if scale != nil && !e.alone() {
			left = arith.NewSelect(b, same, scale, arith.Float(b, scale.Type(), 1))
		}
	}
	if left != nil && !e.alone() {
		block = arith.Binary(b, arith.MulF, block, spread(b, left, block.Type()))
	}
	e.reduce.OneResult().ReplaceAllUsesWith(early)
	e.reduce.Erase()
	e.whole.ReplaceAllUsesWith(block)
	for _, op := range []*ir.Operation{e.choice, e.product} {
		if op != nil && !op.HasUses() {
			op.Erase()
		}
	}
	return block
}

// alone: nothing but the reduction uses the block.
func (e *earlyReduction) alone() bool { return e.whole.HasOneUse() }

// positive is the factor as a scalar, with tests that it is positive and finite
// unless it is known to be.
func (e *earlyReduction) positive(tests *uniformTests) *ir.Value {
	t := ir.ElemOf(e.factor.Type())
	if x, ok := floatSplat(e.factor); ok {
		return tests.float(t, x)
	}
	scale := tt.AsSplat(e.factor.Def()).Src()
	tests.compare(arith.CmpF, arith.OGT, scale, tests.float(t, 0))
	tests.compare(arith.CmpF, arith.OLT, scale, tests.float(t, math.Inf(1)))
	return scale
}

// corrected gives the block and its reduction: x and early where same holds, else
// what there was before. Of what is computed for the latter alone, nothing stays
// outside. Where nobody wants the block, it is x.
func (e *earlyReduction) corrected(b *ir.Builder, same, early *ir.Value) (block, reduced *ir.Value) {
	types, values := []ir.Type{early.Type()}, []*ir.Value{early}
	if !e.alone() {
		types, values = append(types, e.x.Type()), append(values, e.x)
	}
	cond := scf.AsIf(scf.NewIf(b, same, true, types...))
	b.SetToEnd(cond.ThenRegion().First())
	scf.NewYield(b, values...)

	other := cond.ElseRegion().First()
	b.SetToEnd(other)
	m := ir.NewMapping()
	for _, op := range []*ir.Operation{e.product, e.choice} {
		if op != nil {
			b.Insert(op.Clone(m))
		}
	}
	values[0] = e.reduced(b, m.Lookup(e.whole))
	if !e.alone() {
		values[1] = m.Lookup(e.whole)
	}
	scf.NewYield(b, values...)
	if e.choice != nil {
		choice := arith.AsSelect(e.choice)
		sink(choice.Condition(), e.choice, other)
		sink(choice.FalseValue(), e.choice, other)
	}
	b.SetAfter(cond.Op)
	results := cond.Results() // in the order of values
	if e.alone() {
		return e.x, results[0]
	}
	return results[1], results[0]
}

// sink moves what computes v into block, if nothing else uses it but user, which
// goes. It is in the block around that of block's operation.
func sink(v *ir.Value, user *ir.Operation, block *ir.Block) {
	def := v.Def()
	if def == nil || def.Block() != block.Parent().Block() || !ir.IsPure(def) || def.NumResults() != 1 {
		return
	}
	for u := range v.Users() {
		if u != user && u.Block() != block {
			return
		}
	}
	def.MoveBefore(block.First())
	for _, operand := range def.OperandValues() {
		sink(operand, def, block)
	}
}

// reduced is the reduction of block at b's place.
func (e *earlyReduction) reduced(b *ir.Builder, block *ir.Value) *ir.Value {
	m := ir.NewMapping()
	m.Map(e.whole, block)
	op := e.reduce.Clone(m)
	b.Insert(op)
	return op.OneResult()
}

// spread is the scalar v as a value of type t.
func spread(b *ir.Builder, v *ir.Value, t ir.Type) *ir.Value {
	if v.Type() == t {
		return v
	}
	return tt.Unary(b, tt.Splat, v, t)
}
