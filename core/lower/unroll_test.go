package lower

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

func TestUnrolledLoop(t *testing.T) {
	r := seeded(t)
	for i, p := range []struct{ lanes, warps int }{{64, 2}, {16, 8}, {64, 1}, {32, 4}} {
		src := fmt.Sprintf("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [%d, 16], warpsPerCTA = [%d, 1], order = [1, 0]}>",
			p.lanes/16, p.warps)
		mod := kernel(t, p.lanes, p.warps, src, src, "32x64", `
    %from = arith.constant 1 : i32
    %to = arith.constant 6 : i32
    %step = arith.constant 2 : i32
    %z = arith.constant dense<0> : tensor<32x64xi32, SRC>
    %w = scf.for %k = %from to %to step %step iter_args(%a = %v) -> (tensor<32x64xi32, SRC>)  : i32 {
      %s = tt.splat %k : i32 -> tensor<32x64xi32, SRC>
      %b = arith.xori %a, %s : tensor<32x64xi32, SRC>
      %m = arith.muli %a, %b : tensor<32x64xi32, SRC>
      scf.yield %m : tensor<32x64xi32, SRC>
    }
    %j = arith.addi %i, %z : tensor<32x64xi32, SRC>`)
		mem, in := memory(r)
		r := runKernel(t, mod, p.lanes, mem, 0, outAt)
		if strings.Contains(string(r.LLVM.Print()), " = phi ") {
			t.Fatal("the loop is not unrolled")
		}
		for k, got := range words(mem[outAt:]) {
			want := in[k]
			for n := uint32(1); n < 6; n += 2 {
				want *= want ^ n
			}
			if got != want {
				t.Fatalf("case %d: element %d is %d, want %d", i, k, got, want)
			}
		}
	}
}

// TestLoopAroundLoop: a loop around one whose trip count is not known is unrolled only if
// there are few copies: the assembler makes several of each.
func TestLoopAroundLoop(t *testing.T) {
	r := seeded(t)
	const src = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [2, 16], warpsPerCTA = [4, 4], order = [1, 0]}>"
	for _, p := range []struct {
		times    uint32
		unrolled bool
	}{{1, true}, {2, true}, {12, false}} {
		mod := kernel(t, 32, 16, src, src, "32x64", fmt.Sprintf(`
    %%zero = arith.constant 0 : i32
    %%one = arith.constant 1 : i32
    %%seven = arith.constant 7 : i32
    %%times = arith.constant %d : i32
    %%word = tt.load %%x : !tt.ptr<i32>
    %%count = arith.andi %%word, %%seven : i32
    %%z = arith.constant dense<0> : tensor<32x64xi32, SRC>
    %%three = arith.constant dense<3> : tensor<32x64xi32, SRC>
    %%w = scf.for %%m = %%zero to %%times step %%one iter_args(%%a = %%v) -> (tensor<32x64xi32, SRC>)  : i32 {
      %%ms = tt.splat %%m : i32 -> tensor<32x64xi32, SRC>
      %%in = scf.for %%k = %%zero to %%count step %%one iter_args(%%b = %%a) -> (tensor<32x64xi32, SRC>)  : i32 {
        %%ks = tt.splat %%k : i32 -> tensor<32x64xi32, SRC>
        %%e = arith.xori %%b, %%ks : tensor<32x64xi32, SRC>
        %%d = arith.muli %%e, %%three : tensor<32x64xi32, SRC>
        scf.yield %%d : tensor<32x64xi32, SRC>
      }
      %%sum = arith.addi %%in, %%ms : tensor<32x64xi32, SRC>
      scf.yield %%sum : tensor<32x64xi32, SRC>
    }
    %%j = arith.addi %%i, %%z : tensor<32x64xi32, SRC>`, p.times))
		mem, in := memory(r)
		got := runKernel(t, mod, 32, mem, 0, outAt)
		copies := 1
		if p.unrolled {
			copies = int(p.times)
		}
		const registers = 2048 / (32 * 16) // of a tensor in a thread
		if n := strings.Count(string(got.LLVM.Print()), ", 3\n"); n != registers*copies {
			t.Errorf("%d times: %d multiplications, want %d of %d copies", p.times, n, registers, copies)
		}
		for k, got := range words(mem[outAt:]) {
			want := in[k]
			for m := range p.times {
				for n := range in[0] & 7 {
					want = (want ^ n) * 3
				}
				want += m
			}
			if got != want {
				t.Fatalf("%d times: element %d is %d, want %d", p.times, k, got, want)
			}
		}
	}
}

func TestTripCount(t *testing.T) {
	m := llir.NewModule("test", "", "")
	for _, c := range []struct{ lower, upper, step, want int64 }{
		{0, 3, 1, 3},
		{0, 6, 2, 3},
		{1, 6, 2, 3},
		{0, 7, 2, 4},
		{5, 5, 1, 0},
		{6, 5, 1, 0},
		{-3, 3, 3, 2},
		{0, 3, 0, 0},
		{0, 3, -1, 0},
		{-1 << 63, 1<<63 - 1, 1, mostUnrolled + 1},
	} {
		if got := tripCount(m.I64(c.lower), m.I64(c.upper), m.I64(c.step)); got != c.want {
			t.Errorf("a loop from %d to %d by %d runs %d times, want %d", c.lower, c.upper, c.step, got, c.want)
		}
	}
}
