package wgmma

import (
	"fmt"

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
	contig := 1 - index
	if KeepsOrder(t.Elem) {
		contig = sharedmem.Order(t)[0]
	}
	return Shared(t, contig, tensors.CGA(t), false)
}

// Shared is how matrix instructions read an operand of type t from shared memory, in
// which dimension contig is contiguous and CTAs have the parts that cga says, with the
// widest swizzle that a row has bytes for. A padded one has two elements of 4 bits in a
// byte, and twice the bytes.
func Shared(t *ir.TensorType, contig int, cga layout.Bases, padded bool) *layout.NVMMAShared {
	bits := ir.BitWidth(t.Elem)
	e := &layout.NVMMAShared{Transposed: contig == 0, ElementBitWidth: bits, FP4Padded: padded, CGA: cga}
	part, err := layout.PartOf(e, t.Shape)
	if err != nil {
		panic("BUG: wgmma: " + err.Error())
	}
	row := int(part[contig]) * bits / 8
	if padded {
		row *= 2
	}
	if part[1-contig] >= 8 {
		for _, width := range []int{128, 64, 32} {
			if row >= width {
				e.SwizzlingByteWidth = width
				break
			}
		}
	}
	return e
}

// Reordered warns of operand number index, v, if its elements change their order on the way
// from registers to shared memory, where they have layout e: a copy cannot bring them
// there.
func Reordered(v *ir.Value, index int, e layout.Encoding) []string {
	l, ok := e.(*layout.NVMMAShared)
	have := sharedmem.Order(tensors.Type(dots.Unconverted(v)))
	if !ok || l.Transposed == (have[0] == 0) {
		return nil
	}
	want := []int{have[1], have[0]}
	return []string{fmt.Sprintf("Forcing a different order %v in shared memory than the order %v in registers for operand %d, which cannot be copied there asynchronously: transpose it in global memory", want, have, index)}
}

// KeepsOrder reports whether wgmma reads operands of such elements whichever of their
// dimensions is contiguous; else K must be.
func KeepsOrder(elem ir.Type) bool { return ir.BitWidth(elem) == 16 }
