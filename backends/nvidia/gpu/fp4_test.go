package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// All 4-bit floats as both 16-bit formats, looked up four bytes at a time where a
// thread has so many, and computed otherwise.
func TestFP4(t *testing.T) {
	values := [16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
	for _, elem := range []string{"f16", "bf16"} {
		for _, size := range []int{2, 4, 8} {
			n := size * 128
			blocked := func(size int) string {
				return fmt.Sprintf("#ttg.blocked<{sizePerThread = [%d], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>", size)
			}
			k := build(t, "fp4.ttgir", moduleOf(strings.NewReplacer("SRC", blocked(size), "DST", blocked(2*size), "ELEM", elem,
				"BYTES", fmt.Sprint(n), "FLOATS", fmt.Sprint(2*n)).Replace(`
  tt.func public @k(%x: !tt.ptr<i8>, %o: !tt.ptr<f32>) {
    %r = tt.make_range {end = BYTES : i32, start = 0 : i32} : tensor<BYTESxi32, SRC>
    %xs = tt.splat %x : !tt.ptr<i8> -> tensor<BYTESx!tt.ptr<i8>, SRC>
    %xp = tt.addptr %xs, %r : tensor<BYTESx!tt.ptr<i8>, SRC>, tensor<BYTESxi32, SRC>
    %v = tt.load %xp : tensor<BYTESx!tt.ptr<i8>, SRC>
    %f = ttg.fp4_to_fp %v {axis = 0 : i32} : tensor<BYTESxi8, SRC> -> tensor<FLOATSxELEM, DST>
    %w = arith.extf %f : tensor<FLOATSxELEM, DST> to tensor<FLOATSxf32, DST>
    %q = tt.make_range {end = FLOATS : i32, start = 0 : i32} : tensor<FLOATSxi32, DST>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<FLOATSx!tt.ptr<f32>, DST>
    %op = tt.addptr %os, %q : tensor<FLOATSx!tt.ptr<f32>, DST>, tensor<FLOATSxi32, DST>
    tt.store %op, %w : tensor<FLOATSx!tt.ptr<f32>, DST>
    tt.return
  }
`)), 80)
			if looked := strings.Contains(k.ptx, "prmt.b32"); looked != (size >= 4) {
				t.Errorf("%d bytes per thread: prmt is used: %v", size, looked)
			}
			bytes := make([]uint8, n)
			for i := range bytes {
				bytes[i] = uint8(i * 7) // every pair of nibbles
			}
			d := sim.New(sim.Options{})
			o := d.Alloc("o", 8*n)
			k.run(t, d, sim.Dim(1), sim.Upload(d, "x", bytes), o)
			for i, v := range sim.Download[float32](o) {
				if want := values[bytes[i/2]>>(i%2*4)&15]; v != want {
					t.Fatalf("%s, %d bytes per thread: nibble %x is %v, want %v", elem, size, bytes[i/2]>>(i%2*4)&15, v, want)
				}
			}
		}
	}
}
