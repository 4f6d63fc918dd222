package gpu

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// The upper and the lower bytes of the magnitudes of e2m1, 0, 0.5, 1, 1.5, 2, 3, 4 and 6,
// in f16 and bf16; the lower ones of f16 are zero.
const (
	f16Upper  = 0x46444240_3E3C3800
	bf16Upper = 0x40404040_3F3F3F00
	bf16Lower = 0xC0804000_C0800000
)

// UnpackE2M1 looks the numbers up: v_perm_b32 chooses each byte of its result among eight.
// Nibbles come first into bytes of their own, in the order of the numbers.
func (*Target) UnpackE2M1(b *llir.Builder, to llir.Type, x []llir.Value) []llir.Value {
	upper, lower := uint64(f16Upper), uint64(0)
	if to == llir.BF16 {
		upper, lower = bf16Upper, bf16Lower
	}
	m := b.M
	perm := m.Declare("llvm.amdgcn.perm", llir.Pure, llir.I32, llir.I32, llir.I32, llir.I32)
	bytes := func(high, low llir.Value, choice int) llir.Value { return b.Call(perm, high, low, m.I32(choice)) }
	lookUp := func(table uint64, at llir.Value) llir.Value {
		if table == 0 {
			return m.I32(0)
		}
		return b.Call(perm, m.I32(int(int32(table>>32))), m.I32(int(int32(table))), at)
	}
	// Bytes 0 to 3 are those of the second operand, 4 to 7 of the first.
	const firstPairs, lastPairs = 0x05010400, 0x07030602
	const nibbles, magnitudes, signs = 0x0F0F0F0F, 0x07070707, 0x08080808
	var out []llir.Value
	for i := 0; i < len(x); i += 4 {
		var four [4]llir.Value
		for j := range four {
			four[j] = m.Int(llir.I8, 0)
			if i+j < len(x) {
				four[j] = x[i+j]
			}
		}
		word := b.BitCast(b.Vector(four[:]...), llir.I32)
		even, odd := b.And(word, m.I32(nibbles)), b.And(b.LShr(word, 4), m.I32(nibbles))
		for _, pairs := range []int{firstPairs, lastPairs} {
			n := bytes(odd, even, pairs)
			at := b.And(n, m.I32(magnitudes))
			high := b.Or(lookUp(upper, at), b.Shl(b.And(n, m.I32(signs)), 4))
			low := lookUp(lower, at)
			for _, two := range []int{firstPairs, lastPairs} {
				v := b.BitCast(bytes(high, low, two), m.Vec(2, to))
				out = append(out, b.ExtractElement(v, 0), b.ExtractElement(v, 1))
			}
		}
	}
	return out[:2*len(x)]
}

// scalesFloat4 reports whether a product of bf16 is that of a float of four bits and of a
// power of two, whose exponent was shifted to its place: bf16 has all of these, those below
// its smallest normal number included.
func scalesFloat4(op *ir.Operation) bool {
	product := arith.AsMulF(op)
	scale := product.Rhs()
	if !product.Lhs().DefIs(ttg.Fp4ToFp) {
		return false
	}
	moves := []*ir.OpDef{tt.Reshape, tt.Broadcast, tt.ExpandDims, ttg.ConvertLayout}
	for scale.Def() != nil && slices.Contains(moves, scale.Def().Def()) {
		scale = scale.Def().OneOperand()
	}
	if !scale.DefIs(tt.Bitcast) || !scale.Def().OneOperand().DefIs(arith.ShLI) {
		return false
	}
	const mantissa = 7
	by, known := arith.ConstantInt(arith.AsShLI(scale.Def().OneOperand().Def()).Rhs())
	return known && by == mantissa
}
