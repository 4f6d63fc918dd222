package gpu

import (
	"testing"

	"github.com/tritonc/tritonc/core/lower"
)

// The lowering from a parsed ttgir to the text of the LLVM IR.
func BenchmarkLower(b *testing.B) {
	for _, name := range []string{"vector_add", "row_softmax", "layer_norm_fwd", "layer_norm_bwd", "reductions", "matmul_fp16", "flash_fwd_causal", "dot_fp32_float32_ieee"} {
		b.Run(name, func(b *testing.B) {
			mod := parse(b, name, testdata(b, name))
			b.ReportAllocs()
			for b.Loop() {
				r, err := lower.Module(mod, &Target{CC: 80}, lower.Options{Producer: "tritonc", LineInfo: true})
				if err != nil {
					b.Fatal(err)
				}
				r.LLVM.Print()
			}
		})
	}
}
