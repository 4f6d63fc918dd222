package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// A byte holds two numbers of the format e2m1, the one with the even position
// along the axis in the low nibble. With its exponent and mantissa at the top of
// those of a 16-bit float, a number is too small by the difference of the biases:
// one multiplication by a power of two, which is exact, also of e2m1's one subnormal.

// Nibble is where a number of 4 bits is: the register of a byte, and 0 for its low half
// or 1 for the high one.
type Nibble struct{ Reg, Half int }

// nibbles finds the numbers of dst among the bytes of src, which hold two of neighbours
// along an axis.
func (e *emitter) nibbles(src, dst *tensorLayout, axis int) ([]Nibble, error) {
	from := slices.Concat(src.thread, src.block)
	for i, v := range slices.Concat(dst.thread, dst.block) {
		for d, x := range v {
			if d == axis {
				if x&1 != 0 {
					return nil, fmt.Errorf("the two halves of a byte are in different threads")
				}
				x >>= 1
			}
			if from[i][d] != x {
				return nil, fmt.Errorf("the result's layout puts elements in other threads than the operand's")
			}
		}
	}
	at, out := src.registersAt(), make([]Nibble, dst.regs)
	for r := range out {
		c := dst.regCoords(r)
		half := int(c[axis] & 1)
		c[axis] >>= 1
		i, ok := at[coordKey(c)]
		if !ok {
			return nil, fmt.Errorf("the result's layout holds elements that the operand's thread lacks")
		}
		out[r] = Nibble{i, half}
	}
	return out, nil
}

// Nibbles finds the numbers of 4 bits of a result among the bytes of an operand, which hold
// two of neighbours along an axis: one for each register of the result.
func (s *Site) Nibbles(operand, result *ir.Value, axis int) ([]Nibble, error) {
	src, err := s.e.layout(operand)
	if err != nil {
		return nil, err
	}
	dst, err := s.e.layout(result)
	if err != nil {
		return nil, err
	}
	return s.e.nibbles(src, dst, axis)
}

// fp4ToFp unpacks e2m1 along an axis.
func (e *emitter) fp4ToFp(op ttg.Fp4ToFpOp) error {
	src, err := e.layout(op.Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	t, err := scalarType(op.Result().Type())
	if err != nil {
		return err
	}
	// man is the number of mantissa bits, bias the exponent's bias less e2m1's.
	var man, bias int
	switch t {
	case llir.Half:
		man, bias = 10, 15-1
	case llir.BF16:
		man, bias = 7, 127-1
	default:
		return fmt.Errorf("the result is not a 16-bit float")
	}
	places, err := e.nibbles(src, dst, int(op.Axis()))
	if err != nil {
		return err
	}
	in := e.value(op.Src())
	out := make([]llir.Value, dst.regs)
	numbers := e.m.caps.NarrowFloats.UnpackE2M1(e.b, t, in)
	pairs := make([]llir.Value, src.regs)
	for r, p := range places {
		if numbers != nil {
			out[r] = numbers[2*p.Reg+p.Half]
			continue
		}
		if pairs[p.Reg] == nil {
			pairs[p.Reg] = e.fp4Pair(in[p.Reg], t, man, bias)
		}
		out[r] = e.b.ExtractElement(pairs[p.Reg], p.Half)
	}
	e.set(op.Result(), out)
	return nil
}

// fp4Pair is the vector of the two numbers of a byte.
func (e *emitter) fp4Pair(v llir.Value, t llir.Type, man, bias int) llir.Value {
	b, m := e.b, e.m.llvm
	x := b.ZExt(v, llir.I32)
	x = b.Or(x, b.Shl(x, 12)) // the low nibble from bit 0 on, the high one from bit 16 on
	const both, signs = 1<<16 + 1, 0x8000 - 1<<31
	mag := b.And(b.Shl(x, man-1), m.I32(7<<(man-1)*both))
	bits := b.Or(mag, b.And(b.Shl(x, 12), m.I32(signs)))
	scale := m.FloatBits(t, m.Float(t, 1).Bits+uint64(bias)<<man)
	return b.Binary(llir.FMul, b.BitCast(bits, m.Vec(2, t)), b.Vector(scale, scale), 0)
}
