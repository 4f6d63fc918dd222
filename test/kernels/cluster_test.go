package kernels

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// Kernels whose programs are clusters of several blocks. What they compute does not
// depend on how many.
const clustered = `
import triton
import triton.language as tl

@triton.jit
def add(X, Y, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Z + i, tl.load(X + i, i < n, other=0) + tl.load(Y + i, i < n, other=0) + tl.num_programs(0), i < n)

@triton.jit
def lines(X, S, A, C, T, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    at = i[:, None] * n + j[None, :]
    inside = (i[:, None] < m) & (j[None, :] < n)
    x = tl.load(X + at, inside, other=0)
    tl.store(S + i, tl.sum(x, 1), i < m)
    tl.store(S + m + j, tl.sum(x, 0), j < n)
    tl.store(A + i, tl.argmax(tl.where(inside, x, -100), 1), i < m)
    tl.store(C + at, tl.cumsum(x, 1), inside)
    tl.store(T + j[:, None] * m + i[None, :], tl.trans(x), (j[:, None] < n) & (i[None, :] < m))

@triton.jit
def whole(X, S, C, H, G, I, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i, i < n, other=0)
    total = tl.sum(x)
    tl.store(S, total)
    tl.store(S + 1, tl.max(x) + total * 0)
    tl.store(C + i, tl.cumsum(x), i < n)
    tl.store(H + tl.arange(0, 16), tl.histogram((x & 15).to(tl.int32), 16, mask=i < n))
    tl.store(G + i, tl.gather(x, tl.load(I + i, i < n, other=0), 0), i < n)

@triton.jit
def atomics(X, Old, Sums, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(Sums + i % 8, tl.load(X + i, i < n, other=0), i < n)
    old = tl.atomic_add(Sums + 8, 1)
    tl.store(Old + tl.program_id(0), old)
    tl.store(Old + tl.num_programs(0) + old + i * 0, old + 1, i < 1)

@triton.jit
def softmax(X, Y, n, N: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    x = tl.load(X + row * n + i, i < n, other=float('-inf'))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + row * n + i, e / tl.sum(e, 0), i < n)

@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DESC: tl.constexpr):
    i = tl.program_id(0) * M
    j = tl.program_id(1) * N
    rm = i + tl.arange(0, M)
    rn = j + tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    if DESC:
        da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
        db = tl.make_tensor_descriptor(b, [k, n], [n, 1], [K, N])
        dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
        for at in range(0, k, K):
            acc = tl.dot(da.load([i, at]), db.load([at, j]), acc)
        dc.store([i, j], acc.to(tl.float16))
    else:
        for at in range(0, k, K):
            rk = at + tl.arange(0, K)
            x = tl.load(a + rm[:, None] * k + rk[None, :], (rm[:, None] < m) & (rk[None, :] < k), other=0)
            y = tl.load(b + rk[:, None] * n + rn[None, :], (rk[:, None] < k) & (rn[None, :] < n), other=0)
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16), (rm[:, None] < m) & (rn[None, :] < n))

@triton.jit
def rows(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    s = tl.dot(x, y)
    tl.store(c + tl.arange(0, M), tl.sum(s, 1))
    tl.store(c + M + tl.arange(0, M), tl.max(s, 1))

@triton.jit
def looked_up(X, I, A, C, V, n, S: tl.constexpr):
    c = tl.arange(0, S)
    o = c[:, None] * S + c[None, :]
    v = o % 5
    acc = tl.zeros((S, S), tl.float32)
    for i in tl.range(0, n, num_stages=4):
        acc = tl.dot(v.to(tl.float16), tl.load(A + i * S * S + o), acc)
        v = tl.load(X + tl.load(I + i * S * S + o))
    tl.store(C + o, acc)
    tl.store(V + o, v)

@triton.jit
def chained(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    s = tl.dot(x, y).to(tl.float16)
    t = tl.dot(tl.trans(s), s)
    tl.store(c + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :], t)

@triton.jit
def blocks(src, dst, acc, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    d = tl.make_tensor_descriptor(src, [m, n], [n, 1], [M, N])
    e = tl.make_tensor_descriptor(dst, [m, n], [n, 1], [M, N])
    f = tl.make_tensor_descriptor(acc, [m, n], [n, 1], [M, N])
    for j in range(0, n, N):
        x = d.load([i, j])
        e.store([i, j], x * 2)
        f.atomic_add([i, j], x)

@triton.jit
def both(X, Y, Count, N: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.cat(tl.load(X + i), tl.load(Y + i), can_reorder=True)
    tl.atomic_add(Count + x[:, None] + tl.arange(0, M)[None, :] * 2 * N, 1)

@triton.jit
def copy(X, Y, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.extra.cuda.gdc_wait()
    x = tl.load(X + i, i < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(Y + i, x, i < n)

@triton.jit
def everybody(Count, Y):
    tl.atomic_add(Count, 1)
    while tl.atomic_add(Count, 0) < tl.num_programs(0):
        pass
    tl.store(Y + tl.program_id(0), tl.load(Count, volatile=True))

@triton.jit
def hand_over(Data, Flag, Out, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(Data + i, i * 3)
        tl.debug_barrier()
        tl.atomic_xchg(Flag, 1, sem='release')
    else:
        while tl.atomic_add(Flag, 0, sem='acquire') == 0:
            pass
        tl.store(Out + i, tl.load(Data + (N - 1 - i)))
`

// inCluster is a kernel of these for programs of so many blocks.
func inCluster(name string, ctas, warps int) kerneltest.Kernel {
	return kerneltest.Kernel{Source: clustered, Name: name, Target: "cuda:90"}.
		With(kerneltest.Options{"num_ctas": ctas, "num_warps": warps})
}

// eachCluster runs f for clusters of several sizes.
func eachCluster(t *testing.T, f func(t *testing.T, ctas, warps int)) {
	for _, c := range []struct{ ctas, warps int }{{2, 4}, {2, 8}, {4, 1}, {4, 4}, {8, 2}, {16, 4}} {
		t.Run(fmt.Sprintf("ctas=%d/warps=%d", c.ctas, c.warps), func(t *testing.T) { f(t, c.ctas, c.warps) })
	}
}

func TestClusterElementwise(t *testing.T) {
	eachCluster(t, func(t *testing.T, ctas, warps int) {
		r := kerneltest.Rand(t)
		for _, block := range []int{1, 8, 256, 2048} {
			n := 3*block - block/3
			x, y, z := kerneltest.Randint(r, -99, 99, "fp32", n), kerneltest.Randint(r, -99, 99, "fp32", n), kerneltest.Empty("fp32", n)
			out := inCluster("add", ctas, warps).Run(t, kerneltest.Grid(3), x, y, z, n, block)
			xs, ys := x.Floats(), y.Floats()
			want := make([]float64, n)
			for i := range want {
				want[i] = xs[i] + ys[i] + 3
			}
			kerneltest.Equal(t, "z", z, want)
			if !strings.Contains(out.PTX, fmt.Sprintf(".reqnctapercluster %d", ctas)) && out.HasForm(t, nil) {
				t.Error("the code does not say how large its clusters are")
			}
		}
	})
}

// TestCat: tl.cat has each element of both operands, in some order, where there are fewer
// elements than threads and the result is wanted in another layout, too.
func TestCat(t *testing.T) {
	cat := func(t *testing.T, k kerneltest.Kernel) {
		for _, n := range []int{4, 8, 32, 256} {
			const m = 16
			x, y, count := kerneltest.Zeros("i32", n), kerneltest.Zeros("i32", n), kerneltest.Zeros("i32", m*2*n)
			for i := range n {
				x.Set(i, float64(i))
				y.Set(i, float64(n+i))
			}
			k.Run(t, kerneltest.Grid(1), x, y, count, n, m)
			kerneltest.Equal(t, "count", count, each(m*2*n, func(int) float64 { return 1 }))
		}
	}
	eachCluster(t, func(t *testing.T, ctas, warps int) { cat(t, inCluster("both", ctas, warps)) })
	for _, warps := range []int{1, 4, 16} {
		t.Run(fmt.Sprintf("warps=%d", warps), func(t *testing.T) {
			cat(t, kerneltest.Kernel{Source: clustered, Name: "both"}.Warps(warps))
		})
	}
}

func TestClusterLines(t *testing.T) {
	eachCluster(t, func(t *testing.T, ctas, warps int) {
		r := kerneltest.Rand(t)
		for _, size := range [][2]int{{1, 128}, {2, 512}, {16, 16}, {64, 128}, {128, 8}} {
			m, n := size[0]-size[0]/4, size[1]-3
			x := kerneltest.Randint(r, -50, 50, "i32", m, n)
			s, a := kerneltest.Empty("i32", m+n), kerneltest.Empty("i32", m)
			c, tr := kerneltest.Empty("i32", m, n), kerneltest.Empty("i32", n, m)
			inCluster("lines", ctas, warps).Run(t, kerneltest.Grid(1), x, s, a, c, tr, m, n, size[0], size[1])
			v := x.Floats()
			sums, arg := make([]float64, m+n), make([]float64, m)
			sum, turned := make([]float64, m*n), make([]float64, m*n)
			for i := range m {
				best := math.Inf(-1)
				for j := range n {
					e := v[i*n+j]
					sums[i] += e
					sums[m+j] += e
					sum[i*n+j] = sums[i]
					turned[j*m+i] = e
					if e > best {
						best, arg[i] = e, float64(j)
					}
				}
			}
			kerneltest.Equal(t, "sums", s, sums)
			kerneltest.Equal(t, "argmax", a, arg)
			kerneltest.Equal(t, "cumsum", c, sum)
			kerneltest.Equal(t, "transposed", tr, turned)
		}
	})
}

func TestClusterWhole(t *testing.T) {
	eachCluster(t, func(t *testing.T, ctas, warps int) {
		r := kerneltest.Rand(t)
		for _, size := range []int{8, 512, 2048} {
			n := size - size/8
			x, at := kerneltest.Randint(r, 0, 1000, "i32", n), kerneltest.Randint(r, 0, int64(n-1), "i32", n)
			s, c, h, g := kerneltest.Empty("i32", 2), kerneltest.Empty("i32", n), kerneltest.Empty("i32", 16), kerneltest.Empty("i32", n)
			inCluster("whole", ctas, warps).Run(t, kerneltest.Grid(1), x, s, c, h, g, at, n, size)
			v, index := x.Floats(), at.Floats()
			total, most := 0.0, 0.0
			sums, counts, gathered := make([]float64, n), make([]float64, 16), make([]float64, n)
			for i, e := range v {
				total += e
				most = max(most, e)
				sums[i] = total
				counts[int(e)&15]++
				gathered[i] = v[int(index[i])]
			}
			kerneltest.Equal(t, "sum and maximum", s, []float64{total, most})
			kerneltest.Equal(t, "cumsum", c, sums)
			kerneltest.Equal(t, "histogram", h, counts)
			kerneltest.Equal(t, "gathered", g, gathered)
		}
	})
}

func TestClusterAtomics(t *testing.T) {
	eachCluster(t, func(t *testing.T, ctas, warps int) {
		r := kerneltest.Rand(t)
		const grid, n = 3, 100
		x := kerneltest.Randint(r, 0, 9, "i32", n)
		old, sums := kerneltest.Empty("i32", 2*grid), kerneltest.Zeros("i32", 9)
		inCluster("atomics", ctas, warps).Run(t, kerneltest.Grid(grid), x, old, sums, n, 128)
		want := make([]float64, 9)
		for i, v := range x.Floats() {
			want[i%8] += grid * v
		}
		want[8] = grid
		kerneltest.Equal(t, "sums", sums, want)
		seen := 0
		for p, v := range old.Floats()[:grid] {
			seen |= 1 << int(v)
			if tail := old.Floats()[grid+p]; tail != float64(p+1) {
				t.Errorf("place %d has %v", p, tail)
			}
		}
		if seen != 1<<grid-1 {
			t.Errorf("the programs' tickets are %v", old.Floats()[:grid])
		}
	})
}

func TestClusterSoftmax(t *testing.T) {
	eachCluster(t, func(t *testing.T, ctas, warps int) {
		r := kerneltest.Rand(t)
		const m, n = 3, 777
		x, y := kerneltest.Randn(r, "fp32", m, n), kerneltest.Empty("fp32", m, n)
		inCluster("softmax", ctas, warps).Run(t, kerneltest.Grid(m), x, y, n, 1024)
		want := make([]float64, m*n)
		for i := range m {
			sum := 0.0
			for j := range n {
				want[i*n+j] = math.Exp(x.Floats()[i*n+j])
				sum += want[i*n+j]
			}
			for j := range n {
				want[i*n+j] /= sum
			}
		}
		kerneltest.Near(t, "softmax", y, want, 1e-5, 1e-7)
	})
}

func TestClusterMatmul(t *testing.T) {
	for _, c := range []struct{ m, n, k, ctas, warps int }{
		{128, 128, 16, 2, 8},
		{256, 64, 32, 2, 8},
		{64, 256, 32, 2, 4},
		{32, 32, 32, 2, 8},
		{64, 16, 64, 2, 4},
		{256, 128, 32, 4, 4},
		{64, 128, 32, 4, 8},
		{16, 16, 16, 4, 1},
		{256, 256, 32, 8, 4},
		{128, 128, 64, 16, 4},
	} {
		for _, desc := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%dx%d/ctas=%d/warps=%d/desc=%v", c.m, c.n, c.k, c.ctas, c.warps, desc), func(t *testing.T) {
				r := kerneltest.Rand(t)
				m, n, k := 2*c.m-c.m/4, c.n+c.n/2, 4*c.k
				if !desc {
					m, k = m-1, k-3
				}
				a, b, out := kerneltest.Randint(r, -4, 4, "fp16", m, k), kerneltest.Randint(r, -4, 4, "fp16", k, n), kerneltest.Empty("fp16", m, n)
				run := inCluster("matmul", c.ctas, c.warps).Run(t, kerneltest.Grid(2, 2), a, b, out, m, n, k, c.m, c.n, c.k, desc)
				kerneltest.Near(t, "c", out, product(a, b, m, n, k), 0, 0.5)
				if desc && !strings.Contains(run.PTX, "cp.async.bulk.tensor") && run.HasForm(t, nil) {
					t.Error("nothing is copied by TMA")
				}
			})
		}
	}
}

// TestClusterRows reduces the results of dots along the dimension that the blocks divide.
func TestClusterRows(t *testing.T) {
	for _, c := range []struct{ m, n, k, ctas, warps int }{{64, 256, 32, 2, 4}, {16, 128, 16, 4, 2}, {64, 512, 16, 4, 4}} {
		t.Run(fmt.Sprintf("%dx%dx%d/ctas=%d", c.m, c.n, c.k, c.ctas), func(t *testing.T) {
			r := kerneltest.Rand(t)
			a, b, out := kerneltest.Randint(r, -4, 4, "fp16", c.m, c.k), kerneltest.Randint(r, -4, 4, "fp16", c.k, c.n), kerneltest.Empty("fp32", 2*c.m)
			run := inCluster("rows", c.ctas, c.warps).Run(t, kerneltest.Grid(1), a, b, out, c.m, c.n, c.k)
			p := product(a, b, c.m, c.n, c.k)
			want := make([]float64, 2*c.m)
			for i := range c.m {
				want[c.m+i] = math.Inf(-1)
				for _, v := range p[i*c.n : (i+1)*c.n] {
					want[i] += v
					want[c.m+i] = max(want[c.m+i], v)
				}
			}
			kerneltest.Equal(t, "sums and maxima", out, want)
			if !strings.Contains(run.PTX, "ld.shared::cluster") && run.HasForm(t, nil) {
				t.Error("the blocks do not read one another's shared memory")
			}
		})
	}
}

// TestClusterLookups: indices that are copied ahead, of what a dot multiplies, of which
// blocks need other parts than they copy.
func TestClusterLookups(t *testing.T) {
	for _, c := range []struct{ size, ctas, warps int }{{16, 2, 1}, {32, 2, 1}, {16, 4, 1}, {32, 4, 2}, {64, 8, 4}} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("%d/ctas=%d/trips=%d", c.size, c.ctas, trips), func(t *testing.T) {
				const values = 99
				r := kerneltest.Rand(t)
				nn := c.size * c.size
				x, at, a := kerneltest.Randint(r, -4, 5, "i32", values), kerneltest.Randint(r, 0, values, "i32", max(1, trips)*nn), kerneltest.Randint(r, -4, 5, "fp16", max(1, trips)*nn)
				out, last := kerneltest.Empty("fp32", nn), kerneltest.Empty("i32", nn)
				inCluster("looked_up", c.ctas, c.warps).Run(t, kerneltest.Grid(1), x, at, a, out, last, trips, c.size)
				v, sums := each(nn, func(i int) float64 { return float64(i % 5) }), make([]float64, nn)
				for k := range trips {
					for i := range nn {
						for j := range c.size {
							sums[i] += v[i/c.size*c.size+j] * a.At(k*nn+j*c.size+i%c.size)
						}
					}
					v = each(nn, func(i int) float64 { return x.At(int(at.Int(k*nn + i))) })
				}
				kerneltest.Equal(t, "sums", out, sums)
				kerneltest.Equal(t, "values", last, v)
			})
		}
	}
}

// TestClusterChained multiplies results of dots, of which blocks need other parts than
// they have.
func TestClusterChained(t *testing.T) {
	for _, c := range []struct{ m, n, k, ctas, warps int }{{64, 64, 32, 2, 4}, {16, 128, 16, 4, 2}, {128, 64, 16, 4, 8}, {128, 128, 32, 2, 4}} {
		t.Run(fmt.Sprintf("%dx%dx%d/ctas=%d", c.m, c.n, c.k, c.ctas), func(t *testing.T) {
			r := kerneltest.Rand(t)
			a, b, out := kerneltest.Randint(r, -1, 2, "fp16", c.m, c.k), kerneltest.Randint(r, -1, 2, "fp16", c.k, c.n), kerneltest.Empty("fp32", c.n, c.n)
			inCluster("chained", c.ctas, c.warps).Run(t, kerneltest.Grid(1), a, b, out, c.m, c.n, c.k)
			s := product(a, b, c.m, c.n, c.k)
			want := make([]float64, c.n*c.n)
			for i := range c.m {
				for j := range c.n {
					for l := range c.n {
						want[j*c.n+l] += s[i*c.n+j] * s[i*c.n+l]
					}
				}
			}
			kerneltest.Near(t, "c", out, want, 0, 0.5)
		})
	}
}

func TestClusterBlocks(t *testing.T) {
	for _, c := range []struct{ m, n, ctas, warps int }{{2, 16, 2, 4}, {8, 128, 2, 4}, {512, 32, 2, 4}, {1, 1024, 2, 4}, {1, 16, 4, 2}, {64, 64, 16, 4}} {
		t.Run(fmt.Sprintf("%dx%d/ctas=%d", c.m, c.n, c.ctas), func(t *testing.T) {
			r := kerneltest.Rand(t)
			m, n := 2*c.m-c.m/2, 3*c.n
			x, y, acc := kerneltest.Randint(r, -9, 9, "fp32", m, n), kerneltest.Zeros("fp32", m, n), kerneltest.Randint(r, -9, 9, "fp32", m, n)
			was := acc.Floats()
			inCluster("blocks", c.ctas, c.warps).Run(t, kerneltest.Grid(2), x, y, acc, m, n, c.m, c.n)
			want := make([]float64, m*n)
			for i, v := range x.Floats() {
				want[i] = 2 * v
				was[i] += v
			}
			kerneltest.Equal(t, "stored", y, want)
			kerneltest.Equal(t, "added", acc, was)
		})
	}
}

// TestClusterRefusals: no clusters before cuda:90.
func TestClusterRefusals(t *testing.T) {
	forNVIDIA(t, "others have no clusters")
	x := kerneltest.Zeros("fp32", 8)
	for target, says := range map[string]string{"cuda:80": "num_ctas: cuda:80 has no clusters, so it must be 1", "cuda:89": "num_ctas"} {
		_, err := inCluster("add", 2, 4).On(target).TryRun(t, kerneltest.Grid(1), x, x, x, 8, 8)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestDependentLaunch: kernels that may start before the one before them has ended, in
// clusters or not.
func TestDependentLaunch(t *testing.T) {
	forNVIDIA(t, "launches that depend on one another are CUDA's")
	for _, ctas := range []int{1, 2} {
		r := kerneltest.Rand(t)
		const n = 500
		x, y := kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
		out := inCluster("copy", ctas, 4).With(kerneltest.Options{"launch_pdl": true}).Run(t, kerneltest.Grid(4), x, y, n, 128)
		kerneltest.Equal(t, "y", y, x.Floats())
		for _, s := range []string{"griddepcontrol.wait;", "griddepcontrol.launch_dependents;"} {
			if strings.Count(out.PTX, s) != 1 {
				t.Errorf("%d of %s", strings.Count(out.PTX, s), s)
			}
		}
	}
}

// TestClusterOrder: what all blocks of one program store before a barrier, all of another
// load once one of that program's threads has acquired it.
func TestClusterOrder(t *testing.T) {
	for _, ctas := range []int{1, 2, 4, 8} {
		const n = 512
		data, flag, out := kerneltest.Empty("i32", n), kerneltest.Zeros("i32", 1), kerneltest.Empty("i32", n)
		inCluster("hand_over", ctas, 4).With(kerneltest.Options{"launch_cooperative_grid": true}).Run(t, kerneltest.Grid(2), data, flag, out, n)
		kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return float64(3 * (n - 1 - i)) }))
	}
}

// TestCooperativeLaunch: all programs wait for one another.
func TestCooperativeLaunch(t *testing.T) {
	for _, ctas := range []int{1, 2, 4} {
		const grid = 30
		k := inCluster("everybody", ctas, 4).With(kerneltest.Options{"launch_cooperative_grid": true})
		y := kerneltest.Empty("i32", grid)
		k.Run(t, kerneltest.Grid(grid), kerneltest.Zeros("i32", 1), y)
		for i, v := range y.Floats() {
			if v != grid {
				t.Errorf("program %d of clusters of %d sees %v", i, ctas, v)
			}
		}
		if !kerneltest.OnDevice() && !onAMD() { // the simulated GPUs of AMD hold any number of programs
			_, err := k.TryRun(t, kerneltest.Grid(132*16/ctas+1), kerneltest.Zeros("i32", 1), kerneltest.Empty("i32", 132*16+1))
			if err == nil || !strings.Contains(err.Error(), "blocks at once; the simulated H200 holds 2112 of its blocks") {
				t.Errorf("clusters of %d: %v", ctas, err)
			}
		}
	}
}
