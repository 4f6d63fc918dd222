package matrix

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// ReduceDataDuplication is the pass for a target without a matrix unit: operands
// of dots go through plain buffers.
var ReduceDataDuplication = NewReduceDataDuplication(dots.MultiplyAdd{})

// NewReduceDataDuplication makes the pass that replaces a conversion to an operand
// of a dot, in which many threads hold the same element, by a buffer in shared
// memory that is filled once and read by each thread as the unit wants it.
// Conversions that need no shared memory stay.
//
//	%b = ttg.convert_layout %a : … #blocked> -> … #ttg.dot_op<…>>
//
// becomes
//
//	%m = ttg.local_alloc %a : (… #blocked>) -> !ttg.memdesc<… #shared, #smem>
//	%b = ttg.local_load %m : … -> … #ttg.dot_op<…>>
func NewReduceDataDuplication(unit dots.MatrixUnit) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-reduce-data-duplication",
		Doc:      "convert operands of dots through shared memory in a layout that suits them",
		Example:  reduceDataDuplicationExample,
		ByTarget: true,
		Before:   []*pass.Fact{facts.Layouts},
		Run: func(r *pass.Run) error {
			b := ir.NewBuilder(r.Module.Context())
			for _, cvt := range tensors.Conversions(r.Module) {
				if throughShared(b, unit, ttg.AsConvertLayout(cvt)) {
					r.Count("buffers", 1)
				}
			}
			return nil
		},
	}
}

func throughShared(b *ir.Builder, unit dots.MatrixUnit, cvt ttg.ConvertLayoutOp) bool {
	src, dst := tensors.Type(cvt.Src()), tensors.Type(cvt.Result())
	operand, ok := encoding.Get(dst).(*layout.DotOp)
	if !ok || staysInWarp(src, dst) || !tensors.SameParts(src, dst) {
		return false
	}
	e := sharedmem.For(unit.Buffer(operand, dots.Buffer{Shape: src.Shape, Order: sharedmem.Order(src), Bits: ir.BitWidth(src.Elem)}), src)
	b.At(cvt.Op)
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{cvt.Src()}, sharedmem.Type(b.Context(), src.Shape, src.Elem, e, false)).OneResult()
	cvt.Result().ReplaceAllUsesWith(b.Op(ttg.LocalLoad, []*ir.Value{buffer}, dst).OneResult())
	cvt.Op.Erase()
	return true
}

// staysInWarp reports whether a conversion between two types of one shape needs
// no shared memory: values stay in their threads or cross lanes in a few
// shuffles. Each bit of a lane's number that depends on the number of a register
// doubles the shuffles; from two on, shared memory is faster. It also is where all
// warps hold the same elements and each needs others of them.
func staysInWarp(src, dst *ir.TensorType) bool {
	c := layout.Convert(tensors.Linear(src), tensors.Linear(dst))
	if c.Means == layout.Shuffles {
		return c.Source.Sub([]layout.Dim{layout.Lane}, []layout.Dim{layout.Register}).Rank() < 2 &&
			c.Source.Sub([]layout.Dim{layout.Warp}, []layout.Dim{layout.Lane}).Rank() == 0
	}
	return c.Means < layout.Shuffles
}
