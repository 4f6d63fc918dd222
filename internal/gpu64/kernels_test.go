package gpu64

import (
	"math"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

func TestSoftmax(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, warps := range []int{1, 4} {
		const rows, n = 3, 777
		x := random(r, rows*n)
		want := make([]float64, rows*n)
		for i := range rows {
			row := x[i*n : (i+1)*n]
			sum := 0.0
			for j, v := range row {
				want[i*n+j] = math.Exp(v - slices.Max(row))
				sum += want[i*n+j]
			}
			for j := range row {
				want[i*n+j] /= sum
			}
		}
		out := kerneltest.Zeros("fp32", rows*n)
		run(t, `def k(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * n + i
    v = tl.load(x + at, mask=i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, e / tl.sum(e, axis=0), mask=i < n)
`, options{NumWarps: warps}, kerneltest.Grid(rows), of("fp32", x), out, n, 1024)
		near(t, out, want, 1e-6)
	}
}

// TestReduce reduces along both axes, where lanes, registers and warps hold the
// elements, and finds the places of minima.
func TestReduce(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, shape := range [][2]int{{64, 128}, {16, 32}, {128, 4}} {
		m, n := shape[0], shape[1]
		x := make([]float64, m*n)
		for i := range x {
			x[i] = float64(r.IntN(2000) - 1000)
		}
		sums, least, place := make([]float64, m), make([]float64, n), make([]float64, n)
		for i := range m {
			for j := range n {
				v := x[i*n+j]
				sums[i] += v
				if i == 0 || v < least[j] {
					least[j], place[j] = v, float64(i)
				}
			}
		}
		outSums, outLeast, outPlace := kerneltest.Zeros("i32", m), kerneltest.Zeros("i32", n), kerneltest.Zeros("i32", n)
		run(t, `def k(x, sums, least, place, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    v = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(sums + i, tl.sum(v, axis=1))
    a, b = tl.min(v, axis=0, return_indices=True)
    tl.store(least + j, a)
    tl.store(place + j, b)
`, options{NumWarps: 4}, kerneltest.Grid(1), of("i32", x), outSums, outLeast, outPlace, m, n)
		near(t, outSums, sums, 0)
		near(t, outLeast, least, 0)
		near(t, outPlace, place, 0)
	}
}

// TestDot multiplies in a pipelined loop over K, whose last part is masked. A copy
// that is masked gives zeros, also where the kernel names no other value.
func TestDot(t *testing.T) {
	r := kerneltest.Rand(t)
	const m, n, k = 32, 64, 40
	for _, c := range []struct {
		name      string
		tolerance float64
	}{
		{"fp32", 1e-5}, {"fp16", 1e-5}, {"bf16", 1e-5}, {"fp8e4nv", 1e-5}, {"fp64", 1e-12}, {"i8", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			vals := func(n int) *array.Array {
				if c.name == "i8" {
					return kerneltest.Randint(r, -128, 128, c.name, n)
				}
				return kerneltest.Randn(r, c.name, n)
			}
			a, b := vals(m*k), vals(k*n)
			want := make([]float64, m*n)
			for i := range m {
				for j := range n {
					for l := range k {
						want[i*n+j] += a.At(i*k+l) * b.At(l*n+j)
					}
				}
			}
			out, acc, zero := kerneltest.Zeros("fp32", m*n), "float32", "0.0"
			switch c.name {
			case "fp64":
				out, acc = kerneltest.Zeros("fp64", m*n), "float64"
			case "i8":
				out, acc, zero = kerneltest.Zeros("i32", m*n), "int32", "0"
			}
			run(t, `def k(a, b, out, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    l = tl.arange(0, B)
    acc = tl.zeros((M, N), tl.`+acc+`)
    for at in range(0, K, B):
        x = tl.load(a + i[:, None] * K + (at + l)[None, :], mask=(at + l)[None, :] < K, other=`+zero+`)
        y = tl.load(b + (at + l)[:, None] * N + j[None, :], mask=(at + l)[:, None] < K)
        acc = tl.dot(x, y, acc, out_dtype=tl.`+acc+`)
    tl.store(out + i[:, None] * N + j[None, :], acc)
`, options{NumWarps: 4, NumStages: 3}, kerneltest.Grid(1), a, b, out, k, m, n, 16)
			near(t, out, want, c.tolerance)
		})
	}
}

func TestScan(t *testing.T) {
	r := kerneltest.Rand(t)
	const m, n = 8, 256
	x := make([]float64, m*n)
	for i := range x {
		x[i] = float64(r.IntN(200) - 100)
	}
	sums, back := make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			sums[i*n+j] = x[i*n+j]
			back[i*n+n-1-j] = x[i*n+n-1-j]
			if j > 0 {
				sums[i*n+j] += sums[i*n+j-1]
				back[i*n+n-1-j] = max(back[i*n+n-1-j], back[i*n+n-j])
			}
		}
	}
	for _, warps := range []int{1, 4} {
		outSums, outBack := kerneltest.Zeros("i32", m*n), kerneltest.Zeros("i32", m*n)
		run(t, `def k(x, sums, back, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, axis=1))
    tl.store(back + at, tl.associative_scan(v, 1, most, reverse=True))

@triton.jit
def most(a, b):
    return tl.maximum(a, b)
`, options{NumWarps: warps}, kerneltest.Grid(1), of("i32", x), outSums, outBack, m, n)
		near(t, outSums, sums, 0)
		near(t, outBack, back, 0)
	}
}

// TestMoves sorts, gathers, transposes and counts: elements move between lanes
// and warps.
func TestMoves(t *testing.T) {
	r := kerneltest.Rand(t)
	const n = 256
	x, index := make([]float64, n), make([]float64, n)
	counts, gathered := make([]float64, 16), make([]float64, n)
	for i := range x {
		x[i], index[i] = float64(r.IntN(1000)), float64(r.IntN(n))
		counts[int(x[i])%16]++
	}
	transposed := make([]float64, n)
	for i := range n {
		gathered[i] = x[int(index[i])]
		transposed[i%8*32+i/8] = x[i]
	}
	sorted := slices.Sorted(slices.Values(x))
	for _, warps := range []int{1, 4} {
		outs := make([]*array.Array, 4)
		for i, n := range []int{n, n, n, 16} {
			outs[i] = kerneltest.Zeros("i32", n)
		}
		run(t, `def k(x, index, sorted, gathered, transposed, counts, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(sorted + i, tl.sort(v))
    tl.store(gathered + i, tl.gather(v, tl.load(index + i), 0))
    tl.store(transposed + i, tl.reshape(tl.trans(tl.reshape(v, (32, 8))), (N,)))
    tl.store(counts + tl.arange(0, 16), tl.histogram(v % 16, 16))
`, options{NumWarps: warps}, kerneltest.Grid(1),
			of("i32", x), of("i32", index), outs[0], outs[1], outs[2], outs[3], n)
		for i, want := range [][]float64{sorted, gathered, transposed, counts} {
			near(t, outs[i], want, 0)
		}
	}
}

// TestAtomics adds, compares and swaps under masks, from several programs.
func TestAtomics(t *testing.T) {
	r := kerneltest.Rand(t)
	const programs, n = 3, 100
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(r.IntN(100))
	}
	var total, most float64
	for _, v := range x {
		total += v
		most = max(most, v)
	}
	sum, half, greatest, swapped, old := kerneltest.Zeros("fp32", 1), kerneltest.Zeros("fp16", 2), of("i32", []float64{-5}), of("i64", []float64{7, 0}), kerneltest.Zeros("i32", programs)
	run(t, `def k(x, sum, half, most, swapped, old, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m, other=0)
    tl.atomic_add(sum + i * 0, v, mask=m)
    tl.atomic_add(half + i % 2, (v * 0 + 1).to(tl.float16), mask=m, sem="relaxed")
    tl.atomic_max(most + i * 0, v.to(tl.int32), mask=m, scope="cta")
    was = tl.atomic_cas(swapped, tl.full((), 7, tl.int64), tl.full((), 8, tl.int64))
    tl.atomic_add(swapped + 1, (was == 7).to(tl.int64))
    pid = tl.program_id(0)
    tl.store(old + pid, tl.atomic_xchg(old + pid, pid + 10) + tl.num_programs(0))
`, options{NumWarps: 2}, kerneltest.Grid(programs), of("fp32", x), sum, half, greatest, swapped, old, n, 128)
	near(t, sum, []float64{programs * total}, 0)
	near(t, half, []float64{programs * n / 2, programs * n / 2}, 0)
	near(t, greatest, []float64{most}, 0)
	near(t, swapped, []float64{8, 1}, 0)
	near(t, old, []float64{programs, programs, programs}, 0)
}

func TestMaths(t *testing.T) {
	r := kerneltest.Rand(t)
	const n = 512
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(math.Exp(4 * r.NormFloat64())))
	}
	for _, f := range []struct {
		name      string
		want      func(float64) float64
		tolerance float64
	}{
		{"exp2", func(x float64) float64 { return math.Exp2(-x) }, 1e-6},
		{"log", math.Log, 1e-6},
		{"sin", math.Sin, 1e-6},
		{"erf", math.Erf, 1e-6},
		{"sqrt", math.Sqrt, 1e-7},
		{"floor", math.Floor, 0},
		{"rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, 1e-6},
	} {
		want := make([]float64, n)
		for i := range want {
			want[i] = f.want(x[i])
		}
		arg := "v"
		if f.name == "exp2" {
			arg = "-v"
		}
		out := kerneltest.Zeros("fp32", n)
		run(t, `def k(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.`+f.name+`(`+arg+`))
`, options{NumWarps: 4}, kerneltest.Grid(1), of("fp32", x), out, n)
		near(t, out, want, f.tolerance)
	}
}

// TestControl has loops, branches and calls, each program on its own way.
func TestControl(t *testing.T) {
	const n = 64
	want := make([]float64, 6*n)
	for p := range 6 {
		for i := range n {
			want[p*n+i] = float64(p*100 + i)
		}
	}
	out := kerneltest.Zeros("i32", 6*n)
	run(t, `def k(out, N: tl.constexpr):
    p = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    i = tl.arange(0, N)
    v = 0
    c = 0
    while c < p:
        if c % 2 == 0:
            v = hundred(v)
        else:
            v += 100
        c += 1
    tl.store(out + p * N + i, v + i)

@triton.jit(noinline=True)
def hundred(v):
    return v + 100
`, options{NumWarps: 1}, kerneltest.Grid(3, 2), out, n)
	near(t, out, want, 0)
}
