package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

const scaledDots = `
import triton
import triton.language as tl

@triton.jit
def scaled(a_ptr, b_ptr, c_ptr, sa_ptr, sb_ptr, M, N, K, PARTS, SPAN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_at = a_ptr + (rows % M)[:, None] * K + ks[None, :]
    b_at = b_ptr + ks[:, None] + (cols % N)[None, :] * K
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=(ks < K - k * BK)[None, :], other=0.0)
        b = tl.load(b_at, mask=(ks < K - k * BK)[:, None], other=0.0)
        at = k * BK // SPAN
        sa = tl.load(sa_ptr + rows % M * PARTS + at)
        sb = tl.load(sb_ptr + (cols % N) // SPAN * PARTS + at)
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
        a_at += BK
        b_at += BK
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows < M)[:, None] & (cols < N)[None, :])
`

// TestScaledDots: dots with a scale for each block of their operands, which an iteration
// loads while its dot runs.
func TestScaledDots(t *testing.T) {
	for _, c := range []struct {
		typ                   string
		bm, bn, warps, stages int
	}{{"fp16", 64, 64, 4, 3}, {"fp8e5", 128, 64, 8, 3}, {"fp16", 64, 128, 4, 2}, {"fp8e4nv", 64, 64, 4, 1}} {
		t.Run(fmt.Sprintf("%s/%dx%d/warps=%d/stages=%d", c.typ, c.bm, c.bn, c.warps, c.stages), func(t *testing.T) {
			r := kerneltest.Rand(t)
			const m, n, k, span = 80, 96, 208, 64
			parts := cdiv(k, span)
			a, b := kerneltest.Randint(r, -4, 4, c.typ, m, k), kerneltest.Randint(r, -4, 4, c.typ, n, k)
			sa, sb := kerneltest.Randint(r, 1, 9, "fp32", m, parts), kerneltest.Randint(r, 1, 9, "fp32", cdiv(n, span), parts)
			out := kerneltest.Empty("fp32", m, n)
			ran := kerneltest.Kernel{Source: scaledDots, Name: "scaled"}.On("cuda:90").Warps(c.warps).With(kerneltest.Options{"num_stages": c.stages}).
				Run(t, kerneltest.Grid(cdiv(m, c.bm), cdiv(n, c.bn)), a, b, out, sa, sb, m, n, k, parts, span, c.bm, c.bn, 64)
			if !strings.Contains(ran.PTX, "wgmma.mma_async") && ran.HasForm(t, oneBlock) {
				t.Error("no dot by wgmma")
			}
			kerneltest.Equal(t, "c", out, each(m*n, func(i int) float64 {
				sum := 0.0
				for x := range k {
					sum += a.At(i/n*k+x) * b.At(i%n*k+x) * sa.At(i/n*parts+x/span) * sb.At(i%n/span*parts+x/span)
				}
				return sum
			}))
		})
	}
}
