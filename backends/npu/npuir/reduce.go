package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// combiners are the operations that reductions have instructions for.
var combiners = []*ir.OpDef{
	arith.AddF, arith.MulF, arith.MaximumF, arith.MinimumF, arith.MaxNumF, arith.MinNumF,
	arith.AddI, arith.MulI, arith.MaxSI, arith.MinSI, arith.MaxUI, arith.MinUI, arith.AndI, arith.OrI, arith.XorI,
}

// combiner is the operation that the region of a reduction computes, nil if it is another
// computation.
func combiner(body *ir.Block) *ir.OpDef {
	op := body.First()
	x, y, pair := op.Pair()
	if body.NumArgs() != 2 || !pair || !slices.Contains(combiners, op.Def()) || op.Next() != body.Terminator() ||
		body.Terminator().OneOperand() != op.OneResult() || x == y || x.Block() != body || y.Block() != body {
		return nil
	}
	return op.Def()
}

func (l *lowering) reduce(op *ir.Operation) {
	v := linalg.AsReduce(op)
	if len(v.Dimensions()) != 1 {
		l.refuse(op, "a reduction along several dimensions has no instruction of an NPU")
	}
	dimension := int(v.Dimensions()[0])
	n := len(v.Inputs())
	from, init := make([]operand, n), make([]operand, n)
	for i, x := range v.Inputs() {
		from[i], init[i] = l.of(op, x), l.of(op, v.Outputs()[i])
	}
	t := v.OutputsAt(0).Type()
	if def := combiner(op.Body()); def != nil {
		target := l.fresh(init[0], ir.ShapeOf(t), ir.ElemOf(t))
		l.Create(Reduce, ir.State{
			Operands: []*ir.Value{l.memref(l.filled(from[0], ir.ShapeOf(v.InputsAt(0).Type()))), target.value},
			Attrs: []ir.NamedAttr{
				{Name: "op", Attr: l.Context().StringAttr(def.Name)}, {Name: "dimension", Attr: l.Context().I64Attr(int64(dimension))},
			},
		})
		l.values[op.OneResult()] = operand{view: target}
		return
	}
	for i, o := range l.halved(op, from, dimension, init) {
		l.values[op.Result(i)] = o
	}
}

// halved reduces by any computation: it combines the first elements with those from about
// the middle on, until one is left, and that with the initial elements.
func (l *lowering) halved(op *ir.Operation, from []operand, dimension int, init []operand) []operand {
	inputs := linalg.AsReduce(op).Inputs()
	shape := slices.Clone(ir.ShapeOf(inputs[0].Type()))
	for i, o := range from {
		from[i] = operand{view: l.fresh(o, shape, ir.ElemOf(inputs[i].Type()))}
	}
	parts := func(at, n int64) []operand {
		out := make([]operand, len(from))
		offsets, sizes := make([]linalg.Slot, len(shape)), slices.Clone(shape)
		offsets[dimension], sizes[dimension] = linalg.Num(at), n
		for i, o := range from {
			out[i] = operand{view: l.part(o.view, offsets, sizes)}
		}
		return out
	}
	// Instructions begin at multiples of unit elements along the dimension.
	unit := int64(1)
	for _, in := range inputs {
		unit = max(unit, chip.AlignUB/gcd(chip.AlignUB, rowMajor(shape)[dimension]*int64(widthOf(ir.ElemOf(in.Type()))+7)/8))
	}
	for n := shape[dimension]; n > 1; {
		at := n - n/2
		if up := (at + unit - 1) / unit * unit; up < n {
			at = up
		}
		low, high := parts(0, n-at), parts(at, n-at)
		g := &region{lowering: l, shape: low[0].view.shape}
		for i, o := range g.run(op.Body(), append(high, low...)) {
			l.put(o, low[i].view)
		}
		n = at
	}
	rest := slices.Delete(slices.Clone(shape), dimension, dimension+1)
	last := parts(0, 1)
	for i, o := range last {
		last[i] = operand{view: l.reshaped(o.view, rest)}
	}
	g := &region{lowering: l, shape: rest}
	return g.run(op.Body(), append(last, init...))
}
