package kernels

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// Kernels that ask for groups of warps: some copy, others compute.
const warpGroups = `
import triton
import triton.language as tl

@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, WS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m = tl.program_id(0) // tl.cdiv(N, BN) * BM
    n = tl.program_id(0) % tl.cdiv(N, BN) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=WS, num_stages=S):
        acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, WS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), tl.num_programs(0), warp_specialize=WS):
        m = tile // tl.cdiv(N, BN) * BM
        n = tile % tl.cdiv(N, BN) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(tl.cdiv(K, BK), num_stages=S):
            acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
        c.store([m, n], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def pointers(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, WS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    m = tl.program_id(0) // tl.cdiv(N, BN) * BM
    n = tl.program_id(0) % tl.cdiv(N, BN) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=WS, num_stages=S):
        acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
    rows = m + tl.arange(0, BM)
    columns = n + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    old = tl.load(c_ptr + rows[:, None] * N + columns[None, :], mask=inside, other=0)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], (acc + old).to(c_ptr.dtype.element_ty), mask=inside)

@triton.jit
def registers(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, WS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m = tl.program_id(0) // tl.cdiv(N, BN) * BM
    n = tl.program_id(0) % tl.cdiv(N, BN) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=WS, num_stages=S):
        x = a.load([m, k * BK])
        acc = tl.dot(x * 0.5 + x * 0.5, b.load([n, k * BK]).T, acc)
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def twice(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, WS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m = tl.program_id(0) // tl.cdiv(N, BN) * BM
    n = tl.program_id(0) % tl.cdiv(N, BN) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    half = tl.cdiv(K, BK) // 2
    for k in tl.range(half, warp_specialize=WS, num_stages=S):
        acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
    for k in tl.range(half, tl.cdiv(K, BK), num_stages=S):
        acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def arguments(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=True, num_stages=S):
        acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
    c.store([m, n], acc.to(tl.float16))

@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, M, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, S: tl.constexpr, WS: tl.constexpr):
    qd = tl.make_tensor_descriptor(q_ptr, shape=[M, D], strides=[D, 1], block_shape=[BM, D])
    kd = tl.make_tensor_descriptor(k_ptr, shape=[N, D], strides=[D, 1], block_shape=[BN, D])
    vd = tl.make_tensor_descriptor(v_ptr, shape=[N, D], strides=[D, 1], block_shape=[BN, D])
    od = tl.make_tensor_descriptor(o_ptr, shape=[M, D], strides=[D, 1], block_shape=[BM, D])
    m = tl.program_id(0) * BM
    most = tl.full([BM], -1e30, tl.float32)
    sum = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    q = qd.load([m, 0])
    for n in tl.range(0, N, BN, warp_specialize=WS, num_stages=S):
        s = tl.dot(q, kd.load([n, 0]).T) * scale
        s = tl.where(n + tl.arange(0, BN)[None, :] < N, s, -1e30)
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(most - new)
        sum = sum * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v_ptr.dtype.element_ty), vd.load([n, 0]), acc * alpha[:, None])
        most = new
    od.store([m, 0], (acc / sum[:, None]).to(o_ptr.dtype.element_ty))
    tl.store(l_ptr + m + tl.arange(0, BM), most + tl.log2(sum), mask=m + tl.arange(0, BM) < M)
`

func warpGroupKernel(name string, random bool) kerneltest.Kernel {
	return kerneltest.Kernel{Source: warpGroups, Name: name, Target: "cuda:90", Sim: simulated.Options{Random: random, Seed: 7}}
}

// groups is how many groups of warps a kernel's PTX has: by its barriers.
func groups(ptx string) int {
	n := 1
	for id := 2; strings.Contains(ptx, fmt.Sprintf("bar.sync \t%d, ", id)); id++ {
		n++
	}
	return n
}

// TestWarpGroupProducts: what warps compute of what others copy is right, whatever the
// numbers of buffers and iterations, and nothing overtakes them.
func TestWarpGroupProducts(t *testing.T) {
	type tile struct{ bm, bn, bk int }
	for _, c := range []struct {
		name, typ string
		tile
		most int // buffers for which there is shared memory; 0: any number
	}{
		{"product", "fp16", tile{128, 64, 64}, 0},
		{"product", "fp16", tile{64, 128, 32}, 0},
		{"product", "bf16", tile{128, 128, 64}, 0},
		{"product", "fp8e4nv", tile{128, 64, 64}, 0},
		{"product", "fp16", tile{64, 256, 64}, 4}, // with four, a dot runs on
		{"product", "fp8e5", tile{256, 64, 128}, 4},
		{"persistent", "fp16", tile{128, 64, 64}, 0},
		{"persistent", "fp16", tile{64, 64, 64}, 0},
		{"pointers", "fp16", tile{128, 64, 64}, 0},
		{"registers", "fp16", tile{128, 64, 64}, 0},
		{"twice", "fp16", tile{128, 64, 64}, 4},
	} {
		for _, stages := range []int{1, 2, 3, 4, 5} {
			for _, trips := range []int{0, 1, 2, 3, 7} {
				if stages > 3 && trips == 2 {
					continue
				}
				name := fmt.Sprintf("%s/%s/%dx%dx%d/stages=%d/trips=%d", c.name, c.typ, c.bm, c.bn, c.bk, stages, trips)
				t.Run(name, func(t *testing.T) {
					r := kerneltest.Rand(t)
					m, n := c.bm/2+1+r.IntN(2*c.bm), 16*(1+r.IntN(2*c.bn/16))
					k := max(0, trips*c.bk-16*r.IntN(2))
					grid := (m + c.bm - 1) / c.bm * ((n + c.bn - 1) / c.bn)
					if c.name == "persistent" {
						grid = (grid + 2) / 3
					}
					a, b := kerneltest.Randn(r, c.typ, m, max(k, 16)), kerneltest.Randn(r, c.typ, n, max(k, 16))
					typ := map[bool]string{true: "fp16", false: "fp32"}[c.name != "pointers"]
					out := kerneltest.Zeros(typ, m, n)
					ran := warpGroupKernel(c.name, trips%2 == 1).Run(t, kerneltest.Grid(grid), a, b, out, m, n, k, c.bm, c.bn, c.bk, stages, true)
					want := make([]float64, m*n)
					if k > 0 {
						want = product(a, transposed(b, "fp32", n, k), m, n, k)
					}
					kerneltest.Near(t, "out", out, want, 2e-3, 0.01+0.002*float64(k))
					parts := 2
					switch {
					case c.most > 0 && stages > c.most:
						parts = 1
					case c.bm >= 128:
						parts = 3
					}
					if !ran.HasForm(t, oneBlock) {
						return
					}
					if got := groups(ran.PTX); got != parts {
						t.Errorf("%d groups of warps, want %d", got, parts)
					}
					if flies := c.bn == 256 && stages == 4; parts > 1 && flies != strings.Contains(ran.PTX, "wgmma.wait_group.sync.aligned 1;") {
						t.Errorf("a dot runs on: %v, want %v", !flies, flies)
					}
				})
			}
		}
	}
}

// TestWarpGroupArguments: descriptors that the launch makes; that of the result is for the
// half that each partition stores.
func TestWarpGroupArguments(t *testing.T) {
	const bn, bk = 64, 64
	for _, bm := range []int{64, 128} {
		for _, stages := range []int{1, 3} {
			t.Run(fmt.Sprintf("%d rows/stages=%d", bm, stages), func(t *testing.T) {
				r := kerneltest.Rand(t)
				m, n, k := bm+1+r.IntN(bm), 16*(1+r.IntN(8)), 16*(1+r.IntN(20))
				a, b, c := kerneltest.Randn(r, "fp16", m, k), kerneltest.Randn(r, "fp16", n, k), kerneltest.Zeros("fp16", m, n)
				ran := warpGroupKernel("arguments", stages == 3).Run(t, kerneltest.Grid(cdiv(m, bm), cdiv(n, bn)), &launch.Descriptor{Array: a, Block: []int{bm, bk}},
					&launch.Descriptor{Array: b, Block: []int{bn, bk}}, &launch.Descriptor{Array: c, Block: []int{bm, bn}}, k, bm, bn, bk, stages)
				kerneltest.Near(t, "c", c, product(a, transposed(b, "fp32", n, k), m, n, k), 2e-3, 0.01+0.002*float64(k))
				if got := groups(ran.PTX); got != 1+bm/64 && ran.HasForm(t, oneBlock) {
					t.Errorf("%d groups of warps, want %d", got, 1+bm/64)
				}
			})
		}
	}
}

// TestWarpGroupAttention: two dots an iteration, of which the second reads registers,
// and a load before the loop.
func TestWarpGroupAttention(t *testing.T) {
	for _, c := range [][3]int{{64, 64, 64}, {128, 64, 64}, {128, 128, 64}} {
		bm, bn, d := c[0], c[1], c[2]
		for _, stages := range []int{1, 2, 3} {
			for _, trips := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%dx%dx%d/stages=%d/trips=%d", bm, bn, d, stages, trips), func(t *testing.T) {
					r := kerneltest.Rand(t)
					m, n := bm+r.IntN(bm), trips*bn-r.IntN(bn-1) // a length of 1 is a constant, and no loop
					q, k, v := kerneltest.Randn(r, "fp16", m, d), kerneltest.Randn(r, "fp16", n, d), kerneltest.Randn(r, "fp16", n, d)
					o, l := kerneltest.Zeros("fp16", m, d), kerneltest.Zeros("fp32", m)
					const scale = 0.2
					ran := warpGroupKernel("attention", trips == 2).Run(t, kerneltest.Grid((m+bm-1)/bm), q, k, v, o, l, m, n, scale, bm, bn, d, stages, true)
					s := product(q, transposed(k, "fp32", n, d), m, n, d)
					want, sums, values := make([]float64, m*d), make([]float64, m), v.Floats()
					for i := range m {
						for j := range n {
							p := math.Exp2(s[i*n+j] * scale)
							sums[i] += p
							for e := range d {
								want[i*d+e] += p * values[j*d+e]
							}
						}
						for e := range d {
							want[i*d+e] /= sums[i]
						}
						sums[i] = math.Log2(sums[i])
					}
					kerneltest.Near(t, "o", o, want, 1e-2, 1e-2)
					kerneltest.Near(t, "l", l, sums, 1e-3, 1e-3)
					if got := groups(ran.PTX); got < 2 && ran.HasForm(t, oneBlock) {
						t.Errorf("%d groups of warps", got)
					}
				})
			}
		}
	}
}
