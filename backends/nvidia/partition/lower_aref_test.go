package partition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
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
	ctx := ir.NewContext(append(dialect.All(), ttng.Dialect(), nvws.Dialect())...)
	file, err := text.ParseFile(ctx, "aref.mlir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&pass.Runner{VerifyEach: true}).Run(file.Op, []pass.Row{{Pass: partition.LowerAref}}, nil)
	var d *diag.Diagnostic
	if want := "aref.put.exit has no stage"; !errors.As(err, &d) || !strings.Contains(d.Message, want) {
		t.Errorf("%v, want a diagnostic with %q", err, want)
	}
}
