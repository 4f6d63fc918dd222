package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// AlignOperands has instructions access ub from multiples of 32 bytes on, as they must. What
// begins elsewhere, or may, the scalar unit copies to a buffer and back, element by element.
var AlignOperands = &pass.Pass{
	Name:    "npuir-align-operands",
	Doc:     "have the scalar unit copy what instructions access that does not begin at a multiple of 32 bytes",
	Example: alignOperandsExample,
	Run: func(r *pass.Run) error {
		var ops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Def().Dialect() == Name {
				ops = append(ops, op)
			}
			return ir.Advance
		})
		a := &aligner{Builder: ir.NewBuilder(r.Module.Context())}
		for _, op := range ops {
			a.align(op)
		}
		r.Count("elements copied by the scalar unit", a.copied)
		return nil
	},
}

type aligner struct {
	*ir.Builder
	copied int
}

// align gives an instruction buffers in place of the parts that do not begin where it can,
// if need be when the program runs.
func (a *aligner) align(op *ir.Operation) {
	var parts []*ir.Value
	for _, v := range op.OperandValues() {
		if inUBAt(v) && !aligned(v) && !slices.Contains(parts, v) {
			parts = append(parts, v)
		}
	}
	if len(parts) == 0 {
		return
	}
	a.At(op)
	if is := a.allAligned(parts); is != nil {
		made := scf.AsIf(scf.NewIf(a.Builder, is, true))
		a.SetToEnd(made.ThenRegion().First())
		a.Insert(op.Clone(ir.NewMapping()))
		scf.NewYield(a.Builder)
		a.SetToEnd(made.ElseRegion().First())
		op.MoveBefore(scf.NewYield(a.Builder))
	}
	if op.Is(DMA) && PipeOf(op) == PipeV {
		a.At(op)
		a.move(AsDMA(op).Source(), AsDMA(op).Target())
		op.Erase()
		return
	}
	reads, writes := touched(op)
	for i, v := range op.OperandValues() {
		if !slices.Contains(parts, v) {
			continue
		}
		a.At(op)
		to := a.buffer(v)
		// What an instruction leaves of its target stays.
		if slices.Contains(reads, v) || op.Is(Gather) || op.Is(Scatter) {
			a.move(v, to)
		}
		op.SetOperand(i, to)
		if slices.Contains(writes, v) {
			a.After(op)
			a.move(to, v)
		}
	}
}

// allAligned makes a value that says whether all parts begin at multiples of 32 bytes; nil
// where it is known that one does not.
func (a *aligner) allAligned(parts []*ir.Value) (all *ir.Value) {
	index := a.Context().Index()
	for _, v := range parts {
		m := linalg.MemRefOf(a.Context(), v.Type())
		at := a.offset(v)
		if at == nil || m.Offset != linalg.Dynamic {
			return nil
		}
		unit := arith.Int(a.Builder, index, chip.AlignUB/max(int64(widthOf(m.Elem)/8), 1))
		is := arith.Compare(a.Builder, arith.CmpI, arith.EQ, arith.Binary(a.Builder, arith.RemSI, at, unit), arith.Int(a.Builder, index, 0))
		if all == nil {
			all = is
		} else {
			all = arith.Binary(a.Builder, arith.AndI, all, is)
		}
	}
	return all
}

// offset makes the number of elements before a part in its buffer; nil where it is not known.
func (a *aligner) offset(v *ir.Value) *ir.Value {
	op := v.Def()
	if op == nil {
		return nil
	}
	index := func(s linalg.Slot) *ir.Value {
		if s.Value != nil {
			return s.Value
		}
		return arith.Int(a.Builder, a.Context().Index(), s.N)
	}
	switch op.Def() {
	case linalg.Alloc:
		return index(linalg.Num(0))
	case linalg.ReinterpretCast:
		c := linalg.AsReinterpretCast(op)
		return index(slots(c.StaticOffsets(), c.Offsets())[0])
	case linalg.SubView:
		s := linalg.AsSubView(op)
		at, strides := a.offset(s.Source()), stridesOf(s.Source())
		for i, o := range slots(s.StaticOffsets(), s.Offsets()) {
			if strides[i] == linalg.Dynamic || at == nil {
				return nil
			}
			at = arith.Binary(a.Builder, arith.AddI, at, arith.Binary(a.Builder, arith.MulI, index(o), index(linalg.Num(strides[i]))))
		}
		return at
	}
	return nil
}

// stridesOf are the strides of memory.
func stridesOf(v *ir.Value) []int64 {
	m := linalg.MemRefOf(v.Block().Parent().Context(), v.Type())
	if m.Strides == nil {
		return rowMajor(m.Shape)
	}
	return m.Strides
}

// inUBAt reports whether a value is a part of ub.
func inUBAt(v *ir.Value) bool {
	s, memory := SpaceOf(v.Block().Parent().Context(), v.Type())
	return memory && s == UB
}

// aligned reports whether a part of ub is known to begin at a multiple of 32 bytes.
func aligned(v *ir.Value) bool {
	m := linalg.MemRefOf(v.Block().Parent().Context(), v.Type())
	size := int64(widthOf(m.Elem)+7) / 8
	at := int64(0) // bytes of which the place of the part is a multiple
	for op := v.Def(); op != nil && !op.Is(linalg.Alloc); {
		switch op.Def() {
		case linalg.SubView:
			s := linalg.AsSubView(op)
			strides := stridesOf(s.Source())
			for i, o := range slots(s.StaticOffsets(), s.Offsets()) {
				if strides[i] == linalg.Dynamic {
					return false
				}
				at = gcd(at, multiple(o)*strides[i]*size)
			}
			op = s.Source().Def()
		case linalg.ReinterpretCast: // of the whole buffer
			c := linalg.AsReinterpretCast(op)
			at = gcd(at, multiple(slots(c.StaticOffsets(), c.Offsets())[0])*size)
			return at%chip.AlignUB == 0
		default:
			return false
		}
	}
	return at%chip.AlignUB == 0
}

// multiple is a number that divides another, 0 if that is 0.
func multiple(s linalg.Slot) int64 {
	if s.Value == nil {
		return s.N
	}
	op := s.Value.Def()
	if op == nil { // an induction variable, or not known
		if loop := s.Value.Block().Parent(); loop.Is(scf.For) && s.Value == scf.InductionVar(loop) {
			return gcd(multiple(linalg.Slot{Value: scf.LowerBound(loop)}), multiple(linalg.Slot{Value: scf.Step(loop)}))
		}
		return 1
	}
	of := func(i int) int64 { return multiple(linalg.Slot{Value: op.Operand(i)}) }
	switch op.Def() {
	case arith.Constant:
		if n, ok := op.ConstantValue().(*ir.IntegerAttr); ok {
			return n.Value
		}
	case arith.AddI, arith.SubI, arith.MinSI, arith.MaxSI, arith.RemSI:
		return gcd(of(0), of(1))
	case arith.MulI:
		return of(0) * of(1)
	case arith.IndexCast, arith.ExtSI:
		return of(0)
	}
	return 1
}

// gcd is the greatest common divisor; that of a number and 0 is the number.
func gcd(x, y int64) int64 {
	for y != 0 {
		x, y = y, x%y
	}
	return max(x, -x)
}

// buffer makes a part of a buffer of its own, of the shape of another part.
func (a *aligner) buffer(v *ir.Value) *ir.Value {
	m := linalg.MemRefOf(a.Context(), v.Type())
	sizes := extents(v)
	shape := slices.Clone(m.Shape)
	for i, n := range shape {
		if n == linalg.Dynamic {
			shape[i] = mostOf(v, i)
		}
	}
	whole := a.Op(linalg.Alloc, nil, (&linalg.MemRef{Shape: shape, Elem: m.Elem, Space: UB.Attr()}).Type(a.Context())).OneResult()
	if slices.Equal(shape, m.Shape) {
		return whole
	}
	part := linalg.NewSubView(a.Builder, whole, linalg.Nums(make([]int64, len(shape))...), sizes)
	t := linalg.MemRefOf(a.Context(), part.Type())
	t.Space = UB.Attr()
	part.SetType(t.Type(a.Context()))
	return part
}

// extents are the sizes of a part.
func extents(v *ir.Value) []linalg.Slot {
	sizes := linalg.Nums(linalg.MemRefOf(v.Block().Parent().Context(), v.Type()).Shape...)
	op := v.Def()
	if op == nil || !op.Is(linalg.SubView) {
		return sizes
	}
	dynamic := linalg.AsSubView(op).Sizes()
	for i, n := range sizes {
		if n.N == linalg.Dynamic {
			sizes[i], dynamic = linalg.Slot{Value: dynamic[0]}, dynamic[1:]
		}
	}
	return sizes
}

// mostOf is how many elements a part has at most along a dimension: those of what it is of.
func mostOf(v *ir.Value, dimension int) int64 {
	for op := v.Def(); op != nil && op.Is(linalg.SubView); op = v.Def() {
		v = linalg.AsSubView(op).Source()
		if shape := linalg.MemRefOf(op.Context(), v.Type()).Shape; shape[dimension] != linalg.Dynamic {
			return shape[dimension]
		}
	}
	panic("BUG: npuir: a part of ub has no bounds")
}

// move copies a part to another of its shape with the scalar unit, where the builder is.
func (a *aligner) move(from, to *ir.Value) {
	number := func(n int64) *ir.Value { return arith.Int(a.Builder, a.Context().Index(), n) }
	place := a.Save()
	zero, one, count := number(0), number(1), 1
	sizes := extents(to)
	bounds, at := make([]*ir.Value, len(sizes)), make([]*ir.Value, len(sizes))
	for i, n := range sizes {
		switch {
		case n.Value != nil:
			bounds[i] = n.Value
			count *= int(mostOf(to, i))
		case n.N != 1:
			bounds[i] = number(n.N)
			count *= int(n.N)
		}
	}
	for i, bound := range bounds {
		if at[i] = zero; bound == nil {
			continue
		}
		loop := scf.NewFor(a.Builder, zero, bound, one)
		a.SetToEnd(loop.Body())
		scf.NewYield(a.Builder)
		a.At(loop.Body().Terminator())
		at[i] = scf.InductionVar(loop)
	}
	a.copied += count
	x := a.Op(linalg.Load, append([]*ir.Value{from}, at...)).OneResult()
	a.Op(linalg.Store, append([]*ir.Value{x, to}, at...))
	a.Restore(place)
}
