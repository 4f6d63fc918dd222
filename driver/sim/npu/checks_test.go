package npu_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/npu"
)

// header is that of programs of a vector core which take a block of global memory; their
// instructions have the lines of k.py.
const header = `npusim 1
format sim
kernel k
chip ascend910b3
core vector
space ub 512
file "k.py"
param %0 gm<f32,1>
param %1 i32
param %2 i32
param %3 i32
code
  %10 gm<f32,1> = cast %0 [0] [64] [1] @0:1:1
  %11 ub<f32,1> = alloc 0 [64] @0:1:1
  %12 ub<f32,1> = alloc 256 [64] @0:1:1
`

// launch runs a program on a buffer of 64 numbers that were written, for so many programs.
func launch(t *testing.T, code string, programs int, opt npu.Options) (*npu.Report, error) {
	t.Helper()
	p, err := npu.Read("k.npusim", []byte(header+code))
	if err != nil {
		t.Fatal(err)
	}
	opt.Chip = chip.Of("ascend910b3")
	opt.Costs = chip.CostsOf(opt.Chip)
	d := npu.New(opt)
	b, err := d.Alloc("x", 256)
	if err != nil {
		t.Fatal(err)
	}
	clear(b.Data)
	b.MarkWritten(0, 256)
	return d.Launch(t.Context(), p, [3]int{programs, 1, 1}, b)
}

// TestChecks: what a program does wrong is found, with the line in the kernel's source, and
// the program without the fault runs.
func TestChecks(t *testing.T) {
	const load = "  dma %10 %11 @0:2:1\n"
	const loaded = load + "  set_flag mte2 v 0\n  wait_flag mte2 v 0\n"
	const place = "  %30 index = core_id\n  %31 index = const 32\n  %32 index = arith.muli %30 %31\n"
	const halves = place + "  %33 gm<f32,1> = cast %0 [%32] [32] [1]\n  %34 ub<f32,1> = cast %11 [0] [32] [1]\n  %35 f32 = const 0\n  fill %35 %34 @0:2:1\n" +
		"  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %34 %33 @0:3:1\n"
	const othersHalf0 = place + "  %40 index = arith.subi %31 %32\n  %41 gm<f32,1> = cast %0 [%40] [32] [1]\n  %42 ub<f32,1> = cast %12 [0] [32] [1]\n  dma %41 %42 @0:5:1\n"
	const othersHalf = othersHalf0 + "  return\n"
	for _, tt := range []struct {
		name, good, bad string
		programs        int
		kind            npu.Kind
		line            int
		message         string
	}{
		{
			name: "buffer",
			good: loaded + "  %13 ub<f32,1> = cast %11 [64] [64] [1] @0:3:1\n  vector math.exp %13 %11 @0:4:1\n  return\n",
			bad:  loaded + "  %13 ub<f32,1> = cast %11 [65] [64] [1] @0:3:1\n  vector math.exp %13 %11 @0:4:1\n  return\n",
			kind: npu.OutOfBounds, line: 4, message: "writes bytes 260 to 516 of ub, which has 512",
		},
		{
			name: "where an instruction begins",
			good: loaded + "  %13 ub<f32,1> = cast %11 [8] [16] [1] @0:3:1\n  vector math.exp %13 %13 @0:4:1\n  barrier mte2\n  barrier v\n  %14 f32 = load %11 [7]\n  return\n",
			bad:  loaded + "  %13 ub<f32,1> = cast %11 [7] [16] [1] @0:3:1\n  vector math.exp %13 %13 @0:4:1\n  return\n",
			kind: npu.Misaligned, line: 4, message: "the instruction accesses ub from byte 28 on; instructions and transfers begin at multiples of 32",
		},
		{
			name: "where a transfer begins",
			good: "  %13 ub<f32,1> = cast %11 [56] [8] [1]\n  %14 gm<f32,1> = cast %0 [3] [8] [1]\n  dma %14 %13 @0:3:1\n  return\n",
			bad:  "  %13 ub<f32,1> = cast %11 [55] [8] [1]\n  %14 gm<f32,1> = cast %0 [3] [8] [1]\n  dma %14 %13 @0:3:1\n  return\n",
			kind: npu.Misaligned, line: 3, message: "the instruction accesses ub from byte 220 on",
		},
		{
			name: "part of a buffer",
			good: load + "  %13 ub<f32,1> = subview %11 [32] [32] [1] @0:3:1\n  return\n",
			bad:  load + "  %13 ub<f32,1> = subview %11 [33] [32] [1] @0:3:1\n  return\n",
			kind: npu.OutOfBounds, line: 3, message: "elements 33 to 64 of dimension 0 are taken, which has 64",
		},
		{
			name: "global memory",
			good: load + "  return\n",
			bad:  "  %13 gm<f32,1> = cast %0 [1] [64] [1] @0:2:1\n  dma %13 %11 @0:3:1\n  return\n",
			kind: npu.OutOfBounds, line: 3, message: "reads bytes 4 to 260 of buffer x, which has 256 bytes",
		},
		{
			name: "order of pipes",
			good: loaded + "  vector math.exp %12 %11 @0:3:1\n  return\n",
			bad:  load + "  vector math.exp %12 %11 @0:3:1\n  return\n",
			kind: npu.MissingFlag, line: 3, message: "pipe v reads bytes of ub that pipe mte2 writes, and does not wait for it",
		},
		{
			name: "order of pipes in a loop",
			good: "  set_flag v mte2 0\n  %13 i1 = const 1\n  %14 i1 = const 0\nL:\n  wait_flag v mte2 0\n" + loaded +
				"  vector math.exp %12 %11 @0:3:1\n  set_flag v mte2 0\n  %15 i1 = move %13\n  %13 i1 = move %14\n  branch %15 L M\nM:\n  wait_flag v mte2 0\n  return\n",
			bad: "  %13 i1 = const 1\n  %14 i1 = const 0\nL:\n" + loaded +
				"  vector math.exp %12 %11 @0:3:1\n  %15 i1 = move %13\n  %13 i1 = move %14\n  branch %15 L M\nM:\n  return\n",
			kind: npu.MissingFlag, line: 2, message: "pipe mte2 writes bytes of ub that pipe v reads, and does not wait for it",
		},
		{
			name: "order in global memory",
			good: "  %13 f32 = const 0\n  fill %13 %11 @0:2:1\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %11 %10 @0:3:1\n  set_flag mte3 mte2 0\n  wait_flag mte3 mte2 0\n  dma %10 %12 @0:4:1\n  return\n",
			bad:  "  %13 f32 = const 0\n  fill %13 %11 @0:2:1\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %11 %10 @0:3:1\n  dma %10 %12 @0:4:1\n  return\n",
			kind: npu.MissingFlag, line: 4, message: "pipe mte2 reads global memory that pipe mte3 writes, and does not wait for it",
		},
		{
			name: "bytes that nothing wrote",
			good: "  %13 f32 = const 0\n  fill %13 %11 @0:2:1\n  set_flag v s 0\n  wait_flag v s 0\n  %14 f32 = load %11 [3] @0:3:1\n  return\n",
			bad:  "  %14 f32 = load %11 [3] @0:3:1\n  return\n",
			kind: npu.Unwritten, line: 3, message: "an element of type f32 is read at byte 12 of ub, which was never written",
		},
		{
			name: "what is made of bytes that nothing wrote",
			good: "  %13 f32 = const 0\n  fill %13 %11 @0:2:1\n  vector math.exp %12 %11 @0:3:1\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %12 %10 @0:4:1\n  return\n",
			bad:  "  vector math.exp %12 %11 @0:3:1\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %12 %10 @0:4:1\n  return\n",
			kind: npu.Unwritten, line: 4, message: "an element of type f32 is read at byte 256 of ub, which was never written",
		},
		{
			name: "cores that write the same", programs: 2,
			good: "  %13 f32 = const 0\n  fill %13 %11 @0:2:1\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %11 %10 atomic=arith.addf @0:3:1\n  return\n",
			bad:  "  %13 f32 = const 0\n  fill %13 %11 @0:2:1\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %11 %10 @0:3:1\n  return\n",
			kind: npu.Conflict, line: 3, message: "byte 0 of buffer x is accessed by several programs, one of which writes it",
		},
		{
			// Each of two cores writes half of the buffer, and reads the other's.
			name: "cores that read what others write", programs: 2,
			good: halves + "  sync_block all_vector 3 @0:4:1\n" + othersHalf,
			bad:  halves + othersHalf,
			kind: npu.Conflict, line: 3, message: "byte 128 of buffer x is accessed by several programs, one of which writes it",
		},
		{
			name: "cores that wait after others have read", programs: 2,
			good: othersHalf0 + "  sync_block all 3 @0:4:1\n" + halves + "  return\n",
			bad:  othersHalf0 + "  sync_block all_sub_vector 3 @0:4:1\n" + halves + "  return\n",
			kind: npu.Conflict, line: 5, message: "byte 0 of buffer x is accessed by several programs, one of which writes it",
		},
		{
			name: "a core that ends where others wait", programs: 3,
			good: "  sync_block all_vector 3 @0:2:1\n  return\n",
			bad:  "  %13 index = core_id\n  %14 index = const 1\n  %15 i1 = arith.cmpi %13 %14 predicate=0\n  branch %15 M L\nL:\n  sync_block all_vector 3 @0:2:1\nM:\n  return\n",
			kind: npu.Deadlock, line: 2, message: `program 0 waits in sync_block_all("all_vector", 3) for all 3 programs, and program 1 has ended without it`,
		},
		{
			name: "cores that wait in different places", programs: 2,
			good: "  %13 index = core_id\n  %14 index = const 1\n  %15 i1 = arith.cmpi %13 %14 predicate=0\n  branch %15 M L\nL:\n  sync_block all 4 @0:2:1\n  return\nM:\n  sync_block all 4 @0:3:1\n  return\n",
			bad:  "  %13 index = core_id\n  %14 index = const 1\n  %15 i1 = arith.cmpi %13 %14 predicate=0\n  branch %15 M L\nL:\n  sync_block all 4 @0:2:1\n  return\nM:\n  sync_block all 5 @0:3:1\n  return\n",
			kind: npu.Deadlock, line: 3, message: `program 1 waits in sync_block_all("all", 5) for all 2 programs, and program 0 waits in sync_block_all("all", 4)`,
		},
		{
			name: "a flag set twice",
			good: "  set_flag v mte2 0 @0:2:1\n  wait_flag v mte2 0\n  set_flag v mte2 0 @0:3:1\n  wait_flag v mte2 0\n  return\n",
			bad:  "  set_flag v mte2 0 @0:2:1\n  set_flag v mte2 0 @0:3:1\n  wait_flag v mte2 0\n  return\n",
			kind: npu.FlagTwice, line: 3, message: "flag 0 from v to mte2 is set again before mte2 has waited for it",
		},
		{
			name: "a flag that nobody takes",
			good: "  set_flag v mte2 1 @0:2:1\n  wait_flag v mte2 1\n  return\n",
			bad:  "  set_flag v mte2 1 @0:2:1\n  return\n",
			kind: npu.FlagLeft, line: 2, message: "flag 1 from v to mte2 is still set when the program ends",
		},
		{
			name: "a flag that nobody sets",
			good: "  set_flag v mte2 1\n  wait_flag v mte2 1 @0:2:1\n  return\n",
			bad:  "  wait_flag v mte2 1 @0:2:1\n  return\n",
			kind: npu.Deadlock, line: 2, message: "pipe mte2 waits for flag 1 from v, which no instruction before sets",
		},
		{
			name: "shapes",
			good: loaded + "  %13 ub<f32,1> = subview %12 [0] [32] [1] @0:3:1\n  %14 ub<f32,1> = subview %11 [0] [32] [1] @0:3:1\n  vector math.exp %13 %14 @0:4:1\n  return\n",
			bad:  loaded + "  %13 ub<f32,1> = subview %12 [0] [32] [1] @0:3:1\n  vector math.exp %13 %11 @0:4:1\n  return\n",
			kind: npu.WrongShape, line: 4, message: "the shapes [32] and [64] differ",
		},
		{
			name: "an assertion",
			good: "  %13 i1 = const 1\n  assert %13 n is even @0:2:1\n  return\n",
			bad:  "  %13 i1 = const 0\n  assert %13 n is even @0:2:1\n  return\n",
			kind: npu.AssertionFailed, line: 2, message: "n is even",
		},
		{
			name: "a loop without an end",
			good: "  return\n",
			bad:  "L:\n  jump L @0:2:1\n",
			kind: npu.TooLong, line: 2, message: "the program has executed 1000 instructions",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := npu.Options{MaxInstructions: 1000}
			if _, err := launch(t, tt.good, max(tt.programs, 1), opt); err != nil {
				t.Errorf("the right program: %v", err)
			}
			rep, err := launch(t, tt.bad, max(tt.programs, 1), opt)
			var found *npu.FindingsError
			if !errors.As(err, &found) || rep == nil {
				t.Fatalf("got %v, want a finding", err)
			}
			f := found.Findings[0]
			if f.Kind != tt.kind || f.Loc.File != "k.py" || f.Loc.Line != tt.line || !strings.Contains(f.Message, tt.message) {
				t.Errorf("got %s at %s: %s; want %s at k.py:%d: %s", f.Kind, f.Loc, f.Message, tt.kind, tt.line, tt.message)
			}
		})
	}
}

// TestCounts holds what a report says of a small program to what can be counted by hand.
func TestCounts(t *testing.T) {
	rep, err := launch(t, "  dma %10 %11\n  set_flag mte2 v 0\n  wait_flag mte2 v 0\n  vector math.exp %12 %11\n  set_flag v mte3 0\n  wait_flag v mte3 0\n  dma %12 %10\n  return\n", 1, npu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rep.In != 256 || rep.Out != 256 || rep.Used[npu.UB] != 512 {
		t.Errorf("in %d, out %d, ub %d; want 256, 256, 512", rep.In, rep.Out, rep.Used[npu.UB])
	}
	// Transfers start in 114 cycles, and 256 bytes have 32 B/cycle of HBM; the vector unit
	// starts in 16 cycles and takes 256 bytes in one.
	want := map[npu.Pipe]float64{npu.PipeMTE2: 114 + 8, npu.PipeV: 16 + 1, npu.PipeMTE3: 114 + 8}
	for p, n := range want {
		if d := rep.Pipes[p] - n; d < -1e-3 || d > 1e-3 {
			t.Errorf("pipe %s is busy %g cycles, want %g", p, rep.Pipes[p], n)
		}
	}
	// A start of 1000 cycles and the pipes one after the other, with the instructions of the
	// scalar unit before the first transfer.
	if least := 1000.0 + 122 + 17 + 122; rep.Cycles < least || rep.Cycles > least+20 {
		t.Errorf("%g cycles, want %g and those of the scalar unit", rep.Cycles, least)
	}
}

// TestShared: bytes that several cores read come from HBM once, and from L2 at its rate.
func TestShared(t *testing.T) {
	const code = "  dma %10 %11\n  return\n"
	cycles := func(programs int) float64 {
		rep, err := launch(t, code, programs, npu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return rep.Pipes[npu.PipeMTE2] / float64(programs)
	}
	// 20 vector cores have an AI core each. One alone takes its 256 bytes from HBM at 32 B/cycle;
	// of 20 each takes a twentieth from there, and all at L2's 110.
	for programs, want := range map[int]float64{1: 114 + 256.0/32, 20: 114 + 256.0/110} {
		if got := cycles(programs); got < want-1e-3 || got > want+1e-3 {
			t.Errorf("%d programs: a transfer takes %g cycles, want %g", programs, got, want)
		}
	}
}

// TestMeeting: cores go on a documented time after the last one has come, each time, and
// results and cycles are the same in each run.
func TestMeeting(t *testing.T) {
	// Core i computes i times before the first meeting, and once before the second.
	const code = `  %20 index = core_id
  %21 index = const 0
  %22 index = const 1
  dma %10 %11 @0:2:1
  set_flag mte2 v 0
  wait_flag mte2 v 0
L:
  %23 i1 = arith.cmpi %21 %20 predicate=2
  branch %23 M N
M:
  vector math.exp %12 %11 @0:3:1
  %21 index = arith.addi %21 %22
  jump L
N:
  sync_block all_vector 3 @0:4:1
  vector math.exp %12 %11 @0:5:1
  sync_block all_vector 3 @0:6:1
  return
`
	cycles := func(programs int) *npu.Report {
		rep, err := launch(t, code, programs, npu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	rep, again := cycles(30), cycles(30)
	if rep.Cycles != again.Cycles || !slices.Equal(rep.CoreCycles, again.CoreCycles) {
		t.Errorf("%g cycles in one run, %g in another", rep.Cycles, again.Cycles)
	}
	for i, n := range rep.CoreCycles {
		if d := n - rep.Cycles; d < -1e-3 {
			t.Errorf("core %d of a program that ends where all have come ends after %g cycles, others after %g", i, n, rep.Cycles)
		}
	}
	// The last core has 29 computations of 17 cycles before the first meeting where one alone has
	// none: it waits for it. What is read is shared, and takes less time.
	alone := cycles(1)
	if d := rep.Cycles - alone.Cycles - 29*17; d < -10 || d > 30 {
		t.Errorf("30 cores take %g cycles, one takes %g", rep.Cycles, alone.Cycles)
	}
	costs := chip.CostsOf(chip.Of("ascend910b3"))
	costs.Sync += 1000
	if d := rep.At(costs).Cycles - rep.Cycles; d < 2000-1e-3 || d > 2000+1e-3 {
		t.Errorf("where cores go on 1000 cycles later, twice, the launch takes %g more", d)
	}
	costs.Sync -= 1000
	costs.VectorStart += 10
	if d := rep.At(costs).Cycles - rep.Cycles; d < 300-1e-3 || d > 300+1e-3 {
		t.Errorf("where a computation takes 10 cycles more, the launch takes %g more, want those of 29 and 1", d)
	}
}

// TestRoom: programs that wait for one another need a core each.
func TestRoom(t *testing.T) {
	const code = "  sync_block all_vector 3 @0:2:4\n  return\n"
	if _, err := launch(t, code, 40, npu.Options{}); err != nil {
		t.Error(err)
	}
	_, err := launch(t, code, 41, npu.Options{})
	const want = "kernel k has all programs wait for one another, and a grid of 41 × 1 × 1 has 41: each needs a core of its own, and ascend910b3 has 40 vector cores"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %q", err, want)
	}
	if d := diag.All(err); len(d) != 1 || d[0].Pos.File != "k.py" || d[0].Pos.Line != 2 || d[0].Help != "launch at most 40 programs, each with a loop over its part of the work" {
		t.Errorf("it is at %v, with %q", d[0].Pos, d[0].Help)
	}
	if _, err := launch(t, "  sync_block all_sub_vector 3 @0:2:4\n  return\n", 80, npu.Options{}); err != nil {
		t.Errorf("vector cores of an AI core wait for one another: %v", err)
	}
}
