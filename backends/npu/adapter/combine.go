package adapter

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// combination converts the block of a region that combines elements, with the values in
// the place of its arguments. It returns what it gives.
func (c *converter) combination(block *ir.Block, args []*ir.Value) []*ir.Value {
	for i, v := range args {
		c.values[block.Arg(i)] = v
	}
	end := block.Terminator()
	for op := range block.Ops() {
		if op != end {
			c.operation(op)
		}
	}
	out := make([]*ir.Value, end.NumOperands())
	for i, v := range end.Operands() {
		out[i] = c.value(v)
	}
	return out
}

// single is the one operation of a region that combines two elements; nil if there are
// more.
func single(r *ir.Region) *ir.Operation {
	b := r.First()
	op := b.First()
	if b != r.Last() || b.NumArgs() != 2 || op == nil || op.Next() != b.Terminator() || b.Terminator().NumOperands() != 1 {
		return nil
	}
	x, y, ok := op.Pair()
	if !ok || b.Terminator().OneOperand() != op.OneResult() || x == y || x.Block() != b || y.Block() != b || !x.IsArgument() || !y.IsArgument() {
		return nil
	}
	return op
}

// neutral makes what changes nothing where an operation combines it with an element; nil
// where nothing is known of the operation.
func (c *converter) neutral(op *ir.Operation) *ir.Value {
	if op == nil {
		return nil
	}
	t := op.OneResult().Type()
	bits := ir.BitWidth(t)
	switch op.Def() {
	case arith.AddI, arith.OrI, arith.XorI, arith.MaxUI:
		return arith.Int(c.Builder, t, 0)
	case arith.MulI:
		return arith.Int(c.Builder, t, 1)
	case arith.AndI, arith.MinUI:
		return arith.Int(c.Builder, t, -1)
	case arith.MaxSI:
		return arith.Int(c.Builder, t, -1<<(bits-1))
	case arith.MinSI:
		return arith.Int(c.Builder, t, 1<<(bits-1)-1)
	case arith.AddF:
		return arith.Float(c.Builder, t, math.Copysign(0, -1))
	case arith.MaximumF:
		return arith.Float(c.Builder, t, math.Inf(-1))
	case arith.MinimumF:
		return arith.Float(c.Builder, t, math.Inf(1))
	case arith.MaxNumF, arith.MinNumF: // which give the operand that is a number
		return arith.Float(c.Builder, t, math.NaN())
	case arith.MulF:
		return arith.Float(c.Builder, t, 1)
	}
	return nil
}

// along makes the part of a tensor that is one thick along an axis.
func (c *converter) along(v *ir.Value, axis int, at linalg.Slot) *ir.Value {
	shape := ir.ShapeOf(v.Type())
	offsets, sizes := make([]linalg.Slot, len(shape)), linalg.Nums(shape...)
	offsets[axis], sizes[axis] = at, linalg.Num(1)
	return linalg.NewReshape(c.Builder, linalg.NewExtractSlice(c.Builder, v, offsets, sizes), without(shape, axis))
}

// axisFirst makes the tensor with an axis before the others, whose parts along it are side by
// side in memory: instructions begin at multiples of 32 bytes.
func (c *converter) axisFirst(x *ir.Value, axis int) *ir.Value {
	return c.transposed(x, slices.Concat([]int64{int64(axis)}, without(order(len(ir.ShapeOf(x.Type()))), axis)))
}

// axisBack is the reverse of axisFirst.
func (c *converter) axisBack(x *ir.Value, axis int) *ir.Value {
	return c.transposed(x, slices.Insert(order(len(ir.ShapeOf(x.Type())))[1:], axis, 0))
}

// order are the numbers of dimensions.
func order(rank int) []int64 {
	out := make([]int64, rank)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

func (c *converter) transposed(x *ir.Value, permutation []int64) *ir.Value {
	if slices.IsSorted(permutation) {
		return x
	}
	from := ir.ShapeOf(x.Type())
	shape := make([]int64, len(from))
	for i, d := range permutation {
		shape[i] = from[d]
	}
	return linalg.NewStructured(c.Builder, linalg.Transpose, []*ir.Value{x}, []*ir.Value{linalg.NewEmpty(c.Builder, shape, ir.ElemOf(x.Type()))},
		linalg.Dims(c.Context(), "permutation", permutation...)).OneResult()
}

// reduce is a linalg.reduce: beginning with what changes nothing, or else with the last
// elements along the axis, so that the others begin where the tensor does.
func (c *converter) reduce(op *ir.Operation) {
	axis := int(tt.AsReduce(op).Axis())
	region := tt.AsReduce(op).CombineOp()
	ins := make([]*ir.Value, op.NumOperands())
	outs := make([]*ir.Value, len(ins))
	for i, v := range op.Operands() {
		ins[i] = c.value(v)
	}
	shape := ir.ShapeOf(ins[0].Type())
	kept := without(shape, axis)
	if v := c.neutral(single(region)); v != nil {
		outs[0] = linalg.NewSplat(c.Builder, v, kept)
	} else {
		last := shape[axis] - 1
		for i, v := range ins {
			ins[i] = c.axisFirst(v, axis)
		}
		shape, axis = slices.Concat([]int64{last + 1}, kept), 0
		offsets, sizes := make([]linalg.Slot, len(shape)), linalg.Nums(shape...)
		sizes[0] = linalg.Num(last)
		for i, v := range ins {
			outs[i] = c.along(v, 0, linalg.Num(last))
			if last > 0 {
				ins[i] = linalg.NewExtractSlice(c.Builder, v, offsets, sizes)
			}
		}
	}
	results := outs
	if shape[axis] > 1 || outs[0].DefIs(linalg.Fill) {
		made, body := linalg.NewReduce(c.Builder, ins, outs, int64(axis))
		p := c.Save()
		c.SetToEnd(body)
		elements, sums := body.Args()[:len(ins)], body.Args()[len(ins):]
		c.Op(linalg.Yield, c.combination(region.First(), slices.Concat(sums, elements)))
		c.Restore(p)
		results = made.Results()
	}
	for i, v := range op.Results() {
		if _, tensor := v.Type().(*ir.TensorType); tensor {
			c.values[v] = results[i]
		} else {
			c.values[v] = c.extract(results[i], nil)
		}
	}
}

// scan goes along the axis, combining all that is beside it at once, or if that is one
// element, numbers.
func (c *converter) scan(op *ir.Operation) {
	v := tt.AsScan(op)
	axis := int(v.Axis())
	ins := make([]*ir.Value, op.NumOperands())
	for i, x := range op.Operands() {
		ins[i] = c.axisFirst(c.value(x), axis)
	}
	shape := ir.ShapeOf(ins[0].Type())
	kept := shape[1:]
	numbers := !slices.ContainsFunc(kept, func(n int64) bool { return n != 1 })
	first, step := int64(0), int64(1)
	if v.Reverse() {
		first, step = shape[0]-1, -1
	}
	indices := func(at linalg.Slot) []*ir.Value {
		list := make([]*ir.Value, len(shape))
		for i := range list {
			list[i] = c.index(0)
		}
		if list[0] = at.Value; at.Value == nil {
			list[0] = c.index(at.N)
		}
		return list
	}
	get := func(x *ir.Value, at linalg.Slot) *ir.Value {
		if numbers {
			return c.extract(x, indices(at))
		}
		return c.along(x, 0, at)
	}
	put := func(part, whole *ir.Value, at linalg.Slot) *ir.Value {
		if numbers {
			return c.Op(linalg.Insert, append([]*ir.Value{part, whole}, indices(at)...)).OneResult()
		}
		offsets, sizes := make([]linalg.Slot, len(shape)), linalg.Nums(shape...)
		offsets[0], sizes[0] = at, linalg.Num(1)
		return linalg.NewInsertSlice(c.Builder, part, whole, offsets, sizes)
	}
	carried := make([]*ir.Value, 2*len(ins)) // the sums so far, and the results
	for i, x := range ins {
		carried[i] = get(x, linalg.Num(first))
		carried[len(ins)+i] = put(carried[i], linalg.NewEmpty(c.Builder, shape, ir.ElemOf(x.Type())), linalg.Num(first))
	}
	loop := scf.NewFor(c.Builder, c.index(1), c.index(shape[0]), c.index(1), carried...)
	p := c.Save()
	c.SetToEnd(loop.Body())
	at := scf.InductionVar(loop)
	if step < 0 {
		at = arith.Binary(c.Builder, arith.SubI, c.index(first), at)
	}
	args := scf.IterArgs(loop)
	sums, results := args[:len(ins)], args[len(ins):]
	operands := append([]*ir.Value{}, sums...)
	for _, x := range ins {
		operands = append(operands, get(x, linalg.Slot{Value: at}))
	}
	var next []*ir.Value
	if numbers {
		next = c.combination(v.CombineOp().First(), operands)
	} else {
		next = c.pointwise(v.CombineOp().First(), operands, kept)
	}
	for i := range ins {
		next = append(next, put(next[i], results[i], linalg.Slot{Value: at}))
	}
	scf.NewYield(c.Builder, next...)
	c.Restore(p)
	for i, r := range op.Results() {
		c.values[r] = c.axisBack(loop.Result(len(ins)+i), axis)
	}
}

// pointwise applies a region to the elements of tensors of one shape.
func (c *converter) pointwise(block *ir.Block, ins []*ir.Value, shape []int64) []*ir.Value {
	outs := make([]*ir.Value, block.Terminator().NumOperands())
	for i, v := range block.Terminator().Operands() {
		outs[i] = linalg.NewEmpty(c.Builder, shape, v.Type())
	}
	op, body := linalg.NewGeneric(c.Builder, ins, outs)
	p := c.Save()
	c.SetToEnd(body)
	c.Op(linalg.Yield, c.combination(block, body.Args()[:len(ins)]))
	c.Restore(p)
	return append([]*ir.Value{}, op.Results()...)
}

func (c *converter) mapElementwise(op *ir.Operation) {
	v := tt.AsMapElementwise(op)
	if v.Pack() != 1 {
		c.refuse(op, "leave out pack", "a function of several elements at once has no form for NPUs yet")
	}
	ins := make([]*ir.Value, op.NumOperands())
	for i, v := range op.Operands() {
		ins[i] = c.value(v)
	}
	made := op.Results()
	for i, x := range c.pointwise(v.ScalarOp().First(), ins, ir.ShapeOf(made[0].Type())) {
		c.values[made[i]] = x
	}
}
