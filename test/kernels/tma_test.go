package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

const throughDescriptors = `
import triton
import triton.language as tl

@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr,
            FLAT: tl.constexpr, S: tl.constexpr, SUM: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    if ROWS:
        b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    else:
        b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten=FLAT):
        m = tile // columns * BM
        n = tile % columns * BN
        acc = tl.zeros((BM, BN), SUM)
        for k in tl.range(0, tl.cdiv(K, BK), num_stages=S):
            x = a.load([m, k * BK])
            if ROWS:
                y = b.load([n, k * BK]).T
            else:
                y = b.load([k * BK, n])
            acc = tl.dot(x, y, acc, out_dtype=SUM)
        c.store([m, n], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def rows(x_ptr, i_ptr, y_ptr, z_ptr, M, N, TURNS, BM: tl.constexpr, BN: tl.constexpr, S: tl.constexpr, PAD: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN], padding_option=PAD)
    one = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[1, BN])
    y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    z = tl.make_tensor_descriptor(z_ptr, shape=[BN], strides=[1], block_shape=[BN])
    sum = tl.zeros((BM, BN), tl.float32)
    last = tl.zeros((BN,), tl.float32)
    for i in tl.range(0, TURNS, num_stages=S):
        at = tl.load(i_ptr + i)
        v = x.load([at, 0])
        sum += tl.where(v == v, v, 3)
        last += one.load([i, 0]).reshape((BN,))
        if i % 2 == 0:
            y.store([i * BM, 0], v + 1)
    y.store([TURNS * BM, 0], sum)
    z.store([0], last)
`

// Copies by TMA leave the bytes that pointers leave, for dots and sums of any
// number of iterations and stages, of many types and tiles.
func TestTMAProducts(t *testing.T) {
	type types struct{ in, out, sum string }
	kinds := []types{
		{"fp16", "fp16", "float32"}, {"bf16", "fp32", "float32"}, {"fp32", "fp32", "float32"}, {"fp8e5", "fp16", "float32"}, {"i8", "i32", "int32"},
	}
	for i := range 10 {
		r := kerneltest.Rand(t)
		pick := func(list ...int) int { return list[r.IntN(len(list))] }
		kind, bk := kinds[i%len(kinds)], pick(32, 64, 128)
		bm, bn, warps, stages := pick(16, 32, 64, 128), pick(32, 64, 128), pick(2, 4, 8), pick(1, 2, 3, 4)
		if bm*bn > 32*32*warps*4 || (bm+bn)*bk > 1<<14 { // such tiles take long
			bm, bn, bk = 32, 32, 32
		}
		// A buffer for each stage and for the dot still at work, one for the result, one in
		// which wgmma finds tf32 of b along k, and barriers.
		for 4*((bm+bn)*bk*(stages+1)+bm*bn+bn*bk) > 226<<10 {
			stages--
		}
		m, n, k := 16*(1+r.IntN(8)), 16*(1+r.IntN(8)), pick(16, bk, 2*bk, 3*bk-16, 5*bk)
		inRows, flat := r.IntN(2) == 0, r.IntN(2) == 0
		t.Run(fmt.Sprintf("%s/%dx%dx%d/of %dx%dx%d/warps=%d/stages=%d/rows=%v/flat=%v", kind.in, m, n, k, bm, bn, bk, warps, stages, inRows, flat), func(t *testing.T) {
			a, b := kerneltest.Randint(r, -9, 9, kind.in, m, k), kerneltest.Randint(r, -9, 9, kind.in, n, k)
			sum := kerneltest.Expr("tl." + kind.sum)
			var got [2][]float64
			for way, tma := range []bool{false, true} {
				c := kerneltest.Full(77, kind.out, m, n)
				ran := kerneltest.Kernel{Source: throughDescriptors, Name: "product"}.On("cuda:90").Warps(warps).With(kerneltest.Options{"tma": map[bool]string{false: "never", true: "always"}[tma]}).
					Run(t, kerneltest.Grid(2), a, b, c, m, n, k, bm, bn, bk, inRows, flat, stages, sum)
				copiedBy(t, ran, tma)
				for at := range m * n {
					got[way] = append(got[way], c.At(at))
				}
			}
			same(t, got)
		})
	}
}

// TestTMARows: blocks at places that were loaded, over the edges, of fewer
// dimensions, stored under a condition; blocks that begin before the tensor.
func TestTMARows(t *testing.T) {
	for _, stages := range []int{1, 2, 3, 5} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				bm, bn := []int{1, 4, 16}[r.IntN(3)], []int{16, 64, 128}[r.IntN(3)]
				m, n := 6*bm+1, bn-16*r.IntN(bn/16)
				x := kerneltest.Randn(r, "fp32", m, n)
				index := kerneltest.Zeros("i32", max(trips, 1))
				for i := range trips {
					index.Set(i, float64(r.IntN(m+2*bm)-bm))
				}
				pad := []string{"zero", "nan"}[r.IntN(2)]
				var got [2][]float64
				for way, tma := range []bool{false, true} {
					y, z := kerneltest.Full(77, "fp32", m, n), kerneltest.Full(77, "fp32", bn)
					ran := kerneltest.Kernel{Source: throughDescriptors, Name: "rows"}.On("cuda:90").With(kerneltest.Options{"tma": map[bool]string{false: "never", true: "always"}[tma]}).
						Run(t, kerneltest.Grid(1), x, index, y, z, m, n, trips, bm, bn, stages, kerneltest.Expr("'"+pad+"'"))
					copiedBy(t, ran, tma)
					for at := range m * n {
						got[way] = append(got[way], y.At(at))
					}
					for at := range bn {
						got[way] = append(got[way], z.At(at))
					}
				}
				same(t, got)
			})
		}
	}
}

// copiedBy checks which way a kernel copies.
func copiedBy(t *testing.T, ran *kerneltest.Outcome, tma bool) {
	t.Helper()
	if got := strings.Contains(ran.PTX, "cp.async.bulk.tensor"); got != tma && ran.HasForm(t, nil) {
		t.Errorf("copies by TMA: %v, want %v", got, tma)
	}
}

// same checks that two ways have one result.
func same(t *testing.T, got [2][]float64) {
	t.Helper()
	for at, want := range got[0] {
		if x := got[1][at]; x != want && (x == x || want == want) {
			t.Fatalf("[%d] is %v by TMA, %v by pointers", at, x, want)
		}
	}
}
