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
//
// and so is a buffer that a reshape fills, if its layout in the other shape still is
// one that the unit reads:
//
//	%n = ttg.local_alloc %x
//	%m = ttg.memdesc_reshape %n
//
// Each of more is called for each operation afterwards, and returns whether it
// changed anything: what else the target reads from shared memory.
func NewOptimizeDotOperands(unit dots.MatrixUnit, more ...func(*ir.Builder, *ir.Operation) bool) *pass.Pass {
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
			allocs := opsOf(r.Module, func(op *ir.Operation) bool { return op.Is(ttg.LocalAlloc) })
			for len(allocs) > 0 {
				op := allocs[len(allocs)-1]
				allocs = allocs[:len(allocs)-1]
				if first := viewBuffer(b, unit, ttg.AsLocalAlloc(op)); first != nil {
					r.Count("transposed", 1)
					allocs = append(allocs, first)
				}
			}
			for _, visit := range more {
				for _, op := range opsOf(r.Module, func(*ir.Operation) bool { return true }) {
					if visit(b, op) {
						r.Count("in shared memory", 1)
					}
				}
			}
			return nil
		},
	}
}

// opsOf collects the operations of m that a pass visits, the last first.
func opsOf(m *ir.Operation, visits func(*ir.Operation) bool) []*ir.Operation {
	var found []*ir.Operation
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if visits(op) {
			found = append(found, op)
		}
		return ir.Advance
	})
	return found
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

// viewBuffer fills a buffer before what leads to its contents transposes or reshapes
// them, and returns the operation that makes the buffer now, or nil.
func viewBuffer(b *ir.Builder, unit dots.MatrixUnit, alloc ttg.LocalAllocOp) *ir.Operation {
	if alloc.Src() == nil || !alloc.Result().HasUses() {
		return nil
	}
	from := dots.Unconverted(alloc.Src())
	b.At(alloc.Op)
	var view *ir.Operation
	switch {
	case transposedFrom(from) != nil && multiplied(unit, alloc.Result()):
		view = viewTransposed(b, alloc, transposedFrom(from))
	case from.DefIs(tt.Reshape):
		view = viewReshaped(b, alloc, tt.AsReshape(from.Def()))
	}
	if view == nil {
		return nil
	}
	unused := alloc.Src().Def()
	alloc.Result().ReplaceAllUsesWith(view.OneResult())
	alloc.Op.Erase()
	eraseUnused(unused)
	return ttg.Viewed(view).Def()
}

// multiplied reports whether dots of the unit alone read a buffer.
func multiplied(unit dots.MatrixUnit, buffer *ir.Value) bool {
	for u := range buffer.Users() {
		if _, ok := unit.Made(u); !ok {
			return false
		}
	}
	return true
}

// viewTransposed makes alloc's buffer of x, and a transposed view of it.
func viewTransposed(b *ir.Builder, alloc ttg.LocalAllocOp, x *ir.Value) *ir.Operation {
	t := alloc.Result().Type().(*ttg.MemDescType)
	e, err := layout.Trans(t.Encoding.(*encoding.Attr).Layout, t.Shape, []int{1, 0})
	if err != nil {
		return nil
	}
	return b.Create(ttg.MemDescTrans, ir.State{
		Operands: []*ir.Value{newBuffer(b, dots.Unconverted(x), e, t.Mutable)}, Types: []ir.Type{t},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: b.Context().I32Array(1, 0)}},
	})
}

// viewReshaped makes alloc's buffer of what reshaped reshapes, and a view of its shape.
// A layout that no longer has a name in the other shape is none that the unit reads.
func viewReshaped(b *ir.Builder, alloc ttg.LocalAllocOp, reshaped tt.ReshapeOp) *ir.Operation {
	t := alloc.Result().Type().(*ttg.MemDescType)
	if reshaped.AllowReorder() {
		return nil
	}
	e, err := layout.Reshape(t.Encoding.(*encoding.Attr).Layout, t.Shape, tensors.Type(reshaped.Src()).Shape)
	if err != nil {
		return nil
	}
	if _, ok := e.(*layout.SharedLinear); ok {
		return nil
	}
	return b.Create(ttg.MemDescReshape, ir.State{
		Operands: []*ir.Value{newBuffer(b, dots.Unconverted(reshaped.Src()), e, t.Mutable)}, Types: []ir.Type{t},
	})
}

// newBuffer is a buffer that holds x.
func newBuffer(b *ir.Builder, x *ir.Value, e layout.Encoding, mutable bool) *ir.Value {
	t := tensors.Type(x)
	return b.Op(ttg.LocalAlloc, []*ir.Value{x}, sharedmem.Type(b.Context(), t.Shape, t.Elem, e, mutable)).OneResult()
}

// eraseUnused erases op and what leads to it, as far as these only transpose,
// reshape and convert, and nothing uses them.
func eraseUnused(op *ir.Operation) {
	for op != nil && !op.HasUses() && (op.Is(tt.Trans) || op.Is(tt.Reshape) || op.Is(ttg.ConvertLayout)) {
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
