package matrix

import (
	"slices"

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
// for multiply-adds to the type of the result. Dots of block-scaled operands that the
// unit does not take are decomposed first.
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
			a := accelerator{machine.Of(r.Module), ir.NewBuilder(r.Module.Context()), unit, r}
			for _, d := range dots.ScaledIn(r.Module) {
				a.scaled(d)
			}
			for _, d := range dots.In(r.Module, unit) {
				if e := encoding.Get(d.Result().Type()); e == nil || tensors.IsMatrix(e) {
					continue
				}
				if u, ok := unit.(dots.Explainer); ok {
					for _, what := range u.Explain(d) {
						r.Say(d.Op, "%s", what)
					}
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
	run  *pass.Run
}

// accelerate replaces a dot by one in the form that the unit computes.
func (a *accelerator) accelerate(d dots.Dot, f *dots.Form) {
	b, c := a.b, a.b.Context()
	t := tensors.Type(d.Result())
	b.At(d.Op)
	a.warn(d.Op, f.Slow)
	acc := ttg.NewConvertLayout(b, d.C(), encoding.Of(c, f.Result))
	if f.Elem != nil {
		acc = converted(b, acc, f.Elem)
	}
	widen := func(elem ir.Type) ir.Type { return a.unit.Widen(d, elem) }
	operand := func(u *ir.Use, e layout.Encoding) *ir.Value {
		v := a.operand(u, e, widen)
		if f.OneByOne {
			v = converted(b, v, widen(ir.ElemOf(v.Type())))
		}
		return v
	}
	x, y := operand(d.AUse(), f.A), operand(d.BUse(), f.B)
	var sum *ir.Value
	if f.Make != nil {
		sum = f.Make(b, d, x, y, acc)
	} else {
		sum = b.Create(tt.Dot, ir.State{Operands: []*ir.Value{x, y, acc}, Types: []ir.Type{acc.Type()}, Attrs: d.Op.Attrs()}).OneResult()
	}
	d.Op.ReplaceAllUsesWith(converted(b, ttg.NewConvertLayout(b, sum, t.Encoding), t.Elem))
	d.Op.Erase()
}

// scaled replaces a dot of block-scaled operands by one in the form that the unit
// computes, else by a dot of wider operands.
func (a *accelerator) scaled(d dots.Scaled) {
	var f *dots.ScaledForm
	e := encoding.Get(d.Result().Type())
	if u, ok := a.unit.(dots.ScaledUnit); ok && e != nil && !tensors.IsMatrix(e) {
		f = u.FormScaled(d)
	}
	switch {
	case f != nil:
		a.accelerateScaled(d, f)
		a.run.Count("accelerated", 1)
	case !tensors.IsMatrix(e):
		a.decomposeScaled(d.DotScaledOp)
		a.run.Count("decomposed", 1)
	}
}

// accelerateScaled replaces a scaled dot by one in the form that the unit computes.
func (a *accelerator) accelerateScaled(d dots.Scaled, f *dots.ScaledForm) {
	b := a.b
	b.At(d.Op)
	a.warn(d.Op, f.Slow)
	operand := func(u *ir.Use, e layout.Encoding) *ir.Value {
		if e == nil {
			return u.Value()
		}
		return a.operand(u, e, func(elem ir.Type) ir.Type { return elem })
	}
	acc := ttg.NewConvertLayout(b, d.C(), encoding.Of(b.Context(), f.Result))
	x, y := operand(d.AUse(), f.A), operand(d.BUse(), f.B)
	sum := f.Make(b, x, y, acc)
	d.Op.ReplaceAllUsesWith(ttg.NewConvertLayout(b, sum, tensors.Encoding(d.Result())))
	d.Op.Erase()
}

// operand brings an operand of a dot to where the unit reads it, its elements widened
// before they go to shared memory.
func (a *accelerator) operand(u *ir.Use, e layout.Encoding, widen func(ir.Type) ir.Type) *ir.Value {
	b, c := a.b, a.b.Context()
	shared, ok := e.(layout.Shared)
	if !ok {
		return ttg.NewConvertLayout(b, u.Value(), encoding.Of(c, e))
	}
	defer b.Restore(b.Save())
	// The buffer is filled where the value is made, which may be outside of the loop
	// with the dot.
	v := dots.Unconverted(u.Value())
	t := tensors.Type(v)
	if parts := partsOf(shared, t.Shape); !slices.EqualFunc(parts, tensors.CGA(t), slices.Equal[[]int32]) {
		v = a.loadParts(dots.LoadOf(v), parts)
	}
	b.SetAfterValue(v)
	v = converted(b, v, widen(ir.ElemOf(v.Type())))
	t = tensors.Type(v)
	return b.Op(ttg.LocalAlloc, []*ir.Value{v}, sharedmem.Type(c, t.Shape, t.Elem, e, false)).OneResult()
}

// warn tells of what makes a dot slow.
func (a *accelerator) warn(dot *ir.Operation, slow []string) {
	for _, what := range slow {
		a.run.Warn(dot, "%s", what)
	}
}

// widen converts operands in registers to a type that the way in which d is
// computed takes: the unit's, or for multiply-adds the result's.
func (a *accelerator) widen(d dots.Dot) {
	x, y, to := d.Elems()
	toX, toY := to, to
	if tensors.IsMatrix(encoding.Get(d.Result().Type())) {
		toX, toY = a.unit.Widen(d, x), a.unit.Widen(d, y)
	} else if u, ok := a.unit.(dots.Adder); ok && u.AddsNarrow(d) {
		return
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
