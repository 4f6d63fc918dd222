package nvidia

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// staged has a partition load from a buffer, of which PART may take a part.
const staged = `
#b = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#s1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%i: i32) {
    %v = tt.splat %i : i32 -> tensor<4x32xi32, #b>
    %m = ttg.local_alloc %v : (tensor<4x32xi32, #b>) -> !ttg.memdesc<4x32xi32, #s, #smem, mutable>
    PART
    ttg.warp_specialize(%m)
    default {
      ttg.warp_yield
    }
    partition0(%n: !ttg.memdesc<4x32xi32, #s, #smem, mutable>) num_warps(4) {
      %x = ttg.local_load %n : !ttg.memdesc<4x32xi32, #s, #smem, mutable> -> tensor<4x32xi32, #b>
      ttg.warp_return
    } : (!ttg.memdesc<4x32xi32, #s, #smem, mutable>) -> ()
    tt.return
  }
}
`

// A kernel that is compiled with checks has them, and what they leave out is told.
func TestSanitizedCompile(t *testing.T) {
	needTools(t, llvm.Opt)
	c := sdktest.Start(t, New())
	whole := strings.Replace(staged, "PART", "", 1)
	both := strings.Replace(staged, "PART", "%y = ttg.memdesc_index %m[%i] : !ttg.memdesc<4x32xi32, #s, #smem, mutable> -> !ttg.memdesc<32xi32, #s1, #smem, mutable>", 1)
	for _, tt := range []struct {
		name, src, options string
		checks             bool
		warning            string
	}{
		{"without", whole, "", false, ""},
		{"with", whole, `{"instrumentation_mode":"consan"}`, true, ""},
		{"not followed", both, `{"instrumentation_mode":"consan"}`, false, "accessed both whole and by parts"},
	} {
		req := request(t, "90", stageLLIR, "k.ttgir", []byte(tt.src), tt.options)
		req.Last = stageLLIR
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if has := strings.Contains(string(resp.Artifact(stageLLIR)), "__assertfail"); has != tt.checks {
			t.Errorf("%s: checks %v, want %v", tt.name, has, tt.checks)
		}
		var told []string
		for _, d := range resp.Diagnostics {
			told = append(told, d.Message)
		}
		if text := strings.Join(told, "\n"); (text == "") != (tt.warning == "") || !strings.Contains(text, tt.warning) {
			t.Errorf("%s: told %q, want %q", tt.name, text, tt.warning)
		}
	}
}
