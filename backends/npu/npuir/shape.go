package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// shape lowers what gives elements of tensors other places.
func (l *lowering) shape(op *ir.Operation) {
	result := op.OneResult()
	shape, elem := ir.ShapeOf(result.Type()), ir.ElemOf(result.Type())
	switch op.Def() {
	case linalg.FromElements:
		l.values[result] = l.elements(op.OperandValues(), shape)
		return
	case linalg.InsertSlice:
		v := linalg.AsInsertSlice(op)
		l.onlySteps(op, v.StaticStrides())
		to := l.changed(op, v.Dest())
		sizes := v.StaticSizes()
		if slices.Contains(sizes, linalg.Dynamic) {
			l.refuse(op, "a slice of a size that is not known cannot be inserted")
		}
		target := l.part(to, slots(v.StaticOffsets(), v.Offsets()), sizes)
		from := l.of(op, v.Source())
		if from.view != nil {
			from.view = l.reshaped(from.view, sizes)
		}
		l.put(from, target)
		l.values[result] = operand{view: to}
		return
	case linalg.Transpose:
		if onlyMatmuls(result) && l.in(l.values[linalg.AsTranspose(op).InputsAt(0)].view, L1) {
			return // as a view
		}
	}
	from := l.of(op, source(op))
	if from.view == nil && slices.ContainsFunc(shape, func(n int64) bool { return n < 0 }) { // the size of a buffer is known
		from.view = l.filled(from, ir.ShapeOf(source(op).Type()))
	}
	if from.view == nil {
		l.values[result] = from
		return
	}
	made := from.view
	switch op.Def() {
	case linalg.Broadcast:
		made = l.alloc(UB, shape, elem)
		l.Create(Broadcast, ir.State{
			Operands: []*ir.Value{l.memref(from.view), made.value},
			Attrs:    []ir.NamedAttr{linalg.Dims(l.Context(), "dimensions", linalg.AsBroadcast(op).Dimensions()...)},
		})
	case linalg.Transpose:
		made = l.alloc(UB, shape, elem)
		l.Create(Transpose, ir.State{
			Operands: []*ir.Value{l.memref(from.view), made.value},
			Attrs:    []ir.NamedAttr{linalg.Dims(l.Context(), "permutation", linalg.AsTranspose(op).Permutation()...)},
		})
	case linalg.ExpandShape, linalg.CollapseShape:
		made = l.reshaped(made, shape)
	case linalg.ExtractSlice:
		v := linalg.AsExtractSlice(op)
		l.onlySteps(op, v.StaticStrides())
		offsets, sizes := slots(v.StaticOffsets(), v.Offsets()), v.StaticSizes()
		if slices.Contains(sizes, linalg.Dynamic) {
			if len(shape) != len(sizes) {
				l.refuse(op, "a slice of a size that is not known cannot drop dimensions")
			}
			part := linalg.NewSubView(l.Builder, l.memref(made), offsets, slots(sizes, v.Sizes()))
			made = &view{base: made.base, shape: shape, value: part}
		} else {
			made = l.reshaped(l.part(made, offsets, sizes), shape)
		}
	}
	l.values[result] = operand{view: made}
}

// source is the tensor that an operation gives another shape.
func source(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case linalg.Broadcast:
		return linalg.AsBroadcast(op).InputsAt(0)
	case linalg.Transpose:
		return linalg.AsTranspose(op).InputsAt(0)
	case linalg.ExtractSlice:
		return linalg.AsExtractSlice(op).Source()
	}
	return op.OneOperand()
}

// onlySteps refuses slices with strides.
func (l *lowering) onlySteps(op *ir.Operation, strides []int64) {
	if slices.ContainsFunc(strides, func(n int64) bool { return n != 1 }) {
		l.refuse(op, "a slice with strides has no form for an NPU")
	}
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
