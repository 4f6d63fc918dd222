package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// hostCopy is a kernel that loads a block of rank dimensions at places that memory has,
// and stores it at others.
func hostCopy(rank int) string {
	var at, to []string
	for i := range rank {
		at, to = append(at, fmt.Sprintf("tl.load(places + %d)", i)), append(to, fmt.Sprintf("tl.load(places + %d)", rank+i))
	}
	// The last coordinate is a multiple of 16 bytes, and the kernel has to say so.
	last := func(list []string) string {
		list[rank-1] = "tl.multiple_of(" + list[rank-1] + ", UNIT)"
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf(`
import triton
import triton.language as tl

@triton.jit
def copy(x, y, places, shapes, UNIT: tl.constexpr):
    y.store([%s], x.load([%s]))
    for i in tl.static_range(%d):
        tl.store(shapes + i, x.shape[i].to(tl.int64) * 1000 + x.strides[i])
`, last(to), last(at), rank)
}

// TestHostDescriptors: descriptors that are arguments, of every rank and size of
// elements, copied through by TMA and by pointers: blocks inside, over each edge and
// outside, padded with zeros and NaN.
func TestHostDescriptors(t *testing.T) {
	type kind struct {
		typ  string
		size int
	}
	for _, k := range []kind{{"i8", 1}, {"fp8e5", 1}, {"fp16", 2}, {"bf16", 2}, {"i16", 2}, {"fp32", 4}, {"i32", 4}, {"i64", 8}, {"fp64", 8}} {
		for rank := 1; rank <= 5; rank++ {
			t.Run(fmt.Sprintf("%s/rank=%d", k.typ, rank), func(t *testing.T) {
				r := kerneltest.Rand(t)
				unit := 16 / k.size
				block, shape := make([]int, rank), make([]int, rank)
				sizes := rand.New(rand.NewPCG(uint64(k.size), uint64(rank))) // the same kernels each time
				for d := range rank {
					block[d] = 1 << sizes.IntN([]int{9, 4, 3, 2}[min(rank-1, 3)])
					shape[d] = 1 + r.IntN(2*block[d]+2)
				}
				last := rank - 1
				block[last] = unit << (1 + sizes.IntN(4))
				if rank == 1 {
					block[last] = unit << (2 + sizes.IntN(5)) // up to four boxes of 256 elements of 1 byte
				}
				shape[last] = unit * (1 + r.IntN(2*block[last]/unit+2))
				x, start := kerneltest.Randint(r, -9, 9, k.typ, shape...), kerneltest.Randint(r, -9, 9, k.typ, shape...)
				for _, target := range []string{"cuda:80", "cuda:90"} {
					for _, nan := range []bool{false, true} {
						if nan && (!x.Type.Float() || k.size == 1) {
							continue
						}
						from, to := hostPlaces(r, block, shape, unit)
						places := kerneltest.Zeros("i32", 2*rank)
						for d := range rank {
							places.Set(d, float64(from[d]))
							places.Set(rank+d, float64(to[d]))
						}
						y := kerneltest.Zeros(k.typ, shape...)
						copy(y.Data, start.Data)
						shapes := kerneltest.Empty("i64", rank)
						ran := kerneltest.Kernel{Source: hostCopy(rank), Name: "copy"}.On(target).Run(t, kerneltest.Grid(1),
							&launch.Descriptor{Array: x, Block: block, NaN: nan}, &launch.Descriptor{Array: y, Block: block}, places, shapes, unit)
						copiedBy(t, ran, target == "cuda:90")
						pad := 0.0
						if nan {
							pad = math.NaN()
						}
						want := hostCopied(x, start, block, from, to, pad)
						for i := range want {
							if got := y.At(i); got != want[i] && (got == got || want[i] == want[i]) {
								t.Fatalf("%s: block %v of %v, from %v to %v: [%d] is %v, want %v", target, block, shape, from, to, i, got, want[i])
							}
						}
						stride := 1
						for d := last; d >= 0; d-- {
							if got := int(shapes.At(d)); got != shape[d]*1000+stride {
								t.Errorf("%s: dimension %d: shape and stride %d, want %d, %d", target, d, got, shape[d], stride)
							}
							stride *= shape[d]
						}
					}
				}
			})
		}
	}
}

// hostPlaces are where a block is loaded and stored. No store begins before the array.
func hostPlaces(r *rand.Rand, block, shape []int, unit int) (from, to []int) {
	for d := range block {
		step := 1
		if d == len(block)-1 {
			step = unit
		}
		at := func(low int) int { return low + step*r.IntN((shape[d]-low)/step+2) }
		from, to = append(from, at(-block[d]/step*step)), append(to, at(0))
	}
	return from, to
}

// hostCopied is what y holds after a block of x went there.
func hostCopied(x, y *array.Array, block, from, to []int, pad float64) []float64 {
	out := make([]float64, len(y.Data)/y.Type.Size)
	for i := range out {
		out[i] = y.At(i)
	}
	place := func(at, i []int) (int, bool) {
		o := 0
		for d := range at {
			k := at[d] + i[d]
			if k < 0 || k >= x.Shape[d] {
				return 0, false
			}
			o = o*x.Shape[d] + k
		}
		return o, true
	}
	i := make([]int, len(block))
	for {
		v := pad
		if o, ok := place(from, i); ok {
			v = x.At(o)
		}
		if o, ok := place(to, i); ok {
			out[o] = v
		}
		d := len(i) - 1
		for ; d >= 0; d-- {
			if i[d]++; i[d] < block[d] {
				break
			}
			i[d] = 0
		}
		if d < 0 {
			return out
		}
	}
}

// TestHostDescriptorsMixed: one descriptor goes by TMA and one, gathered through, by
// pointers; a launch passes each as the metadata say.
func TestHostDescriptorsMixed(t *testing.T) {
	const source = `
import triton
import triton.language as tl

@triton.jit
def rows(x, factor, y, BM: tl.constexpr, BN: tl.constexpr):
    picked = x.gather(tl.arange(0, BM) * 2, 0)
    y.store([0, 0], picked * factor + y.shape[0])
`
	r := kerneltest.Rand(t)
	const n, bm, bn = 40, 16, 32
	x, y := kerneltest.Randint(r, -9, 9, "fp32", n, bn), kerneltest.Empty("fp32", bm, bn)
	ran := kerneltest.Kernel{Source: source, Name: "rows"}.On("cuda:90").Run(t, kerneltest.Grid(1),
		&launch.Descriptor{Array: x, Block: []int{1, bn}}, 3.0, &launch.Descriptor{Array: y, Block: []int{bm, bn}}, bm, bn)
	copiedBy(t, ran, true)
	if n := strings.Count(ran.PTX, ".align 64 .b8"); n != 1 && ran.HasForm(t, nil) {
		t.Errorf("%d parameters are tensor maps, want 1", n)
	}
	kerneltest.Equal(t, "y", y, each(bm*bn, func(i int) float64 { return x.At(2*(i/bn)*bn+i%bn)*3 + bm }))
}

// hostAttention is causal attention by descriptors in two loops, before the diagonal and
// on it.
const hostAttention = `
import triton
import triton.language as tl

@triton.jit
def part(acc, l, m, q, k_desc, v_desc, lo, hi, rows, BN: tl.constexpr, MASKED: tl.constexpr):
    for n in tl.range(lo, hi, BN):
        s = tl.dot(q, k_desc.load([n, 0]).T)
        if MASKED:
            s = tl.where(rows[:, None] >= (n + tl.arange(0, BN))[None, :], s, -1.0e6)
        top = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - top[:, None])
        alpha = tl.math.exp2(m - top)
        acc = tl.dot(p.to(tl.float16), v_desc.load([n, 0]), acc * alpha[:, None])
        l = l * alpha + tl.sum(p, 1)
        m = top
    return acc, l, m

@triton.jit
def attention(q_desc, k_desc, v_desc, o_desc, lse, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    at = tl.program_id(0) * BM
    rows = at + tl.arange(0, BM)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    q = q_desc.load([at, 0])
    acc, l, m = part(acc, l, m, q, k_desc, v_desc, 0, at, rows, BN, False)
    acc, l, m = part(acc, l, m, q, k_desc, v_desc, at, at + BM, rows, BN, True)
    tl.store(lse + rows, m + tl.math.log2(l))
    o_desc.store([at, 0], (acc / l[:, None]).to(tl.float16))
`

// TestHostAttention: two loops one after another, of which the first may have no
// iteration. What tells wgmma where an operand lies that both loops read is computed
// before them: ptxas 12.8 takes what both compute from the first alone.
func TestHostAttention(t *testing.T) {
	adds := regexp.MustCompile(`(?:add|or)[a-z.]*64 +\t?%rd\d+, (%rd\d+, \d{19});`)
	for _, c := range []struct{ bm, bn, d, warps, stages int }{
		{128, 64, 64, 4, 3}, {64, 64, 128, 4, 3}, {128, 64, 64, 8, 3}, {64, 32, 64, 4, 2}, {128, 128, 64, 4, 2},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d/warps=%d/stages=%d", c.bm, c.bn, c.d, c.warps, c.stages), func(t *testing.T) {
			r := kerneltest.Rand(t)
			ctx := 2 * 128
			q, k, v := kerneltest.Randn(r, "fp16", ctx, c.d), kerneltest.Randn(r, "fp16", ctx, c.d), kerneltest.Randn(r, "fp16", ctx, c.d)
			for i := range ctx * c.d {
				q.Set(i, q.At(i)*0.25)
			}
			o, lse := kerneltest.Empty("fp16", ctx, c.d), kerneltest.Empty("fp32", ctx)
			desc := func(x *array.Array, rows int) *launch.Descriptor {
				return &launch.Descriptor{Array: x, Block: []int{rows, c.d}}
			}
			ran := kerneltest.Kernel{Source: hostAttention, Name: "attention"}.On("cuda:90").Warps(c.warps).With(kerneltest.Options{"num_stages": c.stages}).
				Run(t, kerneltest.Grid(ctx/c.bm), desc(q, c.bm), desc(k, c.bn), desc(v, c.bn), desc(o, c.bm), lse, c.bm, c.bn, c.d)
			want, sums := make([]float64, ctx*c.d), make([]float64, ctx)
			for i := range ctx {
				p, total := make([]float64, i+1), 0.0
				for j := range p {
					s := 0.0
					for x := range c.d {
						s += q.At(i*c.d+x) * k.At(j*c.d+x)
					}
					p[j] = math.Exp2(s)
					total += p[j]
				}
				sums[i] = math.Log2(total)
				for j := range p {
					for x := range c.d {
						want[i*c.d+x] += p[j] / total * v.At(j*c.d+x)
					}
				}
			}
			kerneltest.Near(t, "o", o, want, 1e-2, 5e-3)
			kerneltest.Near(t, "lse", lse, sums, 1e-3, 1e-3)
			seen := map[string]bool{}
			for _, m := range adds.FindAllStringSubmatch(ran.PTX, -1) {
				if seen[m[1]] {
					t.Errorf("%s is computed twice", m[1])
				}
				seen[m[1]] = true
			}
			if len(seen) == 0 && ran.HasForm(t, kerneltest.Options{"num_ctas": 1, "wgmma": "auto"}) {
				t.Errorf("no descriptors of wgmma in\n%s", ran.PTX)
			}
		})
	}
}
