package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/driver/sim"
)

// Sums of 16- and 32-bit floats, several at once where the hardware can, from
// three programs into the same elements; with and without the old values.
func TestAtomicSums(t *testing.T) {
	types := map[string]llir.Type{"f16": llir.Half, "bf16": llir.BF16, "f32": llir.F32}
	for _, c := range []struct {
		elem string
		cc   int
		want string // in the PTX
	}{
		{"f16", 80, ".add.noftz.f16x2 "},
		{"f16", 90, ".add.noftz.v4.f16x2 "},
		{"bf16", 90, ".add.noftz.v4.bf16x2 "},
		{"bf16", 80, "atom.acq_rel.gpu.global.cas.b32 "},
		{"f32", 90, ".add.v4.f32 "},
		{"f32", 80, ".add.f32 "},
	} {
		t.Run(fmt.Sprintf("%s/sm_%d", c.elem, c.cc), func(t *testing.T) {
			k := build(t, "sums.ttgir", moduleOf(strings.NewReplacer("ELEM", c.elem,
				"ENC", "#ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<ELEM> {tt.divisibility = 16 : i32}, %o: !tt.ptr<ELEM> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, ENC>
    %s = tt.splat %n : i32 -> tensor<1024xi32, ENC>
    %m = arith.cmpi slt, %r, %s : tensor<1024xi32, ENC>
    %one = arith.constant dense<1.0> : tensor<1024xELEM, ENC>
    %xs = tt.splat %x : !tt.ptr<ELEM> -> tensor<1024x!tt.ptr<ELEM>, ENC>
    %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<ELEM>, ENC>, tensor<1024xi32, ENC>
    %v = tt.atomic_rmw fadd, acq_rel, gpu, %xp, %one, %m : (tensor<1024x!tt.ptr<ELEM>, ENC>, tensor<1024xELEM, ENC>, tensor<1024xi1, ENC>) -> tensor<1024xELEM, ENC>
    %os = tt.splat %o : !tt.ptr<ELEM> -> tensor<1024x!tt.ptr<ELEM>, ENC>
    %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<ELEM>, ENC>, tensor<1024xi32, ENC>
    %w = tt.atomic_rmw fadd, relaxed, gpu, %op, %v, %m : (tensor<1024x!tt.ptr<ELEM>, ENC>, tensor<1024xELEM, ENC>, tensor<1024xi1, ENC>) -> tensor<1024xELEM, ENC>
    tt.return
  }
`)), c.cc)
			if !strings.Contains(k.ptx, c.want) {
				t.Errorf("no %q in the PTX:\n%s", c.want, k.ptx)
			}
			const n, programs = 1024 - 48, 3
			size := llir.Width(types[c.elem]) / 8
			d := sim.New(sim.Options{})
			x, o := d.Alloc("x", 1024*size), d.Alloc("o", 1024*size)
			x.Fill(0)
			o.Fill(0)
			k.run(t, d, sim.Dim(programs), x, o, int32(n))
			value := func(b []byte, i int) float64 {
				bits := uint64(0)
				for j := range size {
					bits |= uint64(b[i*size+j]) << (8 * j)
				}
				return constants.FloatBits(types[c.elem], bits).Value()
			}
			for i := range 1024 {
				count, old := 0.0, 0.0
				if i < n {
					count, old = programs, 0+1+2 // each program saw another count
				}
				if got, sum := value(x.Read(), i), value(o.Read(), i); got != count || sum != old {
					t.Fatalf("element %d counts %v and %v, want %v and %v", i, got, sum, count, old)
				}
			}
		})
	}
}
