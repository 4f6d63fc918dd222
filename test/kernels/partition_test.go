package kernels

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// partitioned adds up blocks of x: partition 0 loads them into one of the buffers, and
// partition 1, which reads them in every iteration that is not skipped, sums them up and
// stores the sum so far. The sum also comes back from the loop, and is stored last.
const partitioned = `
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [%[3]d], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!ptrs = tensor<%[2]dx!tt.ptr<f32>, #blocked>
!ring = !ttg.memdesc<%[1]dx%[2]dxf32, #shared, #smem, mutable>
!view = !ttg.memdesc<%[2]dxf32, #shared, #smem, mutable, %[1]dx%[2]d>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = %[3]d : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @sums(%%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %%out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %%n: i32, %%skip: i32) {
    %%zeros = arith.constant dense<0.000000e+00> : tensor<%[2]dxf32, #blocked>
    %%c0 = arith.constant 0 : i32
    %%c1 = arith.constant 1 : i32
    %%size = arith.constant %[2]d : i32
    %%lanes = tt.make_range {end = %[2]d : i32, start = 0 : i32} : tensor<%[2]dxi32, #blocked>
    %%m = ttg.local_alloc : () -> !ring
    %%a = nvws.aref.create %%m : <[!ring]>
    %%r = scf.for %%i = %%c0 to %%n step %%c1 iter_args(%%sum = %%zeros) -> (tensor<%[2]dxf32, #blocked>)  : i32 {
      %%o = arith.muli %%i, %%size {ttg.partition = array<i32: 0, 1>} : i32
      %%os = tt.splat %%o {ttg.partition = array<i32: 0, 1>} : i32 -> tensor<%[2]dxi32, #blocked>
      %%at = arith.addi %%os, %%lanes {ttg.partition = array<i32: 0, 1>} : tensor<%[2]dxi32, #blocked>
      %%runs = arith.cmpi ne, %%i, %%skip {ttg.partition = array<i32: 0, 1>} : i32
      %%s = scf.if %%runs -> (tensor<%[2]dxf32, #blocked>) {
        %%xs = tt.splat %%x {ttg.partition = array<i32: 0>} : !tt.ptr<f32> -> !ptrs
        %%xp = tt.addptr %%xs, %%at {ttg.partition = array<i32: 0>} : !ptrs, tensor<%[2]dxi32, #blocked>
        %%v = tt.load %%xp {ttg.partition = array<i32: 0>} : !ptrs
        %%b, %%t = nvws.aref.put.enter %%a {ttg.partition = array<i32: 0>} : <[!ring]> -> !view, !ttg.async.token
        ttg.local_store %%v, %%b {ttg.partition = array<i32: 0>} : tensor<%[2]dxf32, #blocked> -> !view
        nvws.aref.put.exit %%a, %%t [#nvws.async_op<none>] {ttg.partition = array<i32: 0>} : <[!ring]>, !ttg.async.token
        %%c, %%u = nvws.aref.get.enter %%a {ttg.partition = array<i32: 1>} : <[!ring]> -> !view, !ttg.async.token
        %%w = ttg.local_load %%c {ttg.partition = array<i32: 1>} : !view -> tensor<%[2]dxf32, #blocked>
        nvws.aref.get.exit %%a, %%u [#nvws.async_op<none>] {ttg.partition = array<i32: 1>} : <[!ring]>, !ttg.async.token
        %%sum1 = arith.addf %%sum, %%w {ttg.partition = array<i32: 1>} : tensor<%[2]dxf32, #blocked>
        scf.yield {ttg.partition = array<i32: 0, 1>} %%sum1 : tensor<%[2]dxf32, #blocked>
      } else {
        scf.yield {ttg.partition = array<i32: 0, 1>} %%sum : tensor<%[2]dxf32, #blocked>
      } {ttg.partition = array<i32: 0, 1>, ttg.partition.outputs = [array<i32: 1>]}
      %%ps = tt.splat %%out {ttg.partition = array<i32: 1>} : !tt.ptr<f32> -> !ptrs
      %%pp = tt.addptr %%ps, %%at {ttg.partition = array<i32: 1>} : !ptrs, tensor<%[2]dxi32, #blocked>
      tt.store %%pp, %%s {ttg.partition = array<i32: 1>} : !ptrs
      scf.yield {ttg.partition = array<i32: 0, 1>} %%s : tensor<%[2]dxf32, #blocked>
    } {ttg.partition = array<i32: 0, 1>, ttg.partition.outputs = [array<i32: 1>], ttg.partition.stages = [0 : i32, 1 : i32], ttg.warp_specialize.tag = 0 : i32}
    %%e = arith.muli %%n, %%size : i32
    %%es = tt.splat %%e : i32 -> tensor<%[2]dxi32, #blocked>
    %%et = arith.addi %%es, %%lanes : tensor<%[2]dxi32, #blocked>
    %%qs = tt.splat %%out : !tt.ptr<f32> -> !ptrs
    %%qp = tt.addptr %%qs, %%et : !ptrs, tensor<%[2]dxi32, #blocked>
    tt.store %%qp, %%r : !ptrs
    tt.return
  }
}
`

// TestPartitions: a loop that marks divide between two groups of warps, which hand
// each other buffers by an asynchronous reference, computes what the loop does, with one
// buffer and more, also where an iteration enters none.
func TestPartitions(t *testing.T) {
	forNVIDIA(t, "the modules are of dialects of NVIDIA's")
	if kerneltest.OnDevice() {
		t.Skip("the simulated device alone has the files")
	}
	defer func() { kerneltest.Replace = nil }()
	const divide = "nvws-lower-aref,tritongpu-partition-loops,nvws-lower-warp-group,canonicalize,cse"
	divided(t, partitioned, 128, 4, divide)
	// Of eight warps, four are enough for this many numbers.
	divided(t, partitioned, 8192, 8, divide+",tritongpu-optimize-partition-warps")
	divided(t, withoutReference(partitioned), 128, 4, "nvws-insert-aref,"+divide)
}

// stagedPartitions is such a loop with a schedule: partition 0 loads a block two iterations
// before it is added up and writes it to a buffer one before, when partition 1 waits for it.
const stagedPartitions = `
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [%[3]d], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!ptrs = tensor<%[2]dx!tt.ptr<f32>, #blocked>
!ring = !ttg.memdesc<%[1]dx%[2]dxf32, #shared, #smem, mutable>
!view = !ttg.memdesc<%[2]dxf32, #shared, #smem, mutable, %[1]dx%[2]d>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = %[3]d : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @sums(%%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %%out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %%n: i32, %%skip: i32) {
    %%zeros = arith.constant dense<0.000000e+00> : tensor<%[2]dxf32, #blocked>
    %%c0 = arith.constant 0 : i32
    %%c1 = arith.constant 1 : i32
    %%size = arith.constant %[2]d : i32
    %%lanes = tt.make_range {end = %[2]d : i32, start = 0 : i32} : tensor<%[2]dxi32, #blocked>
    %%m = ttg.local_alloc : () -> !ring
    %%a = nvws.aref.create %%m : <[!ring]>
    %%r = scf.for %%i = %%c0 to %%n step %%c1 iter_args(%%sum = %%zeros) -> (tensor<%[2]dxf32, #blocked>)  : i32 {
      %%o = arith.muli %%i, %%size {ttg.partition = array<i32: 0, 1>} : i32
      %%os = tt.splat %%o {ttg.partition = array<i32: 0, 1>} : i32 -> tensor<%[2]dxi32, #blocked>
      %%at = arith.addi %%os, %%lanes {ttg.partition = array<i32: 0, 1>} : tensor<%[2]dxi32, #blocked>
      %%xs = tt.splat %%x {ttg.partition = array<i32: 0>} : !tt.ptr<f32> -> !ptrs
      %%xp = tt.addptr %%xs, %%at {ttg.partition = array<i32: 0>} : !ptrs, tensor<%[2]dxi32, #blocked>
      %%v = tt.load %%xp {loop.cluster = 2 : i32, loop.stage = 0 : i32, ttg.partition = array<i32: 0>} : !ptrs
      %%b, %%t = nvws.aref.put.enter %%a {loop.cluster = 1 : i32, loop.stage = 1 : i32, ttg.partition = array<i32: 0>} : <[!ring]> -> !view, !ttg.async.token
      ttg.local_store %%v, %%b {loop.cluster = 1 : i32, loop.stage = 1 : i32, ttg.partition = array<i32: 0>} : tensor<%[2]dxf32, #blocked> -> !view
      nvws.aref.put.exit %%a, %%t [#nvws.async_op<none>] {loop.cluster = 1 : i32, loop.stage = 1 : i32, ttg.partition = array<i32: 0>} : <[!ring]>, !ttg.async.token
      %%c, %%u = nvws.aref.get.enter %%a {loop.cluster = 0 : i32, loop.stage = 1 : i32, ttg.partition = array<i32: 1>} : <[!ring]> -> !view, !ttg.async.token
      %%w = ttg.local_load %%c {loop.cluster = 1 : i32, loop.stage = 2 : i32, ttg.partition = array<i32: 1>} : !view -> tensor<%[2]dxf32, #blocked>
      nvws.aref.get.exit %%a, %%u [#nvws.async_op<none>] {loop.cluster = 1 : i32, loop.stage = 2 : i32, ttg.partition = array<i32: 1>} : <[!ring]>, !ttg.async.token
      %%runs = arith.cmpi ne, %%i, %%skip {loop.cluster = 1 : i32, loop.stage = 2 : i32, ttg.partition = array<i32: 1>} : i32
      %%sum1 = arith.addf %%sum, %%w {loop.cluster = 1 : i32, loop.stage = 2 : i32, ttg.partition = array<i32: 1>} : tensor<%[2]dxf32, #blocked>
      %%s = arith.select %%runs, %%sum1, %%sum {loop.cluster = 1 : i32, loop.stage = 2 : i32, ttg.partition = array<i32: 1>} : tensor<%[2]dxf32, #blocked>
      %%ps = tt.splat %%out {ttg.partition = array<i32: 1>} : !tt.ptr<f32> -> !ptrs
      %%pp = tt.addptr %%ps, %%at {ttg.partition = array<i32: 1>} : !ptrs, tensor<%[2]dxi32, #blocked>
      tt.store %%pp, %%s {loop.cluster = 1 : i32, loop.stage = 2 : i32, ttg.partition = array<i32: 1>} : !ptrs
      scf.yield {ttg.partition = array<i32: 0, 1>} %%s : tensor<%[2]dxf32, #blocked>
    } {tt.scheduled_max_stage = 2 : i32, tt.warp_specialize, ttg.partition = array<i32: 0, 1>, ttg.partition.outputs = [array<i32: 1>], ttg.partition.stages = [0 : i32, 1 : i32], ttg.warp_specialize.tag = 0 : i32}
    %%e = arith.muli %%n, %%size : i32
    %%es = tt.splat %%e : i32 -> tensor<%[2]dxi32, #blocked>
    %%et = arith.addi %%es, %%lanes : tensor<%[2]dxi32, #blocked>
    %%qs = tt.splat %%out : !tt.ptr<f32> -> !ptrs
    %%qp = tt.addptr %%qs, %%et : !ptrs, tensor<%[2]dxi32, #blocked>
    tt.store %%qp, %%r : !ptrs
    tt.return
  }
}
`

// TestPipelinedPartitions: partitions of a loop compute the same when the pipeliner has
// each run its stages in different iterations.
func TestPipelinedPartitions(t *testing.T) {
	forNVIDIA(t, "the modules are of dialects of NVIDIA's")
	if kerneltest.OnDevice() {
		t.Skip("the simulated device alone has the files")
	}
	defer func() { kerneltest.Replace = nil }()
	divided(t, stagedPartitions, 128, 4, "nvws-lower-aref,tritongpu-partition-loops,nvws-lower-warp-group,tritongpu-schedule-loops,tritongpu-pipeline,canonicalize,cse")
}

// checkPipelined checks which partitions of stagedPartitions are pipelined: the first one is,
// and the second one if it may wait for a buffer before it gives another up.
func checkPipelined(t *testing.T, src string, buffers int) {
	t.Helper()
	first, second, _ := strings.Cut(src, "partition0(")
	if !strings.Contains(first, "ttg.async_copy_global_to_local") {
		t.Error("the loads of partition 0 do not start early")
	}
	if got := predicatedWait.MatchString(second); got != (buffers > 1) {
		t.Errorf("partition 1 waits early: %v with %d buffers", got, buffers)
	}
}

// predicatedWait is a wait that is left out where the loop has no such iteration.
var predicatedWait = regexp.MustCompile(`ttng\.wait_barrier %[^ ]+, %[^ ]+, %`)

// withoutReference is the loop whose second partition uses what the first one loads, for
// nvws-insert-aref.
func withoutReference(src string) string {
	var kept []string
	for line := range strings.Lines(src) {
		switch {
		case strings.Contains(line, "nvws.aref") || strings.Contains(line, "ttg.local_") || strings.Contains(line, "!ring ="):
		case strings.Contains(line, "ttg.partition.stages"):
			kept = append(kept, strings.Replace(line, "{ttg.partition =", "{tt.warp_specialize, ttg.partition =", 1))
		default:
			kept = append(kept, strings.ReplaceAll(line, "%%sum, %%w", "%%sum, %%v"))
		}
	}
	return strings.Join(kept, "")
}

// divided runs the loop src over blocks of that size on so many warps, after the passes.
func divided(t *testing.T, src string, size, warps int, passes string) {
	t.Helper()
	rows, err := pass.Parse(append(partition.Passes(), std.Canonicalize, std.CSE, pipeline.ScheduleLoops, pipeline.New(tmem.Unit{}, tma.Copies{})), passes)
	if err != nil {
		t.Fatal(err)
	}
	for _, stages := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("%s/buffers=%d", passes, stages), func(t *testing.T) {
			m, err := text.Parse(dialect.NewContext(ttng.Dialect(), nvws.Dialect()), "sums.ttgir", fmt.Appendf(nil, src, stages, size, warps))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (&pass.Runner{VerifyEach: true}).Run(m, rows, nil); err != nil {
				t.Fatal(err)
			}
			ir := text.Append(nil, m, text.Options{})
			if src == stagedPartitions {
				checkPipelined(t, string(ir), stages)
			}
			kerneltest.Replace = func(_ kerneltest.Kernel, _ core.Target, args []launch.Arg) (*core.Source, []launch.Arg) {
				return &core.Source{Path: "sums.ttgir", Text: ir}, args
			}
			for _, c := range []struct{ n, skip int64 }{{1, 7}, {2, 0}, {7, 3}, {9, 8}} {
				sums(t, int64(size), c.n, c.skip)
			}
		})
	}
}

func sums(t *testing.T, size, n, skip int64) {
	t.Helper()
	r := kerneltest.Rand(t)
	x := kerneltest.Randint(r, -8, 8, "fp32", int(n*size))
	out := kerneltest.Empty("fp32", int((n+1)*size))
	k := kerneltest.Kernel{Target: "cuda:90", Source: "import triton\n@triton.jit\ndef sums(x, out, n, skip):\n    pass\n"}
	k.Run(t, kerneltest.Grid(1), x, out, n, skip)
	want := make([]float64, (n+1)*size)
	in := x.Floats()
	for lane := range size {
		var sum float64
		for i := range n {
			if i != skip {
				sum += in[i*size+lane]
			}
			want[i*size+lane] = sum
		}
		want[n*size+lane] = sum
	}
	kerneltest.Equal(t, fmt.Sprintf("sums of %d blocks without %d", n, skip), out, want)
}
