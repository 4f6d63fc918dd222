package axisinfo

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// ElemBytes is the size of what a value holds for each element, or points to;
// at least 1.
func ElemBytes(t ir.Type) int64 {
	e := ir.ElemOf(t)
	if p := tt.PointeeOf(t); p != nil {
		e = ir.ElemOf(p)
	}
	if _, ok := e.(*tt.PtrType); ok {
		return 8
	}
	return max(1, int64(ir.BitWidth(e))/8)
}

// Aligned is the number of neighbours along dimension d of v that can be
// accessed as one: the length of runs whose start is a multiple of it. v is an
// integer or pointer.
func (r *Result) Aligned(v *ir.Value, d int) int64 {
	a := r.Of(v).Axes[d]
	div := a.Divisibility
	if tt.PointeeOf(v.Type()) != nil {
		div = max(1, div/ElemBytes(v.Type()))
	}
	return min(div, a.Contiguity)
}

// Vector is the number of elements that each thread can access at once through
// the pointers ptr: what is aligned along the fastest dimension of its layout,
// as far as one thread holds it. It is 1 for a scalar and for a tensor without
// encoding. The width of the machine's accesses and the mask limit it further.
func (r *Result) Vector(ptr *ir.Value) int64 {
	t, l, ok := layoutOf(ptr)
	if !ok {
		return 1
	}
	d := l.Order()[0]
	return min(r.Aligned(ptr, d), int64(l.Contig(layout.TensorDim(d))), t.Shape[d])
}

// MaskRun is the number of neighbours along the fastest dimension of the layout
// of mask that are surely alike.
func (r *Result) MaskRun(mask *ir.Value) int64 {
	_, l, ok := layoutOf(mask)
	if !ok {
		return 1
	}
	return r.Of(mask).Axes[l.Order()[0]].Constancy
}

func layoutOf(v *ir.Value) (*ir.TensorType, layout.Layout, bool) {
	t, ok := v.Type().(*ir.TensorType)
	if !ok {
		return nil, layout.Layout{}, false
	}
	e := encoding.AttrOf(t)
	if e == nil {
		return nil, layout.Layout{}, false
	}
	l, err := e.Linear(t.Shape)
	if err != nil {
		return nil, layout.Layout{}, false
	}
	return t, l, true
}
