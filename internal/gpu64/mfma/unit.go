package mfma

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// Unit is MFMA for the passes. Target is the ttg.target that has it.
type Unit struct {
	dots.MultiplyAdd
	Target string
}

var _ dots.MatrixUnit = Unit{}

// version is Triton's number of the generation in #ttg.amd_mfma.
const version = 3

// Check implements dots.MatrixUnit.
func (u Unit) Check(target string) error {
	if target != u.Target {
		return fmt.Errorf("the module is for the target %q, MFMA is for %q", target, u.Target)
	}
	return nil
}

// formOf is the instruction for d, the larger tile of the same types first; nil if there
// is none.
func (u Unit) formOf(d dots.Dot) *form {
	x, y, _ := d.Elems()
	x, y = u.Widen(d, x), u.Widen(d, y)
	shape := ir.ShapeOf(d.Result().Type())
	rank := len(shape)
	k := ir.ShapeOf(d.A().Type())[rank-1]
	for i := range forms {
		f := &forms[i]
		side := int64(f.side)
		if f.a.is(x) && f.b.is(y) && shape[rank-2] >= side && shape[rank-1] >= side && k >= int64(f.k) {
			return f
		}
	}
	return nil
}

// Form implements dots.MatrixUnit.
func (u Unit) Form(d dots.Dot) *dots.Form {
	f := u.formOf(d)
	if f == nil {
		return nil
	}
	takes := func(d dots.Dot) bool { return u.formOf(d) != nil }
	result := &layout.AMDMFMA{
		Version: version, WarpsPerCTA: dots.SpreadWarps(d, [2]int{f.side, f.side}, takes, nil),
		InstrShape: []int{f.side, f.side, f.k}, IsTransposed: true, CGA: d.Cluster(),
	}
	form := &dots.Form{
		Result: result,
		A:      &layout.DotOp{OpIdx: 0, Parent: result, KWidth: f.perLane()},
		B:      &layout.DotOp{OpIdx: 1, Parent: result, KWidth: f.perLane()},
	}
	_, _, acc := d.Elems()
	switch {
	case f.c == f64:
		result.ElementBitWidth = 64
	case f.c == f32 && !f.c.is(acc):
		form.Elem = d.Op.Context().F32() // there is no narrower accumulator
	}
	return form
}

// Widen makes 8-bit floats f16 unless both operands are in the formats that gfx942
// multiplies, those without a negative zero.
func (Unit) Widen(d dots.Dot, elem ir.Type) ir.Type {
	x, y, _ := d.Elems()
	isNarrow := func(t ir.Type) bool { return fp8.is(t) || bf8.is(t) }
	if dots.IsFloat8(elem) && !(isNarrow(x) && isNarrow(y)) {
		return d.Op.Context().F16()
	}
	return elem
}

// Buffer permutes vectors of as many elements as a lane reads, so that the sixteen
// lanes that read at once, a row each, reach different banks. Columns do so anyway.
func (Unit) Buffer(operand *layout.DotOp, b dots.Buffer) layout.Shared {
	k := len(b.Shape) - 1 - operand.OpIdx
	if b.Transposed {
		k = len(b.Shape) - 2 + operand.OpIdx
	}
	if !isOurs(operand) || b.Order[0] != k {
		return dots.Plain(b.Order)
	}
	const bankBits, rows = 32 * 32, 16
	along := int(b.Shape[b.Order[0]])
	perPhase := max(bankBits/b.Bits/along, 1)
	return &layout.SwizzledShared{
		Vec: operand.KWidth, PerPhase: perPhase, MaxPhase: max(min(rows/perPhase, along/operand.KWidth), 1), Order: b.Order,
	}
}

func isOurs(operand *layout.DotOp) bool {
	_, ok := operand.Parent.(*layout.AMDMFMA)
	return ok
}

// Transposes is true: lanes read element by element what they cannot read as vectors.
func (Unit) Transposes(operand *layout.DotOp) bool { return isOurs(operand) }

// PartK is what the lanes of a warp hold of a row.
func (Unit) PartK(operand *layout.DotOp) int64 {
	e, ok := operand.Parent.(*layout.AMDMFMA)
	if !ok {
		return 0
	}
	return int64(lanes / e.InstrShape[operand.OpIdx] * operand.KWidth)
}

// isResult reports whether a dot with a result of that layout is ours, and returns
// the layout.
func isResult(e layout.Encoding) (*layout.AMDMFMA, bool) {
	m, ok := e.(*layout.AMDMFMA)
	return m, ok && m.IsTransposed
}
