package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// LinalgToNPUIR makes tile programs of the kernels of a module.
var LinalgToNPUIR = &pass.Pass{
	Name:    "linalg-to-npuir",
	Doc:     "give tensors buffers in ub, and compute with vector instructions and DMA",
	Example: toNPUIRExample,
	Run: func(r *pass.Run) error {
		r.Module.Context().Load(Dialect)
		for op := range r.Module.Body().Ops() {
			if op.Is(linalg.Func) {
				if err := lowerFunction(r, op); err != nil {
					return err
				}
			}
		}
		return nil
	},
}

// lowering makes a tile program of a function, in place.
type lowering struct {
	*ir.Builder
	run *pass.Run
	// buffers hold the tensors. A tensor of one value has a scalar, and a buffer only
	// where an instruction needs one.
	buffers, scalars map[*ir.Value]*ir.Value
	dead             []*ir.Operation // operations on tensors, in their order
}

// refusal is what a lowering stops with where an operation has no instruction.
type refusal struct{ d *diag.Diagnostic }

func (l *lowering) refuse(op *ir.Operation, format string, args ...any) {
	panic(refusal{diag.Errorf(l.run.Place(op), format, args...)})
}

func lowerFunction(r *pass.Run, f *ir.Operation) (err error) {
	l := &lowering{
		Builder: ir.NewBuilder(r.Module.Context()), run: r,
		buffers: make(map[*ir.Value]*ir.Value), scalars: make(map[*ir.Value]*ir.Value),
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
	var ops []*ir.Operation
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op != f {
			ops = append(ops, op)
		}
		if op.Def().Dialect() == "linalg" {
			return ir.Skip // its region is a part of it
		}
		return ir.Advance
	})
	for _, op := range ops {
		l.At(op)
		l.operation(op)
	}
	for _, op := range slices.Backward(l.dead) {
		op.Erase()
	}
	return nil
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
	switch op.Def() {
	case linalg.Alloc:
		v := op.OneResult()
		m := linalg.MemRefOf(l.Context(), v.Type())
		m.Space = UB.Attr()
		v.SetType(m.Type(l.Context()))
		return
	case linalg.SubView:
		v := linalg.AsSubView(op)
		m := linalg.MemRefOf(l.Context(), v.Result().Type())
		m.Space = linalg.MemRefOf(l.Context(), v.Source().Type()).Space
		v.Result().SetType(m.Type(l.Context()))
		return
	case linalg.Copy:
		v := linalg.AsCopy(op)
		l.Op(DMA, []*ir.Value{v.Source(), v.Target()})
	case linalg.Fill:
		v := linalg.AsFill(op)
		if op.NumResults() > 0 {
			l.scalars[op.OneResult()] = v.InputsAt(0)
		} else {
			l.Op(Fill, []*ir.Value{v.InputsAt(0), v.OutputsAt(0)})
		}
	case linalg.ToTensor:
		v := linalg.AsToTensor(op)
		l.buffers[v.Result()] = v.Buffer()
	case linalg.Materialize:
		v := linalg.AsMaterialize(op)
		l.Op(DMA, []*ir.Value{l.buffer(op, v.Source()), v.Dest()})
	case linalg.Reduce:
		l.reduce(op)
	case linalg.ExtractSlice:
		l.slice(op)
	case linalg.Extract:
		l.extract(op)
	case linalg.Empty:
	default:
		if !onTensors(op) {
			if op.Def().Dialect() == "linalg" {
				l.refuse(op, "%s has no instruction of an NPU yet", op.Name())
			}
			return
		}
		l.elementwise(op)
	}
	l.dead = append(l.dead, op)
}

// alloc makes a buffer in ub for a tensor.
func (l *lowering) alloc(t ir.Type) *ir.Value {
	m := &linalg.MemRef{Shape: ir.ShapeOf(t), Elem: ir.ElemOf(t), Space: UB.Attr()}
	return l.Op(linalg.Alloc, nil, m.Type(l.Context())).OneResult()
}

// buffer is that of a tensor. One of a single value is filled where the tensor is made.
func (l *lowering) buffer(user *ir.Operation, v *ir.Value) *ir.Value {
	if b, ok := l.buffers[v]; ok {
		return b
	}
	scalar, ok := l.scalars[v]
	if !ok {
		l.refuse(user, "a tensor of any content, or one that loops and conditionals give, has no buffer yet")
	}
	at := l.Save()
	l.SetAfter(v.Def())
	b := l.alloc(v.Type())
	l.Op(Fill, []*ir.Value{scalar, b})
	l.Restore(at)
	l.buffers[v] = b
	return b
}

// elementwise makes a vector instruction of an operation of arith or math.
func (l *lowering) elementwise(op *ir.Operation) {
	if op.Is(arith.Constant) {
		l.constant(op)
		return
	}
	if d := op.Def().Dialect(); d != "arith" && d != "math" || op.NumResults() != 1 {
		l.refuse(op, "%s has no instruction of an NPU yet", op.Name())
	}
	attrs := []ir.NamedAttr{{Name: "op", Attr: l.Context().StringAttr(op.Name())}}
	for _, a := range op.Attrs() {
		switch a.Name {
		case "predicate":
			attrs = append(attrs, a)
		case "fastmath", "overflowFlags": // what may be assumed, and need not be
		default:
			l.refuse(op, "%s with the attribute %s has no instruction of an NPU yet", op.Name(), a.Name)
		}
	}
	operands := op.OperandValues()
	inputs := slices.Clone(operands)
	vectors := 0
	for i, v := range inputs {
		if scalar, ok := l.scalars[v]; ok {
			inputs[i] = scalar
		} else if isTensor(v) {
			inputs[i] = l.buffer(op, v)
			vectors++
		}
	}
	if vectors == 0 {
		i := slices.IndexFunc(operands, isTensor)
		inputs[i] = l.buffer(op, operands[i])
	}
	target := l.alloc(op.OneResult().Type())
	l.Create(Vector, ir.State{Operands: append(inputs, target), Attrs: attrs})
	l.buffers[op.OneResult()] = target
}

// constant makes a scalar of a constant with one value.
func (l *lowering) constant(op *ir.Operation) {
	dense, ok := op.ConstantValue().(*ir.DenseElementsAttr)
	if !ok || !dense.IsSplat() {
		l.refuse(op, "a constant of several values has no instruction of an NPU yet")
	}
	var value ir.Attribute
	switch t := ir.ElemOf(dense.Type).(type) {
	case *ir.FloatType:
		value = l.Context().FloatBits(t, dense.Values[0])
	default:
		value = l.Context().IntAttr(t, int64(dense.Values[0]))
	}
	l.scalars[op.OneResult()] = arith.NewConstant(l.Builder, value)
}

// combiners are the operations that reductions have instructions for.
var combiners = []*ir.OpDef{
	arith.AddF, arith.MulF, arith.MaximumF, arith.MinimumF, arith.MaxNumF, arith.MinNumF,
	arith.AddI, arith.MulI, arith.MaxSI, arith.MinSI, arith.MaxUI, arith.MinUI, arith.AndI, arith.OrI, arith.XorI,
}

func (l *lowering) reduce(op *ir.Operation) {
	v := linalg.AsReduce(op)
	body := op.Body()
	combine := body.First()
	x, y, pair := combine.Pair()
	if len(v.Inputs()) != 1 || len(v.Dimensions()) != 1 || !pair || !slices.Contains(combiners, combine.Def()) ||
		combine.Next() != body.Terminator() || body.Terminator().OneOperand() != combine.OneResult() || x == y || x.Block() != body || y.Block() != body {
		l.refuse(op, "a reduction by other than one operation has no instruction of an NPU yet")
	}
	source := l.buffer(op, v.InputsAt(0))
	init := v.OutputsAt(0)
	target := l.alloc(init.Type())
	if scalar, ok := l.scalars[init]; ok {
		l.Op(Fill, []*ir.Value{scalar, target})
	} else {
		l.Op(DMA, []*ir.Value{l.buffer(op, init), target})
	}
	made := AsReduce(l.Create(Reduce, ir.State{Operands: []*ir.Value{source, target}, Attrs: []ir.NamedAttr{
		{Name: "op", Attr: l.Context().StringAttr(combine.Name())},
		{Name: "dimension", Attr: l.Context().I64Attr(v.Dimensions()[0])},
	}}))
	l.buffers[op.OneResult()] = made.Target()
}

// slice makes a view of a buffer. Buffers of tensors do not change, so that it holds.
func (l *lowering) slice(op *ir.Operation) {
	v := linalg.AsExtractSlice(op)
	if len(ir.ShapeOf(v.Result().Type())) != len(ir.ShapeOf(v.Source().Type())) || slices.ContainsFunc(v.StaticStrides(), func(n int64) bool { return n != 1 }) {
		l.refuse(op, "a slice with fewer dimensions or with strides has no buffer yet")
	}
	l.buffers[v.Result()] = linalg.NewSubView(l.Builder, l.buffer(op, v.Source()), slots(v.StaticOffsets(), v.Offsets()), slots(v.StaticSizes(), v.Sizes()))
}

// slots are numbers, with the values in place of those that are not known.
func slots(static []int64, dynamic []*ir.Value) []linalg.Slot {
	out := linalg.Nums(static...)
	for i, n := range static {
		if n == linalg.Dynamic {
			out[i], dynamic = linalg.Slot{Value: dynamic[0]}, dynamic[1:]
		}
	}
	return out
}

// extract reads an element with the scalar unit.
func (l *lowering) extract(op *ir.Operation) {
	v := linalg.AsExtract(op)
	scalar, ok := l.scalars[v.Tensor()]
	if !ok {
		scalar = l.Op(linalg.Load, append([]*ir.Value{l.buffer(op, v.Tensor())}, v.Indices()...)).OneResult()
	}
	op.ReplaceAllUsesWith(scalar)
}
