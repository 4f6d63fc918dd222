package sharedmem

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
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

// Type is a buffer in shared memory.
func Type(c *ir.Context, shape []int64, elem ir.Type, e layout.Encoding, mutable bool) *ttg.MemDescType {
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: shape, Elem: elem, Encoding: encoding.Of(c, e), Space: ttg.SharedMemory(c), Mutable: mutable,
	})
}

// ForDot is the layout of a buffer, whose dimensions lie in memory in the
// given order, from which an operand of a dot is read without bank conflicts:
// rows are permuted so that the eight rows that a matrix instruction reads at
// once lie in different banks. needTrans says that the instruction cannot
// transpose elements of this width while it reads, so that the roles of the two
// directions are exchanged.
func ForDot(dot *layout.DotOp, shape []int64, order []int, bits int, needTrans bool) *layout.SwizzledShared {
	e := &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: order}
	if _, ok := dot.Parent.(*layout.NvidiaMMA); !ok {
		return e
	}
	// A row of shared memory is lineBits wide: what all banks serve at once.
	const lineBits, matrixRows = 1024, 8
	rank := len(shape)
	k := rank - 1 - dot.OpIdx
	e.PerPhase = max(lineBits/(bits*int(shape[order[0]])), 1)
	stride := matrixRows
	e.Vec = 4 * dot.KWidth
	if needTrans {
		e.Vec, stride = stride, e.Vec
	}
	if order[0] != k {
		e.Vec, stride = stride, e.Vec
	}
	e.MaxPhase = max(max(min(stride, lineBits/(e.Vec*bits)), 1)/e.PerPhase, 1)
	return e
}

// IsView reports whether op is another view of a buffer.
func IsView(op *ir.Operation) bool {
	switch op.Def() {
	case ttg.MemDescIndex, ttg.MemDescSubslice, ttg.MemDescTrans, ttg.MemDescReshape, ttg.MemDescReinterpret:
		return true
	}
	return false
}

// IsMutable reports whether what a buffer holds may change after it was made.
func IsMutable(buffer *ir.Value) bool { return buffer.Type().(*ttg.MemDescType).Mutable }
