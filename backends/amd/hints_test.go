package amd

import (
	"strings"
	"testing"
)

// transposed exchanges registers of a thread between hints to schedulers.
const transposed = `#row = #ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#column = #ttg.linear<{register = [[1, 0], [0, 1]], lane = [[0, 2], [0, 4], [0, 8], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}) {
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #ttg.slice<{dim = 0, parent = #row}>>
    %j = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32, #ttg.slice<{dim = 0, parent = #row}>> -> tensor<1x16xi32, #row>
    %n = tt.broadcast %j : tensor<1x16xi32, #row> -> tensor<16x16xi32, #row>
    %p = tt.splat %x : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>, #row>
    %q = tt.addptr %p, %n : tensor<16x16x!tt.ptr<f16>, #row>, tensor<16x16xi32, #row>
    %v = tt.load %q : tensor<16x16x!tt.ptr<f16>, #row>
    rocdl.s.setprio 1
    %w = amdg.in_thread_transpose %v : tensor<16x16xf16, #row> -> tensor<16x16xf16, #column>
    rocdl.sched.barrier 0
    %o = ttg.convert_layout %w : tensor<16x16xf16, #column> -> tensor<16x16xf16, #row>
    tt.store %q, %o : tensor<16x16x!tt.ptr<f16>, #row>
    tt.return
  }
}
`

// TestHints lowers operations of amdg and rocdl: to hints, and to no instruction where
// registers only change their names.
func TestHints(t *testing.T) {
	resp, err := runFrom(t, "gfx942", stageLLIR, stageLLIR, "k.ttgir", transposed)
	if err != nil {
		t.Fatal(err)
	}
	text := string(resp.Artifacts[0].Data)
	for _, want := range []string{"call void @llvm.amdgcn.s.setprio(i16 1)", "call void @llvm.amdgcn.sched.barrier(i32 0)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the LLVM IR has no %s:\n%s", want, text)
		}
	}
	for _, not := range []string{"bpermute", "dpp", "addrspace(3)"} {
		if strings.Contains(text, not) {
			t.Errorf("the LLVM IR has %s, though no element leaves its thread", not)
		}
	}
	across := strings.Replace(transposed, "lane = [[0, 2], [0, 4]", "lane = [[0, 4], [0, 2]", 1)
	if _, err := runFrom(t, "gfx942", stageLLIR, stageLLIR, "k.ttgir", across); err == nil || !strings.Contains(err.Error(), "to be transposed per thread") {
		t.Errorf("elements that cross lanes: %v", err)
	}
}
