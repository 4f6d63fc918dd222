package gpu

import (
	"fmt"

	llvm "github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// upcaster widens elements of 8 and 4 bits, times their scales, by gfx950's instructions
// for two elements of one scale.
type upcaster struct {
	b    *llir.Builder
	call *llvm.Func
	in   []llir.Value // bytes
	// nibbles: a byte has two elements, and the instruction takes one of four bytes; else
	// it takes one of two halves of a word.
	nibbles bool
	words   map[int]llir.Value
	pairs   map[pairOf]llir.Value
}

// pairOf is a pair of elements, the first of which is in byte at, with a scale.
type pairOf struct {
	at    int
	scale llir.Value
}

// newUpcaster has the instruction from a format (fp8, bf8 or fp4) to the elements of a
// tensor, f16 or bf16.
func (t *Target) newUpcaster(s *lower.Site, format string, in []llir.Value, result *ir.Value) (*upcaster, error) {
	f, ok := ir.ElemOf(result.Type()).(*ir.FloatType)
	to, name := map[bool]llir.Type{true: llir.Half, false: llir.BF16}[ok && f.Kind == ir.F16], "bf16"
	switch {
	case t.Name != "gfx950":
		return nil, fmt.Errorf("%s has no instruction that multiplies what it widens by a scale", t.Name)
	case !ok || f.Kind != ir.F16 && f.Kind != ir.BF16:
		return nil, fmt.Errorf("the result must be f16 or bf16")
	case f.Kind == ir.F16:
		name = "f16"
	}
	u := &upcaster{b: s.B, in: in, nibbles: format == "fp4", words: map[int]llir.Value{}, pairs: map[pairOf]llir.Value{}}
	part := llir.Type(llir.I1)
	if u.nibbles {
		part = llir.I32
	}
	u.call = s.B.M.Declare("llvm.amdgcn.cvt.scalef32.pk."+name+"."+format, llir.Pure, s.B.M.Vec(2, to), llir.I32, llir.F32, part)
	return u, nil
}

// pair is the two elements from byte at on, times a scale of bf16.
func (u *upcaster) pair(at int, scale llir.Value) llir.Value {
	b, m := u.b, u.b.M
	if v := u.pairs[pairOf{at, scale}]; v != nil {
		return v
	}
	first := at &^ 3
	word := u.words[first]
	if word == nil {
		var bytes [4]llir.Value
		for j := range bytes {
			bytes[j] = m.Int(llir.I8, 0)
			if first+j < len(u.in) {
				bytes[j] = u.in[first+j]
			}
		}
		word = b.BitCast(b.Vector(bytes[:]...), llir.I32)
		u.words[first] = word
	}
	part := llir.Value(m.Bool(at&2 != 0))
	if u.nibbles {
		part = m.I32(at & 3)
	}
	v := b.Call(u.call, word, b.Cast(llir.FPExt, scale, llir.F32, 0), part)
	u.pairs[pairOf{at, scale}] = v
	return v
}

// scaledUpcast8 widens floats of 8 bits. Neighbours of one scale are converted together.
func (t *Target) scaledUpcast8(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsScaledUpcastFp8(op)
	format := "fp8"
	if f, ok := ir.ElemOf(v.Input().Type()).(*ir.FloatType); ok && f.Kind == ir.F8E5M2 {
		format = "bf8"
	}
	scales := s.Value(v.Scale())
	u, err := t.newUpcaster(s, format, s.Value(v.Input()), v.Output())
	if err != nil {
		return err
	}
	out := make([]llir.Value, len(scales))
	for r := range out {
		out[r] = u.b.ExtractElement(u.pair(r&^1, scales[r]), r&1)
	}
	s.Set(v.Output(), out...)
	return nil
}

// scaledUpcast4 widens floats of 4 bits.
func (t *Target) scaledUpcast4(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsScaledUpcastFp4(op)
	places, err := s.Nibbles(v.Input(), v.Output(), int(v.Axis()))
	if err != nil {
		return err
	}
	scales := s.Value(v.Scale())
	u, err := t.newUpcaster(s, "fp4", s.Value(v.Input()), v.Output())
	if err != nil {
		return err
	}
	out := make([]llir.Value, len(scales))
	for r, p := range places {
		out[r] = u.b.ExtractElement(u.pair(p.Reg, scales[r]), p.Half)
	}
	s.Set(v.Output(), out...)
	return nil
}
