package matrix

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeDotOperands lets matrix instructions that read their operands from
// registers transpose them on the way out of shared memory: a transposition
// between a value and the dot that it is for becomes another view of the buffer
// through which the value goes.
//
//	%t = tt.trans %x
//	%o = ttg.convert_layout %t : … -> … #ttg.dot_op<…>>
//
// becomes
//
//	%m = ttg.local_alloc %x
//	%n = ttg.memdesc_trans %m
//	%o = ttg.local_load %n : … -> … #ttg.dot_op<…>>
var OptimizeDotOperands = &pass.Pass{
	Name:    "tritongpu-optimize-dot-operands",
	Doc:     "transpose operands of dots as they are read from shared memory",
	Example: optimizeDotOperandsExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, cvt := range tensors.Conversions(r.Module) {
			if transposeInShared(b, cvt) {
				r.Count("transposed", 1)
			}
		}
		return nil
	},
}

func transposeInShared(b *ir.Builder, cvt *ir.Operation) bool {
	t := tensors.Type(cvt.Result(0))
	dot, ok := encoding.Get(t).(*layout.DotOp)
	if !ok || !cvt.Result(0).HasOneUse() || !cvt.Result(0).OnlyUser().Is(tt.Dot) {
		return false
	}
	if mma, ok := dot.Parent.(*layout.NvidiaMMA); !ok || mma.VersionMajor != 2 {
		return false
	}
	trans := cvt.Operand(0).Def()
	if trans == nil || !trans.Is(tt.Trans) {
		return false
	}
	if perm := tensors.Permutation(trans); len(perm) != 2 || perm[0] != 1 {
		return false
	}
	x := trans.Operand(0)
	src := tensors.Type(x)
	if d := x.Def(); d != nil && d.Is(ttg.ConvertLayout) {
		// What the value is converted to in between is of no use to a buffer.
		x = d.Operand(0)
		src = tensors.Type(x)
	}
	c := b.Context()
	e := sharedmem.ForDot(dot, src.Shape, sharedmem.Order(src), ir.BitWidth(src.Elem), true)
	seen, err := layout.Trans(e, src.Shape, []int{1, 0})
	if err != nil {
		return false
	}
	b.At(trans)
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{x}, sharedmem.Type(c, src.Shape, src.Elem, e, false)).Result(0)
	view := b.Create(ttg.MemDescTrans, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{sharedmem.Type(c, t.Shape, t.Elem, seen, false)},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: c.I32Array(1, 0)}},
	}).Result(0)
	cvt.ReplaceAllUsesWith(b.Op(ttg.LocalLoad, []*ir.Value{view}, t).Result(0))
	cvt.Erase()
	for op := trans; op != nil && !op.HasUses() && (op.Is(tt.Trans) || op.Is(ttg.ConvertLayout)); {
		from := op.Operand(0).Def()
		op.Erase()
		op = from
	}
	return true
}
