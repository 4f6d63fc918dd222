package nvidia

import (
	"fmt"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/internal/passtest"
)

// TestEachFormHasAnInstruction holds the two halves of the matrix unit together:
// what the passes give a layout of tensor cores, the lowering has an instruction
// for, on each target, for each type of operands and result.
func TestEachFormHasAnInstruction(t *testing.T) {
	accelerate := pass.Row{Pass: matrix.NewAccelerateMatmul(mma.Unit{})}
	for _, a := range archs {
		accelerated := 0
		for _, elems := range [][2]string{
			{"f16", "f32"},
			{"f16", "f16"},
			{"bf16", "f32"},
			{"f32", "f32"},
			{"f64", "f64"},
			{"i8", "i32"},
			{"i16", "i32"},
			{"i32", "i32"},
			{"f8E5M2", "f32"},
			{"f8E4M3FN", "f32"},
		} {
			for precision := range int64(3) {
				m := passtest.Module(t, "dot", fmt.Sprintf(`
#b = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#x = #ttg.dot_op<{opIdx = 0, parent = #b}>
#y = #ttg.dot_op<{opIdx = 1, parent = #b}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:%d", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @k(%%x: tensor<64x32x%[2]s, #x>, %%y: tensor<32x64x%[2]s, #y>, %%c: tensor<64x64x%[3]s, #b>) -> tensor<64x64x%[3]s, #b> {
    %%d = tt.dot %%x, %%y, %%c, inputPrecision = %[4]s : tensor<64x32x%[2]s, #x> * tensor<32x64x%[2]s, #y> -> tensor<64x64x%[3]s, #b>
    tt.return %%d : tensor<64x64x%[3]s, #b>
  }
}`, a.cc, elems[0], elems[1], []string{"ieee", "tf32", "tf32x3"}[precision]))
				passtest.Apply(t, m, accelerate)
				ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
					if !op.Is(tt.Dot) {
						return ir.Advance
					}
					d := tt.AsDot(op)
					p := lower.Product{
						A: ir.ElemOf(d.A().Type()), B: ir.ElemOf(d.B().Type()), C: ir.ElemOf(d.C().Type()),
						Precision: d.InputPrecision(), Result: encoding.Get(d.Result().Type()),
					}
					if p.Result.Mnemonic() != "nvidia_mma" {
						return ir.Advance
					}
					accelerated++
					if _, err := (&gpu.Target{CC: a.cc}).MatrixInstrs(p); err != nil {
						t.Errorf("cuda:%d: %s into %s: %v", a.cc, elems[0], elems[1], err)
					}
					return ir.Advance
				})
			}
		}
		if accelerated < 15 {
			t.Errorf("cuda:%d: only %d dots have the layout of tensor cores", a.cc, accelerated)
		}
	}
}
