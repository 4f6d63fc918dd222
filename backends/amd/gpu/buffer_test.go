package gpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// bufferKinds are the types of elements of each size in memory.
var bufferKinds = []string{"i8", "fp16", "bf16", "i32", "fp32", "i64", "fp64", "i1"}

// TestBufferCopies copies rows of elements of every size, aligned and not, of which the
// last is masked, and fills in what is masked.
func TestBufferCopies(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, kind := range bufferKinds {
			for _, n := range []int{128, 117} {
				t.Run(fmt.Sprintf("%s/%d", kind, n), func(t *testing.T) {
					const rows, all = 5, 8
					x := kerneltest.Randint(r, 0, 2, kind, rows*n)
					if kind != "i1" && kind != "i8" {
						x = kerneltest.Randint(r, -100, 100, kind, rows*n)
					}
					out := kerneltest.Zeros(kind, all*n)
					want := make([]float64, all*n)
					for i := range want {
						want[i] = 1
						if i < rows*n {
							want[i] = x.At(i)
						}
					}
					res := kernelOf(chip, `def k(x, out, rows, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    v = tl.load(x + i * n + j, mask=(i < rows) & (j < n), other=1)
    tl.store(out + i * n + j, v, mask=j < n)
`, kerneltest.Options{"num_warps": 2}).Run(t, kerneltest.Grid(1), x, out, rows, n, all, 128)
					kerneltest.Near(t, "copy", out, want, 0, 0)
					if !strings.Contains(res.Signature, "x=*"+kind) || !strings.Contains(res.Signature, ":S") {
						t.Errorf("the buffer is not known to be small: %s", res.Signature)
					}
				})
			}
		}
	})
}

// TestBufferLoop moves pointers in a loop, forth and back, and by offsets of 64 bits.
func TestBufferLoop(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		const n, steps, block = 1000, 7, 128
		x := kerneltest.Randint(r, -1000, 1000, "i32", n)
		out := kerneltest.Zeros("i32", block)
		want := make([]float64, block)
		for at := 0; at < n; at += block {
			for i := range block {
				if at+i < n {
					want[i] += x.At(at+i) + x.At(n-1-at-i)
				}
			}
		}
		kernelOf(chip, `def k(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    p = x + i
    q = x + n.to(tl.int64) - 1 - i
    acc = tl.zeros((B,), tl.int32)
    for at in range(0, n, B):
        acc += tl.load(p, mask=at + i < n, other=0)
        acc += tl.load(q, mask=at + i < n, other=0)
        p += B
        q -= B
    tl.store(out + i, acc)
`, nil).Run(t, kerneltest.Grid(1), x, out, n, block)
		kerneltest.Near(t, "sums", out, want, 0, 0)
	})
}

// TestBufferAtomics does every atomic of 32 bits and sums of others, masked, of elements
// that one thread has and of elements that several have, and uses the old values.
func TestBufferAtomics(t *testing.T) {
	sums := []struct{ op, kind string }{
		{"add", "i32"},
		{"max", "i32"},
		{"min", "i32"},
		{"and", "i32"},
		{"or", "i32"},
		{"xor", "i32"},
		{"xchg", "i32"},
		{"max", "u32"},
		{"min", "u32"},
		{"add", "i64"},
		{"add", "fp32"},
		{"add", "fp16"},
		{"add", "fp64"},
		{"max", "fp32"},
		{"xchg", "fp32"},
		{"xchg", "fp64"},
		{"max", "fp64"},
	}
	update := map[string]func(x, y int64) int64{
		"add": func(x, y int64) int64 { return x + y }, "max": func(x, y int64) int64 { return max(x, y) }, "min": func(x, y int64) int64 { return min(x, y) },
		"and": func(x, y int64) int64 { return x & y }, "or": func(x, y int64) int64 { return x | y }, "xor": func(x, y int64) int64 { return x ^ y },
		"xchg": func(_, y int64) int64 { return y },
	}
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, c := range sums {
			for _, n := range []int{16, 256, 2048} {
				t.Run(fmt.Sprintf("%s/%s/%d", c.op, c.kind, n), func(t *testing.T) {
					x, y := kerneltest.Randint(r, 0, 100, c.kind, n), kerneltest.Randint(r, 0, 100, c.kind, n)
					old := kerneltest.Zeros(c.kind, n)
					want, before := make([]float64, n), make([]float64, n)
					for i := range n {
						want[i] = x.At(i)
						if i < n-2 {
							before[i] = x.At(i)
							want[i] = float64(update[c.op](int64(x.At(i)), int64(y.At(i))))
						}
					}
					kernelOf(chip, fmt.Sprintf(`def k(x, y, old, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.atomic_%s(x + i, tl.load(y + i), mask=i < n)
    tl.store(old + i, tl.where(i < n, v, 0))
`, c.op), nil).Run(t, kerneltest.Grid(1), x, y, old, n-2, n)
					kerneltest.Near(t, "sums", x, want, 0, 0)
					kerneltest.Near(t, "old values", old, before, 0, 0)
				})
			}
		}
	})
}

// TestBufferCompare compares and swaps elements of words and of pairs of them, of which
// some are what is expected, and hands out the old values.
func TestBufferCompare(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, kind := range []string{"i32", "i64", "u32"} {
			for _, sem := range []string{"relaxed", "acq_rel"} {
				for _, n := range []int{16, 1024} {
					t.Run(fmt.Sprintf("%s/%s/%d", kind, sem, n), func(t *testing.T) {
						x, cmp, val := kerneltest.Randint(r, 0, 4, kind, n), kerneltest.Randint(r, 0, 4, kind, n), kerneltest.Randint(r, 0, 100, kind, n)
						old := kerneltest.Zeros(kind, n)
						want, before := make([]float64, n), make([]float64, n)
						for i := range n {
							before[i], want[i] = x.At(i), x.At(i)
							if x.At(i) == cmp.At(i) {
								want[i] = val.At(i)
							}
						}
						res := kernelOf(chip, fmt.Sprintf(`def k(x, cmp, val, old, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, tl.atomic_cas(x + i, tl.load(cmp + i), tl.load(val + i), sem="%s"))
`, sem), nil).Run(t, kerneltest.Grid(1), x, cmp, val, old, n)
						kerneltest.Near(t, "swapped", x, want, 0, 0)
						kerneltest.Near(t, "old values", old, before, 0, 0)
						if buffered := strings.Contains(res.PTX, "buffer_atomic_cmpswap"); buffered != (chip == "gfx942" || chip == "gfx950") {
							t.Errorf("a buffer instruction compares: %t", buffered)
						}
					})
				}
			}
		}
	})
}

// TestBufferCopyToShared copies a tile to LDS and reads it transposed, with and without a
// mask and what takes the place of masked elements.
func TestBufferCopyToShared(t *testing.T) {
	const rows, columns = 32, 64
	for _, chip := range []string{"gfx942", "gfx950"} {
		for _, masked := range []string{"", "mask = %mask", "mask = %mask other = %other"} {
			for _, kind := range []string{"f16", "f32"} {
				t.Run(chip+"/"+kind+"/"+masked, func(t *testing.T) {
					array := map[string]string{"f16": "fp16", "f32": "fp32"}[kind]
					r := kerneltest.Rand(t)
					x, out := kerneltest.Randint(r, -100, 100, array, rows*columns), kerneltest.Zeros(array, rows*columns)
					const n = 41 // columns that the mask leaves
					want := make([]float64, rows*columns)
					for i := range rows {
						for j := range columns {
							v := x.At(i*columns + j)
							if masked != "" && j >= n {
								v = 0
								if strings.Contains(masked, "other") {
									v = 7
								}
							}
							want[j*rows+i] = v
						}
					}
					otherType := ""
					if strings.Contains(masked, "other") {
						otherType = "tensor<32x64x" + kind + ", #tile>"
					}
					text := strings.NewReplacer("OTHER", otherType, "MASKED", masked, "TYPE", kind, "CHIP", chip).Replace(copyToShared)
					kerneltest.Replace = func(_ kerneltest.Kernel, _ core.Target, args []launch.Arg) (*core.Source, []launch.Arg) {
						return &core.Source{Path: "k.ttgir", Text: []byte(text)}, args
					}
					defer func() { kerneltest.Replace = nil }()
					res := kernelOf(chip, "def k(x, out, n):\n    pass\n", nil).Run(t, kerneltest.Grid(1), x, out, n)
					kerneltest.Near(t, "transposed", out, want, 0, 0)
					if !strings.Contains(res.PTX, "buffer_load") || strings.Contains(res.PTX, "global_load") {
						t.Error("the copy does not use buffer instructions")
					}
				})
			}
		}
	}
}

const copyToShared = `#tile = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#turned = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [2, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:CHIP", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%x: !tt.ptr<TYPE> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %out: !tt.ptr<TYPE> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %n: i32) {
    %rows = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #tile}>>
    %columns = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #tile}>>
    %0 = tt.expand_dims %rows {axis = 1 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #tile}>> -> tensor<32x1xi32, #tile>
    %1 = tt.expand_dims %columns {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #tile}>> -> tensor<1x64xi32, #tile>
    %width = arith.constant dense<64> : tensor<32x1xi32, #tile>
    %2 = arith.muli %0, %width : tensor<32x1xi32, #tile>
    %3 = tt.broadcast %2 : tensor<32x1xi32, #tile> -> tensor<32x64xi32, #tile>
    %4 = tt.broadcast %1 : tensor<1x64xi32, #tile> -> tensor<32x64xi32, #tile>
    %5 = arith.addi %3, %4 : tensor<32x64xi32, #tile>
    %6 = tt.splat %n : i32 -> tensor<32x64xi32, #tile>
    %mask = arith.cmpi slt, %4, %6 : tensor<32x64xi32, #tile>
    %other = arith.constant dense<7.0> : tensor<32x64xTYPE, #tile>
    %buffer = ttg.local_alloc : () -> !ttg.memdesc<32x64xTYPE, #shared, #smem, mutable>
    %token = amdg.buffer_load_to_local %x[%5] MASKED into %buffer : <TYPE>[tensor<32x64xi32, #tile>] OTHER -> <32x64xTYPE, #shared, #smem, mutable>
    %group = ttg.async_commit_group tokens %token
    %done = ttg.async_wait %group {num = 0 : i32}
    %9 = ttg.memdesc_trans %buffer {order = array<i32: 1, 0>} : !ttg.memdesc<32x64xTYPE, #shared, #smem, mutable> -> !ttg.memdesc<64x32xTYPE, #shared1, #smem, mutable>
    %10 = ttg.local_load %9 token %done : !ttg.memdesc<64x32xTYPE, #shared1, #smem, mutable> -> tensor<64x32xTYPE, #turned>
    %11 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #turned}>>
    %12 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #turned}>>
    %13 = tt.expand_dims %11 {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #turned}>> -> tensor<64x1xi32, #turned>
    %14 = tt.expand_dims %12 {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #turned}>> -> tensor<1x32xi32, #turned>
    %height = arith.constant dense<32> : tensor<64x1xi32, #turned>
    %15 = arith.muli %13, %height : tensor<64x1xi32, #turned>
    %16 = tt.broadcast %15 : tensor<64x1xi32, #turned> -> tensor<64x32xi32, #turned>
    %17 = tt.broadcast %14 : tensor<1x32xi32, #turned> -> tensor<64x32xi32, #turned>
    %18 = arith.addi %16, %17 : tensor<64x32xi32, #turned>
    %19 = tt.splat %out : !tt.ptr<TYPE> -> tensor<64x32x!tt.ptr<TYPE>, #turned>
    %20 = tt.addptr %19, %18 : tensor<64x32x!tt.ptr<TYPE>, #turned>, tensor<64x32xi32, #turned>
    tt.store %20, %10 : tensor<64x32x!tt.ptr<TYPE>, #turned>
    tt.return
  }
}
`

// TestBufferBounds: an access beyond a buffer that no mask leaves out is reported.
func TestBufferBounds(t *testing.T) {
	for _, chip := range kerneltest.AMDChips {
		for what, at := range map[string]string{"beyond": "1", "before": "-1"} {
			k := kernelOf(chip, `def k(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i + `+at+`))
`, kerneltest.Options{"num_warps": 1})
			_, err := k.TryRun(t, kerneltest.Grid(1), array.New(array.Named("i32"), 64), kerneltest.Zeros("i32", 64), 64)
			if err == nil || !strings.Contains(err.Error(), "out of bounds") {
				t.Errorf("%s, %s: %v", chip, what, err)
			}
		}
	}
}
