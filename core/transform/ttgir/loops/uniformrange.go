package loops

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// uniformRange is what the elements of a tensor of integers are: the sum of the
// scalars in plus, less those in minus, and a number from low to high, each as
// integers of the tensor's type, which wrap around.
type uniformRange struct {
	plus, minus []*ir.Value
	low, high   int64
}

// uniformRangeOf takes v apart; ok is false where its elements are not such a sum, or
// the numbers are so great that differences of two may wrap around.
func uniformRangeOf(v *ir.Value) (u uniformRange, ok bool) {
	width := ir.BitWidth(ir.ElemOf(v.Type()))
	if u, ok = sumOf(v); !ok || width < 8 {
		return u, false
	}
	most := int64(1) << (width - 2)
	return u, -most < u.low && u.high < most
}

func sumOf(v *ir.Value) (u uniformRange, ok bool) {
	if n, ok := arith.ConstantInt(v); ok {
		return uniformRange{low: n, high: n}, true
	}
	def := v.Def()
	if def == nil {
		return u, false
	}
	switch def.Def() {
	case tt.Splat:
		return uniformRange{plus: []*ir.Value{tt.AsSplat(def).Src()}}, true
	case tt.MakeRange:
		r := tt.AsMakeRange(def)
		return uniformRange{low: r.Start(), high: r.End() - 1}, true
	case tt.ExpandDims, tt.Broadcast, ttg.ConvertLayout:
		return sumOf(tt.AsUnary(def).Src())
	case arith.AddI, arith.SubI:
		sum := arith.AsBinary(def)
		x, okX := uniformRangeOf(sum.Lhs())
		y, okY := uniformRangeOf(sum.Rhs())
		if def.Is(arith.SubI) {
			y = uniformRange{y.minus, y.plus, -y.high, -y.low}
		}
		u = uniformRange{append(x.plus, y.plus...), append(x.minus, y.minus...), x.low + y.low, x.high + y.high}
		return u, okX && okY
	}
	return u, false
}

// uniformTests collects scalar conditions that together say that a mask is true
// everywhere. Each operation is made before the operation at, or before a loop
// around it in which its operands do not change.
type uniformTests struct {
	b   *ir.Builder
	at  *ir.Operation
	all []*ir.Value
}

// addMask adds the conditions of mask, and reports whether there are any: whether
// mask consists of comparisons of what uniformRangeOf takes. Nothing is added
// where it does not.
func (t *uniformTests) addMask(mask *ir.Value) bool {
	comparisons, scalars, ok := conjunction(mask, nil, nil)
	if !ok {
		return false
	}
	for _, c := range comparisons {
		t.addComparison(c)
	}
	t.all = append(t.all, scalars...)
	return true
}

// notLess is x >= y, or x > y where strict, for all elements.
type notLess struct {
	elem   ir.Type
	x, y   uniformRange
	strict bool
}

// conjunction takes mask apart into comparisons and scalars, which it appends.
func conjunction(mask *ir.Value, comparisons []notLess, scalars []*ir.Value) ([]notLess, []*ir.Value, bool) {
	def := mask.Def()
	if def == nil {
		return nil, nil, false
	}
	ok := false
	switch def.Def() {
	case arith.AndI:
		if comparisons, scalars, ok = conjunction(arith.AsAndI(def).Lhs(), comparisons, scalars); ok {
			comparisons, scalars, ok = conjunction(arith.AsAndI(def).Rhs(), comparisons, scalars)
		}
		return comparisons, scalars, ok
	case tt.ExpandDims, tt.Broadcast, ttg.ConvertLayout:
		return conjunction(tt.AsUnary(def).Src(), comparisons, scalars)
	case tt.Splat:
		return comparisons, append(scalars, tt.AsSplat(def).Src()), true
	case arith.CmpI:
		cmp := arith.AsCmpI(def)
		x, okX := uniformRangeOf(cmp.Lhs())
		y, okY := uniformRangeOf(cmp.Rhs())
		p := cmp.Predicate()
		switch p {
		case arith.SGE, arith.SGT:
		case arith.SLE, arith.SLT:
			x, y = y, x
		default:
			return nil, nil, false
		}
		c := notLess{ir.ElemOf(cmp.Lhs().Type()), x, y, p == arith.SGT || p == arith.SLT}
		return append(comparisons, c), scalars, okX && okY
	}
	return nil, nil, false
}

// addComparison tests X + d >= Y, where X and Y are the sums of scalars and
// d = x.low - y.high. That suffices as long as nothing wraps around: no element of
// x does, nor X + d; then none of y does at the upper end, since Y + y.high is at
// most X + x.low.
func (t *uniformTests) addComparison(c notLess) {
	x, y := t.sum(c.elem, c.x), t.sum(c.elem, c.y)
	d := c.x.low - c.y.high
	t.addNoWrap(x, min(c.x.low, d), max(c.x.high, d))
	t.addNoWrap(y, c.y.low, 0)
	p := arith.SGE
	if c.strict {
		p = arith.SGT
	}
	t.compare(arith.CmpI, p, t.op(arith.AddI, x, t.int(c.elem, d)), y)
}

// addNoWrap tests that neither s + low nor s + high wraps around.
func (t *uniformTests) addNoWrap(s *ir.Value, low, high int64) {
	greatest := int64(1)<<(ir.BitWidth(s.Type())-1) - 1
	if low < 0 {
		t.compare(arith.CmpI, arith.SGE, s, t.int(s.Type(), -greatest-1-low))
	}
	if high > 0 {
		t.compare(arith.CmpI, arith.SLE, s, t.int(s.Type(), greatest-high))
	}
}

// sum is the scalar part of u.
func (t *uniformTests) sum(elem ir.Type, u uniformRange) *ir.Value {
	var s *ir.Value
	for _, v := range u.plus {
		if s == nil {
			s = v
		} else {
			s = t.op(arith.AddI, s, v)
		}
	}
	if s == nil {
		s = t.int(elem, 0)
	}
	for _, v := range u.minus {
		s = t.op(arith.SubI, s, v)
	}
	return s
}

// compare adds the comparison of scalars x and y.
func (t *uniformTests) compare(def *ir.OpDef, pred int64, x, y *ir.Value) {
	t.place(x, y)
	t.all = append(t.all, arith.Compare(t.b, def, pred, x, y))
}

// joined is the conjunction of the conditions; nil if there are none.
func (t *uniformTests) joined() *ir.Value {
	var all *ir.Value
	// What does not change in the loop comes together outside of it.
	for _, changes := range []bool{false, true} {
		for _, c := range t.all {
			switch {
			case t.changes(c) != changes:
			case all == nil:
				all = c
			default:
				all = t.op(arith.AndI, all, c)
			}
		}
	}
	return all
}

// changes reports whether v may change in the loop that holds at.
func (t *uniformTests) changes(v *ir.Value) bool {
	loop := t.at.Parent()
	return loop != nil && loop.Is(scf.For) && forloop.DefinedInside(v, loop)
}

func (t *uniformTests) op(def *ir.OpDef, x, y *ir.Value) *ir.Value {
	t.place(x, y)
	return arith.Binary(t.b, def, x, y)
}

func (t *uniformTests) float(elem ir.Type, v float64) *ir.Value {
	t.place()
	return arith.Float(t.b, elem, v)
}

func (t *uniformTests) int(elem ir.Type, v int64) *ir.Value {
	t.place()
	return arith.Int(t.b, elem, v)
}

// place puts the builder where what depends on operands alone is made.
func (t *uniformTests) place(operands ...*ir.Value) {
	at := t.at
	for loop := at.Parent(); loop != nil && loop.Is(scf.For); loop = at.Parent() {
		for _, v := range operands {
			if forloop.DefinedInside(v, loop) {
				t.b.SetBefore(at)
				return
			}
		}
		at = loop
	}
	t.b.SetBefore(at)
}
