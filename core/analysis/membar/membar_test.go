package membar_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

const header = `#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
`

var names = strings.NewReplacer("T256", "tensor<256xf32, #b>", "P256", "tensor<256x!tt.ptr<f32>, #b>", "M256", "!ttg.memdesc<256xf32, #s, #smem, mutable>")

// scratch gives operations the bytes of their attribute "scratch".
func scratch(op *ir.Operation) (int, int, error) {
	n, _ := op.IntAttr("scratch")
	return int(n), 0, nil
}

// Each case is a body in which the operations before which a barrier is due
// carry {bar}, and no others.
func TestBarriers(t *testing.T) {
	const (
		small = `ttg.convert_layout %x {scratch = 64 : i32} : T256 -> T256`
		large = `ttg.convert_layout %x {scratch = 2048 : i32} : T256 -> T256`
		after = `ttg.convert_layout %x {bar, scratch = 2048 : i32} : T256 -> T256`
		again = `ttg.convert_layout %x {bar, scratch = 64 : i32} : T256 -> T256`
	)
	for name, body := range map[string]string{
		"different bytes need none": "%p = " + small + "\n%q = " + small + "\n%r = " + small,
		"the same bytes need one":   "%p = " + large + "\n%q = " + after,
		"a loop comes back": `scf.for %i = %n to %n step %n : i32 {
      %p = ` + again + `
    }`,
		"two in a loop alternate": `scf.for %i = %n to %n step %n : i32 {
      %p = ` + small + `
      %q = ` + small + `
    }`,
		"groups meet before and after": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    ttg.warp_specialize(%a)
    default {
      %l = ttg.local_load %a : M256 -> T256
      ttg.local_store %l, %a {bar} : T256 -> M256
      ttg.warp_yield
    }
    partition0(%b: M256) num_warps(4) {
      %l = ttg.local_load %b : M256 -> T256
      ttg.local_store %l, %b {bar} : T256 -> M256
      ttg.warp_return
    } : (M256) -> ()
    %m = ttg.local_load %a : M256 -> T256`,
		"a store is waited for by a load": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    %l = ttg.local_load %a {bar} : M256 -> T256
    %m = ttg.local_load %a : M256 -> T256
    ttg.local_store %x, %a {bar} : T256 -> M256
    ttg.local_store %x, %a {bar} : T256 -> M256`,
		"tokens order what follows a copy": `%a = ttg.local_alloc : () -> M256
    %t = ttg.async_copy_global_to_local %ptr, %a : P256 -> <256xf32, #s, #smem, mutable>
    %u = ttg.async_copy_global_to_local %ptr, %a : P256 -> <256xf32, #s, #smem, mutable>
    %l = ttg.local_load %a token %t : M256 -> T256`,
		"a copy waits for those who read": `%a = ttg.local_alloc : () -> M256
    %t = ttg.async_copy_global_to_local %ptr, %a : P256 -> <256xf32, #s, #smem, mutable>
    scf.for %i = %n to %n step %n : i32 {
      %w = ttg.async_wait %t {num = 0 : i32}
      %l = ttg.local_load %a token %w : M256 -> T256
      %u = ttg.async_copy_global_to_local %ptr, %a {bar} : P256 -> <256xf32, #s, #smem, mutable>
    }`,
		"what was stored before a loop is waited for before it": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    scf.for %i = %n to %n step %n : i32 {
      %l = ttg.local_load %a : M256 -> T256
    } {bar}`,
		"what an iteration stores is waited for in each": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    scf.for %i = %n to %n step %n : i32 {
      %l = ttg.local_load %a {bar} : M256 -> T256
      ttg.local_store %x, %a {bar} : T256 -> M256
    }`,
		"a loop in a loop": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    scf.for %i = %n to %n step %n : i32 {
      scf.for %j = %n to %n step %n : i32 {
        %l = ttg.local_load %a : M256 -> T256
      }
    } {bar}`,
		"an explicit barrier counts": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    gpu.barrier
    %l = ttg.local_load %a : M256 -> T256`,
		"an allocation with contents is a store": `%a = ttg.local_alloc %x : (T256) -> M256
    %l = ttg.local_load %a {bar} : M256 -> T256`,
		"either branch counts": `%a = ttg.local_alloc : () -> M256
    scf.if %c {
      ttg.local_store %x, %a : T256 -> M256
    }
    %l = ttg.local_load %a {bar} : M256 -> T256`,
		"a barrier in one branch does not serve the other": `%a = ttg.local_alloc : () -> M256
    ttg.local_store %x, %a : T256 -> M256
    scf.if %c {
      gpu.barrier
    }
    %l = ttg.local_load %a {bar} : M256 -> T256`,
		"blocks": `%a = ttg.local_alloc : () -> M256
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    ttg.local_store %x, %a : T256 -> M256
    cf.br ^bb2
  ^bb2:
    %l = ttg.local_load %a {bar} : M256 -> T256
    tt.return
  ^bb3:`,
		"a call's frame is its own": `tt.call @f(%x) : (T256) -> ()
    tt.call @f(%x) {bar} : (T256) -> ()`,
	} {
		t.Run(name, func(t *testing.T) {
			src := header + names.Replace("tt.func public @k(%x: T256, %ptr: P256, %n: i32, %c: i1) {\n    "+body+"\n    tt.return\n  }\n"+
				"tt.func private @f(%x: T256) {\n    %p = "+small+"\n    tt.return\n  }\n") + "}\n"
			mod, err := text.Parse(dialect.NewContext(), "t.ttgir", []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			alloc, err := allocation.Analyze(mod, scratch, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := membar.Analyze(mod, alloc, nil)
			ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
				if r.Before(op) != op.HasAttr("bar") {
					t.Errorf("%s at %v: barrier %v, want %v", op.Name(), ir.FileLocOf(op.Loc()), r.Before(op), op.HasAttr("bar"))
				}
				return ir.Advance
			})
		})
	}
}
