package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Relayout gives the tensors of NVIDIA's own operations layouts that these take, in
// modules that convert-triton-to-tritongpu gave default layouts: what tensor memory is
// loaded to and stored from, and the rows of a gather or scatter by TMA, which all
// warps hold.
var Relayout = &pass.Pass{
	Name:    "relayout-tritongpu",
	Doc:     "give tensors that go to tensor memory, or say rows for TMA, layouts for that",
	Example: relayoutExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var ops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			ops = append(ops, op)
			return ir.Advance
		})
		for _, op := range ops {
			if relayout(b, op) {
				r.Count("conversions", 1)
			}
		}
		return nil
	},
}

func relayout(b *ir.Builder, op *ir.Operation) bool {
	b.SetBefore(op)
	b.Loc = unnamed(op)
	switch {
	case ttng.IsTmemLoad(op):
		l := ttng.AsTmemLoad(op)
		t := tensors.Type(l.Result())
		enc := forBuffer(op, t, l.Src())
		if enc == nil {
			return false
		}
		l.Result().SetType(tensors.WithEncoding(b.Context(), t, enc))
		b.SetAfter(op)
		cvt := ttg.NewConvertLayout(b, l.Result(), t.Encoding)
		l.Result().ReplaceUsesIf(cvt, func(u *ir.Use) bool { return u.Owner() != cvt.Def() })
		return true
	case ttng.IsTmemStore(op):
		s := ttng.AsTmemStore(op)
		enc := forBuffer(op, tensors.Type(s.Src()), s.Dst())
		if enc != nil {
			s.SetSrc(ttg.NewConvertLayout(b, s.Src(), enc))
		}
		return enc != nil
	case ttng.IsTmemAlloc(op):
		a := ttng.AsTmemAlloc(op)
		if a.Src() == nil {
			return false
		}
		enc := forBuffer(op, tensors.Type(a.Src()), a.Result())
		if enc != nil {
			a.SetSrc(ttg.NewConvertLayout(b, a.Src(), enc))
		}
		return enc != nil
	case ttng.Is(op, "async_tma_gather"):
		g := ttng.AsAsyncTmaGather(op)
		enc := forRows(op, tensors.Type(g.XOffsets()))
		if enc != nil {
			g.SetXOffsets(ttg.NewConvertLayout(b, g.XOffsets(), enc))
		}
		return enc != nil
	case ttng.Is(op, "async_tma_scatter"):
		s := ttng.AsAsyncTmaScatter(op)
		enc := forRows(op, tensors.Type(s.XOffsets()))
		if enc != nil {
			s.SetXOffsets(ttg.NewConvertLayout(b, s.XOffsets(), enc))
		}
		return enc != nil
	}
	return false
}

// forBuffer is the layout for a tensor of type t that op loads from buffer or stores to
// it; nil if t fits.
func forBuffer(op *ir.Operation, t *ir.TensorType, buffer *ir.Value) ir.Attribute {
	m := buffer.Type().(*ttg.MemDescType)
	if t.Encoding == nil || fits(t, m) {
		return nil
	}
	l, ok := defaultLayout(op.Context(), m, warpsOf(op), encoding.Get(t))
	if !ok || l == t.Encoding {
		return nil
	}
	return l
}

// forRows is the layout of the rows of a gather or scatter: each lane holds four
// neighbours, as one instruction takes them, and each warp its own.
func forRows(op *ir.Operation, t *ir.TensorType) ir.Attribute {
	old := encoding.Get(t)
	if old == nil || layout.CTAs(old) != 1 {
		return nil
	}
	l := encoding.Of(op.Context(), &layout.Slice{Dim: 0, Parent: &layout.Blocked{
		SizePerThread: []int{1, 4}, ThreadsPerWarp: []int{32, 1}, WarpsPerCTA: []int{1, warpsOf(op)}, Order: []int{1, 0},
	}})
	if ir.Attribute(l) == t.Encoding {
		return nil
	}
	return l
}
