package matrixcore

import (
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/ir"
)

// Elem is a type of elements of an operand or a result.
type Elem int

// The types. BF8 and FP8 are floats of 8 bits with 5 and 4 bits of exponent, in the
// formats that the chip has.
const (
	F16 Elem = iota
	BF16
	F32
	XF32 // f32 of which the instruction reads tf32's bits
	F64
	I8
	I32
	FP8
	BF8
)

// is reports whether t is the type on a chip.
func (e Elem) is(c *chip.Chip, t ir.Type) bool {
	f, ok := t.(*ir.FloatType)
	switch {
	case e == I8:
		return ir.IsInt(t, 8)
	case e == I32:
		return ir.IsInt(t, 32)
	case !ok:
		return false
	}
	switch e {
	case F16:
		return f.Kind == ir.F16
	case BF16:
		return f.Kind == ir.BF16
	case F32, XF32:
		return f.Kind == ir.F32
	case F64:
		return f.Kind == ir.F64
	case FP8:
		return c.FNUZFloat8 && f.Kind == ir.F8E4M3FNUZ || c.OCPFloat8 && f.Kind == ir.F8E4M3FN
	case BF8:
		return c.FNUZFloat8 && f.Kind == ir.F8E5M2FNUZ || c.OCPFloat8 && f.Kind == ir.F8E5M2
	}
	return false
}

// Instr is an instruction: Side×K times K×Side. One of side 4 multiplies 4×4 blocks,
// sixteen at a time; as many of them as there are blocks along K multiply 4×K by K×64,
// each with one block of the operand of four rows, which all blocks of the other share.
type Instr struct {
	Name    string // of LLVM's intrinsic, after llvm.amdgcn.
	A, B, C Elem
	Side, K int
	// PerLane is how many elements along K each lane holds of an operand for one
	// instruction.
	PerLane int

	first, last int // versions of the unit that have it
}

// mfma are the instructions of CDNA, of those for the same types and side the one with
// the larger K first.
var mfma = []Instr{
	{Name: "mfma.f32.32x32x16.f16", A: F16, B: F16, C: F32, Side: 32, K: 16, first: 4, last: 4},
	{Name: "mfma.f32.32x32x8f16", A: F16, B: F16, C: F32, Side: 32, K: 8, first: 1, last: 4},
	{Name: "mfma.f32.16x16x32.f16", A: F16, B: F16, C: F32, Side: 16, K: 32, first: 4, last: 4},
	{Name: "mfma.f32.16x16x16f16", A: F16, B: F16, C: F32, Side: 16, K: 16, first: 1, last: 4},
	{Name: "mfma.f32.32x32x16.bf16", A: BF16, B: BF16, C: F32, Side: 32, K: 16, first: 4, last: 4},
	{Name: "mfma.f32.32x32x8bf16.1k", A: BF16, B: BF16, C: F32, Side: 32, K: 8, first: 2, last: 4},
	{Name: "mfma.f32.16x16x32.bf16", A: BF16, B: BF16, C: F32, Side: 16, K: 32, first: 4, last: 4},
	{Name: "mfma.f32.16x16x16bf16.1k", A: BF16, B: BF16, C: F32, Side: 16, K: 16, first: 2, last: 4},
	{Name: "mfma.f32.32x32x4.xf32", A: XF32, B: XF32, C: F32, Side: 32, K: 4, first: 3, last: 3},
	{Name: "mfma.f32.16x16x8.xf32", A: XF32, B: XF32, C: F32, Side: 16, K: 8, first: 3, last: 3},
	{Name: "mfma.f32.32x32x2f32", A: F32, B: F32, C: F32, Side: 32, K: 2, first: 1, last: 4},
	{Name: "mfma.f32.16x16x4f32", A: F32, B: F32, C: F32, Side: 16, K: 4, first: 1, last: 4},
	{Name: "mfma.f64.16x16x4f64", A: F64, B: F64, C: F64, Side: 16, K: 4, first: 2, last: 4},
	{Name: "mfma.i32.32x32x32.i8", A: I8, B: I8, C: I32, Side: 32, K: 32, first: 4, last: 4},
	{Name: "mfma.i32.32x32x16.i8", A: I8, B: I8, C: I32, Side: 32, K: 16, first: 3, last: 4},
	{Name: "mfma.i32.32x32x8i8", A: I8, B: I8, C: I32, Side: 32, K: 8, first: 1, last: 2},
	{Name: "mfma.i32.16x16x64.i8", A: I8, B: I8, C: I32, Side: 16, K: 64, first: 4, last: 4},
	{Name: "mfma.i32.16x16x32.i8", A: I8, B: I8, C: I32, Side: 16, K: 32, first: 3, last: 4},
	{Name: "mfma.i32.16x16x16i8", A: I8, B: I8, C: I32, Side: 16, K: 16, first: 1, last: 2},
	{Name: "mfma.f32.4x4x4f16", A: F16, B: F16, C: F32, Side: smallSide, K: 64, first: 1, last: 4},
	{Name: "mfma.f32.4x4x4bf16.1k", A: BF16, B: BF16, C: F32, Side: smallSide, K: 64, first: 2, last: 4},
	{Name: "mfma.f32.4x4x1f32", A: F32, B: F32, C: F32, Side: smallSide, K: 16, first: 1, last: 4},
	{Name: "mfma.i32.4x4x4i8", A: I8, B: I8, C: I32, Side: smallSide, K: 64, first: 1, last: 4},
	{Name: "mfma.f32.32x32x16.fp8.fp8", A: FP8, B: FP8, C: F32, Side: 32, K: 16, first: 3, last: 4},
	{Name: "mfma.f32.16x16x32.fp8.fp8", A: FP8, B: FP8, C: F32, Side: 16, K: 32, first: 3, last: 4},
	{Name: "mfma.f32.32x32x16.fp8.bf8", A: FP8, B: BF8, C: F32, Side: 32, K: 16, first: 3, last: 4},
	{Name: "mfma.f32.16x16x32.fp8.bf8", A: FP8, B: BF8, C: F32, Side: 16, K: 32, first: 3, last: 4},
	{Name: "mfma.f32.32x32x16.bf8.fp8", A: BF8, B: FP8, C: F32, Side: 32, K: 16, first: 3, last: 4},
	{Name: "mfma.f32.16x16x32.bf8.fp8", A: BF8, B: FP8, C: F32, Side: 16, K: 32, first: 3, last: 4},
	{Name: "mfma.f32.32x32x16.bf8.bf8", A: BF8, B: BF8, C: F32, Side: 32, K: 16, first: 3, last: 4},
	{Name: "mfma.f32.16x16x32.bf8.bf8", A: BF8, B: BF8, C: F32, Side: 16, K: 32, first: 3, last: 4},
}

// smallSide and wideSide are the rows and columns, or the columns and rows, of a tile by
// instructions of 4×4 blocks.
const (
	smallSide = 4
	wideSide  = 64
)

// wmmaSide is the rows, columns and K of every instruction of RDNA.
const wmmaSide = 16

// wmma are the instructions of RDNA. Version 1 has all of K in every lane, both halves
// of the warp holding the same.
var wmma = []Instr{
	{Name: "wmma.f32.16x16x16.f16", A: F16, B: F16, C: F32, first: 1, last: 2},
	{Name: "wmma.f32.16x16x16.bf16", A: BF16, B: BF16, C: F32, first: 1, last: 2},
	{Name: "wmma.i32.16x16x16.iu8", A: I8, B: I8, C: I32, first: 1, last: 2},
	{Name: "wmma.f32.16x16x16.fp8.fp8", A: FP8, B: FP8, C: F32, first: 2, last: 2},
	{Name: "wmma.f32.16x16x16.fp8.bf8", A: FP8, B: BF8, C: F32, first: 2, last: 2},
	{Name: "wmma.f32.16x16x16.bf8.fp8", A: BF8, B: FP8, C: F32, first: 2, last: 2},
	{Name: "wmma.f32.16x16x16.bf8.bf8", A: BF8, B: BF8, C: F32, first: 2, last: 2},
}

// Instrs are the instructions of a chip, in the order of preference.
func Instrs(c *chip.Chip) []Instr {
	var list []Instr
	for _, in := range mfma {
		if in.first <= c.MFMA && c.MFMA <= in.last {
			in.PerLane = in.K * in.Side / c.Lanes
			list = append(list, in)
		}
	}
	for _, in := range wmma {
		if in.first <= c.WMMA && c.WMMA <= in.last {
			in.Side, in.K, in.PerLane = wmmaSide, wmmaSide, wmmaSide/c.WMMA
			list = append(list, in)
		}
	}
	return list
}

// Takes reports whether the instruction multiplies elements of types a and b on a chip;
// tf32 says that it may drop the last bits of f32.
func (in *Instr) Takes(c *chip.Chip, a, b ir.Type, tf32 bool) bool {
	return in.A.is(c, a) && in.B.is(c, b) && (in.A != XF32 || tf32)
}

// Shape is the rows and columns of a tile of a result of that many rows and columns.
func (in *Instr) Shape(rows, cols int64) [2]int {
	switch {
	case in.Side != smallSide:
		return [2]int{in.Side, in.Side}
	case rows < cols:
		return [2]int{smallSide, wideSide}
	}
	return [2]int{wideSide, smallSide}
}

// Transposed is the instruction with the types of A and B exchanged.
func (in *Instr) Transposed(c *chip.Chip) *Instr {
	for _, t := range Instrs(c) {
		if t.A == in.B && t.B == in.A && t.C == in.C && t.Side == in.Side && t.K == in.K {
			return &t
		}
	}
	panic("BUG: matrixcore: no instruction for the transposed " + in.Name)
}
