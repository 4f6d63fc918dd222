package gpu

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/instrument"
	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/memory"
	"github.com/tritonc/tritonc/driver/sim"
)

// instrumented is a module with the checks of the sanitizer.
func instrumented(t testing.TB, file, src string) string {
	t.Helper()
	m := parse(t, file, src)
	place := &pass.Pass{Name: "place", Run: func(r *pass.Run) error {
		placed, _, err := lower.Allocate(r.Module, &Target{CC: 90})
		if err == nil {
			memory.Place(r.Module, placed)
		}
		return err
	}}
	r := pass.Runner{VerifyEach: true}
	rows := []pass.Row{{Pass: warpspec.AllocateWarpGroups}, {Pass: place}, {Pass: instrument.ConcurrencySanitizer}, {Pass: std.Inline}, {Pass: std.CSE}}
	if _, err := r.Run(m, rows, nil); err != nil {
		t.Fatal(err)
	}
	return string(text.Append(nil, m, text.Options{}))
}

// A ring whose groups wait for one another passes its checks; in one where they do not,
// they stop the kernel before the access.
func TestSanitizedRing(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"right":                  {},
		"no release":             {"ttng.arrive_barrier %e,", "", "Deadlock detected"},
		"no filling":             {"ttng.arrive_barrier %f,", "", "Deadlock detected"},
		"producer's phase":       {"ttng.wait_barrier %e, %was", "ttng.wait_barrier %e, %phase", "Deadlock detected"},
		"producer does not wait": {"ttng.wait_barrier %e, %was", "", "outstanding reads"},
		"consumer does not wait": {"ttng.wait_barrier %f, %phase", "", "outstanding writes"},
		"too many arrivals":      {"ttng.arrive_barrier %f, 128", "ttng.arrive_barrier %f, 132", "Barrier arrive underflow"},
	} {
		t.Run(name, func(t *testing.T) {
			src := mutant(t, ring("128", "64"), c.old, c.new)
			k := build(t, "ring.ttgir", instrumented(t, "ring.ttgir", src), 90)
			d := sim.New(sim.Options{Random: true, Seed: 1})
			const n = 8
			in := make([]int32, 257*n)
			for i := range in {
				in[i] = int32(i)
			}
			out := d.Alloc("out", 4*256*n)
			_, err := d.Launch(k.mod, k.Kernel, sim.Dim(1), sim.Dim(k.Threads), k.Shared,
				sim.Upload(d, "in", in), out, int32(n), int64(5), d.Alloc("global scratch", k.GlobalScratch))
			if stopped(t, err, c.want) {
				return
			}
			for i, x := range sim.Download[int32](out) { // n + 5 is odd
				if want := in[n+i] + n + 5 + 1; x != want {
					t.Fatalf("element %d is %d, want %d", i, x, want)
				}
			}
		})
	}
}

// mutant is src without the lines that contain old, or with another text there.
func mutant(t testing.TB, src, old, other string) string {
	if old == "" {
		return src
	}
	var out strings.Builder
	for line := range strings.Lines(src) {
		if other != "" || !strings.Contains(line, old) {
			out.WriteString(strings.ReplaceAll(line, old, other))
		}
	}
	if out.String() == src {
		t.Fatal("the mutant is no other")
	}
	return out.String()
}

// stopped checks that a launch ended with an error with the words want, or, where want is
// empty, without one.
func stopped(t testing.TB, err error, want string) bool {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Fatal(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Fatalf("reported: %v, want %q", err, want)
	}
	return want != ""
}

// A buffer that is copied into, multiplied and written again, with waits by number.
const reused = `
#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %c64 = arith.constant dense<64> : tensor<64x1xi32, #b>
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %ones = arith.constant dense<1.0> : tensor<64x64xf16, #b>
    %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #b}>>
    %j = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #b}>>
    %i1 = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #b}>> -> tensor<64x1xi32, #b>
    %j1 = tt.expand_dims %j {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #b}>> -> tensor<1x64xi32, #b>
    %rows = arith.muli %i1, %c64 : tensor<64x1xi32, #b>
    %r = tt.broadcast %rows : tensor<64x1xi32, #b> -> tensor<64x64xi32, #b>
    %s = tt.broadcast %j1 : tensor<1x64xi32, #b> -> tensor<64x64xi32, #b>
    %at = arith.addi %r, %s : tensor<64x64xi32, #b>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #b>
    %ptrs = tt.addptr %ps, %at : tensor<64x64x!tt.ptr<f16>, #b>, tensor<64x64xi32, #b>
    %m = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %t = ttg.async_copy_global_to_local %ptrs, %m : tensor<64x64x!tt.ptr<f16>, #b> -> <64x64xf16, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %t
    %w = ttg.async_wait %g {num = 0 : i32}
    ttng.fence_async_shared {bCluster = false}
    %x = ttng.warp_group_dot %m, %m, %zeros {isAsync = true} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
    %y = ttng.warp_group_dot_wait %x {pendings = 0 : i32} : tensor<64x64xf32, #mma>
    ttg.local_store %ones, %m : tensor<64x64xf16, #b> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %z = ttg.convert_layout %y : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #b>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #b>
    %out = tt.addptr %qs, %at : tensor<64x64x!tt.ptr<f32>, #b>, tensor<64x64xi32, #b>
    tt.store %out, %z : tensor<64x64x!tt.ptr<f32>, #b>
    tt.return
  }
}`

// Waits by number are checked as barriers are.
func TestSanitizedNumbers(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"right":          {},
		"a copy is open": {"num = 0", "num = 1", "Pending access type: async_copy_global_to_shared"},
		"a dot is open":  {"pendings = 0", "pendings = 1", "Pending access type: warpgroup_mma operand read"},
	} {
		t.Run(name, func(t *testing.T) {
			k := build(t, "reused.ttgir", instrumented(t, "reused.ttgir", mutant(t, reused, c.old, c.new)), 90)
			d := sim.New(sim.Options{})
			in := make([]uint16, 64*64)
			for i := range in {
				in[i] = 0x3c00 // 1
			}
			out := d.Alloc("out", 4*64*64)
			_, err := d.Launch(k.mod, k.Kernel, sim.Dim(1), sim.Dim(k.Threads), k.Shared, sim.Upload(d, "in", in), out, d.Alloc("global scratch", k.GlobalScratch))
			if stopped(t, err, c.want) {
				return
			}
			for i, x := range sim.Download[float32](out) {
				if x != 64 {
					t.Fatalf("element %d is %v, want 64", i, x)
				}
			}
		})
	}
}

// The thread that starts partitions sees what they did when they are done.
func TestSanitizedJoin(t *testing.T) {
	src := groupModule(`  tt.func public @k(%out: !tt.ptr<i32>) {
    %m = ttg.local_alloc : () -> !ttg.memdesc<64xi32, #s1, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
    ttng.init_barrier %b, 1 : !ttg.memdesc<1xi64, #s1, #smem, mutable>
    ttg.warp_specialize(%m)
    default {
      ttg.warp_yield
    }
    partition0(%m0: !ttg.memdesc<64xi32, #s1, #smem, mutable>) num_warps(1) {
      ttg.warp_return
    }
    partition1(%m1: !ttg.memdesc<64xi32, #s1, #smem, mutable>) num_warps(2) {
      %x = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #b2>
      ttg.local_store %x, %m1 : tensor<64xi32, #b2> -> !ttg.memdesc<64xi32, #s1, #smem, mutable>
      %y = ttg.local_load %m1 : !ttg.memdesc<64xi32, #s1, #smem, mutable> -> tensor<64xi32, #b2>
      ttg.warp_return
    } : (!ttg.memdesc<64xi32, #s1, #smem, mutable>) -> ()
    %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #b4>
    %v = ttg.local_load %m : !ttg.memdesc<64xi32, #s1, #smem, mutable> -> tensor<64xi32, #b4>
    ttg.local_store %r, %m : tensor<64xi32, #b4> -> !ttg.memdesc<64xi32, #s1, #smem, mutable>
    %o = tt.splat %out : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #b4>
    %ptrs = tt.addptr %o, %r : tensor<64x!tt.ptr<i32>, #b4>, tensor<64xi32, #b4>
    tt.store %ptrs, %v : tensor<64x!tt.ptr<i32>, #b4>
    tt.return
  }
`)
	k := build(t, "join.ttgir", instrumented(t, "join.ttgir", src), 90)
	d := sim.New(sim.Options{})
	out := d.Alloc("out", 4*64)
	if _, err := d.Launch(k.mod, k.Kernel, sim.Dim(1), sim.Dim(k.Threads), k.Shared, out, d.Alloc("global scratch", k.GlobalScratch)); err != nil {
		t.Fatal(err)
	}
	for i, x := range sim.Download[int32](out) {
		if x != int32(i) {
			t.Fatalf("element %d is %d", i, x)
		}
	}
}

// What the lowering cannot make right it refuses.
func TestSanitizedRefused(t *testing.T) {
	const two = `
    %m = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<2x256xi32, #s1, #smem, mutable>
    %o = ttg.local_alloc SECOND : () -> !ttg.memdesc<256xi32, #s1, #smem, mutable>
    %p = POINTERS
    ttg.local_dealloc %m : !ttg.memdesc<2x256xi32, #s1, #smem, mutable>
    ttg.local_dealloc %o : !ttg.memdesc<256xi32, #s1, #smem, mutable>
`
	for _, c := range []struct{ name, second, pointers, want string }{
		{"apart", "{allocation.offset = 1024 : i32}", "tti.experimental_buffer_pointers [1024, 0], shared_mem : tensor<2xi64, #b4>", "shared the bytes from 1024 on"},
		{"no place", "", "tti.experimental_buffer_pointers [0], shared_mem : tensor<1xi64, #b4>", "has no attribute allocation.offset"},
		{"tensor memory", "{allocation.offset = 2048 : i32}", "tti.experimental_buffer_pointers [0], tensor_mem : tensor<1xi64, #b4>", "tensor memory is in no GPU"},
		{"spread", "{allocation.offset = 2048 : i32}", "tti.experimental_buffer_pointers [0, 8], shared_mem : tensor<2xi64, #b4>", "each thread must hold all addresses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := groupModule("tt.func public @k() {\n" + strings.NewReplacer("SECOND", c.second, "POINTERS", c.pointers).Replace(two) + "tt.return\n}\n")
			src = strings.Replace(src, "#b4 = #ttg.blocked<{sizePerThread = [1]", "#b4 = #ttg.blocked<{sizePerThread = [SIZE]", 1)
			size := "1"
			if c.name == "apart" {
				size = "2"
			}
			src = strings.Replace(src, "SIZE", size, 1)
			_, err := lower.Module(parse(t, "k.ttgir", src), &Target{CC: 90}, lower.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
