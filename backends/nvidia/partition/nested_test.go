package partition_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// TestNestedGroups: warps that are divided are not divided again.
func TestNestedGroups(t *testing.T) {
	const src = `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k() {
    ttg.warp_specialize()
    default {
      nvws.warp_group
      partition0 num_warps(4) {
        nvws.warp_group.return
      }
      ttg.warp_yield
    } : () -> ()
    tt.return
  }
}
`
	m, err := text.Parse(ir.NewContext(append(dialect.All(), nvws.Dialect())...), "k.mlir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, err = new(pass.Runner).Run(m, []pass.Row{{Pass: partition.LowerWarpGroup}}, nil)
	if err == nil || !strings.Contains(err.Error(), "nvws.warp_group is inside ttg.warp_specialize, whose warps are divided already") {
		t.Errorf("got %v", err)
	}
}

// TestGroupsOfOtherWarps: a tensor that all warps compute cannot be computed by a group of
// fewer.
func TestGroupsOfOtherWarps(t *testing.T) {
	const src = `#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: tensor<128x!tt.ptr<i32>, #blocked>) {
    nvws.warp_group
    partition0 num_warps(4) {
      nvws.warp_group.return
    }
    partition1 num_warps(2) {
      %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
      nvws.warp_group.return
    }
    tt.return
  }
}
`
	const want = "has a tensor in a layout of 4 warps, in a group of 2"
	refused(t, "an operation", src, partition.LowerWarpGroup, "tt.make_range "+want)
	outside := strings.Replace(src, "%0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>", `"use"(%p) : (tensor<128x!tt.ptr<i32>, #blocked>) -> ()`, 1)
	refused(t, "an operand", outside, partition.LowerWarpGroup, "use "+want)
}
