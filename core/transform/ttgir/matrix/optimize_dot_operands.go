package matrix

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
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
//
// Likewise, the buffer of an operand that the unit reads from shared memory is
// filled before the transposition instead of after it:
//
//	%t = tt.trans %x
//	%m = ttg.local_alloc %t
//
// becomes
//
//	%n = ttg.local_alloc %x
//	%m = ttg.memdesc_trans %n
func NewOptimizeDotOperands(unit dots.MatrixUnit) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-optimize-dot-operands",
		Doc:      "transpose operands of dots as they are read from shared memory",
		Example:  optimizeDotOperandsExample,
		ByTarget: true,
		Before:   []*pass.Fact{facts.Layouts},
		Run: func(r *pass.Run) error {
			b := ir.NewBuilder(r.Module.Context())
			for _, cvt := range tensors.Conversions(r.Module) {
				if transposeInShared(b, unit, ttg.AsConvertLayout(cvt)) {
					r.Count("transposed", 1)
				}
			}
			var allocs []*ir.Operation
			ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
				if op.Is(ttg.LocalAlloc) {
					allocs = append(allocs, op)
				}
				return ir.Advance
			})
			for _, op := range allocs {
				if transposeBuffer(b, unit, ttg.AsLocalAlloc(op)) {
					r.Count("transposed", 1)
				}
			}
			return nil
		},
	}
}

// transposedFrom is the matrix that v transposes; nil if it is not a tt.trans.
func transposedFrom(v *ir.Value) *ir.Value {
	if !v.DefIs(tt.Trans) {
		return nil
	}
	trans := tt.AsTrans(v.Def())
	if !slices.Equal(trans.Order(), []int64{1, 0}) {
		return nil
	}
	return trans.Src()
}

// transposeBuffer fills a buffer that dots of the unit alone read before the
// transposition of what it holds.
func transposeBuffer(b *ir.Builder, unit dots.MatrixUnit, alloc ttg.LocalAllocOp) bool {
	if alloc.Src() == nil || !alloc.Result().HasUses() {
		return false
	}
	for u := range alloc.Result().Users() {
		if _, ok := unit.Made(u); !ok {
			return false
		}
	}
	trans := dots.Unconverted(alloc.Src())
	x := transposedFrom(trans)
	if x == nil {
		return false
	}
	x = dots.Unconverted(x)
	t, c := *alloc.Result().Type().(*ttg.MemDescType), b.Context()
	e, err := layout.Trans(t.Encoding.(*encoding.Attr).Layout, t.Shape, []int{1, 0})
	if err != nil {
		return false
	}
	b.At(alloc.Op)
	src := tensors.Type(x)
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{x}, sharedmem.Type(c, src.Shape, src.Elem, e, t.Mutable)).OneResult()
	view := b.Create(ttg.MemDescTrans, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{alloc.Result().Type()},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: c.I32Array(1, 0)}},
	}).OneResult()
	from := alloc.Src().Def()
	alloc.Result().ReplaceAllUsesWith(view)
	alloc.Op.Erase()
	eraseUnused(from)
	return true
}

// eraseUnused erases op and what leads to it, as far as these only transpose and
// convert, and nothing uses them.
func eraseUnused(op *ir.Operation) {
	for op != nil && !op.HasUses() && (op.Is(tt.Trans) || op.Is(ttg.ConvertLayout)) {
		from := tt.AsUnary(op).Src().Def()
		op.Erase()
		op = from
	}
}

func transposeInShared(b *ir.Builder, unit dots.MatrixUnit, cvt ttg.ConvertLayoutOp) bool {
	t := tensors.Type(cvt.Result())
	operand, ok := encoding.Get(t).(*layout.DotOp)
	if !ok || !cvt.Result().HasOneUse() || !cvt.Result().OnlyUser().Is(tt.Dot) || !unit.Transposes(operand) {
		return false
	}
	x := transposedFrom(cvt.Src())
	if x == nil {
		return false
	}
	trans := cvt.Src().Def()
	// What the value is converted to in between is of no use to a buffer.
	x = dots.Unconverted(x)
	src := tensors.Type(x)
	if !tensors.InBoxes(src) || !slices.EqualFunc(tensors.CGA(src), tensors.CGA(t), reversed) {
		return false // CTAs of the cluster have other parts of the operand
	}
	c := b.Context()
	e := sharedmem.For(unit.Buffer(operand, dots.Buffer{Shape: src.Shape, Order: sharedmem.Order(src), Bits: ir.BitWidth(src.Elem), Transposed: true}), src)
	seen, err := layout.Trans(e, src.Shape, []int{1, 0})
	if err != nil {
		return false
	}
	b.At(trans)
	buffer := b.Op(ttg.LocalAlloc, []*ir.Value{x}, sharedmem.Type(c, src.Shape, src.Elem, e, false)).OneResult()
	view := b.Create(ttg.MemDescTrans, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{sharedmem.Type(c, t.Shape, t.Elem, seen, false)},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: c.I32Array(1, 0)}},
	}).OneResult()
	cvt.Result().ReplaceAllUsesWith(b.Op(ttg.LocalLoad, []*ir.Value{view}, t).OneResult())
	cvt.Op.Erase()
	eraseUnused(trans)
	return true
}

// reversed reports whether two vectors of a matrix are each other's transposed.
func reversed(a, b []int32) bool { return a[0] == b[1] && a[1] == b[0] }
