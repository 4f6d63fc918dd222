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

// calling has a function that asks for nothing but its argument, and one that has a tensor.
const calling = `#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func private @plain(%a: i32) -> i32 attributes {noinline = true} {
    %b = arith.muli %a, %a : i32
    tt.return %b : i32
  }
  tt.func private @threads(%x: !tt.ptr<i32>, %a: i32) attributes {noinline = true} {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #row>
    %p = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #row>
    %q = tt.addptr %p, %i : tensor<64x!tt.ptr<i32>, #row>, tensor<64xi32, #row>
    %v = tt.splat %a : i32 -> tensor<64xi32, #row>
    tt.store %q, %v : tensor<64x!tt.ptr<i32>, #row>
    tt.return
  }
  tt.func public @k(%x: !tt.ptr<i32>, %a: i32) {
    %b = tt.call @plain(%a) : (i32) -> i32
    tt.call @threads(%x, %b) : (!tt.ptr<i32>, i32) -> ()
    tt.return
  }
}
`

// TestUnusedInputs: a function keeps the register with the thread's number for its callees
// only where one of them reads it.
func TestUnusedInputs(t *testing.T) {
	resp, err := runFrom(t, "gfx942", stageLLIR, stageLLIR, "k.ttgir", calling)
	if err != nil {
		t.Fatal(err)
	}
	const unused = `"amdgpu-no-workitem-id-x"`
	found := 0
	for line := range strings.Lines(string(resp.Artifacts[0].Data)) {
		if strings.HasPrefix(line, "define ") {
			found++
			if got, want := strings.Contains(line, unused), strings.Contains(line, "plain"); got != want {
				t.Errorf("%s is there: %t\n%s", unused, got, line)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d functions", found)
	}
}
