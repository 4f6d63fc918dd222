package pipeline

import (
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// CoalesceAsyncCopy narrows the layout of an asynchronous copy in which a thread
// holds more neighbouring elements than lie side by side in the buffer: the
// remainder of its piece could not be written by one instruction. The pointers, the
// mask and the other value are converted to a layout with no more elements side
// by side in a thread than in the buffer.
var CoalesceAsyncCopy = &pass.Pass{
	Name:    "tritongpu-coalesce-async-copy",
	Doc:     "narrow asynchronous copies to what is contiguous in their buffer",
	Example: coalesceAsyncCopyExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		m := machine.Of(r.Module)
		b := ir.NewBuilder(r.Module.Context())
		var copies []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(ttg.AsyncCopy) {
				copies = append(copies, op)
			}
			return ir.Advance
		})
		for _, op := range copies {
			if narrowCopy(b, m.At(op), op) {
				r.Count("narrowed", 1)
			}
		}
		return nil
	},
}

func narrowCopy(b *ir.Builder, m machine.Machine, op *ir.Operation) bool {
	src := tensors.Type(ttg.AsAsyncCopy(op).Src())
	if src == nil {
		return false
	}
	e, ok := encoding.Get(src).(*layout.Blocked)
	dst, ok2 := ttg.AsAsyncCopy(op).Result().Type().(*ttg.MemDescType)
	if !ok || !ok2 {
		return false
	}
	shared, ok := dst.Encoding.(*encoding.Attr)
	if !ok {
		return false
	}
	n := int(copyBytes(b.Context().Tensor(dst.Shape, dst.Elem, src.Encoding), shared) / axisinfo.ElemBytes(dst.Elem))
	fast := e.Order[0]
	if n < 1 || n >= e.SizePerThread[fast] {
		return false
	}
	sizes := make([]int, len(e.Order))
	for d := range sizes {
		sizes[d] = e.SizePerThread[d]
	}
	sizes[fast] = n
	narrow := layout.BlockedFor(tensors.PerCTA(src), sizes, e.Order, m.Warps, m.Lanes, 1)
	narrow.CGA = e.CGA
	enc := encoding.Of(b.Context(), narrow)
	b.At(op)
	if v := ttg.AsAsyncCopy(op); v.Contiguity() > int64(n) {
		v.SetContiguity(int64(n))
	}
	for i, v := range op.Operands() {
		if t := tensors.Type(v); t != nil {
			op.SetOperand(i, ttg.NewConvertLayout(b, v, enc))
		}
	}
	return true
}
