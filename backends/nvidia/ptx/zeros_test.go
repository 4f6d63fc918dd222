package ptx

import (
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

// TestZeros finds the zeros of numbers whose bits are known.
func TestZeros(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *llir.Builder, x, y llir.Value) llir.Value
		ones  uint64 // the bits that may be set
	}{
		{"constant", func(b *llir.Builder, x, y llir.Value) llir.Value { return b.Xor(b.And(x, b.M.I32(0x30)), b.M.I32(5)) }, 0x35},
		{"or", func(b *llir.Builder, x, y llir.Value) llir.Value {
			return b.Or(b.And(x, b.M.I32(3)), b.And(y, b.M.I32(12)))
		}, 15},
		{"sum without a common bit", func(b *llir.Builder, x, y llir.Value) llir.Value {
			return b.Add(b.And(x, b.M.I32(3)), b.Shl(y, 2))
		}, 1<<32 - 1},
		{"sum of multiples", func(b *llir.Builder, x, y llir.Value) llir.Value { return b.Add(b.Shl(x, 4), b.Shl(y, 3)) }, 1<<32 - 8},
		{"product", func(b *llir.Builder, x, y llir.Value) llir.Value { return b.Mul(b.Shl(x, 4), b.Shl(y, 3)) }, 1<<32 - 1<<7},
		{"shift", func(b *llir.Builder, x, y llir.Value) llir.Value { return b.LShr(b.And(x, b.M.I32(0xff0)), 3) }, 0x1fe},
		{"shift of a sign", func(b *llir.Builder, x, y llir.Value) llir.Value {
			return b.Binary(llir.AShr, b.Shl(x, 8), b.M.I32(4), 0)
		}, 1<<32 - 1<<4},
	} {
		f := converted(t, func(b *llir.Builder, x, p llir.Value) {
			y := b.Load(llir.I32, p, 4, false)
			b.Store(c.build(b, x, y), b.PtrAdd(p, 4), 4, false)
			b.Ret(nil)
		})
		insts := f.blocks[0].insts
		z := &zeros{known: map[*value]uint64{}}
		stored := insts[len(insts)-1].args[1]
		if got := z.of(stored, 8); got != ^c.ones&(1<<32-1) {
			t.Errorf("%s: zeros %#x, expected %#x", c.name, got, ^c.ones&(1<<32-1))
		}
	}
}
