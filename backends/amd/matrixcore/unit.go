package matrixcore

import (
	"fmt"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// Unit is the matrix cores of the module's target.
type Unit struct {
	dots.MultiplyAdd
	// Chip is whose they are; nil: that of the module's target.
	Chip *chip.Chip
	// Side is the rows and columns of an instruction of MFMA, 16 or 32, also where the
	// dot has fewer; 0: by the dot's shape.
	Side int
	// KPack is how many instructions' elements along K a lane holds side by side, 1 or
	// 2; 0 is 1.
	KPack int
}

var (
	_ dots.Explainer  = Unit{}
	_ dots.ScaledUnit = Unit{}
	_ dots.Adder      = Unit{}
)

// Check implements dots.MatrixUnit.
func (Unit) Check(target string) error {
	switch {
	case target == "":
		return fmt.Errorf("the module has no attribute ttg.target, which says for which GPU it is; convert-triton-to-tritongpu gives it one")
	case chip.Known(target) == nil:
		return fmt.Errorf("the module is for the target %q; AMD's matrix cores are those of targets such as %s", target, chip.GFX942.Target())
	}
	return nil
}

// chipOf is the unit's chip, or that of d's target.
func (u Unit) chipOf(d dots.Dot) *chip.Chip { return u.chipAt(d.Target) }

// chipAt is the unit's chip, or that of a target which Check took.
func (u Unit) chipAt(target string) *chip.Chip {
	c := u.Chip
	if c == nil {
		c = chip.Known(target)
	}
	if c == nil {
		panic("BUG: matrixcore: the target " + target)
	}
	return c
}

// instrFor is the instruction for d, or nil.
func (u Unit) instrFor(d dots.Dot) *Instr {
	x, y, _ := d.Elems()
	shape := ir.ShapeOf(d.Result().Type())
	rank := len(shape)
	k := ir.ShapeOf(d.A().Type())[rank-1]
	return u.instrOf(u.chipOf(d), u.Widen(d, x), u.Widen(d, y), shape[rank-2], shape[rank-1], k, d.InputPrecision() == tt.PrecisionTF32)
}

// instrOf is the instruction for m×n×k elements of types x and y, or nil.
func (u Unit) instrOf(c *chip.Chip, x, y ir.Type, m, n, k int64, tf32 bool) *Instr {
	for _, side := range u.sides(c, m, n) {
		for _, in := range Instrs(c) {
			if in.Side == side && in.Takes(c, x, y, tf32) && k%int64(in.K) == 0 {
				return &in
			}
		}
	}
	return nil
}

// sides are the sizes of instructions to look for, for a dot whose result has m rows and
// n columns: the largest that fit. Types without an instruction of that size may have a
// smaller one.
func (u Unit) sides(c *chip.Chip, m, n int64) []int {
	least := min(m, n)
	switch {
	case c.WMMA != 0 && least >= wmmaSide:
		return []int{wmmaSide}
	case c.WMMA != 0:
		return nil
	case u.Side != 0:
		return []int{u.Side, 16}
	case least >= 32:
		return []int{32, 16}
	case least >= 16:
		return []int{16}
	case least >= smallSide && max(m, n) >= wideSide:
		return []int{smallSide}
	}
	return nil
}

// Explain implements dots.Explainer. The first words of each remark are Triton's.
func (u Unit) Explain(d dots.Dot) []string {
	c := u.chipOf(d)
	x, y, _ := d.Elems()
	if u.instrFor(d) == nil {
		unit, shape := "MFMA", d.Shape()
		if c.WMMA != 0 {
			unit = "WMMA"
		}
		m, n, k := shape[len(shape)-2], shape[len(shape)-1], ir.ShapeOf(d.A().Type())[len(shape)-1]
		return []string{
			fmt.Sprintf("Unable to select %s intrinsic: %s has none for %d×%d×%d of %s and %s", unit, c.Name, m, n, k, elemName(x), elemName(y)),
			"Attempting to map dot operation to FMA intrinsic.",
		}
	}
	if u.Widen(d, x) == x && u.Widen(d, y) == y {
		return nil
	}
	list := []string{"missing native support for fp8 variant on current architecture; emulated with fp16 so low performance"}
	if c.FNUZFloat8 {
		list = append(list, "for "+c.Name+" please use native supported fp8 variants, fp8e4b8 and fp8e5b16")
	}
	return list
}

func elemName(t ir.Type) string { return text.TypeString(nil, t) }

// tailWidth is how many elements along K of a dot's operands a lane has side by side where
// the left one comes of another dot, as the result of that has them.
const tailWidth = 4

// packedWidth is the same where an operand has two numbers of 4 bits a byte and its scales
// are multiplied in by upcast_mxfp.
const packedWidth = 8

// Form implements dots.MatrixUnit.
func (u Unit) Form(d dots.Dot) *dots.Form {
	if f := u.formUnscaled(d); f != nil {
		return f
	}
	in := u.instrFor(d)
	if in == nil {
		return nil
	}
	head, tail := chained(d.Op)
	tile := in.Shape(d.Shape()[len(d.Shape())-2], d.Shape()[len(d.Shape())-1])
	warps := spreadWarps(d.Shape(), d.Warps, tile, head, tail)
	kWidth := in.PerLane
	var result layout.Encoding
	if c := u.chipOf(d); c.WMMA != 0 {
		result = &layout.AMDWMMA{Version: c.WMMA, IsTranspose: true, WarpsPerCTA: warps, CGA: d.Cluster()}
	} else {
		e := &layout.AMDMFMA{
			Version: c.MFMA, WarpsPerCTA: warps, InstrShape: []int{tile[0], tile[1], in.K}, IsTransposed: tile[0] >= tile[1], CGA: d.Cluster(),
		}
		if in.C == F64 {
			e.ElementBitWidth = 64
		}
		result = e
		switch {
		case tail && (in.A == F16 || in.A == BF16):
			kWidth = tailWidth
		case !tail && u.KPack == 2 && ir.ShapeOf(d.A().Type())[len(d.Shape())-1]%int64(2*in.K) == 0:
			kWidth *= 2
		}
	}
	form := &dots.Form{
		Result: result,
		A:      &layout.DotOp{OpIdx: 0, Parent: result, KWidth: kWidth},
		B:      &layout.DotOp{OpIdx: 1, Parent: result, KWidth: kWidth},

		OneByOne: true,
	}
	if _, _, acc := d.Elems(); in.C == F32 && !F32.is(nil, acc) {
		form.Elem = d.Op.Context().F32() // there is no narrower accumulator
	}
	return form
}

// Widen makes 8-bit floats f16 unless there is an instruction for both operands.
func (u Unit) Widen(d dots.Dot, elem ir.Type) ir.Type {
	if !dots.IsFloat8(elem) {
		return elem
	}
	c := u.chipOf(d)
	x, y, _ := d.Elems()
	for _, in := range Instrs(c) {
		if in.Takes(c, x, y, false) {
			return elem
		}
	}
	return d.Op.Context().F16()
}

// AddsNarrow is true where an instruction adds two products of halves, or four of bytes,
// to a sum of 32 bits.
func (u Unit) AddsNarrow(d dots.Dot) bool {
	x, y, to := d.Elems()
	k := ir.ShapeOf(d.A().Type())[len(d.Shape())-1]
	switch {
	case I8.is(nil, x) && I8.is(nil, y) && I32.is(nil, to):
		return k%4 == 0
	case F16.is(nil, x) && F16.is(nil, y) && F32.is(nil, to):
		return k%2 == 0
	case BF16.is(nil, x) && BF16.is(nil, y) && F32.is(nil, to):
		return k%2 == 0 && u.chipOf(d).MFMA == chip.GFX950.MFMA
	}
	return false
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
	banks := chip.GFX942.LDSBanks
	if e, ok := operand.Parent.(*layout.AMDMFMA); ok && e.Version == chip.GFX950.MFMA {
		banks = chip.GFX950.LDSBanks
	}
	return swizzled(banks, b.Bits, int(b.Shape[b.Order[0]]), min(operand.KWidth, 128/b.Bits), b.Order)
}

// swizzled permutes vectors of a buffer that has so many elements of so many bits along
// its contiguous dimension.
func swizzled(banks, bits, along, vec int, order []int) *layout.SwizzledShared {
	const bankBits, rows = 32, 16
	perPhase := max(banks*bankBits/bits/along, 1)
	return &layout.SwizzledShared{
		Vec: vec, PerPhase: perPhase, MaxPhase: max(min(rows/perPhase, along/vec), 1), Order: order,
	}
}

// isOurs reports whether matrix cores read the operand.
func isOurs(operand *layout.DotOp) bool {
	switch operand.Parent.(type) {
	case *layout.AMDMFMA, *layout.AMDWMMA:
		return true
	}
	return false
}

// Transposes is true: lanes read element by element what they cannot read as vectors.
func (Unit) Transposes(operand *layout.DotOp) bool { return isOurs(operand) }

// PartK is, for MFMA, eight times what a lane holds side by side, as in Triton: one or more
// instructions; for WMMA, one instruction.
func (Unit) PartK(operand *layout.DotOp) int64 {
	switch operand.Parent.(type) {
	case *layout.AMDMFMA:
		return 8 * int64(operand.KWidth)
	case *layout.AMDWMMA:
		return wmmaSide
	}
	return 0
}
