package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Triton's own module for compute capability 9.0: a block comes through a
// descriptor, is doubled, and leaves through another.
func TestDescriptors(t *testing.T) {
	k := build(t, "descriptors.ttgir", testdata(t, "descriptors"), 90)
	if k.GlobalScratch != 256 || k.GlobalScratchAlign != 128 {
		t.Errorf("global scratch: %d bytes aligned to %d, want 256 and 128", k.GlobalScratch, k.GlobalScratchAlign)
	}
	r := newRand(t)
	for _, s := range []struct{ m, n int }{{32, 64}, {64, 128}, {33, 72}, {1, 8}, {95, 200}} {
		x := halfs(randn(r, s.m*s.n))
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 2*s.m*s.n)
		k.run(t, d, sim.Dim((s.m+31)/32, (s.n+63)/64), sim.Upload(d, "a", x), o, int32(s.m), int32(s.n))
		got := widened(sim.Download[uint16](o))
		for i, w := range widened(x) {
			if got[i] != 2*w {
				t.Fatalf("%v: o[%d] = %v, want %v", s, i, got[i], 2*w)
			}
		}
	}
}

// Blocks of random tensors come through descriptors, several times through one
// barrier, whose phases alternate; what lies outside of a tensor is zero.
func TestTMALoads(t *testing.T) {
	r := newRand(t)
	for i := range 24 {
		c := randomTMA(r, 1+i%3)
		k := build(t, "tma.ttgir", c.source(), 90)
		x, want := randomBytes(r, c.size()*c.bytes), make([]byte, c.dumped()*c.bytes)
		c.each(func(elem, at int, inside bool) {
			if inside {
				copy(want[elem*c.bytes:][:c.bytes], x[at*c.bytes:])
			}
		})
		d := sim.New(sim.Options{})
		o := d.Alloc("o", len(want))
		k.run(t, d, sim.Dim(c.programs()), append([]any{sim.Upload(d, "t", x), o}, c.params()...)...)
		if n := differing(o.Read(), want); n > 0 {
			t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(want), k.src)
		}
	}
}

// Blocks leave through descriptors, clipped to the tensor.
func TestTMAStores(t *testing.T) {
	r := newRand(t)
	for i := range 24 {
		c := randomTMA(r, 1+i%3)
		c.out = true
		for d := range c.start { // hardware begins no store before the tensor
			c.start[d] = max(c.start[d], 0)
		}
		k := build(t, "tma.ttgir", c.source(), 90)
		from, want := randomBytes(r, c.dumped()*c.bytes), randomBytes(r, c.size()*c.bytes)
		d := sim.New(sim.Options{})
		to := sim.Upload(d, "t", want)
		c.each(func(elem, at int, inside bool) {
			if inside {
				copy(want[at*c.bytes:][:c.bytes], from[elem*c.bytes:])
			}
		})
		k.run(t, d, sim.Dim(c.programs()), append([]any{to, sim.Upload(d, "o", from)}, c.params()...)...)
		if n := differing(to.Read(), want); n > 0 {
			t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(want), k.src)
		}
	}
}

// Blocks are combined with the tensor as they leave.
func TestTMAReductions(t *testing.T) {
	r := newRand(t)
	type num = float64
	round := map[string]func(num) []byte{
		"f32":  func(x num) []byte { return sim.Bytes([]float32{float32(x)}) },
		"f16":  func(x num) []byte { return sim.Bytes(halfs([]float32{float32(x)})) },
		"bf16": func(x num) []byte { return sim.Bytes([]uint16{uint16(math.Float32bits(float32(x)) >> 16)}) },
		"i32":  func(x num) []byte { return sim.Bytes([]int32{int32(x)}) },
	}
	bits := func(f func(a, b uint32) uint32) func(a, b num) num {
		return func(a, b num) num { return num(int32(f(uint32(int32(a)), uint32(int32(b))))) }
	}
	kinds := map[string]func(old, x num) num{
		"add": func(old, x num) num { return old + x }, "min": math.Min, "max": math.Max,
		"and": bits(func(a, b uint32) uint32 { return a & b }),
		"or":  bits(func(a, b uint32) uint32 { return a | b }),
		"xor": bits(func(a, b uint32) uint32 { return a ^ b }),
	}
	for _, v := range []struct{ elem, kind string }{
		{"f32", "add"},
		{"f16", "add"},
		{"f16", "min"},
		{"f16", "max"},
		{"bf16", "add"},
		{"bf16", "max"},
		{"i32", "add"},
		{"i32", "min"},
		{"i32", "max"},
		{"i32", "and"},
		{"i32", "or"},
		{"i32", "xor"},
	} {
		t.Run(v.elem+" "+v.kind, func(t *testing.T) {
			c := randomTMA(r, 1+r.IntN(3))
			for c.elem != v.elem {
				c = randomTMA(r, 1+r.IntN(3))
			}
			c.out, c.reduce = true, v.kind
			for d := range c.start {
				c.start[d] = max(c.start[d], 0)
			}
			values := func(n int) (xs []num, b []byte) { // small numbers, so that sums are exact
				for range n {
					x := num(r.IntN(64) - 32)
					xs, b = append(xs, x), append(b, round[v.elem](x)...)
				}
				return xs, b
			}
			from, fromBytes := values(c.dumped())
			want, toBytes := values(c.size())
			c.each(func(elem, at int, inside bool) {
				if inside {
					want[at] = kinds[v.kind](want[at], from[elem])
				}
			})
			var wantBytes []byte
			for _, x := range want {
				wantBytes = append(wantBytes, round[v.elem](x)...)
			}
			k := build(t, "tma.ttgir", c.source(), 90)
			d := sim.New(sim.Options{})
			to := sim.Upload(d, "t", toBytes)
			k.run(t, d, sim.Dim(c.programs()), append([]any{to, sim.Upload(d, "o", fromBytes)}, c.params()...)...)
			if n := differing(to.Read(), wantBytes); n > 0 {
				t.Fatalf("%+v: %d of %d bytes differ\n%s", c, n, len(wantBytes), k.src)
			}
		})
	}
}

// each calls f for every element of every block: its index among all, and that in
// the tensor.
func (c *tmaCase) each(f func(elem, at int, inside bool)) {
	elem := 0
	for p := range c.programs() {
		for round := range c.rounds {
			for i := range volume(c.block) {
				at, inside := c.place(p, round, i)
				f(elem, at, inside)
				elem++
			}
		}
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func differing(got, want []byte) int {
	n := 0
	for i, w := range want {
		if got[i] != w {
			n++
		}
	}
	return n
}
