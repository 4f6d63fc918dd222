package npuir

import (
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
)

// compute makes a vector instruction of an operation of arith or math, or of scalars a
// scalar operation. Attributes that say what may be assumed are dropped.
func (l *lowering) compute(op *ir.Operation, inputs []operand, shape []int64, elem ir.Type) operand {
	if d := op.Def().Dialect(); d != "arith" && d != "math" {
		l.refuse(op, "%s has no instruction of an NPU", op.Name())
	}
	attrs := make([]ir.NamedAttr, 0, 1)
	for _, a := range op.Attrs() {
		switch a.Name {
		case "predicate":
			attrs = append(attrs, a)
		case "fastmath", "overflowFlags":
		default:
			if strings.Contains(a.Name, ".") {
				continue // what another dialect notes
			}
			l.refuse(op, "%s with the attribute %s has no instruction of an NPU", op.Name(), a.Name)
		}
	}
	return l.apply(op.Def(), inputs, shape, elem, attrs...)
}

// apply computes an operation on elements: of scalars alone as a scalar.
func (l *lowering) apply(def *ir.OpDef, inputs []operand, shape []int64, elem ir.Type, attrs ...ir.NamedAttr) operand {
	args, vectors := make([]*ir.Value, len(inputs)), false
	for i, in := range inputs {
		if args[i] = in.scalar; in.view != nil {
			args[i], vectors = l.memref(in.view), true
		}
	}
	if !vectors {
		return operand{scalar: l.Create(def, ir.State{Operands: args, Attrs: attrs, Types: []ir.Type{elem}}).OneResult()}
	}
	target := l.alloc(UB, shape, elem)
	name := ir.NamedAttr{Name: "op", Attr: l.Context().StringAttr(def.Name)}
	l.Create(Vector, ir.State{Operands: append(args, target.value), Attrs: append(attrs, name)})
	return operand{view: target}
}

// halves are the results of an operation that gives a product in two halves; nil for
// operations with one result.
func (l *lowering) halves(op *ir.Operation) (low, high *ir.Value) {
	switch op.Def() {
	case arith.MulUIExtended:
		v := arith.AsMulUIExtended(op)
		return v.Low(), v.High()
	case arith.MulSIExtended:
		v := arith.AsMulSIExtended(op)
		return v.Low(), v.High()
	}
	if op.NumResults() != 1 {
		l.refuse(op, "%s has no instruction of an NPU", op.Name())
	}
	return nil, nil
}

// product lowers an operation with two halves: it multiplies numbers of twice the width, or
// of 64 bits, which have none, by halves.
func (l *lowering) product(op *ir.Operation, inputs []operand, shape []int64) {
	low, high := l.halves(op)
	extend, shift := arith.ExtUI, arith.ShRUI
	if op.Is(arith.MulSIExtended) {
		extend, shift = arith.ExtSI, arith.ShRSI
	}
	narrow := ir.ElemOf(low.Type())
	width := ir.BitWidth(narrow)
	if width > 32 {
		l.values[low] = l.apply(arith.MulI, inputs, shape, narrow)
		l.values[high] = l.highProduct(inputs[0], inputs[1], op.Is(arith.MulSIExtended), shape, narrow)
		return
	}
	wide := l.Context().Int(2 * width)
	factors := make([]operand, len(inputs))
	for i, in := range inputs {
		factors[i] = l.apply(extend, []operand{in}, shape, wide)
	}
	whole := l.apply(arith.MulI, factors, shape, wide)
	by := operand{scalar: arith.Int(l.Builder, wide, int64(width))}
	upper := l.apply(shift, []operand{whole, by}, shape, wide)
	l.values[low] = l.apply(arith.TruncI, []operand{whole}, shape, narrow)
	l.values[high] = l.apply(arith.TruncI, []operand{upper}, shape, narrow)
}

// highProduct is the upper half of a product of integers: of those of their halves, of which
// the sum of what is carried takes no more than two bits more.
func (l *lowering) highProduct(x, y operand, signed bool, shape []int64, t ir.Type) operand {
	width := int64(ir.BitWidth(t))
	number := func(n int64) operand { return operand{scalar: arith.Int(l.Builder, t, n)} }
	do := func(def *ir.OpDef, x, y operand) operand { return l.apply(def, []operand{x, y}, shape, t) }
	half, ones := number(width/2), number(1<<(width/2)-1)
	low := func(x operand) operand { return do(arith.AndI, x, ones) }
	high := func(x operand) operand { return do(arith.ShRUI, x, half) }
	xl, xh, yl, yh := low(x), high(x), low(y), high(y)
	lh, hl := do(arith.MulI, xl, yh), do(arith.MulI, xh, yl)
	carried := do(arith.AddI, high(do(arith.MulI, xl, yl)), do(arith.AddI, low(lh), low(hl)))
	sum := do(arith.AddI, do(arith.MulI, xh, yh), do(arith.AddI, high(lh), high(hl)))
	sum = do(arith.AddI, sum, high(carried))
	if !signed {
		return sum
	}
	// A negative factor is 1<<width less than its bits say.
	less := func(sign, by operand) {
		sum = do(arith.SubI, sum, do(arith.AndI, do(arith.ShRSI, sign, number(width-1)), by))
	}
	less(x, y)
	less(y, x)
	return sum
}
