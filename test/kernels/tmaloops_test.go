package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// Kernels that make descriptors more than once.
const madeAgain = `
import triton
import triton.language as tl

@triton.jit
def groups(a_ptr, b_ptr, c_ptr, table, G, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, LOOSE: tl.constexpr):
    tile = tl.program_id(0)
    before = 0
    for g in range(G):
        row = table + 8 * g
        M = tl.load(row)
        N = tl.load(row + 1)
        K = tl.load(row + 2)
        across = tl.cdiv(N, BN)
        here = tl.cdiv(M, BM) * across
        if tile >= before and tile < before + here:
            a = tl.make_tensor_descriptor(a_ptr + tl.load(row + 3), shape=[M, K], strides=[tl.load(row + 6), 1], block_shape=[BM, BK])
            b = tl.make_tensor_descriptor(b_ptr + tl.load(row + 4), shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
            c = tl.make_tensor_descriptor(c_ptr + tl.load(row + 5), shape=[M, N], strides=[tl.load(row + 7) if LOOSE else N, 1], block_shape=[BM, BN])
            while tile >= before and tile < before + here:
                m = (tile - before) // across * BM
                n = (tile - before) % across * BN
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                for k in tl.range(0, tl.cdiv(K, BK), num_stages=S):
                    acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
                c.store([m, n], acc.to(c_ptr.dtype.element_ty))
                tile += tl.num_programs(0)
        before += here

@triton.jit
def batches(a_ptr, b_ptr, c_ptr, B, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr,
            FLAT: tl.constexpr, WS: tl.constexpr):
    for i in tl.range(tl.program_id(0), B, tl.num_programs(0), num_stages=S, flatten=FLAT, warp_specialize=WS):
        a = tl.make_tensor_descriptor(a_ptr + i * M * K, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
        b = tl.make_tensor_descriptor(b_ptr + i * N * K, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
        c = tl.make_tensor_descriptor(c_ptr + i * M * N, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK), num_stages=S):
            acc = tl.dot(a.load([0, k * BK]), b.load([0, k * BK]).T, acc)
        c.store([0, 0], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def each(a_ptr, b_ptr, c_ptr, B, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr,
         FLAT: tl.constexpr, WS: tl.constexpr):
    if tl.program_id(0) >= B:
        return
    i = tl.program_id(0)
    a = tl.make_tensor_descriptor(a_ptr + i * M * K, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=S):
        b = tl.make_tensor_descriptor(b_ptr + i * N * K + k * BK, shape=[N, K - k * BK], strides=[K, 1], block_shape=[BN, BK])
        acc = tl.dot(a.load([0, k * BK]), b.load([0, 0]).T, acc)
    for n in tl.range(0, N, BN, num_stages=S):
        c = tl.make_tensor_descriptor(c_ptr + i * M * N + n, shape=[M, N - n], strides=[N, 1], block_shape=[BM, BN])
        if n == 0:
            c.store([0, 0], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def lines(x_ptr, y_ptr, at_ptr, T, M, N, BM: tl.constexpr, BN: tl.constexpr, S: tl.constexpr):
    for i in tl.range(0, T, num_stages=S):
        at = tl.load(at_ptr + i)
        if at >= 0:
            x = tl.make_tensor_descriptor(x_ptr + at * M * N, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
            v = x.load([0, 0]) + at
        else:
            v = tl.zeros((BM, BN), dtype=x_ptr.dtype.element_ty)
        y = tl.make_tensor_descriptor(y_ptr + i * M * N, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        y.store([0, 0], v)

@triton.jit
def many(a_ptr, b_ptr, c_ptr, d_ptr, A, B, C, D, n: tl.constexpr, LAST: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[A], strides=[1], block_shape=[n])
    b = tl.make_tensor_descriptor(b_ptr, shape=[B, D], strides=[D, 1], block_shape=[4, n], padding_option='nan')
    c = tl.make_tensor_descriptor(c_ptr, shape=[C, B, D], strides=[B * D, D, 1], block_shape=[2, 4, n])
    d = tl.make_tensor_descriptor(d_ptr, shape=[2, C, B, D], strides=[C * B * D, B * D, D, 1], block_shape=[1, 2, 4, n])
    line = tl.program_id(0) * n
    sum = b.load([0, line]) + a.load([line])[None, :]
    block = c.load([0, 0, line]).to(tl.float32) + tl.where(sum == sum, sum, 5)[None, :, :]
    if LAST:
        e = tl.make_tensor_descriptor(d_ptr, shape=[2, C, B, D], strides=[C * B * D, B * D, D, 1], block_shape=[2, 2, 4, n])
        e.store([0, 0, 0, line], tl.broadcast_to(block[None, :, :, :], (2, 2, 4, n)).to(d_ptr.dtype.element_ty))
    else:
        d.store([1, 0, 0, line], block[None, :, :, :].to(d_ptr.dtype.element_ty))

@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUB: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN if not SUB else BN // 2])
    start = tl.program_id(0)
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    tile_c = start - tl.num_programs(0)
    for tile in tl.range(start, tiles, tl.num_programs(0), flatten=True):
        m = tile // across * BM
        n = tile % across * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
        tile_c += tl.num_programs(0)
        m = tile_c // across * BM
        n = tile_c % across * BN
        if SUB:
            half = tl.reshape(acc, (BM, 2, BN // 2))
            half = tl.permute(half, (0, 2, 1))
            x, y = tl.split(half)
            c.store([m, n], x.to(c_ptr.dtype.element_ty))
            c.store([m, n + BN // 2], y.to(c_ptr.dtype.element_ty))
        else:
            c.store([m, n], acc.to(c_ptr.dtype.element_ty))
`

// products writes to want what a times the transpose of b is: m rows of k at a, of n rows
// of k at b, and of n at c, with rowC from one to the next.
func products(a, b *array.Array, m, n, k, atA, rowA, atB, atC, rowC int, want []float64) {
	for i := range m {
		for j := range n {
			sum := 0.0
			for x := range k {
				sum += a.At(atA+i*rowA+x) * b.At(atB+j*k+x)
			}
			want[atC+i*rowC+j] = sum
		}
	}
}

// TestTMAGroups: groups of matrices of sizes that only memory knows, by descriptors that
// a loop makes for each. Between rows of c, whatever their length, nothing is written.
func TestTMAGroups(t *testing.T) {
	for i := range 8 {
		r := kerneltest.Rand(t)
		pick := func(list ...int) int { return list[r.IntN(len(list))] }
		bm, bn, bk, warps, stages := pick(16, 64, 128), pick(32, 64), pick(32, 64), pick(4, 8), pick(1, 2, 3, 4)
		ctas := 1
		if i%3 == 2 {
			ctas, bm, bn = 2, 64, 64
		}
		count, loose := r.IntN(5), i%2 == 1
		t.Run(fmt.Sprintf("%d groups/of %dx%dx%d/warps=%d/stages=%d/ctas=%d/loose=%v", count, bm, bn, bk, warps, stages, ctas, loose), func(t *testing.T) {
			table := kerneltest.Zeros("i32", 8*max(count, 1))
			var sizes [3]int
			for g := range count {
				m, n, k := 1+r.IntN(2*bm), 8*(1+r.IntN(2*bn/8)), 8*(1+r.IntN(20))
				row, line := k+8*r.IntN(3), n
				if loose {
					line += 8 * r.IntN(3)
					n = max(n-r.IntN(8)*r.IntN(2), 1)
				}
				for at, v := range []int{m, n, k, sizes[0], sizes[1], sizes[2], row, line} {
					table.Set(8*g+at, float64(v))
				}
				sizes[0] += m*row + 8 - m*row%8
				sizes[1] += n * k
				sizes[2] += m * line
			}
			a, b := kerneltest.Randint(r, -2, 2, "fp16", sizes[0]+8), kerneltest.Randint(r, -2, 2, "fp16", sizes[1]+8)
			c := kerneltest.Full(77, "fp16", sizes[2]+8)
			want := make([]float64, c.Len())
			for i := range want {
				want[i] = 77
			}
			for g := range count {
				at := func(i int) int { return int(table.At(8*g + i)) }
				products(a, b, at(0), at(1), at(2), at(3), at(6), at(4), at(5), at(7), want)
			}
			ran := kerneltest.Kernel{Source: madeAgain, Name: "groups"}.On("cuda:90").Warps(warps).With(kerneltest.Options{"num_ctas": ctas}).
				Run(t, kerneltest.Grid(1+r.IntN(3)), a, b, c, table, count, bm, bn, bk, stages, loose)
			copiedBy(t, ran, true)
			kerneltest.Equal(t, "c", c, want)
		})
	}
}

// TestTMAMadeAgain: descriptors that each iteration makes, of loops with and without
// others inside, which copies and stores overlap with; and after a return.
func TestTMAMadeAgain(t *testing.T) {
	for i := range 12 {
		r := kerneltest.Rand(t)
		pick := func(list ...int) int { return list[r.IntN(len(list))] }
		bm, bn, bk, warps, stages := pick(64, 128), pick(32, 64), pick(32, 64), pick(4, 8), pick(1, 2, 3, 4)
		name := []string{"batches", "each"}[i%2]
		flat, special := i%6 == 2, i%6 == 4
		if special {
			warps = 4
		}
		count, m, n, k := pick(1, 3, 5), 1+r.IntN(bm), 16*(1+r.IntN(bn/16)), 16*(1+r.IntN(15))
		t.Run(fmt.Sprintf("%s/%d of %dx%dx%d/of %dx%dx%d/warps=%d/stages=%d/flat=%v/special=%v", name, count, m, n, k, bm, bn, bk, warps, stages, flat, special), func(t *testing.T) {
			a, b := kerneltest.Randint(r, -2, 2, "fp16", count, m, k), kerneltest.Randint(r, -2, 2, "fp16", count, n, k)
			c := kerneltest.Full(77, "fp16", count, m, n)
			want := make([]float64, c.Len())
			for g := range count {
				products(a, b, m, n, k, g*m*k, k, g*n*k, g*m*n, n, want)
			}
			programs := 2
			if name == "each" {
				programs = count + 1
			}
			ran := kerneltest.Kernel{Source: madeAgain, Name: name}.On("cuda:90").Warps(warps).
				Run(t, kerneltest.Grid(programs), a, b, c, count, m, n, k, bm, bn, bk, stages, flat, special)
			copiedBy(t, ran, true)
			if strings.Contains(ran.PTX, "setmaxnreg") {
				t.Error("the kernel is divided among warps, and a loop makes its descriptors")
			}
			kerneltest.Equal(t, "c", c, want)
		})
	}
}

// TestTMALines: blocks through descriptors that conditions and loops without dots make.
func TestTMALines(t *testing.T) {
	for _, stages := range []int{1, 2, 3} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				bm, bn := []int{1, 4, 16}[r.IntN(3)], []int{16, 64, 128}[r.IntN(3)]
				m, n := 1+r.IntN(bm+2), 16*(1+r.IntN(bn/16))
				x := kerneltest.Randint(r, -99, 99, "fp32", 4, m, n)
				y := kerneltest.Full(77, "fp32", max(trips, 1), m, n)
				at := kerneltest.Zeros("i32", max(trips, 1))
				want := make([]float64, y.Len())
				for i := range want {
					want[i] = 77
				}
				for i := range trips {
					from := r.IntN(6) - 2
					at.Set(i, float64(from))
					for row := range min(bm, m) {
						for column := range min(bn, n) {
							v := 0.0
							if from >= 0 {
								v = x.At((from*m+row)*n+column) + float64(from)
							}
							want[(i*m+row)*n+column] = v
						}
					}
				}
				ran := kerneltest.Kernel{Source: madeAgain, Name: "lines"}.On("cuda:90").With(kerneltest.Options{"tma": "always"}).
					Run(t, kerneltest.Grid(1), x, y, at, trips, m, n, bm, bn, stages)
				copiedBy(t, ran, true)
				kerneltest.Equal(t, "y", y, want)
			})
		}
	}
}

// TestTMAMaps: several tensor maps, of other ranks and types, that are made together, by as
// many warps as there are.
func TestTMAMaps(t *testing.T) {
	for _, warps := range []int{1, 2, 4, 8} {
		for _, last := range []bool{false, true} {
			t.Run(fmt.Sprintf("warps=%d/last=%v", warps, last), func(t *testing.T) {
				r := kerneltest.Rand(t)
				n := []int{16, 32, 128}[r.IntN(3)]
				line, rows, blocks := 16*(1+r.IntN(2*n/16)), 1+r.IntN(6), 1+r.IntN(4)
				length := 16 * (1 + r.IntN(line/16))
				a, b, c := kerneltest.Randint(r, -99, 99, "fp32", length), kerneltest.Randint(r, -99, 99, "fp32", rows, line), kerneltest.Randint(r, -99, 99, "fp16", blocks, rows, line)
				d := kerneltest.Full(77, "fp16", 2, blocks, rows, line)
				want := make([]float64, d.Len())
				for i := range want {
					x, y, z, half := i%line, i/line%rows, i/line/rows%blocks, i/line/rows/blocks
					want[i] = 77
					if y < 4 && z < 2 && (last || half == 1) {
						want[i] = c.At((z*rows+y)*line+x) + b.At(y*line+x)
						if x < length {
							want[i] += a.At(x)
						}
					}
				}
				ran := kerneltest.Kernel{Source: madeAgain, Name: "many"}.On("cuda:90").Warps(warps).With(kerneltest.Options{"tma": "always"}).
					Run(t, kerneltest.Grid((line+n-1)/n), a, b, c, d, length, rows, blocks, line, n, last)
				copiedBy(t, ran, true)
				kerneltest.Equal(t, "d", d, want)
				// Three maps that are loaded through, and another before them or at the end.
				fences := map[bool]int{false: (4 + warps - 1) / warps, true: (3+warps-1)/warps + 1}[last]
				if got := strings.Count(ran.PTX, "fence.proxy.tensormap::generic.acquire"); got != fences && ran.HasForm(t, nil) {
					t.Errorf("%d times a map is acquired, want %d", got, fences)
				}
			})
		}
	}
}

// TestPersistent: persistent matmuls as Triton's tutorial writes them, whose tiles are
// stored whole or in halves while those after are loaded.
func TestPersistent(t *testing.T) {
	for i := range 6 {
		r := kerneltest.Rand(t)
		pick := func(list ...int) int { return list[r.IntN(len(list))] }
		bm, bn, bk, warps, halves := pick(64, 128), pick(64, 128), pick(32, 64), pick(4, 8), i%2 == 1
		m, n, k := 1+r.IntN(3*bm), 16*(1+r.IntN(3*bn/16)), 16*(1+r.IntN(16))
		t.Run(fmt.Sprintf("%dx%dx%d/of %dx%dx%d/warps=%d/halves=%v", m, n, k, bm, bn, bk, warps, halves), func(t *testing.T) {
			a, b := kerneltest.Randint(r, -2, 2, "fp16", m, k), kerneltest.Randint(r, -2, 2, "fp16", n, k)
			c := kerneltest.Full(77, "fp16", m, n)
			want := make([]float64, c.Len())
			products(a, b, m, n, k, 0, k, 0, 0, n, want)
			ran := kerneltest.Kernel{Source: madeAgain, Name: "persistent"}.On("cuda:90").Warps(warps).
				Run(t, kerneltest.Grid(pick(1, 2, 3)), a, b, c, m, n, k, bm, bn, bk, halves)
			copiedBy(t, ran, true)
			kerneltest.Equal(t, "c", c, want)
		})
	}
}
