package ttgir

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
)

// ReduceDataDuplication replaces a conversion to an operand of a dot, in which
// many threads hold the same element, by a buffer in shared memory that is
// filled once and read by each thread as the matrix instruction wants it.
// Conversions that need no shared memory stay.
//
//	%b = ttg.convert_layout %a : … #blocked> -> … #ttg.dot_op<…>>
//
// becomes
//
//	%m = ttg.local_alloc %a : (… #blocked>) -> !ttg.memdesc<… #shared, #smem>
//	%b = ttg.local_load %m : … -> … #ttg.dot_op<…>>
var ReduceDataDuplication = &pass.Pass{
	Name:    "tritongpu-reduce-data-duplication",
	Doc:     "convert operands of dots through shared memory in a layout that suits them",
	Example: reduceDataDuplicationExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, cvt := range converts(r.Module) {
			if throughShared(b, cvt) {
				r.Count("buffers", 1)
			}
		}
		return nil
	},
}

func throughShared(b *ir.Builder, cvt *ir.Operation) bool {
	src, dst := tensorOf(cvt.Operand(0)), tensorOf(cvt.Result(0))
	dot, ok := encoding.Get(dst).(*layout.DotOp)
	if !ok || staysInWarp(src, dst) {
		return false
	}
	e := sharedForDot(dot, src.Shape, memoryOrder(src), ir.BitWidth(src.Elem), false)
	b.SetBefore(cvt)
	b.Loc = cvt.Loc()
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{cvt.Operand(0)}, sharedType(b.Context(), src.Shape, src.Elem, e, false)).Result(0)
	cvt.ReplaceAllUsesWith(b.Op(ttg.LocalLoad, []*ir.Value{buffer}, dst).Result(0))
	cvt.Erase()
	return true
}

// staysInWarp reports whether a conversion between two types of one shape needs
// no shared memory: values stay in their threads or cross lanes in a few
// shuffles. Each bit of a lane's number that depends on the number of a register
// doubles the shuffles; from two on, shared memory is faster.
func staysInWarp(src, dst *ir.TensorType) bool {
	c := layout.Convert(linearOf(src), linearOf(dst))
	if c.Means == layout.Shuffles {
		return c.Source.Sub([]layout.Dim{layout.Lane}, []layout.Dim{layout.Register}).Rank() < 2
	}
	return c.Means < layout.Shuffles
}

// linearOf is the layout of a tensor type as a linear map.
func linearOf(t *ir.TensorType) layout.Layout {
	l, err := encoding.Get(t).Linear(t.Shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return l
}

// memoryOrder is the order of dimensions, fastest first, in which a tensor of
// type t is best laid out in memory: that of a blocked layout, else that of its
// registers, unless a thread has no neighbours side by side; then that of its
// lanes.
func memoryOrder(t *ir.TensorType) []int {
	if e, ok := encoding.Get(t).(*layout.Blocked); ok {
		return e.Order
	}
	l := linearOf(t)
	order, lanes := l.Order(), l.LaneOrder()
	if l.Contig(layout.TensorDim(order[0])) == 1 && l.Contig(layout.TensorDim(lanes[0])) == 1 {
		return lanes
	}
	return order
}

// sharedType is a buffer in shared memory.
func sharedType(c *ir.Context, shape []int64, elem ir.Type, e layout.Encoding, mutable bool) *ttg.MemDescType {
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: shape, Elem: elem, Encoding: encoding.Of(c, e), Space: ttg.SharedMemory(c), Mutable: mutable,
	})
}

// sharedForDot is the layout of a buffer, whose dimensions lie in memory in the
// given order, from which an operand of a dot is read without bank conflicts:
// rows are permuted so that the eight rows that a matrix instruction reads at
// once lie in different banks. needTrans says that the instruction cannot
// transpose elements of this width while it reads, so that the roles of the two
// directions are exchanged.
func sharedForDot(dot *layout.DotOp, shape []int64, order []int, bits int, needTrans bool) *layout.SwizzledShared {
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
