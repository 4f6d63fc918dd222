package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// PromoteLHSToTMem puts the first operand of a matrix multiplication into tensor memory
// instead of shared memory, where registers hold it:
//
//	%s = ttg.local_alloc %a
//	ttng.tc_gen5_mma %s, %b, %d
//
// becomes
//
//	%t = ttng.tmem_alloc %a
//	ttng.tc_gen5_mma %t, %b, %d
//
// A tensor that comes from memory, and whose layout tensor memory does not take, stays:
// it can go to shared memory without passing through registers.
var PromoteLHSToTMem = &pass.Pass{
	Name:    "tritongpu-promote-lhs-to-tmem",
	Doc:     "keep first operands of matrix multiplications in tensor memory",
	Example: promoteLHSExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var dots []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if ttng.AsMMA(op) != nil {
				dots = append(dots, op)
			}
			return ir.Advance
		})
		for _, d := range dots {
			if promoteLHS(b, d) {
				r.Count("operands", 1)
			}
		}
		return nil
	},
}

func promoteLHS(b *ir.Builder, dot *ir.Operation) bool {
	m := ttng.AsMMA(dot)
	alloc := m.A().Def()
	// The buffer lives in one block.
	if alloc == nil || !alloc.Is(ttg.LocalAlloc) || alloc.Block() != dot.Block() {
		return false
	}
	src := ttg.AsLocalAlloc(alloc).Src()
	shared := m.A().Type().(*ttg.MemDescType)
	acc, ok := ttng.MatrixOf(m.D().Type().(*ttg.MemDescType))
	if src == nil || !ok || len(shared.Shape) != 2 || written(m.A()) {
		return false
	}
	t := src.Type().(*ir.TensorType)
	if w := ir.BitWidth(t.Elem); w != 16 && w != 32 {
		return false
	}
	c := b.Context()
	split := splitOf(shared)
	buffer := ttg.MemDesc(c, ttg.MemDescType{
		Shape: shared.Shape, Elem: shared.Elem, Space: ttng.TensorMemory(c),
		Encoding: ttng.Matrix{
			BlockM: acc.BlockM, BlockN: shared.Shape[1], ColStride: 1,
			CTASplitM: split[0], CTASplitN: split[1], TwoCTAs: acc.TwoCTAs,
		}.Attr(c),
	})
	b.SetAfter(alloc)
	b.Loc = unnamed(dot)
	if !fits(t, buffer) {
		if fromMemory(src) {
			return false
		}
		l, ok := defaultLayout(c, buffer, warpsOf(dot), encoding.Get(t))
		if !ok {
			return false
		}
		src = ttg.NewConvertLayout(b, src, l)
	}
	m.SetA(ttng.NewTmemAlloc(b, buffer, src, false).Result())
	if !alloc.HasUses() {
		alloc.Erase()
	}
	return true
}

// written reports whether something besides its allocation may write a buffer.
func written(buffer *ir.Value) bool {
	if !buffer.Type().(*ttg.MemDescType).Mutable {
		return false
	}
	for u := range buffer.Users() {
		if ttng.AsMMA(u) == nil && !u.Is(ttg.LocalLoad) && !u.Is(ttg.LocalDealloc) {
			return true
		}
	}
	return false
}

// fromMemory reports whether v is loaded, apart from its layout, or passed in.
func fromMemory(v *ir.Value) bool {
	for v.DefIs(ttg.ConvertLayout) {
		v = ttg.AsConvertLayout(v.Def()).Src()
	}
	return v.IsArgument() || v.DefIs(tt.Load) || v.DefIs(tt.DescriptorLoad) || v.DefIs(tt.DescriptorGather)
}
