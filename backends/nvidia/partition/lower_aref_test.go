package partition_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/partition"
)

// A token that does not come from an enter leaves an operation without a stage.
func TestLowerArefMistakes(t *testing.T) {
	const src = `#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @f(%u: !ttg.async.token) {
    %a = ttg.local_alloc : () -> !ttg.memdesc<1x64x64xf16, #shared, #smem, mutable>
    %r = nvws.aref.create %a : <[!ttg.memdesc<1x64x64xf16, #shared, #smem, mutable>]>
    nvws.aref.put.exit %r, %u [#nvws.async_op<none>] : <[!ttg.memdesc<1x64x64xf16, #shared, #smem, mutable>]>, !ttg.async.token
    tt.return
  }
}`
	refused(t, "an exit without an enter", src, partition.LowerAref, "aref.put.exit has no stage")
}
