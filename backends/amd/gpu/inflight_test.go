package gpu_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// sumTiles adds tiles of 32×64 that it copies to a ring of four buffers, three ahead, and
// reads in another layout. The mask leaves out columns from %n on.
const sumTiles = `#tile = #ttg.blocked<{sizePerThread = [1, SIZE], threadsPerWarp = THREADS, warpsPerCTA = [4, 1], order = [1, 0]}>
#read = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#shared = SHARED
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:CHIP", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %steps: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %size = arith.constant 2048 : i32
    %zero = arith.constant dense<0.0> : tensor<32x64xf32, #read>
    %seven = arith.constant dense<7.0> : tensor<32x64xf32, #tile>
    %rows = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #tile}>>
    %columns = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #tile}>>
    %0 = tt.expand_dims %rows {axis = 1 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #tile}>> -> tensor<32x1xi32, #tile>
    %1 = tt.expand_dims %columns {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #tile}>> -> tensor<1x64xi32, #tile>
    %width = arith.constant dense<64> : tensor<32x1xi32, #tile>
    %2 = arith.muli %0, %width : tensor<32x1xi32, #tile>
    %3 = tt.broadcast %2 : tensor<32x1xi32, #tile> -> tensor<32x64xi32, #tile>
    %4 = tt.broadcast %1 : tensor<1x64xi32, #tile> -> tensor<32x64xi32, #tile>
    %at = arith.addi %3, %4 : tensor<32x64xi32, #tile>
    %5 = tt.splat %n : i32 -> tensor<32x64xi32, #tile>
    %mask = arith.cmpi slt, %4, %5 : tensor<32x64xi32, #tile>
    %ring = ttg.local_alloc : () -> !ttg.memdesc<4x32x64xf32, #shared, #smem, mutable>
COPY0
COPY1
COPY2
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<32x64xf32, #read>) : i32 {
      %done = ttg.async_wait {num = AHEAD : i32}
      %slot = arith.remsi %i, %c4 : i32
      %view = ttg.memdesc_index %ring[%slot] : !ttg.memdesc<4x32x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<32x64xf32, #shared, #smem, mutable>
      %v = ttg.local_load %view token %done : !ttg.memdesc<32x64xf32, #shared, #smem, mutable> -> tensor<32x64xf32, #read>
      %next = arith.addi %i, %c3 : i32
COPYNEXT
      %more = arith.addf %acc, %v : tensor<32x64xf32, #read>
      scf.yield %more : tensor<32x64xf32, #read>
    }
    %end = ttg.async_wait {num = 0 : i32}
    %8 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #read}>>
    %9 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #read}>>
    %10 = tt.expand_dims %8 {axis = 1 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #read}>> -> tensor<32x1xi32, #read>
    %11 = tt.expand_dims %9 {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #read}>> -> tensor<1x64xi32, #read>
    %wide = arith.constant dense<64> : tensor<32x1xi32, #read>
    %12 = arith.muli %10, %wide : tensor<32x1xi32, #read>
    %13 = tt.broadcast %12 : tensor<32x1xi32, #read> -> tensor<32x64xi32, #read>
    %14 = tt.broadcast %11 : tensor<1x64xi32, #read> -> tensor<32x64xi32, #read>
    %15 = arith.addi %13, %14 : tensor<32x64xi32, #read>
    %16 = tt.splat %out : !tt.ptr<f32> -> tensor<32x64x!tt.ptr<f32>, #read>
    %17 = tt.addptr %16, %15 : tensor<32x64x!tt.ptr<f32>, #read>, tensor<32x64xi32, #read>
    tt.store %17, %sum : tensor<32x64x!tt.ptr<f32>, #read>
    tt.return
  }
}
`

// copyTile copies tile %I to its buffer.
const copyTile = `    %sI = arith.remsi %I, %c4 : i32
    %wI = ttg.memdesc_index %ring[%sI] : !ttg.memdesc<4x32x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<32x64xf32, #shared, #smem, mutable>
    %bI = arith.muli %I, %size : i32
    %pI = tt.addptr %x, %bI : !tt.ptr<f32>, i32
`

const copyTilePointers = copyTile + `    %qI = tt.splat %pI : !tt.ptr<f32> -> tensor<32x64x!tt.ptr<f32>, #tile>
    %rI = tt.addptr %qI, %at : tensor<32x64x!tt.ptr<f32>, #tile>, tensor<32x64xi32, #tile>
    %tI = ttg.async_copy_global_to_local %rI, %wI MASK {CONTIGUITY} : tensor<32x64x!tt.ptr<f32>, #tile> -> <32x64xf32, #shared, #smem, mutable>
    %gI = ttg.async_commit_group tokens %tI
`

const copyTileBuffer = copyTile + `    %tI = amdg.buffer_load_to_local %pI[%at] MASK into %wI {CONTIGUITY} : <f32>[tensor<32x64xi32, #tile>] OTHER -> <32x64xf32, #shared, #smem, mutable>
    %gI = ttg.async_commit_group tokens %tI
`

// TestCopiesInFlight has copies of later tiles on their way while the first is read, of
// which the simulator tells if that came before the wait for it. The code waits for just as
// many instructions as are left.
func TestCopiesInFlight(t *testing.T) {
	const tile = 32 * 64
	const plain = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
	for _, c := range []struct {
		name          string
		size          int
		threads       string
		shared        string
		masked, other bool
		contiguity    int
		buffer        bool
		chips         string
		each          int // instructions of a copy
	}{
		{name: "wide", size: 4, threads: "[4, 16]", shared: plain, chips: "gfx950", each: 2},
		{name: "wide buffer", size: 4, threads: "[4, 16]", shared: plain, buffer: true, chips: "gfx950", each: 2},
		{name: "wide mask", size: 4, threads: "[4, 16]", shared: plain, buffer: true, masked: true, chips: "gfx950", each: 2},
		{name: "narrow", size: 1, threads: "[1, 64]", shared: plain, chips: "gfx942 gfx950", each: 8},
		{name: "narrow mask", size: 1, threads: "[1, 64]", shared: plain, masked: true, buffer: true, chips: "gfx942 gfx950", each: 8},
		{name: "contiguity", size: 4, threads: "[4, 16]", shared: plain, contiguity: 4, chips: "gfx950", each: 2},
		{name: "less contiguity", size: 4, threads: "[4, 16]", shared: plain, contiguity: 1, chips: "gfx950", each: 2},
		{name: "masked pointers", size: 4, threads: "[4, 16]", shared: plain, masked: true, chips: "gfx942 gfx950"},
		{name: "another value", size: 4, threads: "[4, 16]", shared: plain, masked: true, other: true, buffer: true, chips: "gfx942 gfx950"},
		{name: "swizzled", size: 4, threads: "[4, 16]", shared: "#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>", chips: "gfx942 gfx950"},
		{name: "padded", size: 4, threads: "[4, 16]", shared: "#ttg.padded_shared<[256:+4] {order = [1, 0], shape = [32, 64]}>", chips: "gfx950", each: 2},
		{name: "padded rows", size: 1, threads: "[1, 64]", shared: "#ttg.padded_shared<[64:+1] {order = [1, 0], shape = [32, 64]}>", chips: "gfx942 gfx950", each: 8},
		{name: "padded within", size: 4, threads: "[4, 16]", shared: "#ttg.padded_shared<[64:+4] {order = [1, 0], shape = [32, 64]}>", chips: "gfx942 gfx950"},
	} {
		for _, chip := range strings.Fields(c.chips) {
			t.Run(chip+"/"+c.name, func(t *testing.T) {
				rng := kerneltest.Rand(t)
				steps, columns := rng.IntN(9), 64
				copyOf, mask, otherType := copyTilePointers, "", ""
				if c.buffer {
					copyOf = copyTileBuffer
				}
				if c.masked {
					columns = 16 * rng.IntN(5)
					mask = "mask %mask"
					if c.buffer {
						mask = "mask = %mask"
					}
				}
				if c.other {
					mask, otherType = mask+" other = %seven", "tensor<32x64xf32, #tile>"
				}
				contiguity := ""
				if c.contiguity > 0 {
					contiguity = fmt.Sprintf("contiguity = %d : i32", c.contiguity)
				}
				for ahead := range 3 {
					text := sumTiles
					for i, at := range []string{"COPY0", "COPY1", "COPY2", "COPYNEXT"} {
						index := []string{"%c0", "%c1", "%c2", "%next"}[i]
						line := regexp.MustCompile(`%([a-z])I`).ReplaceAllString(copyOf, fmt.Sprintf("%%${1}%d", i+20))
						line = strings.ReplaceAll(line, "%I", index)
						text = strings.Replace(text, at+"\n", line, 1)
					}
					text = strings.NewReplacer("SIZE", fmt.Sprint(c.size), "THREADS", c.threads, "SHARED", c.shared, "CHIP", chip,
						"AHEAD", fmt.Sprint(ahead), "MASK", mask, "CONTIGUITY", contiguity, "OTHER", otherType).Replace(text)
					x, out := kerneltest.Randint(rng, -100, 100, "fp32", (steps+3)*tile), kerneltest.Zeros("fp32", tile)
					want := make([]float64, tile)
					for i := range steps * tile {
						switch {
						case i%64 < columns:
							want[i%tile] += x.At(i)
						case c.other:
							want[i%tile] += 7
						}
					}
					kerneltest.Replace = func(_ kerneltest.Kernel, _ core.Target, args []launch.Arg) (*core.Source, []launch.Arg) {
						return &core.Source{Path: "k.ttgir", Text: []byte(text)}, args
					}
					defer func() { kerneltest.Replace = nil }()
					res := kernelOf(chip, "def k(x, out, n, steps):\n    pass\n", nil).Run(t, kerneltest.Grid(1), x, out, columns, steps)
					kerneltest.Near(t, "sum", out, want, 0, 0)
					if c.each > 0 {
						checkWaits(t, res.PTX, c.each*ahead)
					}
				}
			})
		}
	}
}

// checkWaits checks that the loop of an assembly waits for memory just once, until n
// instructions are left.
func checkWaits(t *testing.T, code string, n int) {
	t.Helper()
	var waits []string
	loop := false
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		loop = loop || strings.Contains(line, "Loop Header")
		if loop && strings.HasPrefix(line, "s_waitcnt") && strings.Contains(line, "vmcnt") {
			waits = append(waits, line)
		}
		if strings.HasPrefix(line, "s_cbranch") && loop {
			break
		}
	}
	want := fmt.Sprintf("s_waitcnt vmcnt(%d)", n)
	if !slices.Equal(waits, []string{want}) {
		t.Errorf("the loop waits by %q, want %s alone", waits, want)
	}
}

// TestAsyncCopyDots multiplies in loops whose operands are copied to LDS, by instructions
// where K lets lanes copy four bytes or more, and through registers elsewhere. Each run draws
// some of the kernels; TRITONC_ALL has all.
func TestAsyncCopyDots(t *testing.T) {
	shapes := []dotShape{
		{64, 64, 64, 320, 4, 1, false},
		{128, 64, 32, 200, 4, 1, true},
		{32, 128, 64, 331, 2, 1, false},
		{128, 128, 64, 256, 8, 1, true},
	}
	for _, chip := range []string{"gfx942", "gfx950"} {
		r := kerneltest.Rand(t)
		for _, c := range dotKinds {
			for _, s := range shapes {
				for _, stages := range []int{2, 3, 4} {
					if c.Precision == "tf32" && chip != "gfx942" || r.IntN(12) > 0 && os.Getenv("TRITONC_ALL") == "" {
						continue
					}
					if c.A == "fp64" || s.m*s.n == 128*128 && c.A == "fp32" {
						continue // more than LDS has, however they get there
					}
					d := s.of(c)
					t.Run(fmt.Sprintf("%s/%s/%d/%d", chip, d, d.K, stages), func(t *testing.T) {
						o := kerneltest.Options{"num_warps": s.warps, "num_stages": stages, "use_async_copy": true}
						d.Check(t, r, "hip:"+chip, o)
					})
				}
			}
		}
	}
}
