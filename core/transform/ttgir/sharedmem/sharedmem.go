package sharedmem

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Order is the order of dimensions, fastest first, in which a tensor of
// type t is best laid out in memory: that of a blocked layout, else that of its
// registers, unless a thread has no neighbours side by side; then that of its
// lanes.
func Order(t *ir.TensorType) []int {
	if e, ok := encoding.Get(t).(*layout.Blocked); ok {
		return e.Order
	}
	l := tensors.Linear(t)
	order, lanes := l.Order(), l.LaneOrder()
	if l.Contig(layout.TensorDim(order[0])) == 1 && l.Contig(layout.TensorDim(lanes[0])) == 1 {
		return lanes
	}
	return order
}

// For is e divided among the CTAs of a cluster as a tensor of type t is, from which a
// buffer is filled.
func For(e layout.Shared, t *ir.TensorType) layout.Shared {
	if cga := tensors.CGA(t); cga != nil {
		return layout.Divided(e, cga)
	}
	return e
}

// Type is a buffer in shared memory.
func Type(c *ir.Context, shape []int64, elem ir.Type, e layout.Encoding, mutable bool) *ttg.MemDescType {
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: shape, Elem: elem, Encoding: encoding.Of(c, e), Space: ttg.SharedMemory(c), Mutable: mutable,
	})
}

// Reshaped makes a view of a buffer in another shape; nil if no layout describes it.
func Reshaped(b *ir.Builder, buffer *ir.Value, shape []int64) *ir.Value {
	t := buffer.Type().(*ttg.MemDescType)
	e, err := layout.Reshape(t.Encoding.(*encoding.Attr).Layout, t.Shape, shape)
	if err != nil {
		return nil
	}
	return b.Op(ttg.MemDescReshape, []*ir.Value{buffer}, Type(b.Context(), shape, t.Elem, e, t.Mutable)).OneResult()
}

// Transposed makes a view of a buffer whose dimension i is the buffer's order[i]; nil if
// no layout describes it.
func Transposed(b *ir.Builder, buffer *ir.Value, order []int) *ir.Value {
	t := buffer.Type().(*ttg.MemDescType)
	e, err := layout.Trans(t.Encoding.(*encoding.Attr).Layout, t.Shape, order)
	if err != nil {
		return nil
	}
	shape, list := make([]int64, len(order)), make([]int64, len(order))
	for i, d := range order {
		shape[i], list[i] = t.Shape[d], int64(d)
	}
	return b.Create(ttg.MemDescTrans, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{Type(b.Context(), shape, t.Elem, e, t.Mutable)},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: b.Context().I32Array(list...)}},
	}).OneResult()
}

// IsView reports whether op is another view of a buffer.
func IsView(op *ir.Operation) bool { return ttg.Viewed(op) != nil }

// IsMutable reports whether what a buffer holds may change after it was made: that of a
// view may if that of the whole does, and that of a carried view if the first's does.
func IsMutable(buffer *ir.Value) bool {
	for {
		if buffer.Type().(*ttg.MemDescType).Mutable {
			return true
		}
		if def := buffer.Def(); def != nil {
			whole := ttg.Viewed(def)
			if whole == nil {
				return false
			}
			buffer = whole
			continue
		}
		loop := buffer.Block().Parent()
		if loop == nil || !loop.Is(scf.For) || buffer.Index() == 0 {
			return false
		}
		buffer = scf.AsFor(loop).InitArgs()[buffer.Index()-1]
	}
}
