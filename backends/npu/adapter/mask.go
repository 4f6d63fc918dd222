package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// limit is ceil(p / by).
type limit struct {
	p  poly
	by int64
}

// condition is about all elements: a scalar of type i1, or how a sum compares with 0.
type condition struct {
	value     *ir.Value
	p         poly
	predicate int64
}

// ranges is a mask that holds for a range of indices in each dimension: from the
// greatest of lo to the least of hi, which is excluded, if all conditions hold.
type ranges struct {
	lo, hi [][]limit
	when   []condition
}

// everywhere holds for all elements.
func everywhere(rank int) *ranges {
	return &ranges{lo: make([][]limit, rank), hi: make([][]limit, rank)}
}

// unlimited reports whether a dimension is whole.
func (m *ranges) unlimited(i int) bool { return len(m.lo[i]) == 0 && len(m.hi[i]) == 0 }

// whole reports whether the mask holds for all elements.
func (m *ranges) whole() bool {
	for i := range m.lo {
		if !m.unlimited(i) {
			return false
		}
	}
	return len(m.when) == 0
}

// rangesOf is what a mask says, which may be nil, on a tensor of that shape; nil for one
// that says something else.
func (a *analysis) rangesOf(mask *ir.Value, shape []int64) *ranges {
	if mask == nil {
		return everywhere(len(shape))
	}
	return a.ranges(mask)
}

// ranges is what a mask says; nil for one that says something else.
func (a *analysis) ranges(v *ir.Value) *ranges {
	op := v.Def()
	rank := len(ir.ShapeOf(v.Type()))
	if op == nil {
		return nil
	}
	switch op.Def() {
	case arith.Constant:
		n, ok := arith.ConstantInt(v)
		if !ok {
			return nil
		}
		m := everywhere(rank)
		if n == 0 {
			m.hi[0] = []limit{{number(0), 1}}
		}
		return m
	case tt.Splat:
		m := everywhere(rank)
		m.when = []condition{{value: op.OneOperand()}}
		return m
	case arith.AndI:
		first, second, _ := op.Pair()
		x, y := a.ranges(first), a.ranges(second)
		if x == nil || y == nil {
			return nil
		}
		m := everywhere(rank)
		for i := range rank {
			m.lo[i] = slices.Concat(x.lo[i], y.lo[i])
			m.hi[i] = slices.Concat(x.hi[i], y.hi[i])
		}
		m.when = slices.Concat(x.when, y.when)
		return m
	case tt.ExpandDims:
		axis := tt.AsExpandDims(op).Axis()
		if m := a.ranges(op.OneOperand()); m != nil {
			return &ranges{slices.Insert(slices.Clone(m.lo), int(axis), nil), slices.Insert(slices.Clone(m.hi), int(axis), nil), m.when}
		}
	case tt.Broadcast:
		from, to := ir.ShapeOf(op.OneOperand().Type()), ir.ShapeOf(v.Type())
		m := a.ranges(op.OneOperand())
		for i := range from {
			if m != nil && from[i] != to[i] && !m.unlimited(i) {
				return nil
			}
		}
		return m
	case tt.Trans:
		if m := a.ranges(op.OneOperand()); m != nil {
			out := everywhere(rank)
			out.when = m.when
			for i, from := range tt.AsTrans(op).Order() {
				out.lo[i], out.hi[i] = m.lo[from], m.hi[from]
			}
			return out
		}
	case arith.CmpI:
		return a.compared(op, rank)
	}
	return nil
}

// compared is the mask of a comparison in which one index counts, or none.
func (a *analysis) compared(op *ir.Operation, rank int) *ranges {
	v := arith.AsCmpI(op)
	x, y, predicate := a.of(v.Lhs()), a.of(v.Rhs()), v.Predicate()
	if x == nil || y == nil || predicate > arith.SGE || len(x.wraps)+len(y.wraps) > 0 {
		return nil
	}
	base := a.sub(x.base, y.base) // the comparison is that of base + slope*i with 0
	axis, slope := -1, int64(0)
	for i := range rank {
		d := a.sub(x.axes[i], y.axes[i])
		if len(d) == 0 {
			continue
		}
		n, ok := d.constant()
		if !ok || axis >= 0 {
			return nil
		}
		axis, slope = i, n
	}
	m := everywhere(rank)
	if axis < 0 {
		m.when = []condition{{p: base, predicate: predicate}}
		return m
	}
	switch predicate { // as < 0
	case arith.SLT:
	case arith.SLE:
		base = a.sub(base, number(1))
	case arith.SGT, arith.SGE:
		if base, slope = a.sub(nil, base), -slope; predicate == arith.SGE {
			base = a.sub(base, number(1))
		}
	default:
		return nil
	}
	if slope > 0 { // i < ceil(-base / slope)
		m.hi[axis] = []limit{{a.sub(nil, base), slope}}
	} else { // i > base / -slope, that is i >= ceil((base+1) / -slope)
		m.lo[axis] = []limit{{a.add(base, number(1)), -slope}}
	}
	return m
}
