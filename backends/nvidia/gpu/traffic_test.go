package gpu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// The passes through the banks of shared memory, and the barriers, are no more
// than those of Triton's own code for the same kernel and data.
func TestSharedTraffic(t *testing.T) {
	r := newRand(t)
	const n = 256
	half := func(d *sim.Device, name string, count int) *sim.Buffer {
		return sim.Upload(d, name, halfs(randn(r, count)))
	}
	dots := func(d *sim.Device) []any {
		return []any{sim.Upload(d, "a", randn(r, 2*64*64)), sim.Upload(d, "b", randn(r, 2*64*64)), d.Alloc("o", 8*64*64)}
	}
	chain := func(d *sim.Device) []any {
		return []any{half(d, "q", 64*64), half(d, "k", 64*64), half(d, "v", 64*64), d.Alloc("o", 4*64*64)}
	}
	for _, c := range []struct {
		name   string
		kernel string
		grid   [3]int
		args   func(d *sim.Device) []any
		more   float64 // passes that we may take beyond Triton's, relative
	}{
		{"dot_fp16_float32_None", "dots", sim.Dim(1), dots, 0},
		{"dot_fp16_float16_None", "dots", sim.Dim(1), dots, 0},
		{"dot_bf16_float32_None", "dots", sim.Dim(1), dots, 0},
		{"dot_fp32_float32_tf32", "dots", sim.Dim(1), dots, 0},
		{"dot_fp64_float64_None", "dots", sim.Dim(1), dots, 0},
		{"dot_i8_int32_None", "dots", sim.Dim(1), dots, 0},
		{"dot_fp8e5_float32_None", "dots", sim.Dim(1), dots, 0},
		{"dot_chain", "dot_chain", sim.Dim(1), chain, 0},
		{"dot_scaled", "dot_scaled", sim.Dim(1), chain, 0.02}, // of the scales, bytes are loaded one by one
		{"matmul_fp16", "matmul", sim.Dim(4), func(d *sim.Device) []any {
			return []any{
				half(d, "a", n*n), half(d, "b", n*n), d.Alloc("o", 2*n*n),
				int32(n), int32(n), int32(n), int32(n), int32(n), int32(n),
			}
		}, 0},
		{"matmul_desc", "matmul_desc", sim.Dim(132), func(d *sim.Device) []any {
			return []any{half(d, "a", n*n), half(d, "b", n*n), d.Alloc("o", 2*n*n), int32(n), int32(n), int32(n)}
		}, 0},
		{"flash_fwd_causal", "flash_fwd", sim.Dim(2, 1), func(d *sim.Device) []any {
			const c = n * 64
			return []any{
				half(d, "Q", c), half(d, "K", c), half(d, "V", c), d.Alloc("O", 2*c), d.Alloc("L", 4*n),
				float32(0.1), int32(c), int32(c), int32(64), int32(1), int32(n),
			}
		}, 0},
		{"transpose2d", "transpose2d", sim.Dim(1), func(d *sim.Device) []any {
			return []any{half(d, "x", 64*64), d.Alloc("o", 2*64*64), int32(64), int32(64)}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours := build(t, c.name+".ttgir", testdata(t, c.name), 80)
			text, err := os.ReadFile(filepath.Join("..", "..", "..", "driver", "sim", "testdata", c.name+".ptx"))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := sim.Load(c.name+".ptx", text)
			if err != nil {
				t.Fatal(err)
			}
			d := sim.New(sim.Options{})
			got := ours.run(t, d, c.grid, c.args(d)...).Counters
			const shared = 128 << 10 // Triton's PTX does not say how much it needs
			rep, err := d.Launch(theirs, c.kernel, c.grid, sim.Dim(ours.Threads), shared, c.args(d)...)
			if err != nil {
				t.Fatal(err)
			}
			want := rep.Counters
			t.Logf("passes %d (at least %d), Triton's %d; barriers %d, %d; instructions %d, %d",
				got.SharedWavefronts, got.SharedWavefrontsNeeded, want.SharedWavefronts,
				got.Barriers, want.Barriers, got.WarpInstructions, want.WarpInstructions)
			if float64(got.SharedWavefronts) > float64(want.SharedWavefronts)*(1+c.more) {
				t.Errorf("%d passes through shared memory, Triton's code takes %d", got.SharedWavefronts, want.SharedWavefronts)
			}
			if got.Barriers > want.Barriers {
				t.Errorf("%d barriers, Triton's code has %d", got.Barriers, want.Barriers)
			}
		})
	}
}
