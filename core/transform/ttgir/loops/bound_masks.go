package loops

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/masks"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// BoundMasks makes the masks of accesses through descriptors and block pointers
// cheap. Two things are done to a mask that is a conjunction:
//
//   - 0 <= i and i < n in 64 bits, where i is a sum that 32 bits hold but for its
//     sign, is one comparison: unsigned, of 32 bits.
//   - Of i < n and conditions that do not depend on i, the bound takes the
//     conditions: i < (conditions ? n : 0). What a thread's pieces have in common
//     is then computed once, and a piece costs one comparison.
//
// The index whose bound takes the others is one along which a thread does not
// read in one piece.
var BoundMasks = &pass.Pass{
	Name:    "tritongpu-bound-masks",
	Doc:     "simplify bounds checks in masks to one comparison each",
	Example: boundMasksExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		done := make(map[*ir.Value]*ir.Value) // accesses of one block have one mask
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			mask := masks.Of(op)
			if mask == nil || tensors.Type(mask) == nil {
				return ir.Advance
			}
			bounded, ok := done[mask]
			if !ok {
				if bounded = boundMask(b, mask); bounded != nil {
					r.Count("bounded", 1)
				}
				done[mask] = bounded
			}
			if bounded != nil {
				masks.Set(op, bounded)
			}
			return ir.Advance
		})
		if len(done) == 0 {
			return nil
		}
		return std.CSE.Run(r)
	},
}

// boundMask is a mask that equals mask and costs less, made after it; nil if
// there is none.
func boundMask(b *ir.Builder, mask *ir.Value) *ir.Value {
	def := mask.Def()
	if def == nil || !def.Is(arith.AndI) {
		return nil
	}
	b.After(def)
	m := maskBounder{b: b, whole: mask.Type().(*ir.TensorType), left: maxVisits}
	if !m.collect(mask) || !m.pair() && (m.bearer() < 0 || !m.guarded()) {
		return nil
	}
	return m.joined()
}

// maxVisits is how many operations of a mask are looked at, and of an index in it. Masks
// and indices of kernels have some ten; where operands are used twice, again and again,
// there are more ways to them than could be followed.
const maxVisits = 256

// maskBounder makes a mask of the conditions whose conjunction it is: scalars,
// and tensors of shapes that broadcast to the mask's.
type maskBounder struct {
	b     *ir.Builder
	whole *ir.TensorType
	all   []*ir.Value
	left  int // how many operations may still be looked at
}

// collect takes a conjunction apart. It reports false for one that is too long.
func (m *maskBounder) collect(v *ir.Value) bool {
	m.b.Context().Meter().Visit()
	if m.left--; m.left < 0 {
		return false
	}
	switch def := v.Def(); {
	case def == nil:
	case def.Is(arith.AndI):
		return m.collect(arith.AsAndI(def).Lhs()) && m.collect(arith.AsAndI(def).Rhs())
	case def.Is(tt.Broadcast), def.Is(tt.Splat):
		return m.collect(tt.AsUnary(def).Src())
	}
	if !slices.Contains(m.all, v) {
		m.all = append(m.all, v)
	}
	return true
}

// pair makes 0 <= i and i < n one condition, and reports whether it found any.
func (m *maskBounder) pair() bool {
	found := false
	for _, low := range slices.Clone(m.all) {
		index, least := comparison(low, arith.SGE)
		if index == nil || !isInt(least, 0) {
			continue
		}
		k := slices.IndexFunc(m.all, func(v *ir.Value) bool {
			i, n := comparison(v, arith.SLT)
			return i == index && isSplat(n)
		})
		if k < 0 {
			continue
		}
		_, bound := comparison(m.all[k], arith.SLT)
		m.all[k] = m.below(index, bound)
		m.all = slices.DeleteFunc(m.all, func(v *ir.Value) bool { return v == low })
		found = true
	}
	return found
}

// guarded reports whether any condition is a scalar.
func (m *maskBounder) guarded() bool {
	return slices.ContainsFunc(m.all, func(v *ir.Value) bool { return tensors.Type(v) == nil })
}

func isInt(v *ir.Value, want int64) bool {
	n, ok := arith.ConstantInt(v)
	return ok && n == want
}

// comparison has the operands of v where it compares tensors of integers by pred,
// and nothing where it does not.
func comparison(v *ir.Value, pred int64) (index, bound *ir.Value) {
	if !v.DefIs(arith.CmpI) || tensors.Type(v) == nil {
		return nil, nil
	}
	cmp := arith.AsCmpI(v.Def())
	if cmp.Predicate() != pred {
		return nil, nil
	}
	return cmp.Lhs(), cmp.Rhs()
}

// below is 0 <= index and index < bound. As unsigned numbers negative ones are
// greater than any bound.
func (m *maskBounder) below(index, bound *ir.Value) *ir.Value {
	n := uniformValue(m.b, bound)
	if n.DefIs(arith.ExtSI) {
		if short := arith.AsExtSI(n.Def()).In(); ir.BitWidth(short.Type()) == 32 && fitsUnsigned(index) {
			n, index = short, m.narrowed(index)
		}
	}
	n = arith.Binary(m.b, arith.MaxSI, n, arith.Int(m.b, n.Type(), 0))
	return arith.Compare(m.b, arith.CmpI, arith.ULT, index, tt.Unary(m.b, tt.Splat, n, index.Type()))
}

// fitsUnsigned reports whether a 64-bit sum is, but for 2^32 where it is negative,
// the unsigned number in its lower 32 bits, and then no less than 2^31.
func fitsUnsigned(sum *ir.Value) bool {
	visits := maxVisits
	low, high, ok := boundsOf(sum, &visits)
	return ok && low >= math.MinInt32 && high <= math.MaxUint32
}

// boundsOf are the least and greatest value that a 64-bit sum of 32-bit numbers
// may have; ok is false for anything else, and for sums longer than visits, from which it
// takes what it looks at.
func boundsOf(v *ir.Value, visits *int) (low, high int64, ok bool) {
	def := v.Def()
	if *visits--; def == nil || *visits < 0 {
		return 0, 0, false
	}
	switch {
	case def.Is(arith.ExtSI):
		in := arith.AsExtSI(def).In()
		if ir.BitWidth(ir.ElemOf(in.Type())) != 32 {
			return 0, 0, false
		}
		if in.DefIs(tt.MakeRange) {
			r := tt.AsMakeRange(in.Def())
			return r.Start(), r.End() - 1, true
		}
		return math.MinInt32, math.MaxInt32, true
	case def.Is(arith.AddI):
		l0, h0, ok0 := boundsOf(arith.AsAddI(def).Lhs(), visits)
		l1, h1, ok1 := boundsOf(arith.AsAddI(def).Rhs(), visits)
		return l0 + l1, h0 + h1, ok0 && ok1
	case def.Is(tt.Splat), def.Is(tt.Broadcast), def.Is(tt.ExpandDims), def.Is(ttg.ConvertLayout):
		return boundsOf(tt.AsUnary(def).Src(), visits)
	}
	return 0, 0, false
}

// narrowed has the lower 32 bits of what boundsOf takes.
func (m *maskBounder) narrowed(v *ir.Value) *ir.Value {
	def := v.Def()
	switch {
	case def.Is(arith.ExtSI):
		return arith.AsExtSI(def).In()
	case def.Is(arith.AddI):
		sum := arith.AsAddI(def)
		return arith.Binary(m.b, arith.AddI, m.narrowed(sum.Lhs()), m.narrowed(sum.Rhs()))
	}
	c := m.b.Context()
	t := v.Type().(*ir.TensorType)
	return m.b.Create(def.Def(), ir.State{
		Operands: []*ir.Value{m.narrowed(tt.AsUnary(def).Src())}, Types: []ir.Type{c.Tensor(t.Shape, c.I32(), t.Encoding)}, Attrs: def.Attrs(),
	}).OneResult()
}

// joined is the conjunction of all conditions.
func (m *maskBounder) joined() *ir.Value {
	k := m.bearer()
	var scalar, tensor *ir.Value // the others
	for i, v := range m.all {
		switch {
		case i == k:
		case tensors.Type(v) == nil:
			scalar = m.and(scalar, v)
		default:
			tensor = m.and(tensor, v)
		}
	}
	if k < 0 {
		if scalar != nil {
			tensor = m.and(m.spread(scalar, tensor.Type().(*ir.TensorType).Shape), tensor)
		}
		return m.spread(tensor, m.whole.Shape)
	}
	index, bound := comparison(m.all[k], arith.ULT)
	if scalar != nil {
		bound = m.only(scalar, bound)
	}
	if tensor != nil {
		t := m.b.Context().Tensor(tensors.Type(tensor).Shape, ir.ElemOf(bound.Type()), m.whole.Encoding)
		n := tt.Unary(m.b, tt.Splat, uniformValue(m.b, bound), t)
		bound = m.spread(arith.NewSelect(m.b, tensor, n, arith.Int(m.b, t, 0)), m.whole.Shape)
		index = m.spread(index, m.whole.Shape)
	}
	return m.spread(arith.Compare(m.b, arith.CmpI, arith.ULT, index, bound), m.whole.Shape)
}

// only is bound where the scalar is true, and zero elsewhere. A bound that takes
// conditions already is a choice between a number and zero: the number changes.
func (m *maskBounder) only(scalar, bound *ir.Value) *ir.Value {
	if isSplat(bound) {
		n := uniformValue(m.b, bound)
		n = arith.NewSelect(m.b, scalar, n, arith.Int(m.b, n.Type(), 0))
		return tt.Unary(m.b, tt.Splat, n, bound.Type())
	}
	def := bound.Def()
	if def.Is(tt.Broadcast) {
		return tt.Unary(m.b, tt.Broadcast, m.only(scalar, tt.AsBroadcast(def).Src()), bound.Type())
	}
	choice := arith.AsSelect(def)
	return arith.NewSelect(m.b, choice.Condition(), m.only(scalar, choice.TrueValue()), choice.FalseValue())
}

// takesScalars reports whether bound is one that only knows.
func takesScalars(bound *ir.Value) bool {
	switch {
	case isSplat(bound):
		return true
	case bound.DefIs(tt.Broadcast):
		return takesScalars(tt.AsBroadcast(bound.Def()).Src())
	case bound.DefIs(arith.Select):
		choice := arith.AsSelect(bound.Def())
		return isInt(choice.FalseValue(), 0) && isSplat(choice.TrueValue())
	}
	return false
}

// bearer is the number of the condition whose bound takes the others: the longest
// along whose index no thread reads in one piece, or any if all others are
// scalars; -1 if there is none.
func (m *maskBounder) bearer() int {
	l, err := encoding.AttrOf(m.whole).Linear(m.whole.Shape)
	if err != nil {
		return -1
	}
	fast := l.Order()[0]
	best, size, shaped := -1, int64(0), 0
	for i, v := range m.all {
		t := tensors.Type(v)
		if t == nil {
			continue
		}
		shaped++
		index, bound := comparison(v, arith.ULT)
		if index != nil && t.Shape[fast] == 1 && isSplat(bound) && t.NumElements() > size {
			best, size = i, t.NumElements()
		}
	}
	if shaped == 1 {
		return slices.IndexFunc(m.all, func(v *ir.Value) bool {
			index, bound := comparison(v, arith.ULT)
			return index != nil && takesScalars(bound)
		})
	}
	return best
}

// uniformValue is the scalar that all elements of v equal, of which isSplat holds.
func uniformValue(b *ir.Builder, v *ir.Value) *ir.Value {
	if n, ok := arith.ConstantInt(v); ok {
		return arith.Int(b, ir.ElemOf(v.Type()), n)
	}
	return tt.AsSplat(v.Def()).Src()
}

// and is the conjunction of two conditions, of which y may be of another shape; x
// may be nil.
func (m *maskBounder) and(x, y *ir.Value) *ir.Value {
	if x == nil {
		return y
	}
	if tensors.Type(x) != nil {
		shape := slices.Clone(tensors.Type(x).Shape)
		for d, n := range tensors.Type(y).Shape {
			shape[d] = max(shape[d], n)
		}
		x, y = m.spread(x, shape), m.spread(y, shape)
	}
	return arith.Binary(m.b, arith.AndI, x, y)
}

// spread is v, a scalar or of a smaller shape, at shape.
func (m *maskBounder) spread(v *ir.Value, shape []int64) *ir.Value {
	to := m.b.Context().Tensor(shape, ir.ElemOf(v.Type()), m.whole.Encoding)
	switch {
	case v.Type() == ir.Type(to):
		return v
	case tensors.Type(v) == nil:
		return tt.Unary(m.b, tt.Splat, v, to)
	}
	return tt.Unary(m.b, tt.Broadcast, v, to)
}
