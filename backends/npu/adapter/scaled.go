package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// Formats of the operands of scaled dots, of the cases of tt.ScaleTypes.
const (
	formatE4M3 = 0
	formatE5M2 = 1
	formatE2M1 = 4 // two elements in a byte, the first in the low bits
	formatFP16 = 6
)

// dotScaled is a matmul of operands of 16 bits, which the scales are multiplied into.
func (c *converter) dotScaled(op *ir.Operation) {
	v := tt.AsDotScaled(op)
	var t ir.Type = c.Context().BF16()
	if v.AElemType() == formatFP16 || v.BElemType() == formatFP16 {
		t = c.Context().F16()
	}
	rank := len(ir.ShapeOf(v.Result().Type()))
	a := c.scaled(op, v.A(), v.AScale(), v.AElemType(), rank-1, rank-2, v.LhsKPack(), v.FastMath(), t)
	b := c.scaled(op, v.B(), v.BScale(), v.BElemType(), rank-2, rank-1, v.RhsKPack(), v.FastMath(), t)
	c.set(op, c.matmul(a, b, c.value(v.C())).OneResult())
}

// scaled makes an operand of elements of type t. The dimensions are that of the products'
// sums, k, and the other; pairs of elements are along k if packed says so.
func (c *converter) scaled(op *ir.Operation, old, oldScale *ir.Value, format int64, k, other int, packed, fast bool, t ir.Type) *ir.Value {
	ctx := c.Context()
	v := c.value(old)
	switch {
	case format == formatE2M1:
		axis := k
		if !packed {
			axis = other
		}
		v = c.unpackPairs(v, axis, t)
	case ir.IsInt(ir.ElemOf(v.Type()), 8) && (format == formatE4M3 || format == formatE5M2):
		kind := ir.F8E4M3FN
		if format == formatE5M2 {
			kind = ir.F8E5M2
		}
		v = c.as(v, ctx.Float(kind))
	case ir.IsInt(ir.ElemOf(v.Type()), 8):
		c.refuse(op, "use e4m3, e5m2 or e2m1", "a dot_scaled of this format has no meaning on an NPU")
	}
	if ir.ElemOf(v.Type()) != t {
		v = c.convertFloat(v, ctx.WithElem(v.Type(), t))
	}
	if oldScale == nil {
		return v
	}
	scale := c.value(oldScale)
	if k < other { // the scales of the second operand are of its columns
		order := make([]int64, other+1)
		for i := range order {
			order[i] = int64(i)
		}
		order[k], order[other] = order[other], order[k]
		scale = c.transpose(scale, order)
	}
	shape := ir.ShapeOf(v.Type())
	spread := func(x *ir.Value) *ir.Value {
		at := ir.ShapeOf(x.Type())
		x = c.expandDims(x, slices.Insert(slices.Clone(at), k+1, 1))
		return linalg.NewReshape(c.Builder, c.broadcast(x, slices.Insert(slices.Clone(at), k+1, shape[k]/at[k])), shape)
	}
	if !ir.IsInt(ir.ElemOf(scale.Type()), 8) {
		return arith.Binary(c.Builder, arith.MulF, v, spread(c.convertFloat(scale, ctx.WithElem(scale.Type(), t))))
	}
	product := arith.Binary(c.Builder, arith.MulF, v, spread(c.powerOfTwo(scale, t)))
	if fast {
		return product
	}
	const noNumber = 0xff
	isNaN := arith.Compare(c.Builder, arith.CmpI, arith.EQ, scale, arith.Int(c.Builder, scale.Type(), noNumber))
	quiet := uint64(0x7fc0)
	if t == ir.Type(ctx.F16()) {
		quiet = 0x7e00
	}
	return arith.NewSelect(c.Builder, spread(isNaN), arith.NewConstant(c.Builder, ctx.DenseSplat(v.Type().(*ir.TensorType), quiet)), product)
}

// powerOfTwo makes 2^(scale-127): the bits of a bf16, or of an f32, which is rounded to f16.
func (c *converter) powerOfTwo(scale *ir.Value, t ir.Type) *ir.Value {
	ctx := c.Context()
	wide, mantissa := ir.Type(ctx.BF16()), int64(7)
	if t != wide {
		wide, mantissa = ctx.F32(), 23
	}
	bits := ctx.WithElem(scale.Type(), ctx.Int(ir.BitWidth(wide)))
	x := arith.Cast(c.Builder, arith.ExtUI, scale, bits)
	x = c.as(arith.Binary(c.Builder, arith.ShLI, x, arith.Int(c.Builder, bits, mantissa)), wide)
	if wide != t {
		x = arith.Cast(c.Builder, arith.TruncF, x, ctx.WithElem(bits, t))
	}
	return x
}

// unpackPairs makes two floats of each byte of v, side by side along axis. A float of four
// bits, a sign, e of two bits and m of one, is half the whole number m if e is 0, or else
// half of (2+m)·2^(e-1).
func (c *converter) unpackPairs(v *ir.Value, axis int, t ir.Type) *ir.Value {
	ctx := c.Context()
	from := v.Type()
	shape := slices.Insert(slices.Clone(ir.ShapeOf(from)), axis+1, 2)
	number := func(n int64) *ir.Value { return arith.Int(c.Builder, from, n) }
	do := func(d *ir.OpDef, x *ir.Value, n int64) *ir.Value { return arith.Binary(c.Builder, d, x, number(n)) }
	out := linalg.NewEmpty(c.Builder, shape, t)
	for i, bits := range []*ir.Value{do(arith.AndI, v, 15), do(arith.ShRUI, v, 4)} {
		m := do(arith.AndI, bits, 1)
		e := do(arith.AndI, do(arith.ShRUI, bits, 1), 3)
		large := arith.Binary(c.Builder, arith.ShLI, do(arith.OrI, m, 2), do(arith.MaxSI, do(arith.SubI, e, 1), 0))
		isSmall := arith.Compare(c.Builder, arith.CmpI, arith.EQ, e, number(0))
		twice := arith.NewSelect(c.Builder, isSmall, m, large)
		x := arith.Cast(c.Builder, arith.SIToFP, twice, ctx.WithElem(from, t))
		factor := func(f float64) *ir.Value { return arith.Float(c.Builder, x.Type(), f) }
		isNegative := arith.Compare(c.Builder, arith.CmpI, arith.NE, do(arith.AndI, bits, 8), number(0))
		x = arith.Binary(c.Builder, arith.MulF, x, arith.NewSelect(c.Builder, isNegative, factor(-0.5), factor(0.5)))
		offsets, sizes := make([]linalg.Slot, len(shape)), linalg.Nums(shape...)
		offsets[axis+1], sizes[axis+1] = linalg.Num(int64(i)), linalg.Num(1)
		out = linalg.NewInsertSlice(c.Builder, x, out, offsets, sizes)
	}
	return linalg.NewReshape(c.Builder, out, slices.Replace(shape, axis, axis+2, 2*shape[axis]))
}
