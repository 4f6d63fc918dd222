package matrixcore

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// upcast is how CDNA computes a scaled dot for which it has no instruction: operands are
// widened and multiplied by their scales in the layout in which they are multiplied. gfx950
// has an instruction that does both for two elements. On others the operation upcast_mxfp
// does, which finds the scales in other lanes of the warp.
type upcast struct {
	d       dots.Scaled
	compute *ir.FloatType
	layouts [2]*layout.DotOp
	// scales is the layout of the operand of upcast_mxfp; nil on gfx950.
	scales *layout.Blocked
}

// formUpcast is the form of such a dot; nil where operands have no scales to multiply by,
// or there is no instruction for the product.
func (u Unit) formUpcast(d dots.Scaled, m, n, k int64) *dots.ScaledForm {
	c := u.chipAt(d.Target)
	scaledA, scaledB := d.AScale() != nil && isNarrow(d.AElemType()), d.BScale() != nil && isNarrow(d.BElemType())
	hasInstr := c.MFMA == chip.GFX950.MFMA
	if c.MFMA == 0 || !scaledA && !scaledB || !d.LhsKPack() || !d.RhsKPack() || !hasInstr && scaledA && scaledB {
		return nil
	}
	up := upcast{d: d, compute: d.Op.Context().BF16()}
	if d.AElemType() == tt.ScaleFP16 || d.BElemType() == tt.ScaleFP16 {
		up.compute = d.Op.Context().F16()
	}
	in := u.instrOf(c, up.compute, up.compute, m, n, k, false)
	if in == nil {
		return nil
	}
	t := tensors.Type(d.Result())
	head, tail := chained(d.Op)
	tile := in.Shape(m, n)
	if !hasInstr && tile[0] != tile[1] {
		return nil
	}
	kWidth := in.PerLane
	switch {
	case !hasInstr && (d.AElemType() == tt.ScaleE2M1 || d.BElemType() == tt.ScaleE2M1):
		kWidth = packedWidth
	case !hasInstr:
		kWidth = in.PerLane * max(u.KPack, 1)
	case tail:
		kWidth = tailWidth
	}
	result := &layout.AMDMFMA{
		Version: c.MFMA, WarpsPerCTA: spreadWarps(t.Shape, d.Warps, tile, head, tail),
		InstrShape: []int{tile[0], tile[1], in.K}, IsTransposed: tile[0] >= tile[1], CGA: tensors.CGA(t),
	}
	if !hasInstr {
		// Warps share the side that is scaled: each widens what no other does.
		result.WarpsPerCTA = []int{1, d.Warps}
		if scaledA {
			result.WarpsPerCTA = []int{d.Warps, 1}
		}
		up.scales = &layout.Blocked{
			SizePerThread: []int{1, 1}, ThreadsPerWarp: []int{tile[0], c.Lanes / tile[0]},
			WarpsPerCTA: []int{d.Warps, 1}, Order: []int{1, 0}, CGA: tensors.CGA(t),
		}
	}
	for i := range up.layouts {
		up.layouts[i] = &layout.DotOp{OpIdx: i, Parent: result, KWidth: kWidth}
	}
	return &dots.ScaledForm{Result: result, Make: func(b *ir.Builder, x, y, acc *ir.Value) *ir.Value {
		// What is widened comes first: it takes longest.
		if !isNarrow(d.AElemType()) {
			y = up.operand(b, 1, y, d.BScale(), d.BElemType())
			x = up.operand(b, 0, x, nil, d.AElemType())
		} else {
			x = up.operand(b, 0, x, d.AScale(), d.AElemType())
			y = up.operand(b, 1, y, d.BScale(), d.BElemType())
		}
		return b.Create(tt.Dot, ir.State{Operands: []*ir.Value{x, y, acc}, Types: []ir.Type{acc.Type()}}).OneResult()
	}}
}

// operand is an operand of the product.
func (up *upcast) operand(b *ir.Builder, index int, v, scale *ir.Value, format int64) *ir.Value {
	c, e, t := b.Context(), up.layouts[index], tensors.Type(v)
	shape, k := []int64{t.Shape[0], t.Shape[1]}, 1-index
	as := e
	if format == tt.ScaleE2M1 {
		shape[k] *= 2
		as = tensors.Packed(e, shape, k).(*layout.DotOp)
	}
	if isFloat8 := format == tt.ScaleE4M3 || format == tt.ScaleE5M2; isFloat8 && ir.IsInt(t.Elem, 8) {
		kind := map[int64]ir.FloatKind{tt.ScaleE4M3: ir.F8E4M3FN, tt.ScaleE5M2: ir.F8E5M2}[format]
		v = tt.Unary(b, tt.Bitcast, v, c.WithElem(t, c.Float(kind)))
	}
	v = ttg.NewConvertLayout(b, v, encoding.Of(c, as))
	to := c.Tensor(shape, up.compute, encoding.Of(c, e))
	switch {
	case !isNarrow(format):
		return v
	case scale == nil && format == tt.ScaleE2M1:
		return b.Create(ttg.Fp4ToFp, ir.State{
			Operands: []*ir.Value{v}, Types: []ir.Type{to}, Attrs: []ir.NamedAttr{{Name: "axis", Attr: c.I32Attr(int64(k))}},
		}).OneResult()
	case scale == nil:
		return b.Op(tt.FpToFp, []*ir.Value{v}, to).OneResult()
	}
	if up.scales != nil {
		return up.upcastMXFP(b, v, scale, to, format)
	}
	s := newScaleSpread(c, e, shape)
	scale = s.rows(b, scale)
	// A scale of bf16 has the bits of an exponent alone.
	const mantissa = 7
	wide := c.WithElem(scale.Type(), c.Int(16))
	bits := arith.Binary(b, arith.ShLI, arith.Cast(b, arith.ExtUI, scale, wide), arith.Int(b, wide, mantissa))
	factor := s.spread(b, tt.Unary(b, tt.Bitcast, bits, c.WithElem(wide, c.BF16())))
	var product *ir.Value
	if format == tt.ScaleE2M1 {
		product = b.Create(amdg.Dialect().Op("amdg.scaled_upcast_fp4"), ir.State{
			Operands: []*ir.Value{v, factor}, Types: []ir.Type{to}, Attrs: []ir.NamedAttr{{Name: "axis", Attr: c.I32Attr(int64(k))}},
		}).OneResult()
	} else {
		product = b.Op(amdg.Dialect().Op("amdg.scaled_upcast_fp8"), []*ir.Value{v, factor}, to).OneResult()
	}
	if up.d.FastMath() {
		return product
	}
	const noNumber = 0xff
	isNaN := s.spread(b, arith.Compare(b, arith.CmpI, arith.EQ, scale, arith.Int(b, scale.Type(), noNumber)))
	quiet := uint64(0x7fc0)
	if up.compute.Kind == ir.F16 {
		quiet = 0x7e00
	}
	return arith.NewSelect(b, isNaN, arith.NewConstant(b, c.DenseSplat(to, quiet)), product)
}

// upcastMXFP widens an operand and multiplies it by scales, for an element of type to.
// Floats of 8 bits are widened first.
func (up *upcast) upcastMXFP(b *ir.Builder, v, scale *ir.Value, to *ir.TensorType, format int64) *ir.Value {
	c := b.Context()
	if format != tt.ScaleE2M1 {
		v = b.Op(tt.FpToFp, []*ir.Value{v}, to).OneResult()
	}
	scale = ttg.NewConvertLayout(b, scale, encoding.Of(c, up.scales))
	return b.Create(amdg.Dialect().Op("amdg.upcast_mxfp"), ir.State{
		Operands: []*ir.Value{v, scale}, Types: []ir.Type{to}, Attrs: []ir.NamedAttr{
			{Name: "fp_type", Attr: c.I32Attr(format)}, {Name: "fastMath", Attr: c.BoolAttr(up.d.FastMath())},
		},
	}).OneResult()
}

// scaleSpread repeats scales along K, in layouts with which each thread has those of its
// elements of an operand.
type scaleSpread struct {
	index  int
	to     *ir.TensorType // the operand, of any elements
	blocks []int64        // its shape with K as blocks and what is in them
	// repeated is the layout of the scales, the block last, source that of the scales as
	// they come, row by row.
	repeated *encoding.Attr
	source   ir.Attribute
}

func newScaleSpread(c *ir.Context, e *layout.DotOp, shape []int64) *scaleSpread {
	must := func(e layout.Encoding, err error) layout.Encoding {
		if err != nil {
			panic("BUG: matrixcore: " + err.Error())
		}
		return e
	}
	s := &scaleSpread{index: e.OpIdx, to: c.Tensor(shape, c.Int(8), encoding.Of(c, e))}
	if s.index == 0 {
		s.blocks = []int64{shape[0], shape[1] / ScaleBlock, ScaleBlock}
		s.repeated = encoding.Of(c, must(layout.Reshape(e, shape, s.blocks)))
		s.source = encoding.Slice(c, s.repeated, 2)
		return s
	}
	s.blocks = []int64{shape[0] / ScaleBlock, ScaleBlock, shape[1]}
	repeated := must(layout.Trans(must(layout.Reshape(e, shape, s.blocks)), s.blocks, []int{0, 2, 1}))
	s.repeated = encoding.Of(c, repeated)
	spread := []int64{s.blocks[0], s.blocks[2]}
	l, err := must(layout.Trans(&layout.Slice{Dim: 2, Parent: repeated}, spread, []int{1, 0})).Linear([]int64{spread[1], spread[0]})
	if err != nil {
		panic("BUG: matrixcore: " + err.Error())
	}
	s.source = encoding.Of(c, layout.FromLayout(l))
	return s
}

// rows brings scales to the threads that need them, those of the right operand as columns.
func (s *scaleSpread) rows(b *ir.Builder, scale *ir.Value) *ir.Value {
	c := b.Context()
	scale = ttg.NewConvertLayout(b, scale, s.source)
	if s.index == 0 {
		return scale
	}
	return transposed(b, scale, c.Tensor([]int64{s.blocks[0], s.blocks[2]}, tensors.Type(scale).Elem, encoding.Slice(c, s.repeated, 2)), 1, 0)
}

// spread repeats what rows gave, or what was computed of it.
func (s *scaleSpread) spread(b *ir.Builder, x *ir.Value) *ir.Value {
	c, t := b.Context(), tensors.Type(x)
	x = tt.NewExpandDims(b, x, 2)
	x = tt.Unary(b, tt.Broadcast, x, c.Tensor([]int64{t.Shape[0], t.Shape[1], ScaleBlock}, t.Elem, s.repeated))
	if s.index == 1 {
		e, err := layout.Reshape(encoding.Get(s.to), s.to.Shape, s.blocks)
		if err != nil {
			panic("BUG: matrixcore: " + err.Error())
		}
		x = transposed(b, x, c.Tensor(s.blocks, t.Elem, encoding.Of(c, e)), 0, 2, 1)
	}
	return b.Op(tt.Reshape, []*ir.Value{x}, c.WithElem(s.to, t.Elem)).OneResult()
}

func transposed(b *ir.Builder, x *ir.Value, to *ir.TensorType, order ...int64) *ir.Value {
	return b.Create(tt.Trans, ir.State{
		Operands: []*ir.Value{x}, Types: []ir.Type{to}, Attrs: []ir.NamedAttr{{Name: "order", Attr: b.Context().I32Array(order...)}},
	}).OneResult()
}
