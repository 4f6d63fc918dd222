package ttg_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// A buffer that is filled where it is made and never written again is a value: two
// of one tensor are shared. Others are memory of their own.
func TestFilledBuffersAreValues(t *testing.T) {
	const src = `#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%x: tensor<128xf32, #b>) {
    %filled = ttg.local_alloc %x : (tensor<128xf32, #b>) -> !ttg.memdesc<128xf32, #s, #ttg.shared_memory>
    %mutable = ttg.local_alloc %x : (tensor<128xf32, #b>) -> !ttg.memdesc<128xf32, #s, #ttg.shared_memory, mutable>
    %empty = ttg.local_alloc : () -> !ttg.memdesc<128xf32, #s, #ttg.shared_memory, mutable>
    tt.return
  }
}
`
	mod, err := text.Parse(dialect.NewContext(), "k.ttgir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := []bool{true, false, false}
	for op := range mod.Body().First().Body().Ops() {
		if op.Def() != ttg.LocalAlloc {
			continue
		}
		if e := ir.EffectsOf(op); (!e.Alloc && !e.Write) != want[0] {
			t.Errorf("%v has effects %+v", op, e)
		}
		want = want[1:]
	}
	if len(want) != 0 {
		t.Errorf("%d buffers were not seen", len(want))
	}
}
