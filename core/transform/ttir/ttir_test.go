package ttir_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll, ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.TestLoopPeeling}
	passtest.Run(t, "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
	// What the front end builds, through the whole stage: the outputs are equal,
	// in the sense of package diff, to what Triton 3.6 makes of the same input.
	all := append(ours, std.Inline, std.Canonicalize, std.CSE, std.SymbolDCE)
	t.Run("pipeline", func(t *testing.T) { passtest.Pipelines(t, "testdata/pipeline", all) })
}

// TestUnknownBlockPointers: a block pointer whose parts nobody sees is refused where it is
// used, read or handed on.
func TestUnknownBlockPointers(t *testing.T) {
	for _, body := range []string{
		"%x = tt.load %p : !tt.ptr<tensor<4x8xf32>>",
		"%q = scf.if %c -> (!tt.ptr<tensor<4x8xf32>>) {\nscf.yield %p : !tt.ptr<tensor<4x8xf32>>\n} else {\nscf.yield %p : !tt.ptr<tensor<4x8xf32>>\n}",
	} {
		m := passtest.Module(t, "k.ttir", "module {\ntt.func public @k(%p: !tt.ptr<tensor<4x8xf32>>, %c: i1) {\n"+body+"\ntt.return\n}\n}")
		_, err := new(pass.Runner).Run(m, []pass.Row{{Pass: ttir.RewriteTensorPointer}}, nil)
		if err == nil || !strings.Contains(err.Error(), "is a block pointer that is not made in the kernel") {
			t.Errorf("%s: got %v", body, err)
		}
	}
}
