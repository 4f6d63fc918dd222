package gpu

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// upcastMXFP gives numbers of 4 bits, or those that were widened from 8, as bf16 or f16 times
// the scales of their blocks, which come from other lanes of the warp. Scales are powers of
// two: bf16 has all the products, but for bits below 2^-133, which are cut off.
func (t *Target) upcastMXFP(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsUpcastMxfp(op)
	to, ok := ir.ElemOf(v.Result().Type()).(*ir.FloatType)
	if !ok || to.Kind != ir.F16 && to.Kind != ir.BF16 {
		return fmt.Errorf("the result must be f16 or bf16")
	}
	scales, err := scalesOf(s, v)
	if err != nil {
		return err
	}
	x, places, err := t.scaledNumbers(s, v, to.Kind)
	if err != nil {
		return err
	}
	b := s.B
	f := factors{b: b, to: to.Kind, fastMath: v.FastMath()}
	scaleAt := map[lower.Nibble]llir.Value{}
	for r, p := range places {
		scaleAt[p] = scales[r]
	}
	// Neighbours are multiplied together.
	products := map[lower.Nibble]llir.Value{}
	out := make([]llir.Value, len(places))
	for r, p := range places {
		first := lower.Nibble{Reg: p.Reg &^ 1, Half: p.Half}
		if products[first] == nil {
			var pair [2]llir.Value
			for i := range pair {
				scale := scaleAt[lower.Nibble{Reg: first.Reg + i, Half: p.Half}]
				if scale == nil {
					scale = scales[r]
				}
				pair[i] = f.of(scale)
			}
			products[first] = b.Binary(llir.FMul, x(first), b.Vector(pair[:]...), 0)
		}
		out[r] = b.ExtractElement(products[first], p.Reg&1)
		if to.Kind == ir.BF16 {
			out[r] = exactly(b, out[r], ir.BF16)
		}
	}
	s.Set(v.Result(), out...)
	return nil
}

// scalesOf are the scales of the elements of the result that the thread holds, an i8 for
// each register.
func scalesOf(s *lower.Site, v amdg.UpcastMxfpOp) ([]llir.Value, error) {
	t, scale := v.Result().Type().(*ir.TensorType), v.Scale().Type().(*ir.TensorType)
	e, ok := encoding.Get(t).(*layout.DotOp)
	if !ok || len(t.Shape) != 2 {
		return nil, fmt.Errorf("the result must be an operand of two dimensions")
	}
	l, err := e.Linear(t.Shape)
	if err != nil {
		return nil, err
	}
	l = l.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1))
	free, k := e.OpIdx, 1-e.OpIdx
	blocks := func(d layout.Dim) layout.Bases {
		list := layout.Bases{}
		for _, v := range l.BasesOf(d) {
			list = append(list, []int32{v[free], v[k] / matrixcore.ScaleBlock})
		}
		return list
	}
	c := v.Op.Context()
	return s.Moved(v.Scale(), c.Tensor(scale.Shape, scale.Elem, encoding.Of(c, &layout.Linear{
		Register: blocks(layout.Register), Lane: blocks(layout.Lane), Warp: blocks(layout.Warp), Block: blocks(layout.Block),
	})))
}

// scaledNumbers gives pairs of numbers that neighbouring registers of the operand have, in
// the same half of their bytes: as f32 for bf16, as f16 for f16. places says which of them
// each register of the result is.
func (t *Target) scaledNumbers(s *lower.Site, v amdg.UpcastMxfpOp, to ir.FloatKind) (pair func(lower.Nibble) llir.Value, places []lower.Nibble, err error) {
	b, x := s.B, s.Value(v.Src())
	if v.FpType() != tt.ScaleE2M1 {
		if f, ok := ir.ElemOf(v.Src().Type()).(*ir.FloatType); !ok || f.Kind != to {
			return nil, nil, fmt.Errorf("floats of 8 bits must be widened before they are scaled")
		}
		for r := range x {
			places = append(places, lower.Nibble{Reg: r})
		}
		return pairsOf(b, x, to, func(p lower.Nibble) int { return p.Reg }), places, nil
	}
	operand := encoding.Get(v.Result().Type()).(*layout.DotOp) // scalesOf has looked
	if places, err = s.Nibbles(v.Src(), v.Result(), 1-operand.OpIdx); err != nil {
		return nil, nil, err
	}
	if t.FNUZFloat8 && to == ir.BF16 {
		return t.pairsOfE2M1(b, x), places, nil
	}
	elem := map[ir.FloatKind]llir.Type{ir.F16: llir.Half, ir.BF16: llir.BF16}[to]
	return pairsOf(b, t.UnpackE2M1(b, elem, x), to, func(p lower.Nibble) int { return 2*p.Reg + p.Half }), places, nil
}

// pairsOf makes pairs of numbers, of which index tells where one is in a list.
func pairsOf(b *llir.Builder, x []llir.Value, to ir.FloatKind, index func(lower.Nibble) int) func(lower.Nibble) llir.Value {
	return func(p lower.Nibble) llir.Value {
		var pair [2]llir.Value
		for i := range pair {
			at := index(lower.Nibble{Reg: p.Reg + i, Half: p.Half})
			if at >= len(x) {
				at = index(p)
			}
			if pair[i] = x[at]; to == ir.BF16 {
				pair[i] = toF32(b, pair[i])
			}
		}
		return b.Vector(pair[:]...)
	}
}

// fnuzSigned are the bytes of the magnitudes of e2m1 in e4m3 without negative zero, each but
// zero with a sign.
const fnuzSigned = 0xD4D0CCC8_C4C0B800

// pairsOfE2M1 makes f32 of floats of four bits by way of those of eight bits that the chip
// widens: each byte is looked up, and loses its sign where the number has none.
func (t *Target) pairsOfE2M1(b *llir.Builder, x []llir.Value) func(lower.Nibble) llir.Value {
	m := b.M
	table := uint64(fnuzSigned)
	perm := m.Declare("llvm.amdgcn.perm", llir.Pure, llir.I32, llir.I32, llir.I32, llir.I32)
	fp8 := t.float8s()[ir.F8E4M3FNUZ]
	words := map[lower.Nibble]llir.Value{}
	return func(p lower.Nibble) llir.Value {
		first := lower.Nibble{Reg: p.Reg &^ 3, Half: p.Half}
		if words[first] == nil {
			var four [4]llir.Value
			for i := range four {
				four[i] = m.Int(llir.I8, 0)
				if first.Reg+i < len(x) {
					four[i] = x[first.Reg+i]
				}
			}
			at := b.BitCast(b.Vector(four[:]...), llir.I32)
			signs := b.Shl(at, 4)
			if p.Half == 1 {
				at, signs = b.LShr(at, 4), at
			}
			const magnitudes, anySign = 0x07070707, 0x7F7F7F7F
			number := b.Call(perm, m.I32(int(int32(table>>32))), m.I32(int(int32(uint32(table)))), b.And(at, m.I32(magnitudes)))
			words[first] = b.And(number, b.Or(signs, m.I32(anySign)))
		}
		return fp8.widenHalf(b, words[first], p.Reg>>1&1)
	}
}

// factors are numbers to multiply by, of scales that are exponents: f32 for bf16, f16 for f16.
type factors struct {
	b        *llir.Builder
	to       ir.FloatKind
	fastMath bool
}

// of is the number for a scale, NaN for the scale that stands for it.
func (f factors) of(scale llir.Value) llir.Value {
	const noNumber, mantissa, quiet = 0xff, 23, 0x7fc00000
	b, m := f.b, f.b.M
	bits := b.ZExt(scale, llir.I32)
	x := b.Shl(bits, mantissa)
	if !f.fastMath {
		x = b.Select(b.ICmp(enum.IPredEQ, bits, m.I32(noNumber)), m.I32(quiet), x)
	}
	x = b.BitCast(x, llir.F32)
	if f.to == ir.F16 {
		return b.Cast(llir.FPTrunc, x, llir.Half, 0)
	}
	return x
}
