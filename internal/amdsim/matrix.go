package amdsim

import (
	"math"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/ir"
)

// matrixOf says, for each matrix instruction of a chip, what the lanes of a warp get from
// their arguments. Elements are bits.
func matrixOf(c *chip.Chip) map[string]func(args [][][]uint64) [][]uint64 {
	m := make(map[string]func(args [][][]uint64) [][]uint64)
	for _, in := range matrixcore.Instrs(c) {
		if c.MFMA != 0 {
			m["llvm.amdgcn."+in.Name] = func(args [][][]uint64) [][]uint64 { return mfma(c, &in, args) }
			continue
		}
		sum := map[matrixcore.Elem]string{matrixcore.F32: "v8f32", matrixcore.I32: "v8i32"}[in.C]
		operand := map[matrixcore.Elem]string{
			matrixcore.F16: "v16f16", matrixcore.BF16: "v16i16", matrixcore.I8: "v4i32",
		}[in.A]
		if c.WMMA == 2 {
			operand = map[matrixcore.Elem]string{
				matrixcore.F16: "v8f16", matrixcore.BF16: "v8i16", matrixcore.I8: "v2i32", matrixcore.FP8: "v2i32", matrixcore.BF8: "v2i32",
			}[in.A]
		}
		m["llvm.amdgcn."+in.Name+"."+sum+"."+operand] = func(args [][][]uint64) [][]uint64 { return wmma(c, &in, args) }
	}
	return m
}

// mfma: with n rows and columns, lane l holds row l mod n of A and column l mod n of B,
// each with its share of K from l/n on. Of D it holds column l mod n; the rows are dealt to
// the lanes of a column in groups of four, of one where elements have 64 bits.
func mfma(c *chip.Chip, in *matrixcore.Instr, args [][][]uint64) [][]uint64 {
	group := 4
	if in.C == matrixcore.F64 {
		group = 1
	}
	out := make([][]uint64, len(args))
	for l, arg := range args {
		out[l] = make([]uint64, len(arg[2]))
		for r := range out[l] {
			row := r/group*group*len(args)/in.Side + l/in.Side*group + r%group
			sum := arg[2][r]
			for k := range in.K {
				of := k / in.PerLane * in.Side
				x := element(c, in.A, args[of+row][0], in.PerLane, k%in.PerLane)
				y := element(c, in.B, args[of+l%in.Side][1], in.PerLane, k%in.PerLane)
				sum = multiplyAdd(in.C, sum, x, y)
			}
			out[l][r] = sum
		}
	}
	return out
}

// wmma: lane l holds row l mod 16 of A and column l mod 16 of B. On RDNA 3 that is all of
// K, which both halves of the warp hold alike, and of D rows of one parity; on RDNA 4 each
// half holds eight of K, and eight rows of D.
func wmma(c *chip.Chip, in *matrixcore.Instr, args [][][]uint64) [][]uint64 {
	const side = 16
	a, b, sums := 0, 1, 2
	if in.A == matrixcore.I8 {
		a, b, sums = 1, 3, 4
		if args[0][0][0] == 0 || args[0][2][0] == 0 || args[0][5][0] != 0 {
			panic("unsigned or saturated integers")
		}
	}
	out := make([][]uint64, len(args))
	for l, arg := range args {
		out[l] = make([]uint64, len(arg[sums]))
		for r := range out[l] {
			row := 2*r + l/side
			if c.WMMA == 2 {
				row = r + 8*(l/side)
			}
			sum := arg[sums][r]
			for k := range in.K {
				from := l &^ (side - 1) // RDNA 3: from the lanes of its own half
				if c.WMMA == 2 {
					from = k / in.PerLane * side
				}
				x := element(c, in.A, args[from+row][a], in.PerLane, k%in.PerLane)
				y := element(c, in.B, args[from+l%side][b], in.PerLane, k%in.PerLane)
				sum = multiplyAdd(in.C, sum, x, y)
			}
			out[l][r] = sum
		}
	}
	return out
}

// element is number i of the elements that a lane holds of an operand. Those of 8 bits
// are packed, four or eight to a number.
func element(c *chip.Chip, e matrixcore.Elem, arg []uint64, perLane, i int) float64 {
	bits := arg[0]
	if perWord := perLane / len(arg); perWord > 1 {
		bits = arg[i/perWord] >> (8 * (i % perWord))
	} else {
		bits = arg[i]
	}
	fp8, bf8 := ir.F8E4M3FNUZ, ir.F8E5M2FNUZ
	if c.OCPFloat8 {
		fp8, bf8 = ir.F8E4M3FN, ir.F8E5M2
	}
	switch e {
	case matrixcore.I8:
		return float64(int8(bits))
	case matrixcore.FP8:
		return ir.BitsToFloat(fp8, bits&0xff)
	case matrixcore.BF8:
		return ir.BitsToFloat(bf8, bits&0xff)
	case matrixcore.F16:
		return ir.BitsToFloat(ir.F16, bits)
	case matrixcore.BF16:
		return ir.BitsToFloat(ir.BF16, bits)
	case matrixcore.XF32:
		return float64(math.Float32frombits(uint32(bits) &^ (1<<13 - 1)))
	case matrixcore.F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// multiplyAdd is sum + x·y in the type of the accumulator.
func multiplyAdd(e matrixcore.Elem, sum uint64, x, y float64) uint64 {
	switch e {
	case matrixcore.I32:
		return uint64(uint32(int32(sum) + int32(x)*int32(y)))
	case matrixcore.F64:
		return math.Float64bits(math.FMA(x, y, math.Float64frombits(sum)))
	}
	return uint64(math.Float32bits(float32(x*y + float64(math.Float32frombits(uint32(sum))))))
}
