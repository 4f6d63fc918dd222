package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// slice converts the slices of the language extensions: as they are where their elements
// are side by side in each dimension, and else element by element.
func (c *converter) slice(op *ir.Operation) {
	strides := linalg.Ints(op, "static_strides")
	if !slices.ContainsFunc(strides, func(n int64) bool { return n != 1 }) {
		c.same(op)
		return
	}
	sources := 1
	if op.Is(linalg.InsertSlice) {
		sources = 2
	}
	offsets := make([]*ir.Value, len(strides))
	dynamic := op.Group(sources)
	for i, n := range linalg.Ints(op, "static_offsets") {
		if n != linalg.Dynamic {
			offsets[i] = c.index(n)
			continue
		}
		offsets[i], dynamic = c.value(dynamic[0]), dynamic[1:]
	}
	from := func(at []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(at))
		for i, v := range at {
			out[i] = c.binary(arith.AddI, offsets[i], c.binary(arith.MulI, v, c.index(strides[i])))
		}
		return out
	}
	if op.Is(linalg.ExtractSlice) {
		x := c.value(linalg.AsExtractSlice(op).Source())
		t := op.OneResult().Type().(*ir.TensorType)
		c.set(op, c.generic(nil, t.Shape, t.Elem, func([]*ir.Value) *ir.Value {
			at := make([]*ir.Value, len(t.Shape))
			for i := range at {
				at[i] = c.at(i)
			}
			return c.extract(x, from(at))
		}))
		return
	}
	insert := linalg.AsInsertSlice(op)
	x := c.value(insert.Source())
	c.set(op, c.forEach(ir.ShapeOf(x.Type()), []*ir.Value{c.value(insert.Dest())}, func(at, carried []*ir.Value) []*ir.Value {
		return []*ir.Value{c.Op(linalg.Insert, append([]*ir.Value{c.extract(x, at), carried[0]}, from(at)...)).OneResult()}
	})[0])
}
