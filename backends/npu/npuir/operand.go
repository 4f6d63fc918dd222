package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// operand is what stands for a tensor, or in the region of a generic for an element: a
// scalar that all elements are, or a view of a buffer.
type operand struct {
	scalar *ir.Value
	view   *view
}

// view is a part of a buffer.
type view struct {
	base    *ir.Value // a memref.alloc
	offset  linalg.Slot
	shape   []int64
	strides []int64
	value   *ir.Value // of part and of whole buffers: a memref as it is
}

// rowMajor are the strides of a shape without gaps.
func rowMajor(shape []int64) []int64 {
	strides, n := make([]int64, len(shape)), int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i], n = n, n*shape[i]
	}
	return strides
}

// whole is the view of all of a buffer.
func (l *lowering) whole(base *ir.Value) *view {
	shape := linalg.MemRefOf(l.Context(), base.Type()).Shape
	return &view{base: base, shape: shape, strides: rowMajor(shape), value: base}
}

// memref makes the memref of a view, where the builder is.
func (l *lowering) memref(v *view) *ir.Value {
	if v.value != nil {
		return v.value
	}
	strides := make([]linalg.Slot, len(v.strides))
	for i, n := range v.strides {
		strides[i] = linalg.Num(n)
	}
	return reinterpret(l.Builder, v.base, v.offset, v.shape, strides)
}

// reinterpret makes a view of a buffer in its space.
func reinterpret(b *ir.Builder, base *ir.Value, offset linalg.Slot, shape []int64, strides []linalg.Slot) *ir.Value {
	made := linalg.NewReinterpretCast(b, base, offset, shape, strides)
	m := linalg.MemRefOf(b.Context(), made.Type())
	m.Space = linalg.MemRefOf(b.Context(), base.Type()).Space
	made.SetType(m.Type(b.Context()))
	return made
}

// alloc makes a buffer.
func (l *lowering) alloc(space Space, shape []int64, elem ir.Type) *view {
	m := &linalg.MemRef{Shape: shape, Elem: elem, Space: space.Attr()}
	return l.whole(l.Op(linalg.Alloc, nil, m.Type(l.Context())).OneResult())
}

// of is what stands for a tensor.
func (l *lowering) of(user *ir.Operation, v *ir.Value) operand {
	o, ok := l.values[v]
	if !ok {
		l.refuse(user, "a tensor of any content has no buffer")
	}
	return o
}

// buffer is a tensor in ub. One of a single value is filled where it is needed.
func (l *lowering) buffer(user *ir.Operation, v *ir.Value) *view {
	o := l.of(user, v)
	return l.filled(o, ir.ShapeOf(v.Type()))
}

// filled is an operand in ub.
func (l *lowering) filled(o operand, shape []int64) *view {
	if o.view != nil {
		return o.view
	}
	b := l.alloc(UB, shape, o.scalar.Type())
	l.fill(o.scalar, b)
	return b
}

func (l *lowering) fill(scalar *ir.Value, to *view) {
	l.Op(Fill, []*ir.Value{scalar, l.memref(to)})
}

// put writes an operand to a buffer.
func (l *lowering) put(o operand, to *view) {
	if o.view == nil {
		l.fill(o.scalar, to)
	} else {
		l.Op(DMA, []*ir.Value{l.memref(o.view), l.memref(to)})
	}
}

// fresh is a copy of an operand in a buffer that nothing else reads or writes.
func (l *lowering) fresh(o operand, shape []int64, elem ir.Type) *view {
	to := l.alloc(UB, shape, elem)
	l.put(o, to)
	return to
}

// elem is the type of a view's elements.
func (l *lowering) elem(v *view) ir.Type { return linalg.MemRefOf(l.Context(), v.base.Type()).Elem }

// reshaped is a view under another shape, a copy if strides do not allow it.
func (l *lowering) reshaped(v *view, shape []int64) *view {
	if slices.Equal(v.shape, shape) {
		return v
	}
	strides, ok := restride(v.shape, v.strides, shape)
	if !ok {
		v = l.fresh(operand{view: v}, v.shape, l.elem(v))
		strides = rowMajor(shape)
	}
	return &view{base: v.base, offset: v.offset, shape: shape, strides: strides}
}

// restride gives the strides that a shape has in memory where another shape has the
// given ones; ok is false where there are none.
func restride(from, strides, to []int64) (out []int64, ok bool) {
	// Dimensions of 1 have no strides to keep; those that follow one another without a gap
	// are one.
	var sizes, steps []int64
	for i, n := range from {
		if last := len(sizes) - 1; n == 1 {
			continue
		} else if last >= 0 && steps[last] == n*strides[i] {
			sizes[last], steps[last] = sizes[last]*n, strides[i]
		} else {
			sizes, steps = append(sizes, n), append(steps, strides[i])
		}
	}
	out = make([]int64, len(to))
	k := len(sizes) - 1
	left, step := int64(1), int64(1) // what is left of dimension k, and the next stride in it
	if k >= 0 {
		left, step = sizes[k], steps[k]
	}
	for i := len(to) - 1; i >= 0; i-- {
		for left == 1 && k > 0 {
			k--
			left, step = sizes[k], steps[k]
		}
		out[i] = step
		if left%to[i] != 0 {
			return nil, false
		}
		left, step = left/to[i], step*to[i]
	}
	return out, left == 1 && k <= 0
}

// part is the part of a view at offsets, of known sizes.
func (l *lowering) part(v *view, offsets []linalg.Slot, sizes []int64) *view {
	sum := v.offset
	for i, o := range offsets {
		switch {
		case o.Value == nil && sum.Value == nil:
			sum.N += o.N * v.strides[i]
		case o.Value == nil && o.N == 0:
		default:
			by := arith.Binary(l.Builder, arith.MulI, l.index(o), l.index(linalg.Num(v.strides[i])))
			sum = linalg.Slot{Value: arith.Binary(l.Builder, arith.AddI, l.index(sum), by)}
		}
	}
	return &view{base: v.base, offset: sum, shape: sizes, strides: v.strides}
}

// index is a number of type index.
func (l *lowering) index(s linalg.Slot) *ir.Value {
	if s.Value != nil {
		return s.Value
	}
	return arith.Int(l.Builder, l.Context().Index(), s.N)
}
