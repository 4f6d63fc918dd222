package tmem

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Scales of a dot come in chunks of chunkRows x 16 bytes, each for 128 rows and four
// groups of elements along K, which one copy from shared to tensor memory takes whole.
const (
	chunkRows  = 32
	chunkBytes = chunkRows * 16
)

// KeepScalesShared has a scaled dot take scales from the shared memory in which they
// are, where they are in chunks there and stay unchanged until the dot: as
//
//	%t = ttg.local_load %s
//	%u = tt.reshape %t       // rows/128 x groups/4 x 32 x 4 x 4
//	%v = tt.trans %u {order = array<i32: 0, 3, 2, 1, 4>}
//	%w = tt.reshape %v       // rows x groups
//	%m = ttng.tmem_alloc %w
//	ttng.tc_gen5_mma_scaled …, %m, …
//
// puts them in the order of the matrix, views of %s do, of which MMALowering copies
// the chunks. It is for use with matrix.NewOptimizeDotOperands.
func KeepScalesShared(b *ir.Builder, op *ir.Operation) bool {
	if !ttng.Is(op, "tc_gen5_mma_scaled") {
		return false
	}
	d := ttng.AsTcGen5MmaScaled(op)
	a := keepShared(b, d.AScale(), d.SetAScale)
	return keepShared(b, d.BScale(), d.SetBScale) || a
}

func keepShared(b *ir.Builder, scales *ir.Value, set func(*ir.Value)) bool {
	if !ttng.IsTmemAlloc(scales.Def()) || !scales.HasOneUse() {
		return false
	}
	alloc := ttng.AsTmemAlloc(scales.Def())
	t := scales.Type().(*ttg.MemDescType)
	if _, ok := ttng.ScalesOf(t); !ok || alloc.Src() == nil || len(t.Shape) != 2 {
		return false
	}
	load, ok := chunksOf(alloc.Src(), t.Shape)
	if !ok || !inChunks(load.Src()) || !unwritten(load.Op, scales.OnlyUser()) {
		return false
	}
	b.At(alloc.Op)
	v := sharedmem.Reshaped(b, load.Src(), chunksShape(t.Shape))
	if v != nil {
		v = sharedmem.Transposed(b, v, swapped)
	}
	if v != nil {
		v = sharedmem.Reshaped(b, v, t.Shape)
	}
	if v == nil {
		return false
	}
	set(v)
	alloc.Op.Erase()
	return true
}

// swapped is the order of dimensions that makes a matrix of chunks.
var swapped = []int{0, 3, 2, 1, 4}

// chunksShape is the shape of chunks with scales of a matrix.
func chunksShape(shape []int64) []int64 {
	return []int64{shape[0] / 128, shape[1] / 4, chunkRows, 4, 4}
}

// chunksOf is the load of chunks, of which v is the matrix of that shape.
func chunksOf(v *ir.Value, shape []int64) (load ttg.LocalLoadOp, ok bool) {
	v = dots.Unconverted(v)
	if !v.DefIs(tt.Reshape) || !slices.Equal(tensors.Type(v).Shape, shape) {
		return load, false
	}
	v = dots.Unconverted(tt.AsReshape(v.Def()).Src())
	if !v.DefIs(tt.Trans) || !slices.Equal(tt.AsTrans(v.Def()).Order(), []int64{0, 3, 2, 1, 4}) {
		return load, false
	}
	v = dots.Unconverted(tt.AsTrans(v.Def()).Src())
	if !v.DefIs(tt.Reshape) || !slices.Equal(tensors.Type(v).Shape, chunksShape(shape)) {
		return load, false
	}
	v = dots.Unconverted(tt.AsReshape(v.Def()).Src())
	if !v.DefIs(ttg.LocalLoad) {
		return load, false
	}
	return ttg.AsLocalLoad(v.Def()), true
}

// unwritten reports whether nothing is written between from and to, but to tensor
// memory that is allocated there.
func unwritten(from, to *ir.Operation) bool {
	op := from.Next()
	for ; op != nil && op != to; op = op.Next() {
		if !ttng.IsTmemAlloc(op) && ir.HasEffect(op, ir.Effects.Writes) {
			return false
		}
	}
	return op == to
}

// inChunks reports whether the chunks of a buffer are one after the other in memory:
// each is, and they fill its rows, or a block copy wrote them.
func inChunks(buffer *ir.Value) bool {
	t := buffer.Type().(*ttg.MemDescType)
	a, ok := t.Encoding.(*encoding.Attr)
	if !ok || ir.BitWidth(t.Elem) != 8 {
		return false
	}
	l, err := a.Layout.Linear(t.Shape)
	if err != nil {
		return false
	}
	dims := make([]layout.Dim, len(t.Shape))
	for i := range dims {
		dims[i] = layout.TensorDim(len(dims) - 1 - i)
	}
	for i, c := range l.TransposeOuts(dims...).Columns(layout.Offset) {
		if 1<<i < chunkBytes && c != 1<<i {
			return false
		}
	}
	if alloc := buffer.Def(); alloc != nil && alloc.Is(ttg.LocalAlloc) {
		if src := ttg.AsLocalAlloc(alloc).Src(); src != nil && dots.Unconverted(src).DefIs(tt.DescriptorLoad) {
			return true
		}
	}
	return len(t.Shape) == 2 && t.Shape[1]%chunkBytes == 0
}
