package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

const quotients = `
import triton
import triton.language as tl

@triton.jit
def quotients(out, table, start, N: tl.constexpr, LESS: tl.constexpr, BY: tl.constexpr, BELOW: tl.constexpr):
    i = tl.arange(0, N)
    x = i - LESS if BELOW else (start + i) % 512
    q = x // BY
    r = x % BY
    few = tl.where(r < BY // 2, 1, 0)
    tl.store(out + i, q)
    tl.store(out + N + i, r)
    tl.store(out + 2 * N + i, few)
    tl.store(out + 3 * N + i, tl.load(table + 64 + q))
`

// Numbers that follow one another have the same quotient only until a multiple of
// the divisor, and below zero that multiple has another one than its successors: towards zero.
func TestQuotientsOfNeighbours(t *testing.T) {
	r := kerneltest.Rand(t)
	k := kerneltest.Kernel{Source: quotients, Target: target}
	table := kerneltest.Randn(r, "fp32", 1024)
	for _, warps := range []int{1, 4} {
		for _, by := range []int{2, 16, 32} {
			for _, below := range []bool{true, false} {
				for range 2 {
					const n = 512
					less, start := 16*(1+r.IntN(4)), 16*(1+r.IntN(50))
					t.Run(fmt.Sprintf("warps=%d/by=%d/less=%d/start=%d/below=%t", warps, by, less, start, below), func(t *testing.T) {
						out := kerneltest.Empty("fp32", 4, n)
						k.With(kerneltest.Options{"num_warps": warps}).Run(t, kerneltest.Grid(1), out, table, start, n, less, by, below)
						for i := range n {
							x := i - less
							if !below {
								x = (start + i) % 512
							}
							want := []float64{float64(x / by), float64(x % by), 0, table.At(64 + x/by)}
							if x%by < by/2 {
								want[2] = 1
							}
							for j, w := range want {
								if got := out.At(j*n + i); got != w {
									t.Fatalf("row %d of %d (%d by %d): %v, not %v", j, i, x, by, got, w)
								}
							}
						}
					})
				}
			}
		}
	}
}

const blockScales = `
import triton
import triton.language as tl

@triton.jit
def block_scales(a, b, c, sa, sb, N, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPAN: tl.constexpr):
    cols = (tl.program_id(0) * BN + tl.arange(0, BN)) % N
    rows = tl.arange(0, M)
    ks = tl.arange(0, BK)
    a_at = a + rows[:, None] * K + ks[None, :]
    b_at = b + ks[:, None] + cols[None, :] * K
    steps = tl.cdiv(K, BK)
    acc = tl.zeros((M, BN), tl.float32)
    for k in range(0, steps):
        rest = K - k * BK
        x = tl.load(a_at, mask=(ks < rest)[None, :], other=0.0)
        product = tl.dot(x, tl.load(b_at, mask=(ks < rest)[:, None], other=0.0))
        acc += product * tl.load(sa + rows * steps + k)[:, None] * tl.load(sb + cols // SPAN * steps + k)[None, :]
        a_at += BK
        b_at += BK
    on = tl.program_id(0) * BN + tl.arange(0, BN)
    tl.store(c + rows[:, None] * N + on[None, :], acc, mask=(on < N)[None, :])
`

// The scales of neighbouring columns are one number, which a thread loads once, and
// which goes through shared memory once.
func TestBlockScales(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, c := range []struct {
		m, bn, warps, span int
	}{{64, 128, 4, 128}, {64, 64, 4, 32}, {128, 128, 8, 16}, {16, 32, 2, 64}, {64, 128, 4, 8}, {64, 64, 4, 1}} {
		const bk = 32
		n, steps := c.bn+16*(1+r.IntN(5)), 2+r.IntN(3)
		t.Run(fmt.Sprintf("%dx%d/span=%d/n=%d/steps=%d", c.m, c.bn, c.span, n, steps), func(t *testing.T) {
			kk := steps*bk - 16*r.IntN(2)
			a, b := kerneltest.Randn(r, "fp16", c.m, kk), kerneltest.Randn(r, "fp16", n, kk)
			sa, sb := kerneltest.Randn(r, "fp32", c.m, steps), kerneltest.Randn(r, "fp32", (n+c.span-1)/c.span, steps)
			out := kerneltest.Empty("fp32", c.m, n)
			k := kerneltest.Kernel{Source: blockScales, Target: "cuda:90", Options: kerneltest.Options{"num_warps": c.warps}}
			o := k.Run(t, kerneltest.Grid((n+c.bn-1)/c.bn), a, b, out, sa, sb, n, kk, c.m, c.bn, bk, c.span)
			want := make([]float64, c.m*n)
			for i := range c.m {
				for j := range n {
					for s := range steps {
						p := 0.0
						for k := s * bk; k < min((s+1)*bk, kk); k++ {
							p += a.At(i*kk+k) * b.At(j*kk+k)
						}
						want[i*n+j] += p * sa.At(i*steps+s) * sb.At(j/c.span*steps+s)
					}
				}
			}
			kerneltest.Near(t, "c", out, want, 2e-3, 1e-3)
			if !o.HasForm(t, oneBlock) {
				return
			}
			loop := o.PTX[strings.Index(o.PTX, "Inner Loop Header"):]
			loop = loop[:strings.Index(loop, "bra")]
			loads := strings.Count(loop, "ld.global.b32") + strings.Count(loop, "ld.shared.b32") +
				2*strings.Count(loop, "ld.shared.v2.b32") + 4*strings.Count(loop, "ld.shared.v4.b32")
			if columns := c.bn / 4; c.span > 1 && loads >= columns {
				t.Errorf("%d numbers are loaded for the scales of %d columns of a thread", loads, columns)
			}
			if c.m < 64 {
				return // not by warpgroups
			}
			copies, additions := strings.Count(loop, "cp.async.cg"), strings.Count(loop, "add.s64")
			if c.bn == 128 && c.warps == 4 && additions > 2*copies {
				t.Errorf("%d additions move the pointers of %d copies on", additions, copies)
			}
			// What a thread stores to shared memory is a conversion, which has a barrier.
			if n := strings.Count(loop, "bar.sync"); n != 1 && !strings.Contains(loop, "st.shared") {
				t.Errorf("%d barriers in an iteration", n)
			}
		})
	}
}
