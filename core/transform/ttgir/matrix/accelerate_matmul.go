package matrix

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// AccelerateMatmul is the pass for a target without a matrix unit.
var AccelerateMatmul = NewAccelerateMatmul(dots.MultiplyAdd{})

// NewAccelerateMatmul makes the pass that gives dots the layouts of the target's
// matrix unit. The result gets the layout of the unit's accumulator; operands in
// registers get the layout that the unit reads, others a buffer in shared memory.
// Conversions lead from and to the layouts around. Dots that the unit does not
// compute stay as they are, and are computed by multiply-adds in each thread.
//
// Elements of types that the unit lacks are widened to one that it has, those
// for multiply-adds to the type of the result. Dots of block-scaled operands are
// decomposed first.
func NewAccelerateMatmul(unit dots.MatrixUnit) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-accelerate-matmul",
		Doc:      "give dots the layouts of the target's matrix unit",
		Example:  accelerateMatmulExample,
		ByTarget: true,
		Takes:    func(module *ir.Operation) error { return unit.Check(dots.TargetOf(module)) },
		Before:   []*pass.Fact{facts.Machine, facts.Layouts},
		After:    []*pass.Fact{facts.NoScaledDots},
		Breaks:   []*pass.Fact{facts.NoMatrixLayouts},
		Run: func(r *pass.Run) error {
			a := accelerator{machine.Of(r.Module), ir.NewBuilder(r.Module.Context()), unit}
			var scaled []*ir.Operation
			ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
				if op.Is(tt.DotScaled) {
					scaled = append(scaled, op)
				}
				return ir.Advance
			})
			for _, op := range scaled {
				a.decomposeScaled(tt.AsDotScaled(op))
				r.Count("decomposed", 1)
			}
			for _, d := range dots.In(r.Module, unit) {
				if e := encoding.Get(d.Result().Type()); e == nil || tensors.IsMatrix(e) {
					continue
				}
				if f := unit.Form(d); f != nil {
					a.accelerate(d, f)
					r.Count("accelerated", 1)
				}
			}
			for _, d := range dots.In(r.Module, unit) {
				a.widen(d)
			}
			return nil
		},
	}
}

type accelerator struct {
	machine.Machine
	b    *ir.Builder
	unit dots.MatrixUnit
}

// accelerate replaces a dot by one in the form that the unit computes.
func (a *accelerator) accelerate(d dots.Dot, f *dots.Form) {
	b, c := a.b, a.b.Context()
	t := tensors.Type(d.Result())
	b.At(d.Op)
	acc := ttg.NewConvertLayout(b, d.C(), encoding.Of(c, f.Result))
	if f.Elem != nil {
		acc = converted(b, acc, f.Elem)
	}
	x, y := a.operand(d, d.A(), f.A), a.operand(d, d.B(), f.B)
	var sum *ir.Value
	if f.Make != nil {
		sum = f.Make(b, d, x, y, acc)
	} else {
		sum = b.Create(tt.Dot, ir.State{Operands: []*ir.Value{x, y, acc}, Types: []ir.Type{acc.Type()}, Attrs: d.Op.Attrs()}).OneResult()
	}
	sum = converted(b, sum, t.Elem)
	d.Op.ReplaceAllUsesWith(ttg.NewConvertLayout(b, sum, t.Encoding))
	d.Op.Erase()
}

// operand brings an operand of d to where the unit reads it.
func (a *accelerator) operand(d dots.Dot, v *ir.Value, e layout.Encoding) *ir.Value {
	b, c := a.b, a.b.Context()
	if _, ok := e.(layout.Shared); !ok {
		return ttg.NewConvertLayout(b, v, encoding.Of(c, e))
	}
	// The buffer is filled where the value is made, which may be outside of the loop
	// with the dot.
	v = dots.Unconverted(v)
	defer b.Restore(b.Save())
	b.SetAfterValue(v)
	v = converted(b, v, a.unit.Widen(d, ir.ElemOf(v.Type())))
	t := tensors.Type(v)
	return b.Op(ttg.LocalAlloc, []*ir.Value{v}, sharedmem.Type(c, t.Shape, t.Elem, e, false)).OneResult()
}

// widen converts operands in registers to a type that the way in which d is
// computed takes: the unit's, or for multiply-adds the result's.
func (a *accelerator) widen(d dots.Dot) {
	x, y, to := d.Elems()
	toX, toY := to, to
	if tensors.IsMatrix(encoding.Get(d.Result().Type())) {
		toX, toY = a.unit.Widen(d, x), a.unit.Widen(d, y)
	}
	a.b.At(d.Op)
	d.SetA(converted(a.b, d.A(), toX))
	d.SetB(converted(a.b, d.B(), toY))
}

// converted is v with elements of type to. Integers are signed.
func converted(b *ir.Builder, v *ir.Value, to ir.Type) *ir.Value {
	from := ir.ElemOf(v.Type())
	if from == to {
		return v
	}
	t := b.Context().WithElem(v.Type(), to)
	narrower := ir.BitWidth(to) < ir.BitWidth(from)
	switch {
	case ir.IsInt(from, 0) && narrower:
		return arith.Cast(b, arith.TruncI, v, t)
	case ir.IsInt(from, 0):
		return arith.Cast(b, arith.ExtSI, v, t)
	case dots.IsFloat8(from):
		return b.Op(tt.FpToFp, []*ir.Value{v}, t).OneResult()
	case narrower:
		return arith.Cast(b, arith.TruncF, v, t)
	}
	return arith.Cast(b, arith.ExtF, v, t)
}
