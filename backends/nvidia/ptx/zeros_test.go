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

// TestOnes finds the bits of sums and differences that are known to be set.
func TestOnes(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *llir.Builder, x llir.Value) llir.Value
		want  knownBits
	}{
		{"sum", func(b *llir.Builder, x llir.Value) llir.Value { return b.Add(b.And(x, b.M.I32(7)), b.M.I32(8)) }, knownBits{^uint64(15) & (1<<32 - 1), 8}},
		{"sum with a carry", func(b *llir.Builder, x llir.Value) llir.Value {
			return b.Add(b.Or(b.Shl(x, 2), b.M.I32(3)), b.M.I32(3))
		}, knownBits{1, 2}},
		{"negative", func(b *llir.Builder, x llir.Value) llir.Value { return b.Add(b.Shl(x, 4), b.M.I32(-40)) }, knownBits{7, 8}},
		{"difference", func(b *llir.Builder, x llir.Value) llir.Value { return b.Sub(b.M.I32(24), b.Shl(x, 4)) }, knownBits{7, 8}},
		{"exclusive or", func(b *llir.Builder, x llir.Value) llir.Value {
			return b.Xor(b.Or(b.And(x, b.M.I32(8)), b.M.I32(5)), b.M.I32(4))
		}, knownBits{^uint64(9) & (1<<32 - 1), 1}},
	} {
		f := converted(t, func(b *llir.Builder, x, p llir.Value) {
			b.Store(c.build(b, x), p, 4, false)
			b.Ret(nil)
		})
		insts := f.blocks[0].insts
		stored := insts[len(insts)-1].args[1]
		if got := (&zeros{}).bits(stored, 8); got != c.want {
			t.Errorf("%s: %#x, expected %#x", c.name, got, c.want)
		}
	}
}

// TestZerosOfPhis has two loops' counters depend on one another: what is assumed of one while
// the other is looked at has to hold in the end.
func TestZerosOfPhis(t *testing.T) {
	f := converted(t, func(b *llir.Builder, x, p llir.Value) { b.Ret(nil) })
	outer, inner := f.newValue(opPhi, tB32, r32), f.newValue(opPhi, tB32, r32)
	plus := func(v *value, n int64) *value { return f.newValue(opAdd, tS32, r32, v, f.constant(r32, n)) }
	outer.args = []*value{f.constant(r32, 0), plus(inner, 1)}
	inner.args = []*value{outer, plus(inner, 4)}
	for _, first := range []*value{outer, inner} {
		z := &zeros{known: map[*value]uint64{}}
		z.of(first, 8)
		for _, p := range []*value{outer, inner} { // 0, 4, 5, 9, 10, …
			if got := z.of(p, 8); got != 0 {
				t.Errorf("zeros %#x", got)
			}
		}
	}
}
