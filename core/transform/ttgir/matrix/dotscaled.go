package matrix

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Element formats of scaled dots, of the cases of tt.ScaleTypes.
const (
	formatE5M2 = 1
	formatE2M1 = 4 // two elements a byte
	formatFP16 = 6
)

// decomposeScaled replaces a dot of block-scaled operands by a dot of f16 or
// bf16: each operand is widened and multiplied by its scale, which is repeated
// along K for the elements of its block.
func (a *accelerator) decomposeScaled(d tt.DotScaledOp) {
	b, c := a.b, d.Op.Context()
	b.At(d.Op)
	var compute ir.Type = c.BF16()
	if d.AElemType() == formatFP16 || d.BElemType() == formatFP16 {
		compute = c.F16()
	}
	t := tensors.Type(d.Result())
	operands := []*ir.Value{a.scaledOperand(d, 0, compute), a.scaledOperand(d, 1, compute), d.C()}
	for i := range 2 {
		e := &layout.DotOp{OpIdx: i, Parent: encoding.Get(t)}
		operands[i] = ttg.NewConvertLayout(b, operands[i], encoding.Of(c, e))
	}
	n := b.Create(tt.Dot, ir.State{Operands: operands, Types: []ir.Type{t}})
	d.Op.ReplaceAllUsesWith(n.OneResult())
	d.Op.Erase()
}

// scaledOperand is operand i of a scaled dot with elements of type compute, its
// scale multiplied in.
func (a *accelerator) scaledOperand(d tt.DotScaledOp, i int, compute ir.Type) *ir.Value {
	b, c := a.b, d.Op.Context()
	v, scale, format, alongK := d.A(), d.AScale(), d.AElemType(), d.LhsKPack()
	if i == 1 {
		v, scale, format, alongK = d.B(), d.BScale(), d.BElemType(), d.RhsKPack()
	}
	rank := len(tensors.Type(v).Shape)
	k, other := rank-1-i, rank-2+i
	if format == formatE2M1 {
		axis := k
		if !alongK {
			axis = other
		}
		v = unpackFp4(b, v, axis, compute)
	} else if v = asFloats(b, v, format); ir.ElemOf(v.Type()) != compute {
		v = b.Op(tt.FpToFp, []*ir.Value{v}, c.WithElem(v.Type(), compute)).OneResult()
	}
	if scale == nil {
		return v
	}
	if i == 1 {
		// The scale of the right operand comes as N×K blocks.
		perm := make([]int64, rank)
		for d := range perm {
			perm[d] = int64(d)
		}
		perm[rank-1], perm[rank-2] = perm[rank-2], perm[rank-1]
		scale = transposed(b, scale, perm)
	}
	block := tensors.Type(v).Shape[k] / tensors.Type(scale).Shape[k]
	// One conversion, of the scale as it came, for all that is made of it.
	spread := a.spreadLayout(tensors.Type(scale).Shape, d.Op)
	scale = ttg.NewConvertLayout(b, scale, encoding.Slice(c, spread, rank))
	repeated := func(x *ir.Value) *ir.Value {
		return ttg.NewConvertLayout(b, repeat(b, x, k, block, spread), tensors.Encoding(v))
	}
	isBits := ir.IsInt(ir.ElemOf(scale.Type()), 8)
	factor := scale
	if isBits {
		factor = powerOfTwo(b, scale, compute)
	} else {
		s := ir.State{Operands: []*ir.Value{scale}, Types: []ir.Type{c.WithElem(scale.Type(), compute)}}
		if ir.BitWidth(ir.ElemOf(scale.Type())) > ir.BitWidth(compute) {
			s.Attrs = []ir.NamedAttr{{Name: "rounding", Attr: c.I32Attr(tt.RoundNearestEven)}}
		}
		factor = b.Create(tt.FpToFp, s).OneResult()
	}
	product := arith.Binary(b, arith.MulF, v, repeated(factor))
	if d.FastMath() || !isBits {
		return product
	}
	const noNumber = 0xff
	isNaN := arith.Compare(b, arith.CmpI, arith.EQ, scale, arith.Int(b, scale.Type(), noNumber))
	nan := arith.NewConstant(b, c.DenseSplat(v.Type(), quietNaN(compute)))
	return arith.NewSelect(b, repeated(isNaN), nan, product)
}

// asFloats makes numbers of 8 bits of v where it has just their bits.
func asFloats(b *ir.Builder, v *ir.Value, format int64) *ir.Value {
	if !ir.IsInt(ir.ElemOf(v.Type()), 8) {
		return v
	}
	kind := ir.F8E4M3FN
	if format == formatE5M2 {
		kind = ir.F8E5M2
	}
	c := b.Context()
	return tt.Unary(b, tt.Bitcast, v, c.WithElem(v.Type(), c.Float(kind)))
}

// quietNaN is the canonical not-a-number of f16 or bf16.
func quietNaN(t ir.Type) uint64 {
	if f, ok := t.(*ir.FloatType); ok && f.Kind == ir.F16 {
		return 0x7e00
	}
	return 0x7fc0
}

// powerOfTwo converts exponents of 8 bits to the numbers 2^(exponent-127): the
// bits of bf16, and of f32, which f16 is narrowed from since its range is less.
func powerOfTwo(b *ir.Builder, scale *ir.Value, compute ir.Type) *ir.Value {
	c := b.Context()
	wide, mantissa := ir.Type(c.BF16()), int64(7)
	if compute == ir.Type(c.F16()) {
		wide, mantissa = c.F32(), 23
	}
	bits := c.WithElem(scale.Type(), c.Int(ir.BitWidth(wide)))
	x := arith.Cast(b, arith.ExtUI, scale, bits)
	x = arith.Binary(b, arith.ShLI, x, arith.Int(b, bits, mantissa))
	x = tt.Unary(b, tt.Bitcast, x, c.WithElem(bits, wide))
	if wide != compute {
		x = arith.Cast(b, arith.TruncF, x, c.WithElem(bits, compute))
	}
	return x
}

// spreadLayout is a layout of blocks beside the elements of a tensor.
func (a *accelerator) spreadLayout(shape []int64, at *ir.Operation) *encoding.Attr {
	m := a.At(at)
	return encoding.Of(a.b.Context(), layout.DefaultBlocked(append(slices.Clone(shape), 1), m.Warps, m.Lanes, m.CTAs))
}

// repeat repeats each element of x, which has a slice of the layout enc, block
// times along dimension d.
func repeat(b *ir.Builder, x *ir.Value, d int, block int64, enc *encoding.Attr) *ir.Value {
	c, t := b.Context(), tensors.Type(x)
	rank := len(t.Shape)
	x = tt.NewExpandDims(b, x, rank)
	x = tt.Unary(b, tt.Broadcast, x, c.Tensor(append(slices.Clone(t.Shape), block), t.Elem, enc))
	perm := make([]int64, 0, rank+1)
	for i := range rank {
		perm = append(perm, int64(i))
		if i == d {
			perm = append(perm, int64(rank))
		}
	}
	x = transposed(b, x, perm)
	shape := slices.Clone(t.Shape)
	shape[d] *= block
	seen, err := layout.Reshape(encoding.Get(x.Type()), tensors.Type(x).Shape, shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return b.Op(tt.Reshape, []*ir.Value{x}, c.Tensor(shape, t.Elem, encoding.Of(c, seen))).OneResult()
}

// transposed is x with dimension i its dimension perm[i]; x itself when nothing
// moves.
func transposed(b *ir.Builder, x *ir.Value, perm []int64) *ir.Value {
	t := tensors.Type(x)
	if slices.IsSorted(perm) {
		return x
	}
	shape := make([]int64, len(perm))
	p := make([]int, len(perm))
	for i, d := range perm {
		shape[i], p[i] = t.Shape[d], int(d)
	}
	e, err := layout.Trans(encoding.Get(t), t.Shape, p)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	c := b.Context()
	return b.Create(tt.Trans, ir.State{
		Operands: []*ir.Value{x}, Types: []ir.Type{c.Tensor(shape, t.Elem, encoding.Of(c, e))},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: c.I32Array(perm...)}},
	}).OneResult()
}

// unpackFp4 makes two elements of type to of each byte of v, side by side along
// axis.
func unpackFp4(b *ir.Builder, v *ir.Value, axis int, to ir.Type) *ir.Value {
	c, t := b.Context(), tensors.Type(v)
	shape := slices.Clone(t.Shape)
	shape[axis] *= 2
	return b.Create(ttg.Fp4ToFp, ir.State{
		Operands: []*ir.Value{v}, Types: []ir.Type{c.Tensor(shape, to, encoding.Of(c, tensors.Unpacked(encoding.Get(t), t.Shape, axis)))},
		Attrs: []ir.NamedAttr{{Name: "axis", Attr: c.I32Attr(int64(axis))}},
	}).OneResult()
}
