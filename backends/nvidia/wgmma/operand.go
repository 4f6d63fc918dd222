package wgmma

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// operandA is where wgmma reads A: from shared memory what was loaded, since a copy
// can bring it there, and from registers what was computed.
func operandA(d dots.Dot, result *layout.NvidiaMMA) layout.Encoding {
	if source := Source(d.A()); source == nil || isLoad(source) {
		return inShared(d.A(), 0)
	}
	a, _, _ := d.Elems()
	return &layout.DotOp{OpIdx: 0, Parent: result, KWidth: 32 / ir.BitWidth(a)}
}

// Source is the operation that v comes from, but for conversions and transpositions;
// nil for an argument of a block.
func Source(v *ir.Value) *ir.Operation {
	for {
		op := v.Def()
		switch {
		case op == nil:
			return nil
		case op.Is(ttg.ConvertLayout):
			v = ttg.AsConvertLayout(op).Src()
		case op.Is(tt.Trans):
			v = tt.AsTrans(op).Src()
		case sharedmem.IsView(op):
			v = ttg.Viewed(op)
		default:
			return op
		}
	}
}

// isLoad reports whether op loads from global memory.
func isLoad(op *ir.Operation) bool {
	return op.Is(tt.Load) || op.Is(tt.DescriptorLoad) || op.Is(tt.DescriptorGather)
}

// inShared is how operand number index of a dot lies in shared memory: in the order in which
// threads hold it, unless K must be contiguous, as for all but 16-bit elements.
func inShared(v *ir.Value, index int) *layout.NVMMAShared {
	t := tensors.Type(dots.Unconverted(v))
	bits := ir.BitWidth(t.Elem)
	order := sharedmem.Order(t)
	if !KeepsOrder(t.Elem) {
		order = []int{1 - index, index}
	}
	e := &layout.NVMMAShared{Transposed: order[0] == 0, ElementBitWidth: bits, CGA: tensors.CGA(t)}
	part := tensors.PerCTA(t)
	row := int(part[order[0]]) * bits / 8
	if part[order[1]] >= 8 {
		for _, width := range []int{128, 64, 32} {
			if row >= width {
				e.SwizzlingByteWidth = width
				break
			}
		}
	}
	return e
}

// KeepsOrder reports whether wgmma reads operands of such elements whichever of their
// dimensions is contiguous; else K must be.
func KeepsOrder(elem ir.Type) bool { return ir.BitWidth(elem) == 16 }
