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
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := partition.Passes()
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect(), nvws.Dialect()), "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
}

// refused checks that a pass refuses a module with a diagnostic that has the words want.
func refused(t *testing.T, name, src string, p *pass.Pass, want string) {
	t.Helper()
	ctx := ir.NewContext(append(dialect.All(), ttng.Dialect(), nvws.Dialect())...)
	file, err := text.ParseFile(ctx, "mistake.mlir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&pass.Runner{VerifyEach: true}).Run(file.Op, []pass.Row{{Pass: p}}, nil)
	var d *diag.Diagnostic
	if !errors.As(err, &d) || !strings.Contains(d.Message, want) {
		t.Errorf("%s: %v, want a diagnostic with %q", name, err, want)
	}
}

// An operation of no dialect may end a block; it stays there.
func TestPartitionLoopsKeepsTheEnd(t *testing.T) {
	src := `
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @f(%n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      "use"(%i) {ttg.partition = array<i32: 0, 1>} : (i32) -> ()
    } {ttg.partition.stages = [0, 0], ttg.warp_specialize.tag = 0 : i32, ttg.partition = array<i32: 0, 1>}
    "end"() {ttg.partition = array<i32: 1>, ttg.warp_specialize.tag = 0 : i32} : () -> ()
  }
}
`
	refused(t, "the end of a function", src, partition.PartitionLoops, "end goes with a loop of partitions, but ends its block")
}
