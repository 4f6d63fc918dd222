package matrix

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeDotOperands is the pass for a target without a matrix unit: it changes
// nothing.
var OptimizeDotOperands = NewOptimizeDotOperands(dots.MultiplyAdd{})

// NewOptimizeDotOperands makes the pass that transposes operands of dots on their
// way out of shared memory, where the unit's threads can read them so: a
// transposition between a value and the dot that it is for becomes another view of
// the buffer through which the value goes.
//
//	%t = tt.trans %x
//	%o = ttg.convert_layout %t : … -> … #ttg.dot_op<…>>
//
// becomes
//
//	%m = ttg.local_alloc %x
//	%n = ttg.memdesc_trans %m
//	%o = ttg.local_load %n : … -> … #ttg.dot_op<…>>
func NewOptimizeDotOperands(unit dots.MatrixUnit) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-optimize-dot-operands",
		Doc:      "transpose operands of dots as they are read from shared memory",
		Example:  optimizeDotOperandsExample,
		ByTarget: true,
		Run: func(r *pass.Run) error {
			b := ir.NewBuilder(r.Module.Context())
			for _, cvt := range tensors.Conversions(r.Module) {
				if transposeInShared(b, unit, ttg.AsConvertLayout(cvt)) {
					r.Count("transposed", 1)
				}
			}
			return nil
		},
	}
}

func transposeInShared(b *ir.Builder, unit dots.MatrixUnit, cvt ttg.ConvertLayoutOp) bool {
	t := tensors.Type(cvt.Result())
	operand, ok := encoding.Get(t).(*layout.DotOp)
	if !ok || !cvt.Result().HasOneUse() || !cvt.Result().OnlyUser().Is(tt.Dot) || !unit.Transposes(operand) {
		return false
	}
	if !cvt.Src().DefIs(tt.Trans) {
		return false
	}
	trans := tt.AsTrans(cvt.Src().Def())
	if !slices.Equal(trans.Order(), []int64{1, 0}) {
		return false
	}
	x := trans.Src()
	if x.DefIs(ttg.ConvertLayout) {
		// What the value is converted to in between is of no use to a buffer.
		x = ttg.AsConvertLayout(x.Def()).Src()
	}
	src := tensors.Type(x)
	c := b.Context()
	e := unit.Buffer(operand, dots.Buffer{Shape: src.Shape, Order: sharedmem.Order(src), Bits: ir.BitWidth(src.Elem), Transposed: true})
	seen, err := layout.Trans(e, src.Shape, []int{1, 0})
	if err != nil {
		return false
	}
	b.At(trans.Op)
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{x}, sharedmem.Type(c, src.Shape, src.Elem, e, false)).Result(0)
	view := b.Create(ttg.MemDescTrans, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{sharedmem.Type(c, t.Shape, t.Elem, seen, false)},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: c.I32Array(1, 0)}},
	}).Result(0)
	cvt.Result().ReplaceAllUsesWith(b.Op(ttg.LocalLoad, []*ir.Value{view}, t).Result(0))
	cvt.Op.Erase()
	for op := trans.Op; op != nil && !op.HasUses() && (op.Is(tt.Trans) || op.Is(ttg.ConvertLayout)); {
		from := op.Operand(0).Def()
		op.Erase()
		op = from
	}
	return true
}
