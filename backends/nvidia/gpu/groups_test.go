package gpu

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/driver/sim"
)

// groupModule is a module around the body of a kernel, for 4 warps of its own.
func groupModule(body string) string {
	return `
#b4 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>
#b1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#s1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
` + body + "}\n"
}

// sumOf256 adds up elements of in by so many warps and stores the sum.
func sumOf256(i, warps int, in, out string) string {
	return strings.NewReplacer("#b", fmt.Sprintf("#b%d", warps), "IN", in, "OUT", out, "I", fmt.Sprint(i),
		"FROM", fmt.Sprint(256*i), "TO", fmt.Sprint(256*(i+1))).Replace(`
      %range = tt.make_range {start = FROM : i32, end = TO : i32} : tensor<256xi32, #b>
      %all = tt.splat IN : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #b>
      %ptrs = tt.addptr %all, %range : tensor<256x!tt.ptr<i32>, #b>, tensor<256xi32, #b>
      %x = tt.load %ptrs : tensor<256x!tt.ptr<i32>, #b>
      %sum = "tt.reduce"(%x) ({
      ^bb0(%l: i32, %r: i32):
        %s = arith.addi %l, %r : i32
        tt.reduce.return %s : i32
      }) {axis = 0 : i32} : (tensor<256xi32, #b>) -> i32
      %c = arith.constant I : i32
      %to = tt.addptr OUT, %c : !tt.ptr<i32>, i32
      tt.store %to, %sum : !tt.ptr<i32>
`)
}

// groupSums has groups of 4, 4, 2 and 1 warps, each with its own reduction.
func groupSums(attrs string) string {
	return `ttg.warp_specialize(%in, %out) ` + attrs + `
    default {` + sumOf256(0, 4, "%in", "%out") + `
      ttg.warp_yield
    }
    partition0(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>) num_warps(4) {` + sumOf256(1, 4, "%a", "%b") + `
      ttg.warp_return
    }
    partition1(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>) num_warps(2) {` + sumOf256(2, 2, "%a", "%b") + `
      ttg.warp_return
    }
    partition2(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>) num_warps(1) {` + sumOf256(3, 1, "%a", "%b") + `
      ttg.warp_return
    } : (!tt.ptr<i32>, !tt.ptr<i32>) -> ()
`
}

// Groups of warps reduce at once, each by its own shuffles, shared memory and barriers;
// with a share of the registers for each, in loops and conditions, and one after another.
func TestGroups(t *testing.T) {
	for name, c := range map[string]struct{ before, attrs, after string }{
		"once":      {},
		"registers": {attrs: "attributes {requestedRegisters = array<i32: 152, 40, 24>}"},
		"in a loop": {before: "scf.for %i = %c0 to %n step %c1 : i32 {\n", after: "}\n"},
		"in a condition": {
			before: "%w = arith.cmpi eq, %n, %c3 : i32\nscf.if %w {\n", after: "}\n",
		},
		"twice": {before: "ttg.warp_specialize(%n)\ndefault {\n ttg.warp_yield\n}\npartition0(%m: i32) num_warps(8) {\n ttg.warp_return\n} : (i32) -> ()\n"},
	} {
		t.Run(name, func(t *testing.T) {
			src := groupModule(`  tt.func public @k(%in: !tt.ptr<i32>, %out: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    ` + c.before + groupSums(c.attrs) + c.after + `
    tt.return
  }
`)
			k := build(t, "groups.ttgir", src, 90)
			d := sim.New(sim.Options{})
			in := make([]int32, 1024)
			var want [4]int32
			for i := range in {
				in[i] = int32(i*i%1009 - 300)
				want[i/256] += in[i]
			}
			o := d.Alloc("out", 4*4)
			k.run(t, d, sim.Dim(1), sim.Upload(d, "in", in), o, int32(3))
			if got := sim.Download[int32](o); [4]int32(got) != want {
				t.Errorf("sums are %v, want %v", got, want)
			}
			if k.Threads < 12*32 {
				t.Errorf("%d threads, want 12 warps or more", k.Threads)
			}
			if has := strings.Contains(k.ptx, "setmaxnreg"); has != (c.attrs != "") {
				t.Errorf("setmaxnreg in the PTX: %v\n%s", has, k.ptx)
			}
		})
	}
}

// A ring of buffers between two groups, of 4 warps that write it and 2 that read it, with
// barriers that say which buffers are full and which are empty.
const ringBody = `  tt.func public @k(%in: !tt.ptr<i32>, %out: !tt.ptr<i32>, %n: i32, %seed: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = ttg.local_alloc : () -> !ttg.memdesc<2x256xi32, #s1, #smem, mutable>
    %full = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #s1, #smem, mutable>
    %empty = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #s1, #smem, mutable>
    scf.for %i = %c0 to %c2 step %c1 : i32 {
      %f = ttg.memdesc_index %full[%i] : !ttg.memdesc<2x1xi64, #s1, #smem, mutable> -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
      %e = ttg.memdesc_index %empty[%i] : !ttg.memdesc<2x1xi64, #s1, #smem, mutable> -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
      ttng.init_barrier %f, FULL : !ttg.memdesc<1xi64, #s1, #smem, mutable>
      ttng.init_barrier %e, EMPTY : !ttg.memdesc<1xi64, #s1, #smem, mutable>
    }
    %more = arith.extsi %n : i32 to i64
    %add = arith.addi %more, %seed : i64
    %odd = arith.trunci %add : i64 to i1
    %from = tt.addptr %in, %n : !tt.ptr<i32>, i32
    ttg.warp_specialize(%ring, %full, %empty, %out, %n, %add, %odd)
    default {
      %range = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #b4>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot = arith.andi %i, %c1 : i32
        %turns = arith.shrui %i, %c1 : i32
        %phase = arith.andi %turns, %c1 : i32
        %was = arith.xori %phase, %c1 : i32
        %e = ttg.memdesc_index %empty[%slot] : !ttg.memdesc<2x1xi64, #s1, #smem, mutable> -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
        ttng.wait_barrier %e, %was : !ttg.memdesc<1xi64, #s1, #smem, mutable>
        %o = arith.muli %i, %c256 : i32
        %p = tt.addptr %from, %o : !tt.ptr<i32>, i32
        %ps = tt.splat %p : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #b4>
        %ptrs = tt.addptr %ps, %range : tensor<256x!tt.ptr<i32>, #b4>, tensor<256xi32, #b4>
        %x = tt.load %ptrs : tensor<256x!tt.ptr<i32>, #b4>
        %b = ttg.memdesc_index %ring[%slot] : !ttg.memdesc<2x256xi32, #s1, #smem, mutable> -> !ttg.memdesc<256xi32, #s1, #smem, mutable>
        ttg.local_store %x, %b : tensor<256xi32, #b4> -> !ttg.memdesc<256xi32, #s1, #smem, mutable>
        %f = ttg.memdesc_index %full[%slot] : !ttg.memdesc<2x1xi64, #s1, #smem, mutable> -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
        ttng.arrive_barrier %f, FULL : !ttg.memdesc<1xi64, #s1, #smem, mutable>
      }
      ttg.warp_yield
    }
    partition0(%ring1: !ttg.memdesc<2x256xi32, #s1, #smem, mutable>, %full1: !ttg.memdesc<2x1xi64, #s1, #smem, mutable>, %empty1: !ttg.memdesc<2x1xi64, #s1, #smem, mutable>, %out1: !tt.ptr<i32>, %n1: i32, %add1: i64, %odd1: i1) num_warps(2) {
      %k0 = arith.constant 0 : i32
      %k1 = arith.constant 1 : i32
      %k256 = arith.constant 256 : i32
      %range = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #b2>
      %a = arith.trunci %add1 : i64 to i32
      %o1 = arith.extui %odd1 : i1 to i32
      %both = arith.addi %a, %o1 : i32
      %s = tt.splat %both : i32 -> tensor<256xi32, #b2>
      scf.for %i = %k0 to %n1 step %k1 : i32 {
        %slot = arith.andi %i, %k1 : i32
        %turns = arith.shrui %i, %k1 : i32
        %phase = arith.andi %turns, %k1 : i32
        %f = ttg.memdesc_index %full1[%slot] : !ttg.memdesc<2x1xi64, #s1, #smem, mutable> -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
        ttng.wait_barrier %f, %phase : !ttg.memdesc<1xi64, #s1, #smem, mutable>
        %b = ttg.memdesc_index %ring1[%slot] : !ttg.memdesc<2x256xi32, #s1, #smem, mutable> -> !ttg.memdesc<256xi32, #s1, #smem, mutable>
        %x = ttg.local_load %b : !ttg.memdesc<256xi32, #s1, #smem, mutable> -> tensor<256xi32, #b2>
        %e = ttg.memdesc_index %empty1[%slot] : !ttg.memdesc<2x1xi64, #s1, #smem, mutable> -> !ttg.memdesc<1xi64, #s1, #smem, mutable>
        ttng.arrive_barrier %e, EMPTY : !ttg.memdesc<1xi64, #s1, #smem, mutable>
        %y = arith.addi %x, %s : tensor<256xi32, #b2>
        %o = arith.muli %i, %k256 : i32
        %p = tt.addptr %out1, %o : !tt.ptr<i32>, i32
        %ps = tt.splat %p : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #b2>
        %ptrs = tt.addptr %ps, %range : tensor<256x!tt.ptr<i32>, #b2>, tensor<256xi32, #b2>
        tt.store %ptrs, %y : tensor<256x!tt.ptr<i32>, #b2>
      }
      ttg.warp_return
    } : (!ttg.memdesc<2x256xi32, #s1, #smem, mutable>, !ttg.memdesc<2x1xi64, #s1, #smem, mutable>, !ttg.memdesc<2x1xi64, #s1, #smem, mutable>, !tt.ptr<i32>, i32, i64, i1) -> ()
    tt.return
  }
`

func ring(full, empty string) string {
	src := strings.NewReplacer("FULL", full, "EMPTY", empty).Replace(ringBody)
	return groupModule(strings.Replace(src, "%c1 = arith.constant 1 : i32\n", "%c1 = arith.constant 1 : i32\n    %c2 = arith.constant 2 : i32\n    %c256 = arith.constant 256 : i32\n", 1))
}

// What one group writes another reads, each for its own place in the ring.
func TestGroupsRing(t *testing.T) {
	for _, counts := range [][2]string{{"128", "64"}, {"1", "1"}, {"4", "1"}} {
		k := build(t, "ring.ttgir", ring(counts[0], counts[1]), 90)
		for _, random := range []bool{false, true} {
			for _, n := range []int{0, 1, 2, 3, 8} {
				d := sim.New(sim.Options{Random: random, Seed: uint64(n)})
				in := make([]int32, n+256*n)
				for i := range in {
					in[i] = int32(i * i)
				}
				o := d.Alloc("out", 4*256*max(n, 1))
				k.run(t, d, sim.Dim(1), sim.Upload(d, "in", in), o, int32(n), int64(5))
				for i, got := range sim.Download[int32](o)[:256*n] {
					if want := in[n+i] + int32(n+5) + int32((n+5)%2); got != want {
						t.Fatalf("counts %v, %d iterations: out[%d] = %d, want %d", counts, n, i, got, want)
					}
				}
			}
		}
	}
}

// What cannot be lowered is told at its line.
func TestGroupsRefused(t *testing.T) {
	const empty = "ttg.warp_specialize()\n default {\n ttg.warp_yield\n}\n partition0() num_warps(1) {\n BODY\n ttg.warp_return\n} : () -> () loc(\"k.py\":7:11)\n"
	many := "ttg.warp_specialize()\n default {\n ttg.warp_yield\n}\n"
	for i := range 15 {
		many += fmt.Sprintf("partition%d() num_warps(1) {\n ttg.warp_return\n}\n", i)
	}
	for name, c := range map[string]struct{ body, want string }{
		"a call":        {strings.Replace(empty, "BODY", "tt.call @g() : () -> () loc(\"k.py\":7:11)", 1), "a partition of warps calls a function"},
		"in a function": {"tt.call @h() : () -> () loc(\"k.py\":3:1)", "it is in a function that the kernel calls"},
		"partitions":    {many + ": () -> () loc(\"k.py\":7:11)", "it has 16 partitions, and there can be 14"},
		"a tensor": {"%x = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #b4>\nttg.warp_specialize(%x)\n default {\n ttg.warp_yield\n}\n" +
			"partition0(%y: tensor<128xi32, #b4>) num_warps(4) {\n ttg.warp_return\n} : (tensor<128xi32, #b4>) -> () loc(\"k.py\":7:11)", "a partition cannot take a tensor from outside"},
	} {
		t.Run(name, func(t *testing.T) {
			in := ""
			if name == "in a function" {
				in = strings.Replace(empty, "BODY", "", 1)
			}
			src := groupModule("  tt.func public @k() {\n" + c.body + "\n tt.return\n}\n tt.func private @g() attributes {noinline = true} {\n tt.return\n}\n" +
				"tt.func private @h() attributes {noinline = true} {\n" + in + "tt.return\n}\n")
			mod := parse(t, "k.ttgir", src)
			var r pass.Runner
			if _, err := r.Run(mod, []pass.Row{{Pass: warpspec.AllocateWarpGroups}}, nil); err != nil {
				t.Fatal(err)
			}
			_, err := lower.Module(mod, &Target{CC: 90}, lower.Options{})
			all := diag.All(err)
			if len(all) != 1 {
				t.Fatalf("error %v, want one diagnostic", err)
			}
			if d := all[0]; !strings.Contains(d.Message, c.want) || d.Pos != (diag.Pos{File: "k.py", Line: 7, Col: 12}) {
				t.Errorf("%v, want %q at k.py:7:12", d, c.want)
			}
		})
	}
	t.Run("no warps", func(t *testing.T) {
		mod := parse(t, "k.ttgir", groupModule("  tt.func public @k() {\n"+strings.Replace(empty, "BODY", "", 1)+"tt.return\n}\n"))
		if _, err := lower.Module(mod, &Target{CC: 90}, lower.Options{}); err == nil || !strings.Contains(err.Error(), "run the pass tritongpu-allocate-warp-groups first") {
			t.Errorf("error %v", err)
		}
	})
}

// The device reports rings in which groups do not wait for one another, or in vain.
func TestGroupsMutants(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no release":             {"ttng.arrive_barrier %e,", "", "deadlock"},
		"no filling":             {"ttng.arrive_barrier %f,", "", "deadlock"},
		"producer's phase":       {"ttng.wait_barrier %e, %was", "ttng.wait_barrier %e, %phase", "deadlock"},
		"consumer's phase":       {"ttng.wait_barrier %f, %phase", "%other = arith.xori %phase, %k1 : i32\nttng.wait_barrier %f, %other", "deadlock"},
		"producer does not wait": {"ttng.wait_barrier %e, %was", "", "data race"},
		"consumer does not wait": {"ttng.wait_barrier %f, %phase", "", "data race|undefined value"}, // by who comes first
		"release before reading": {"", "", "data race"},
	} {
		t.Run(name, func(t *testing.T) {
			src := ring("128", "64")
			var lines []string
			for line := range strings.Lines(src) {
				switch {
				case c.old != "" && strings.Contains(line, c.old) && c.new == "":
					continue
				case c.old != "":
					line = strings.Replace(line, c.old, c.new, 1)
				}
				lines = append(lines, line)
			}
			src = strings.Join(lines, "")
			if name == "release before reading" {
				load := "        %x = ttg.local_load %b : !ttg.memdesc<256xi32, #s1, #smem, mutable> -> tensor<256xi32, #b2>\n"
				at := strings.Index(src, "        ttng.arrive_barrier %e, 64")
				end := at + strings.Index(src[at:], "\n") + 1
				src = strings.Replace(src[:end]+load+src[end:], load, "", 1)
			}
			if src == ring("128", "64") {
				t.Fatal("the mutant is no other")
			}
			k := build(t, "ring.ttgir", src, 90)
			d := sim.New(sim.Options{Random: true, Seed: 1})
			const n = 8
			in := make([]int32, 257*n) // races that change nothing are none
			for i := range in {
				in[i] = int32(i)
			}
			_, err := d.Launch(k.mod, k.Kernel, sim.Dim(1), sim.Dim(k.Threads), k.Shared, sim.Upload(d, "in", in), d.Alloc("out", 4*256*n), int32(n), int64(5))
			if err == nil || !regexp.MustCompile(c.want).MatchString(err.Error()) {
				t.Errorf("reported: %v, want a %s\n%s", err, c.want, k.ptx)
			}
		})
	}
}
