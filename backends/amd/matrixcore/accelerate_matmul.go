package matrixcore

import (
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
)

// AccelerateMatmul is core's pass for matrix cores, under Triton's name, with its options.
var AccelerateMatmul = func() *pass.Pass {
	p := *matrix.NewAccelerateMatmul(Unit{})
	p.Name = "tritonamdgpu-accelerate-matmul"
	p.Options = []pass.Option{
		{Name: "arch-generation-name", Doc: "the chip, such as gfx942; empty: that of the module's ttg.target", Default: ""},
		{Name: "matrix-instruction-size", Doc: "rows and columns of an instruction, 16 or 32; 0: by the dot's shape", Default: 0},
		{Name: "kPack", Doc: "instructions whose elements a lane holds side by side, 1 or 2", Default: 1},
	}
	p.Takes = nil // which target it is, an option may say
	p.Run = func(r *pass.Run) error {
		target := dots.TargetOf(r.Module)
		if arch := r.Text("arch-generation-name"); arch != "" {
			target = chip.Backend + ":" + arch
		}
		u := Unit{Chip: chip.Known(target), Side: r.Int("matrix-instruction-size"), KPack: r.Int("kPack")}
		if err := u.Check(target); err != nil {
			return err
		}
		return matrix.NewAccelerateMatmul(u).Run(r)
	}
	return &p
}()
