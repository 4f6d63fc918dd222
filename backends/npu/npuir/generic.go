package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// generic lowers a linalg.generic over all points of tensors of one shape.
func (l *lowering) generic(op *ir.Operation) {
	v := linalg.AsGeneric(op)
	shape := ir.ShapeOf(v.OutputsAt(0).Type())
	args := make([]operand, op.NumOperands())
	for i, x := range op.Operands() {
		if !slices.Equal(ir.ShapeOf(x.Type()), shape) {
			l.refuse(op, "a generic over other than all points of its operands has no instruction of an NPU")
		}
		if !x.DefIs(linalg.Empty) {
			args[i] = l.of(op, x)
		}
	}
	g := &region{lowering: l, shape: shape}
	for i, result := range g.run(v.Region().First(), args) {
		l.values[op.Result(i)] = result
	}
}

// region lowers a region that computes an element to instructions that compute all.
type region struct {
	*lowering
	shape []int64
	mask  operand // where the region runs: everywhere, if it is nothing
}

// run lowers a block that gets operands for its arguments. It returns what it yields.
func (g *region) run(b *ir.Block, args []operand) []operand {
	for i, o := range args {
		g.values[b.Arg(i)] = o
	}
	end := b.Terminator()
	for op := range b.Ops() {
		if op != end {
			g.Loc = op.Loc()
			g.operation(op)
		}
	}
	out := make([]operand, end.NumOperands())
	for i, v := range end.Operands() {
		out[i] = g.element(v)
	}
	return out
}

// element is what stands for a value of the region: itself, where it was made outside.
func (g *region) element(v *ir.Value) operand {
	if o, ok := g.values[v]; ok {
		return o
	}
	return operand{scalar: v}
}

func (g *region) operation(op *ir.Operation) {
	if op.NumResults() != 1 {
		g.compute(op)
		return
	}
	result := op.OneResult()
	switch op.Def() {
	case linalg.Index:
		onlyCasts := true
		for user := range result.Users() {
			onlyCasts = onlyCasts && user.Is(arith.IndexCast)
		}
		if !onlyCasts {
			g.values[result] = g.iota(op, result.Type())
		}
	case arith.IndexCast:
		if from := op.OneOperand(); from.DefIs(linalg.Index) {
			g.values[result] = g.iota(from.Def(), result.Type())
			return
		}
		g.compute(op)
	case arith.Constant:
		g.values[result] = operand{scalar: arith.NewConstant(g.Builder, op.ConstantValue())}
	case linalg.Load:
		v := linalg.AsLoad(op)
		target := g.alloc(UB, g.shape, result.Type())
		if g.mask != (operand{}) {
			g.fill(g.zero(result.Type()), target)
		}
		g.gather(op, v.Memref(), v.Indices(), target)
		g.values[result] = operand{view: target}
	case linalg.Extract:
		v := linalg.AsExtract(op)
		from := g.of(op, v.Tensor())
		if from.view == nil {
			g.values[result] = from
			return
		}
		g.values[result] = g.extract(from.view, v.Indices())
	case scf.If:
		g.choose(op)
	default:
		g.compute(op)
	}
}

func (g *region) compute(op *ir.Operation) {
	inputs := make([]operand, op.NumOperands())
	for i, v := range op.Operands() {
		inputs[i] = g.element(v)
	}
	if low, _ := g.halves(op); low != nil {
		g.product(op, inputs, g.shape)
		return
	}
	t := op.OneResult().Type()
	g.values[op.OneResult()] = g.lowering.compute(op, inputs, g.shape, t)
}

// iota are the indices that a linalg.index gives, as numbers of a type.
func (g *region) iota(op *ir.Operation, t ir.Type) operand {
	to := g.alloc(UB, g.shape, t)
	g.Create(Iota, ir.State{
		Operands: []*ir.Value{to.value},
		Attrs:    []ir.NamedAttr{{Name: "dimension", Attr: g.Context().I64Attr(linalg.AsIndex(op).Dim())}},
	})
	return operand{view: to}
}

// zero makes 0 of a scalar type.
func (g *region) zero(t ir.Type) *ir.Value {
	if ir.IsFloat(t) {
		return arith.Float(g.Builder, t, 0)
	}
	return arith.Int(g.Builder, t, 0)
}

// gather loads elements of a block of memory with one dimension where the region runs.
func (g *region) gather(op *ir.Operation, source *ir.Value, indices []*ir.Value, target *view) {
	if len(indices) != 1 {
		g.refuse(op, "a gather from memory of several dimensions has no instruction of an NPU")
	}
	g.gatherAt(source, g.element(indices[0]), target)
}

func (g *region) gatherAt(source *ir.Value, index operand, target *view) {
	operands := []*ir.Value{source, g.memref(g.filled(index, g.shape)), g.memref(target)}
	if g.mask != (operand{}) {
		operands = append(operands, g.memref(g.filled(g.mask, g.shape)))
	}
	g.Op(Gather, operands)
}

// extract gathers elements of a tensor, in ub.
func (g *region) extract(from *view, indices []*ir.Value) operand {
	n := int64(1)
	for _, d := range from.shape {
		n *= d
	}
	flat := g.reshaped(from, []int64{n})
	strides := rowMajor(from.shape)
	var sum operand
	for i, v := range indices {
		at := g.element(v)
		if strides[i] != 1 {
			at = g.binary(arith.MulI, at, operand{scalar: g.index(linalg.Num(strides[i]))})
		}
		if sum != (operand{}) {
			at = g.binary(arith.AddI, sum, at)
		}
		sum = at
	}
	if flat.strides[0] != 1 && n != 1 {
		flat = g.fresh(operand{view: flat}, flat.shape, g.elem(flat))
	}
	if sum.view == nil {
		return operand{scalar: g.Op(linalg.Load, []*ir.Value{g.memref(flat), sum.scalar}).OneResult()}
	}
	target := g.alloc(UB, g.shape, g.elem(from))
	if g.mask != (operand{}) {
		g.fill(g.zero(g.elem(from)), target)
	}
	g.gatherAt(g.memref(flat), sum, target)
	return operand{view: target}
}

// binary computes an operation on numbers of one type, which is the result's.
func (g *region) binary(def *ir.OpDef, x, y operand) operand {
	t := ir.Type(nil)
	for _, o := range []operand{x, y} {
		if o.view != nil {
			t = g.elem(o.view)
		} else {
			t = o.scalar.Type()
		}
	}
	return g.apply(def, []operand{x, y}, g.shape, t)
}

// choose lowers a conditional that gives one of two elements. A region that only loads
// one loads it where the condition holds into what the other region gives.
func (g *region) choose(op *ir.Operation) {
	v := scf.AsIf(op)
	cond := g.element(v.Condition())
	yes, no := v.ThenRegion().First(), v.ElseRegion().First()
	result := op.OneResult()
	outer := g.mask
	within := func(m operand) operand {
		if outer == (operand{}) {
			return m
		}
		return g.binary(arith.AndI, outer, m)
	}
	loaded := yes.Terminator().OneOperand().Def()
	onlyLoad := loaded != nil && loaded.Is(linalg.Load) && loaded.Block() == yes && loaded.Next() == yes.Terminator()
	t := operand{scalar: arith.Int(g.Builder, g.Context().I1(), 1)}
	g.mask = within(g.binary(arith.XorI, cond, t))
	other := g.run(no, nil)[0]
	g.mask = within(cond)
	if onlyLoad {
		for o := range yes.Ops() {
			if o != loaded && o != yes.Terminator() {
				g.operation(o)
			}
		}
		target := g.fresh(other, g.shape, result.Type())
		g.gather(loaded, linalg.AsLoad(loaded).Memref(), linalg.AsLoad(loaded).Indices(), target)
		g.values[result] = operand{view: target}
	} else {
		value := g.run(yes, nil)[0]
		g.values[result] = g.apply(arith.Select, []operand{cond, value, other}, g.shape, result.Type())
	}
	g.mask = outer
}
