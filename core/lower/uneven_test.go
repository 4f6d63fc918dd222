package lower

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// A loop is uneven where one of its bounds alone depends on the program's number, and
// what matters is the innermost loop.
func TestUneven(t *testing.T) {
	const src = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>"
	for name, c := range map[string]struct {
		lower, upper string
		want         bool
	}{
		"fixed":               {"%zero", "%eight", false},
		"to the diagonal":     {"%zero", "%part", true},
		"from the diagonal":   {"%part", "%eight", true},
		"to a limit":          {"%zero", "%limit", true},
		"a part of the range": {"%part", "%end", false},
		"as long as data say": {"%zero", "%data", false},
	} {
		mod := kernel(t, 32, 4, src, src, "32x64", `
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %eight = arith.constant 8 : i32
    %pid = tt.get_program_id x : i32
    %part = arith.muli %pid, %eight : i32
    %end = arith.addi %part, %eight : i32
    %more = arith.cmpi sgt, %pid, %one : i32
    %limit = arith.select %more, %eight, %one : i32
    %where = tt.addptr %x, %pid : !tt.ptr<i32>, i32
    %data = tt.load %where : !tt.ptr<i32>
    %z = arith.constant dense<0> : tensor<32x64xi32, SRC>
    %w = scf.for %q = %part to %eight step %one iter_args(%a = %v) -> (tensor<32x64xi32, SRC>)  : i32 {
      %u = scf.for %k = `+c.lower+` to `+c.upper+` step %one iter_args(%b = %a) -> (tensor<32x64xi32, SRC>)  : i32 {
        %m = arith.muli %b, %v : tensor<32x64xi32, SRC>
        scf.yield %m : tensor<32x64xi32, SRC>
      }
      scf.yield %u : tensor<32x64xi32, SRC>
    }
    %j = arith.addi %i, %z : tensor<32x64xi32, SRC>`)
		ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
			if op.Is(arith.MulI) && op.Parent().Is(scf.For) && uneven(op) != c.want {
				t.Errorf("%s: uneven is %t", name, !c.want)
			}
			return ir.Advance
		})
	}
}
