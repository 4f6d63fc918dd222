package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// LinalgToNPUIR makes tile programs of the kernels of a module.
var LinalgToNPUIR = &pass.Pass{
	Name:    "linalg-to-npuir",
	Doc:     "give tensors buffers, and compute with vector and cube instructions and DMA",
	Example: toNPUIRExample,
	Options: capacities,
	Run: func(r *pass.Run) error {
		r.Module.Context().Load(Dialect)
		for op := range r.Module.Body().Ops() {
			if op.Is(linalg.Func) && !op.IsPrivate() {
				if err := lowerFunction(r, op); err != nil {
					return err
				}
			}
		}
		for op := range r.Module.Body().Ops() {
			if op.Is(linalg.Func) && linalg.AsFunc(op).SymName() == adapter.SyncFunction {
				op.Erase()
			}
		}
		return nil
	},
}

// lowering makes a tile program of a function, in place.
type lowering struct {
	*ir.Builder
	run    *pass.Run
	values map[*ir.Value]operand
	cube   map[*ir.Value]bool // memref.alloc that only matmuls read
	dead   []*ir.Operation    // operations on tensors, in their order
	// replaced are the loops among them that instructions stand for as a whole.
	replaced map[*ir.Operation]bool
	// residents are the matrices that were given buffers in l0c as a whole.
	residents []resident
}

// refusal is what a lowering stops with where an operation has no instruction.
type refusal struct{ d *diag.Diagnostic }

func (l *lowering) refuse(op *ir.Operation, format string, args ...any) {
	panic(refusal{l.run.Errorf(op, format, args...)})
}

func lowerFunction(r *pass.Run, f *ir.Operation) (err error) {
	l := &lowering{
		Builder: ir.NewBuilder(r.Module.Context()), run: r,
		values: make(map[*ir.Value]operand), cube: cubeBuffers(f), replaced: make(map[*ir.Operation]bool),
	}
	defer func() {
		if p := recover(); p != nil {
			refused, ok := p.(refusal)
			if !ok {
				panic(p)
			}
			err = refused.d
		}
	}()
	for b := range linalg.AsFunc(f).Body().Blocks() {
		l.block(b)
	}
	for _, op := range slices.Backward(l.dead) {
		if op.NumRegions() > 0 && op.Def().Dialect() == "scf" && !l.replaced[op] {
			l.withoutTensors(op)
		}
		op.Erase()
	}
	return nil
}

// block lowers the operations of a block.
func (l *lowering) block(b *ir.Block) {
	var ops []*ir.Operation
	for op := range b.Ops() {
		ops = append(ops, op)
	}
	for _, op := range ops {
		l.At(op)
		l.operation(op)
	}
}

func isTensor(v *ir.Value) bool {
	_, ok := v.Type().(*ir.TensorType)
	return ok
}

// onTensors reports whether an operation reads or makes tensors.
func onTensors(op *ir.Operation) bool {
	return slices.ContainsFunc(op.OperandValues(), isTensor) || slices.ContainsFunc(op.Results(), isTensor)
}

func (l *lowering) operation(op *ir.Operation) {
	if mode, event, ok := adapter.SyncOf(op); ok {
		l.Create(SyncBlock, ir.State{Attrs: []ir.NamedAttr{
			{Name: "mode", Attr: l.Context().StringAttr(string(mode))},
			{Name: "event", Attr: l.Context().I64Attr(event)},
		}})
		l.dead = append(l.dead, op)
		return
	}
	switch op.Def() {
	case linalg.Alloc:
		v := op.OneResult()
		m := linalg.MemRefOf(l.Context(), v.Type())
		m.Space = UB.Attr()
		if l.cube[v] {
			m.Space = L1.Attr()
		}
		v.SetType(m.Type(l.Context()))
		return
	case linalg.SubView:
		v := linalg.AsSubView(op)
		m := linalg.MemRefOf(l.Context(), v.Result().Type())
		m.Space = linalg.MemRefOf(l.Context(), v.Source().Type()).Space
		v.Result().SetType(m.Type(l.Context()))
		return
	case scf.For, scf.If, scf.While:
		l.control(op)
		return
	case scf.Yield, scf.Condition:
		return // of what control lowers
	case linalg.Copy:
		l.load(op)
	case linalg.Fill:
		v := linalg.AsFill(op)
		if op.NumResults() > 0 {
			l.values[op.OneResult()] = operand{scalar: v.InputsAt(0)}
		} else if partial(v.OutputsAt(0)) == nil {
			l.Op(Fill, []*ir.Value{v.InputsAt(0), v.OutputsAt(0)})
		}
	case linalg.ToTensor:
		v := linalg.AsToTensor(op)
		l.values[v.Result()] = operand{view: l.whole(v.Buffer())}
	case linalg.Materialize:
		v := linalg.AsMaterialize(op)
		l.Op(DMA, []*ir.Value{l.memref(l.buffer(op, v.Source())), v.Dest()})
	case linalg.Matmul, linalg.BatchMatmul:
		l.matmul(op)
	case linalg.Reduce:
		l.reduce(op)
	case linalg.Generic:
		l.generic(op)
	case linalg.Empty:
	case linalg.Broadcast, linalg.Transpose, linalg.ExpandShape, linalg.CollapseShape,
		linalg.ExtractSlice, linalg.InsertSlice, linalg.FromElements:
		l.shape(op)
	case linalg.Extract:
		l.extract(op)
	case linalg.Insert:
		l.insert(op)
	default:
		if !onTensors(op) {
			if op.Def().Dialect() == "linalg" {
				l.refuse(op, "%s has no instruction of an NPU", op.Name())
			}
			return
		}
		l.elementwise(op)
	}
	l.dead = append(l.dead, op)
}

// elementwise lowers an operation of arith or math on tensors.
func (l *lowering) elementwise(op *ir.Operation) {
	if op.Is(arith.Constant) {
		l.constant(op)
		return
	}
	inputs := make([]operand, op.NumOperands())
	for i, v := range op.Operands() {
		if isTensor(v) {
			inputs[i] = l.of(op, v)
		} else {
			inputs[i] = operand{scalar: v}
		}
	}
	if low, _ := l.halves(op); low != nil {
		l.product(op, inputs, ir.ShapeOf(low.Type()))
		return
	}
	if len(inputs) > 0 && l.in(inputs[0].view, L0C) {
		l.values[op.OneResult()] = inputs[0] // transfers from there round
		return
	}
	t := op.OneResult().Type()
	l.values[op.OneResult()] = l.compute(op, inputs, ir.ShapeOf(t), ir.ElemOf(t))
}

// constant makes a scalar of a constant with one value, else a buffer that the scalar unit
// writes.
func (l *lowering) constant(op *ir.Operation) {
	dense, ok := op.ConstantValue().(*ir.DenseElementsAttr)
	if !ok {
		l.refuse(op, "this constant has no form for an NPU")
	}
	t := op.OneResult().Type()
	number := func(i int) *ir.Value {
		var value ir.Attribute
		switch e := ir.ElemOf(t).(type) {
		case *ir.FloatType:
			value = l.Context().FloatBits(e, dense.Values[i])
		default:
			value = l.Context().IntAttr(e, int64(dense.Values[i]))
		}
		return arith.NewConstant(l.Builder, value)
	}
	if dense.IsSplat() {
		l.values[op.OneResult()] = operand{scalar: number(0)}
		return
	}
	elements := make([]*ir.Value, len(dense.Values))
	for i := range elements {
		elements[i] = number(i)
	}
	l.values[op.OneResult()] = l.elements(elements, ir.ShapeOf(t))
}

// elements makes a buffer of scalars, in row-major order.
func (l *lowering) elements(vs []*ir.Value, shape []int64) operand {
	if len(vs) == 1 {
		return operand{scalar: vs[0]}
	}
	made := l.alloc(UB, shape, vs[0].Type())
	flat := l.memref(l.reshaped(made, []int64{int64(len(vs))}))
	for i, v := range vs {
		l.Op(linalg.Store, []*ir.Value{v, flat, l.index(linalg.Num(int64(i)))})
	}
	return operand{view: made}
}

// extract reads an element with the scalar unit.
func (l *lowering) extract(op *ir.Operation) {
	v := linalg.AsExtract(op)
	o := l.of(op, v.Tensor())
	scalar := o.scalar
	if scalar == nil {
		scalar = l.Op(linalg.Load, append([]*ir.Value{l.memref(o.view)}, v.Indices()...)).OneResult()
	}
	op.ReplaceAllUsesWith(scalar)
}

// insert writes an element of a copy with the scalar unit.
func (l *lowering) insert(op *ir.Operation) {
	v := linalg.AsInsert(op)
	to := l.changed(op, v.Dest())
	l.Op(linalg.Store, append([]*ir.Value{v.Scalar(), l.memref(to)}, v.Indices()...))
	l.values[op.OneResult()] = operand{view: to}
}

// changed is a copy of a tensor that an operation may write to.
func (l *lowering) changed(op *ir.Operation, dest *ir.Value) *view {
	t := dest.Type()
	if dest.DefIs(linalg.Empty) {
		return l.alloc(UB, ir.ShapeOf(t), ir.ElemOf(t))
	}
	return l.fresh(l.of(op, dest), ir.ShapeOf(t), ir.ElemOf(t))
}
