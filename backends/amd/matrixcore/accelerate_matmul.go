package matrixcore

import (
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
)

// AccelerateMatmul is core's pass for matrix cores, under Triton's name, with its options.
var AccelerateMatmul = func() *pass.Pass {
	p := *matrix.NewAccelerateMatmul(Unit{})
	p.Name = "tritonamdgpu-accelerate-matmul"
	p.Options = []pass.Option{
		{Name: "matrix-instruction-size", Doc: "rows and columns of an instruction, 16 or 32; 0: by the dot's shape", Default: 0},
		{Name: "kPack", Doc: "instructions whose elements a lane holds side by side, 1 or 2", Default: 1},
	}
	p.Run = func(r *pass.Run) error {
		return matrix.NewAccelerateMatmul(Unit{Side: r.Int("matrix-instruction-size"), KPack: r.Int("kPack")}).Run(r)
	}
	return &p
}()
