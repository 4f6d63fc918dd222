package mfma

import (
	"math"

	"github.com/tritonc/tritonc/core/ir"
)

// Simulated says, for each intrinsic, what the lanes of a warp get from their
// arguments, for llirsim.Target. Elements are bits.
//
// With n rows and columns, lane l holds row l mod n of A and column l mod n of B,
// each with its share of K from l/n on. Of D it holds column l mod n; the rows are
// dealt to the lanes of a column in groups of four, of one where elements have 64
// bits.
func Simulated() map[string]func(args [][][]uint64) [][]uint64 {
	m := make(map[string]func(args [][][]uint64) [][]uint64)
	for i := range forms {
		f := &forms[i]
		m["llvm.amdgcn.mfma."+f.intrinsic] = f.simulate
	}
	return m
}

func (f *form) simulate(args [][][]uint64) [][]uint64 {
	group := 4
	if f.c == f64 {
		group = 1
	}
	out := make([][]uint64, lanes)
	for l, arg := range args {
		out[l] = make([]uint64, len(arg[2]))
		for r := range out[l] {
			row := r/group*group*lanes/f.side + l/f.side*group + r%group
			sum := arg[2][r]
			for k := range f.k {
				of := k / f.perLane() * f.side
				x := f.at(f.a, args[of+row][0], k%f.perLane())
				y := f.at(f.b, args[of+l%f.side][1], k%f.perLane())
				sum = f.add(sum, x, y)
			}
			out[l][r] = sum
		}
	}
	return out
}

// at is element i of an operand of one lane. Eight elements of 8 bits are one
// argument.
func (f *form) at(e elem, arg []uint64, i int) float64 {
	bits := arg[0] >> (8 * (i % 8))
	if e != i8 && e != fp8 && e != bf8 {
		bits = arg[i]
	}
	switch e {
	case i8:
		return float64(int8(bits))
	case fp8:
		return ir.BitsToFloat(ir.F8E4M3FNUZ, bits&0xff)
	case bf8:
		return ir.BitsToFloat(ir.F8E5M2FNUZ, bits&0xff)
	case f16:
		return ir.BitsToFloat(ir.F16, bits)
	case bf16:
		return ir.BitsToFloat(ir.BF16, bits)
	case f32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// add is sum + x·y in the type of the accumulator.
func (f *form) add(sum uint64, x, y float64) uint64 {
	switch f.c {
	case i32:
		return uint64(uint32(int32(sum) + int32(x)*int32(y)))
	case f64:
		return math.Float64bits(math.FMA(x, y, math.Float64frombits(sum)))
	}
	return uint64(math.Float32bits(float32(x*y + float64(math.Float32frombits(uint32(sum))))))
}
