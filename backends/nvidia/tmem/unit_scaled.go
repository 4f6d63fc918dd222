package tmem

import (
	"math/bits"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// FormScaled implements dots.ScaledUnit.
func (u Unit) FormScaled(d dots.Scaled) *dots.ScaledForm {
	a, b, t := tensors.Type(d.A()), tensors.Type(d.B()), tensors.Type(d.Result())
	if d.AScale() == nil || d.BScale() == nil || d.CTAs != 1 || len(t.Shape) != 2 ||
		!isNarrow(d.AElemType()) || !isNarrow(d.BElemType()) || !ttng.Multiplies(a.Elem, b.Elem, t.Elem) || !scalesFit(d) {
		return nil
	}
	switch {
	case has(d.Target, d.Warps):
		return u.tensorScaled(d)
	case capability(d.Target) == 120:
		return registerScaled(d)
	}
	return nil
}

// isNarrow reports whether a format has 8 or 4 bits.
func isNarrow(format int64) bool {
	return format == tt.ScaleE4M3 || format == tt.ScaleE5M2 || format == tt.ScaleE2M1
}

// scalesFit reports whether both scales are exponents, or both e4m3 and for numbers of
// 4 bits.
func scalesFit(d dots.Scaled) bool {
	x, y := ir.ElemOf(d.AScale().Type()), ir.ElemOf(d.BScale().Type())
	return x == y && (ir.IsInt(x, 8) || d.AElemType() == tt.ScaleE2M1 && d.BElemType() == tt.ScaleE2M1)
}

// tensorScaled is the form of tcgen05.mma, with scales in tensor memory; nil if d is too
// small for it, or tensor memory is.
func (u Unit) tensorScaled(d dots.Scaled) *dots.ScaledForm {
	shape := tensors.Type(d.Result()).Shape
	// Numbers of 4 bits lie two in a byte where both operands have them along K, else
	// each alone, as the other operand's.
	twice := d.AElemType() == tt.ScaleE2M1 && d.BElemType() == tt.ScaleE2M1 && d.LhsKPack() && d.RhsKPack()
	if shape[0] < mostRows || shape[1] < leastN || tensors.Type(d.A()).Shape[1]*8 < kBits && (twice || d.AElemType() != tt.ScaleE2M1) {
		return nil
	}
	m, x, y := accumulatorBuffer(d.Op.Context(), d.Result(), false), scalesBuffer(d.Op.Context(), d.AScale()), scalesBuffer(d.Op.Context(), d.BScale())
	result, ok := u.registers(m, d.Warps, encoding.Get(d.Result().Type()))
	xRegs, okX := u.registers(x, d.Warps, encoding.Get(d.AScale().Type()))
	yRegs, okY := u.registers(y, d.Warps, encoding.Get(d.BScale().Type()))
	if !ok || !okX || !okY || columnsOf(m)+columnsOf(x)+columnsOf(y) > allColumns {
		return nil
	}
	left := scaledShared(d.A(), 0, d.AElemType(), d.LhsKPack(), twice)
	right := scaledShared(d.B(), 1, d.BElemType(), d.RhsKPack(), twice)
	return &dots.ScaledForm{
		Result: result, A: left, B: right,
		Slow: append(wgmma.Reordered(d.A(), 0, left), wgmma.Reordered(d.B(), 1, right)...),
		Make: func(b *ir.Builder, inA, inB, acc *ir.Value) *ir.Value {
			c := b.Context()
			alloc := ttng.NewTmemAlloc(b, m, acc, true)
			xScale, yScale := stagedScale(b, d.AScale()), stagedScale(b, d.BScale())
			xScale = ttg.NewConvertLayout(b, xScale, encoding.Of(c, xRegs))
			yScale = ttg.NewConvertLayout(b, yScale, encoding.Of(c, yRegs))
			xScale = ttng.NewTmemAlloc(b, x, xScale, false).Result()
			yScale = ttng.NewTmemAlloc(b, y, yScale, false).Result()
			dot := ttng.NewMMAScaled(b, inA, inB, alloc.Result(), alloc.Token(), xScale, yScale, entryTrue(b), d.AElemType(), d.BElemType())
			return ttng.NewTmemLoad(b, acc.Type(), alloc.Result(), dot.Token()[0]).Result()
		},
	}
}

// scaledShared is how an operand of a scaled dot lies in shared memory. Of numbers of 4
// bits the dimension along which they are packed is contiguous.
func scaledShared(v *ir.Value, index int, format int64, alongK, twice bool) *layout.NVMMAShared {
	t := tensors.Type(dots.Unconverted(v))
	if format != tt.ScaleE2M1 {
		return wgmma.Shared(t, contiguous(t, index, true), nil, false)
	}
	contig := 1 - index
	if !alongK {
		contig = index
	}
	return wgmma.Shared(t, contig, nil, !twice)
}

// scalesBuffer is a buffer in tensor memory for scales.
func scalesBuffer(c *ir.Context, scales *ir.Value) *ttg.MemDescType {
	t := tensors.Type(scales)
	return ttg.MemDesc(c, ttg.MemDescType{Shape: t.Shape, Elem: t.Elem, Encoding: ttng.Scales(c, 1, 1), Space: ttng.TensorMemory(c)})
}

// stagedScale has scales that are loaded pass through shared memory, where the pipeliner
// puts them in any case, and from where KeepScalesShared can take them.
func stagedScale(b *ir.Builder, scales *ir.Value) *ir.Value {
	load := scales
	for !load.DefIs(tt.Load) && !load.DefIs(tt.DescriptorLoad) {
		switch {
		case load.DefIs(tt.Reshape):
			load = tt.AsReshape(load.Def()).Src()
		case load.DefIs(tt.Trans):
			load = tt.AsTrans(load.Def()).Src()
		case load.DefIs(ttg.ConvertLayout):
			load = ttg.AsConvertLayout(load.Def()).Src()
		default:
			return scales
		}
	}
	t := tensors.Type(load)
	if t == nil {
		return scales
	}
	defer b.Restore(b.Save())
	b.SetAfterValue(load)
	e := &layout.NVMMAShared{ElementBitWidth: ir.BitWidth(t.Elem), CGA: tensors.CGA(t)}
	if rank := len(t.Shape); rank != 2 {
		e.NDims = rank
	}
	alloc := b.Op(ttg.LocalAlloc, []*ir.Value{load}, sharedmem.Type(b.Context(), t.Shape, t.Elem, e, false))
	staged := b.Op(ttg.LocalLoad, []*ir.Value{alloc.OneResult()}, t).OneResult()
	load.ReplaceUsesIf(staged, func(u *ir.Use) bool { return u.Owner() != alloc })
	if load == scales {
		return staged
	}
	return scales
}

// registerScaled is the form of mma.sync with scales in registers, which multiplies
// operands of one format; nil for others.
func registerScaled(d dots.Scaled) *dots.ScaledForm {
	if (d.AElemType() == tt.ScaleE2M1) != (d.BElemType() == tt.ScaleE2M1) {
		return nil
	}
	t := tensors.Type(d.Result())
	warps := dots.SquareWarps(t.Shape, d.Warps, [2]int{16, 8})
	result := &layout.NvidiaMMA{VersionMajor: 2, WarpsPerCTA: warps, InstrShape: []int{16, 8}}
	xScale := registerScales(tensors.Type(d.AScale()).Shape, 0, warps)
	yScale := registerScales(tensors.Type(d.BScale()).Shape, 1, warps)
	return &dots.ScaledForm{
		Result: result,
		A:      &layout.DotOp{OpIdx: 0, Parent: result, KWidth: 4},
		B:      &layout.DotOp{OpIdx: 1, Parent: result, KWidth: 4},
		Make: func(b *ir.Builder, x, y, acc *ir.Value) *ir.Value {
			c := b.Context()
			scales := []*ir.Value{
				ttg.NewConvertLayout(b, d.AScale(), encoding.Of(c, xScale)),
				ttg.NewConvertLayout(b, d.BScale(), encoding.Of(c, yScale)),
			}
			return b.Create(tt.DotScaled, ir.State{
				Operands: append([]*ir.Value{x, y, acc}, scales...), Segments: []int32{1, 1, 1, 1, 1},
				Types: []ir.Type{acc.Type()}, Attrs: d.Op.Attrs(),
			}).OneResult()
		},
	}
}

// registerScales is the layout of scales of operand number index for mma.sync: each
// thread has those of its row of the operand, all along K, and warps that share rows
// hold the same.
func registerScales(shape []int64, index int, warps []int) *layout.Linear {
	e := &layout.Linear{Block: layout.Bases{}}
	add := func(list *layout.Bases, row, k int32) {
		if int64(row) >= shape[0] || int64(k) >= shape[1] {
			row, k = 0, 0 // the tensor is smaller, and is repeated
		}
		*list = append(*list, []int32{row, k})
	}
	for k := int32(1); int64(k) < shape[1]; k *= 2 {
		add(&e.Register, 0, k)
	}
	rows := int32(8)
	if index == 0 {
		add(&e.Lane, 8, 0)
		rows = 16
	} else {
		add(&e.Lane, 0, 0)
	}
	for _, row := range []int32{0, 1, 2, 4} {
		add(&e.Lane, row, 0)
	}
	// Warps are numbered along the columns of the result first.
	mine, others := bits.Len(uint(warps[index]))-1, bits.Len(uint(warps[1-index]))-1
	repeat := func() {
		for range others {
			add(&e.Warp, 0, 0)
		}
	}
	if index == 0 {
		repeat()
	}
	for range mine {
		add(&e.Warp, rows, 0)
		rows *= 2
	}
	if index == 1 {
		repeat()
	}
	for ; int64(rows) < shape[0]; rows *= 2 {
		add(&e.Register, rows, 0)
	}
	return e
}
