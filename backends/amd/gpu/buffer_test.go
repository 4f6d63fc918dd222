package gpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
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

// TestBufferBounds: an access beyond a buffer that no mask leaves out is reported.
func TestBufferBounds(t *testing.T) {
	for _, chip := range chips {
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
