package allocation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

const header = `#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#c = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
`

// names fills in the long types of the tests' programs.
var names = strings.NewReplacer("T256", "tensor<256xf32, #b>", "M256", "!ttg.memdesc<256xf32, #s, #smem, mutable>",
	"M64", "!ttg.memdesc<64xf32, #s, #smem, mutable>")

func parse(t *testing.T, body string) *ir.Operation {
	t.Helper()
	mod, err := text.Parse(dialect.NewContext(), "t.ttgir", []byte(header+names.Replace(body)+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// scratch gives each tt.reduce the bytes of its attribute "scratch".
func scratch(op *ir.Operation) (int, int, error) {
	n, _ := op.IntAttr("scratch")
	return int(n), 0, nil
}

const reduce = `"tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tt.reduce.return %s : f32
    }) {scratch = BYTES : i32} : (T256) -> f32
`

func reduction(result string, bytes int) string {
	return "    %" + result + " = " + strings.Replace(reduce, "BYTES", fmt.Sprint(bytes), 1)
}

// offsets lists the areas in program order.
func offsets(mod *ir.Operation, r *allocation.Result) string {
	var out []string
	ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		if a, ok := r.Area(op); ok {
			out = append(out, fmt.Sprintf("%d+%d", a.Offset, a.Size))
		}
		return ir.Advance
	})
	return strings.Join(out, " ")
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		size             int
	}{
		{
			"neighbouring small scratch areas differ, the third takes the first's bytes",
			"tt.func public @k(%x: T256) {\n" + reduction("p", 32) + reduction("q", 32) + reduction("r", 32) + "tt.return }",
			"0+32 32+32 0+32", 64,
		},
		{
			"large scratch areas share",
			"tt.func public @k(%x: T256) {\n" + reduction("p", 4096) + reduction("q", 4096) + "tt.return }",
			"0+4096 0+4096", 4096,
		},
		{
			"a buffer lives to its last use, after which its bytes are free",
			`tt.func public @k(%x: T256) {
    %a = ttg.local_alloc %x : (T256) -> M256
    %b = ttg.local_alloc : () -> M256
    %l = ttg.local_load %a : M256 -> T256
    ttg.local_store %l, %b : T256 -> M256
    %c = ttg.local_alloc : () -> M64
    %m = ttg.local_load %b : M256 -> T256
    tt.return }`,
			"0+1024 1024+1024 0+256", 2048,
		},
		{
			"a use inside a loop lasts to the loop's end",
			`tt.func public @k(%x: T256, %n: i32) {
    %a = ttg.local_alloc %x : (T256) -> M256
    scf.for %i = %n to %n step %n : i32 {
      %l = ttg.local_load %a : M256 -> T256
      %b = ttg.local_alloc : () -> M64
    }
    %c = ttg.local_alloc : () -> M64
    tt.return }`,
			"0+1024 1024+256 0+256", 1280,
		},
		{
			"a view keeps its buffer alive",
			`tt.func public @k(%x: T256) {
    %a = ttg.local_alloc : () -> M256
    %v = ttg.memdesc_reinterpret %a : M256 -> M64
    %b = ttg.local_alloc : () -> M64
    %l = ttg.local_load %v : M64 -> tensor<64xf32, #b>
    tt.return }`,
			"0+1024 1024+256", 1280,
		},
		{
			"a buffer that a loop carries is free after the loop",
			`tt.func public @k(%x: T256, %n: i32) {
    %a = ttg.local_alloc : () -> M256
    %r = scf.for %i = %n to %n step %n iter_args(%m = %a) -> (M256) : i32 {
      %l = ttg.local_load %m : M256 -> T256
      scf.yield %m : M256
    }
    %c = ttg.local_alloc : () -> M64
    tt.return }`,
			"0+1024 0+256", 1024,
		},
		{
			"what comes out of the loop is still that buffer",
			`tt.func public @k(%x: T256, %n: i32) {
    %a = ttg.local_alloc : () -> M256
    %r = scf.for %i = %n to %n step %n iter_args(%m = %a) -> (M256) : i32 {
      scf.yield %m : M256
    }
    %c = ttg.local_alloc : () -> M64
    %l = ttg.local_load %r : M256 -> T256
    tt.return }`,
			"0+1024 1024+256", 1280,
		},
		{
			"a buffer for the next iteration is in use at the start of that, too",
			`tt.func public @k(%x: T256, %n: i32) {
    %a = ttg.local_alloc : () -> M256
    %r = scf.for %i = %n to %n step %n iter_args(%m = %a) -> (M256) : i32 {
      %t = ttg.local_alloc : () -> M64
      %l = ttg.local_load %m : M256 -> T256
      %b = ttg.local_alloc : () -> M256
      scf.yield %b : M256
    }
    %c = ttg.local_alloc : () -> M64
    tt.return }`,
			"0+1024 2048+256 1024+1024 0+256", 2304,
		},
		{
			"either branch's buffer is what comes out of a condition",
			`tt.func public @k(%x: T256, %n: i1) {
    %r = scf.if %n -> (M256) {
      %a = ttg.local_alloc : () -> M256
      scf.yield %a : M256
    } else {
      %b = ttg.local_alloc : () -> M256
      scf.yield %b : M256
    }
    %c = ttg.local_alloc : () -> M64
    %l = ttg.local_load %r : M256 -> T256
    tt.return }`,
			"0+1024 1024+1024 2048+256", 2304,
		},
		{
			"a called function's frame is beside what is alive",
			"tt.func private @f(%x: T256) {\n" + reduction("p", 128) + "tt.return }\n" +
				`tt.func public @k(%x: T256) {
    %a = ttg.local_alloc : () -> M64
    tt.call @f(%x) : (T256) -> ()
    %l = ttg.local_load %a : M64 -> tensor<64xf32, #b>
    tt.return }`,
			"0+128 0+256 256+128", 384,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			mod := parse(t, c.body)
			r, err := allocation.Analyze(mod, scratch, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := offsets(mod, r); got != c.want || r.Size() != c.size {
				t.Errorf("areas %s of %d bytes, want %s of %d", got, r.Size(), c.want, c.size)
			}
		})
	}
}

func TestRecursion(t *testing.T) {
	mod := parse(t, "tt.func public @k() {\n tt.call @k() : () -> ()\n tt.return }")
	if _, err := allocation.Analyze(mod, scratch, 0); err == nil || !strings.Contains(err.Error(), `"k" calls itself`) {
		t.Errorf("error %v", err)
	}
}

// An alignment that is asked for is kept.
func TestAlignment(t *testing.T) {
	mod := parse(t, `tt.func public @k(%x: T256) {
    %a = ttg.local_alloc : () -> M64
    %b = ttg.local_alloc {alignment = 1024 : i32} : () -> M256
    %l = ttg.local_load %a : M64 -> tensor<64xf32, #b>
    %m = ttg.local_load %b : M256 -> T256
    tt.return }`)
	r, err := allocation.Analyze(mod, scratch, 0)
	if err != nil {
		t.Fatal(err)
	}
	ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.LocalAlloc) {
			if a, _ := op.IntAttr("alignment"); a != 0 && r.Offset(op)%int(a) != 0 {
				t.Errorf("offset %d is not aligned to %d", r.Offset(op), a)
			}
		}
		return ir.Advance
	})
}

// Arrangements ask for alignments, and so for those of the frames in which they
// are, and of the kernel's.
func TestAlignmentOfArrangements(t *testing.T) {
	const mem = "!ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = WIDTH, transposed = false, elementBitWidth = 16}>, #smem, mutable>"
	for width, want := range map[string]int{"128": 1024, "64": 512, "32": 256, "0": 128} {
		buffer := strings.Replace(mem, "WIDTH", width, 1)
		mod := parse(t, `tt.func private @f(%x: tensor<64x64xf16, #c>) {
    %a = ttg.local_alloc : () -> M64
    %b = ttg.local_alloc : () -> `+buffer+`
    ttg.local_store %x, %b : tensor<64x64xf16, #c> -> `+buffer+`
    %l = ttg.local_load %a : M64 -> tensor<64xf32, #b>
    tt.return }
  tt.func public @k(%x: tensor<64x64xf16, #c>) {
    %a = ttg.local_alloc : () -> M64
    tt.call @f(%x) : (tensor<64x64xf16, #c>) -> ()
    %l = ttg.local_load %a : M64 -> tensor<64xf32, #b>
    tt.return }`)
		r, err := allocation.Analyze(mod, scratch, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Align() != want {
			t.Errorf("swizzle %s: the kernel's memory is aligned to %d, want %d", width, r.Align(), want)
		}
		ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
			if a, ok := r.Area(op); ok && (op.Is(tt.Call) || a.Size > 1024) && a.Offset%want != 0 {
				t.Errorf("swizzle %s: %s at offset %d, which is not a multiple of %d", width, op.Name(), a.Offset, want)
			}
			return ir.Advance
		})
	}
}

// An operation's memory has the alignment that it asks for.
func TestAlignmentOfScratch(t *testing.T) {
	mod := parse(t, "tt.func public @k(%x: T256) {\n %m = ttg.local_alloc : () -> M64\n"+reduction("p", 128)+
		" %l = ttg.local_load %m : M64 -> tensor<64xf32, #b>\n tt.return }")
	r, err := allocation.Analyze(mod, func(op *ir.Operation) (int, int, error) {
		n, _, err := scratch(op)
		return n, 512, err
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := offsets(mod, r); got != "0+256 512+128" || r.Align() != 512 {
		t.Errorf("areas %s aligned to %d", got, r.Align())
	}
}

// Areas of a loop are kept apart where there is room, those outside share with them.
func TestRoom(t *testing.T) {
	mod := parse(t, `  tt.func public @k(%x: T256, %n: i32) {
    %a = ttg.local_alloc %x : (T256) -> M256
    ttg.local_load %a : M256 -> T256
    scf.for %i = %n to %n step %n : i32 {
      %b = ttg.local_alloc %x : (T256) -> M256
      ttg.local_load %b : M256 -> T256
      %c = ttg.local_alloc %x : (T256) -> M256
      ttg.local_load %c : M256 -> T256
    }
    tt.return
  }`)
	for room, want := range map[int]string{
		0:    "0+1024 0+1024 0+1024",
		2047: "0+1024 0+1024 0+1024",
		2048: "0+1024 0+1024 1024+1024",
	} {
		r, err := allocation.Analyze(mod, scratch, room)
		if err != nil {
			t.Fatal(err)
		}
		if got := offsets(mod, r); got != want {
			t.Errorf("room %d: areas %s, want %s", room, got, want)
		}
	}
}

// Buffers of regions that run at once have places of their own; those of one region
// share as always, and with what is before and after.
func TestGroups(t *testing.T) {
	mod := parse(t, `  tt.func public @k(%x: T256) {
    %a = ttg.local_alloc %x : (T256) -> M256
    ttg.local_load %a : M256 -> T256
    ttg.warp_specialize()
    default {
      %cst = arith.constant dense<0.0> : T256
      %b = ttg.local_alloc %cst : (T256) -> M256
      ttg.local_load %b : M256 -> T256
      %c = ttg.local_alloc %cst : (T256) -> M256
      ttg.local_load %c : M256 -> T256
      ttg.warp_yield
    }
    partition0() num_warps(4) {
      %cst = arith.constant dense<0.0> : T256
      %d = ttg.local_alloc %cst : (T256) -> M256
      ttg.local_load %d : M256 -> T256
      ttg.warp_return
    }
    partition1() num_warps(4) {
      %cst = arith.constant dense<0.0> : T256
      %e = ttg.local_alloc %cst : (T256) -> M256
      ttg.local_load %e : M256 -> T256
      %f = ttg.local_alloc %cst : (T256) -> M256
      ttg.local_load %f : M256 -> T256
      ttg.warp_return
    } : () -> ()
    %g = ttg.local_alloc %x : (T256) -> M256
    ttg.local_load %g : M256 -> T256
    tt.return
  }
`)
	r, err := allocation.Analyze(mod, scratch, 0)
	if err != nil {
		t.Fatal(err)
	}
	const want = "0+1024 0+1024 0+1024 1024+1024 2048+1024 2048+1024 0+1024"
	if got := offsets(mod, r); got != want {
		t.Errorf("areas %s, want %s", got, want)
	}
}
