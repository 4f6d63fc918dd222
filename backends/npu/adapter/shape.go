package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// shape converts what makes a tensor of scalars or of other tensors.
func (c *converter) shape(op *ir.Operation) {
	ctx := c.Context()
	made := op.Results()
	shape, elem := ir.ShapeOf(made[0].Type()), ir.ElemOf(made[0].Type())
	switch op.Def() {
	case tt.Splat:
		c.set(op, linalg.NewSplat(c.Builder, c.value(op.OneOperand()), shape))
	case tt.Unsplat:
		x := c.value(op.OneOperand())
		at := make([]*ir.Value, len(ir.ShapeOf(x.Type())))
		for i := range at {
			at[i] = c.index(0)
		}
		c.set(op, c.extract(x, at))
	case tt.MakeRange:
		start := tt.AsMakeRange(op).Start()
		c.set(op, c.generic(nil, shape, elem, func([]*ir.Value) *ir.Value {
			v := arith.Cast(c.Builder, arith.IndexCast, c.at(0), elem)
			if start != 0 {
				v = arith.Binary(c.Builder, arith.AddI, v, arith.Int(c.Builder, elem, start))
			}
			return v
		}))
	case tt.ExpandDims:
		c.set(op, c.expandDims(c.value(op.OneOperand()), shape))
	case tt.Broadcast:
		c.set(op, c.broadcast(c.value(op.OneOperand()), shape))
	case tt.Trans:
		c.set(op, c.transpose(c.value(op.OneOperand()), tt.AsTrans(op).Order()))
	case tt.Reshape:
		c.set(op, linalg.NewReshape(c.Builder, c.value(op.OneOperand()), shape))
	case tt.Cat, tt.Join:
		c.set(op, c.joined(op, shape, elem))
	case tt.Split:
		x := c.value(op.OneOperand())
		whole := ir.ShapeOf(x.Type())
		last := len(whole) - 1
		for i, v := range made {
			offsets := make([]linalg.Slot, len(whole))
			offsets[last] = linalg.Num(int64(i))
			sizes := append(linalg.Nums(whole[:last]...), linalg.Num(1))
			c.values[v] = linalg.NewReshape(c.Builder, linalg.NewExtractSlice(c.Builder, x, offsets, sizes), shape)
		}
	case tt.Gather:
		v := tt.AsGather(op)
		axis, src := int(v.Axis()), c.value(v.Src())
		c.set(op, c.generic([]*ir.Value{c.value(v.Indices())}, shape, elem, func(in []*ir.Value) *ir.Value {
			at := make([]*ir.Value, len(shape))
			for i := range at {
				if i == axis {
					at[i] = c.toIndex(in[0])
				} else {
					at[i] = c.at(i)
				}
			}
			return c.extract(src, at)
		}))
	case tt.Histogram:
		v := tt.AsHistogram(op)
		x := c.value(v.Src())
		zero := linalg.NewSplat(c.Builder, arith.Int(c.Builder, elem, 0), shape)
		one := arith.Int(c.Builder, elem, 1)
		c.set(op, c.forEach(ir.ShapeOf(x.Type()), []*ir.Value{zero}, func(at, carried []*ir.Value) []*ir.Value {
			bin := arith.Cast(c.Builder, arith.IndexCastUI, c.extract(x, at), ctx.Index())
			count := func() *ir.Value {
				n := arith.Binary(c.Builder, arith.AddI, c.extract(carried[0], []*ir.Value{bin}), one)
				return c.Op(linalg.Insert, []*ir.Value{n, carried[0], bin}).OneResult()
			}
			// As on GPUs, what has no bin is not counted.
			counts := arith.Compare(c.Builder, arith.CmpI, arith.ULT, bin, c.index(shape[0]))
			if v.Mask() != nil {
				counts = arith.Binary(c.Builder, arith.AndI, counts, c.extract(c.value(v.Mask()), at))
			}
			return []*ir.Value{c.choose(counts, carried[0].Type(), count, func() *ir.Value { return carried[0] })}
		})[0])
	}
}

// expandDims gives a tensor the shape that it has but for one dimension of 1.
func (c *converter) expandDims(v *ir.Value, shape []int64) *ir.Value {
	return linalg.NewReshape(c.Builder, v, shape)
}

// broadcast repeats dimensions of 1.
func (c *converter) broadcast(v *ir.Value, shape []int64) *ir.Value {
	t := v.Type().(*ir.TensorType)
	var kept, repeated []int64
	for i, n := range t.Shape {
		if n == shape[i] {
			kept = append(kept, n)
		} else {
			repeated = append(repeated, int64(i))
		}
	}
	if len(repeated) == 0 {
		return v
	}
	out := linalg.NewEmpty(c.Builder, shape, t.Elem)
	return linalg.NewStructured(c.Builder, linalg.Broadcast, []*ir.Value{linalg.NewReshape(c.Builder, v, kept)}, []*ir.Value{out},
		linalg.Dims(c.Context(), "dimensions", repeated...)).OneResult()
}

// transpose permutes dimensions.
func (c *converter) transpose(v *ir.Value, order []int64) *ir.Value {
	t := v.Type().(*ir.TensorType)
	shape, permutation := make([]int64, len(order)), make([]int64, len(order))
	for i, from := range order {
		shape[i], permutation[i] = t.Shape[from], from
	}
	out := linalg.NewEmpty(c.Builder, shape, t.Elem)
	return linalg.NewStructured(c.Builder, linalg.Transpose, []*ir.Value{v}, []*ir.Value{out}, linalg.Dims(c.Context(), "permutation", permutation...)).OneResult()
}

// joined puts two tensors into one: one after the other, or side by side in a new last
// dimension.
func (c *converter) joined(op *ir.Operation, shape []int64, elem ir.Type) *ir.Value {
	out := linalg.NewEmpty(c.Builder, shape, elem)
	for i, v := range op.Operands() {
		x := c.value(v)
		offsets, sizes := make([]linalg.Slot, len(shape)), linalg.Nums(shape...)
		if op.Is(tt.Join) {
			last := len(shape) - 1
			offsets[last], sizes[last] = linalg.Num(int64(i)), linalg.Num(1)
		} else {
			n := ir.ShapeOf(x.Type())[0]
			offsets[0], sizes[0] = linalg.Num(int64(i)*n), linalg.Num(n)
		}
		out = linalg.NewInsertSlice(c.Builder, x, out, offsets, sizes)
	}
	return out
}

// without is a list without its i-th number.
func without(ns []int64, i int) []int64 { return slices.Delete(slices.Clone(ns), i, i+1) }
