package kernels

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// turnsChips are chips with MFMA, on all of which warps can take turns, their floats of 8 bits,
// and whether dots of these are by scaled MFMA, which no schedule is for.
var turnsChips = []struct {
	name, fp8 string
	scaled    bool
}{{"hip:gfx942", "fp8e4b8", false}, {"hip:gfx950", "fp8e4nv", true}}

// productTurned is a matmul whose right operand has columns of contiguous elements.
const productTurned = `import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + at + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K - at), other=0.0)
        y = tl.load(b + n[None, :] * K + at + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K - at), other=0.0)
        sum = tl.dot(x, y, sum)
    tl.store(c + m[:, None] * N + n[None, :], sum, mask=(m[:, None] < M) & (n[None, :] < N))
`

// TestTurns: matmuls in the forms for which block-pingpong has schedules, of which those of
// eight warps keep half of them a cluster apart; the simulated device reports what the
// halves do to the same bytes of LDS without two barriers between. Trip counts are 0 to 3.
func TestTurns(t *testing.T) {
	onChips(t)
	for _, chip := range turnsChips {
		for _, c := range []struct {
			typ        string
			warps      int
			bm, bn, bk int
			turns      bool
		}{
			{"fp16", 4, 128, 128, 64, true}, // one cluster
			{"fp16", 8, 128, 128, 128, true},
			{"bf16", 8, 256, 128, 64, true},            // two clusters
			{chip.fp8, 8, 256, 128, 128, !chip.scaled}, // of bytes
			{"fp32", 8, 128, 256, 32, true},            // of words
			{"fp16", 8, 256, 256, 64, true},            // four
			{chip.fp8, 8, 256, 256, 128, !chip.scaled}, // of bytes
			{"fp16", 8, 128, 128, 64, false},           // too small
		} {
			t.Run(fmt.Sprintf("%s/%s/%dx%dx%d/warps=%d", chip.name, c.typ, c.bm, c.bn, c.bk, c.warps), func(t *testing.T) {
				r := kerneltest.Rand(t)
				m, n, k := c.bm-16-r.IntN(9), c.bn-32-r.IntN(9), 16*(1+r.IntN(c.bk/4)) // rows are aligned
				a, b, out := kerneltest.Randn(r, c.typ, m, k), kerneltest.Randn(r, c.typ, n, k), kerneltest.Empty("fp32", m, n)
				o := kerneltest.Options{"num_warps": c.warps, "num_stages": 2, "matrix_instr_nonkdim": 32, "use_block_pingpong": true}
				ran := kerneltest.Kernel{Source: productTurned, Target: chip.name, Options: o}.Run(t, kerneltest.Grid(1), a, b, out, m, n, k, c.bm, c.bn, c.bk)
				if got := strings.Contains(ran.PTX, "s_setprio"); got != c.turns {
					t.Errorf("warps take turns: %v, want %v", got, c.turns)
				}
				turned := kerneltest.Zeros(c.typ, k, n)
				for i := range n {
					for j := range k {
						turned.Set(j*n+i, b.At(i*k+j))
					}
				}
				kerneltest.Near(t, "out", out, product(a, turned, m, n, k), 1e-2, 2e-2)
			})
		}
	}
}

// TestTurnsOfAttention: the two dots of attention, with four warps, which take turns with those
// of another program, and with eight.
func TestTurnsOfAttention(t *testing.T) {
	onChips(t)
	for _, chip := range turnsChips {
		for _, c := range []struct{ warps, bm, bn, ctx int }{
			{4, 128, 32, 128}, {4, 128, 64, 384}, {8, 256, 32, 256}, {8, 256, 32, 32},
		} {
			t.Run(fmt.Sprintf("%s/%dx%d/warps=%d/ctx=%d", chip.name, c.bm, c.bn, c.warps, c.ctx), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const d = 64
				scale := 1 / math.Sqrt(d)
				q, k, v := kerneltest.Randn(r, "fp16", c.bm, d), kerneltest.Randn(r, "fp16", c.ctx, d), kerneltest.Randn(r, "fp16", c.ctx, d)
				o, l := kerneltest.Empty("fp16", c.bm, d), kerneltest.Empty("fp32", c.bm)
				options := kerneltest.Options{"num_warps": c.warps, "num_stages": 4, "matrix_instr_nonkdim": 32, "use_block_pingpong": true}
				ran := kernels("flash_fwd").On(chip.name).With(options).
					Run(t, kerneltest.Grid(1), q, k, v, o, l, scale, c.bm*d, c.bm*d, d, 1, 1, c.ctx, c.bm, c.bn, d, false)
				if !strings.Contains(ran.PTX, "s_setprio") {
					t.Error("warps do not take turns")
				}
				want := make([]float64, c.bm*d)
				for i := range c.bm {
					s := make([]float64, c.ctx)
					for j := range s {
						for e := range d {
							s[j] += q.At(i*d+e) * k.At(j*d+e) * scale
						}
					}
					for j, p := range softmax(s, c.ctx) {
						for e := range d {
							want[i*d+e] += p * v.At(j*d+e)
						}
					}
				}
				kerneltest.Near(t, "o", o, want, 2e-2, 5e-3)
			})
		}
	}
}
