package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestSignedDivision divides the ends of each type, and numbers near zero, by one another, in
// the type and in wider ones, of values that were loaded, carried by a loop and computed.
func TestSignedDivision(t *testing.T) {
	bits := map[string]int{"i8": 8, "i16": 16, "i32": 32, "i64": 64}
	onChips(t, func(t *testing.T, chip string) {
		for _, from := range []string{"i8", "i16", "i32", "i64"} {
			least := int64(-1) << (bits[from] - 1)
			values := []int64{least, least + 1, -7, -1, 1, 3, -(least + 1), -(least + 1) / 2}
			var xs, ys []int64
			for _, x := range values {
				for _, y := range values {
					xs, ys = append(xs, x), append(ys, y)
				}
			}
			for _, to := range []string{"i16", "i32", "i64"} {
				if bits[to] < bits[from] {
					continue
				}
				n := len(xs)
				a, b := kerneltest.Zeros(from, n), kerneltest.Zeros(from, n)
				q, r, carried := kerneltest.Zeros(to, n), kerneltest.Zeros(to, n), kerneltest.Zeros(to, n)
				divisors := slices.Clone(ys)
				for i := range n {
					if to == from && xs[i] == least && ys[i] == -1 {
						divisors[i] = 2 // the quotient does not fit
					}
					a.SetInt(i, xs[i])
					b.SetInt(i, divisors[i])
				}
				kernelOf(chip, strings.ReplaceAll(`def k(a, b, q, r, carried, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i, mask=i < n, other=0).to(TO)
    y = tl.load(b + i, mask=i < n, other=1).to(TO)
    tl.store(q + i, x // y, mask=i < n)
    tl.store(r + i, x % y, mask=i < n)
    for j in range(n):
        z = tl.load(a + j).to(TO)
        for _ in range(2):
            z = z // tl.load(b + j)
        tl.store(carried + j, z)
`, "TO", "tl."+strings.Replace(to, "i", "int", 1)), kerneltest.Options{"num_warps": 1}).
					Run(t, kerneltest.Grid(1), a, b, q, r, carried, n, 64)
				for i := range n {
					x, y := xs[i], divisors[i]
					if to == from && y == -1 && x/y == least {
						continue // the second quotient does not fit
					}
					if q.Int(i) != x/y || r.Int(i) != x%y || carried.Int(i) != x/y/y {
						t.Errorf("%s in %s: %d by %d: quotient %d, remainder %d, divided twice %d", from, to, x, y, q.Int(i), r.Int(i), carried.Int(i))
						break
					}
				}
			}
		}
	})
}

// TestSignedDivisionBounds divides numbers of 32 bits of which LLVM knows by other ways than
// their types that they fit into 8.
func TestSignedDivisionBounds(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		const n = 64
		x, y, out := kerneltest.Full(-128, "i32", n), kerneltest.Full(-1, "i8", n), kerneltest.Zeros("i32", 5, n)
		kernelOf(chip, `def k(a, b, out, big, n: tl.constexpr):
    i = tl.arange(0, n)
    x = tl.load(a + i)
    y = tl.load(b + i).to(tl.int32)
    clamped = tl.minimum(tl.maximum(x, -128), 127)
    tl.store(out + i, clamped // y)
    tl.store(out + n + i, (y * 128 % x + y * 128) // y)
    tl.store(out + 2 * n + i, (clamped % big) // y)
    tl.store(out + 3 * n + i, (x << 24 >> 24) // y)
    tl.store(out + 4 * n + i, (x // y) // y)
`, kerneltest.Options{"num_warps": 1}).Run(t, kerneltest.Grid(1), x, y, out, 1000, n)
		kerneltest.Equal(t, "quotients", out, slices.Concat(slices.Repeat([]float64{128}, 4*n), slices.Repeat([]float64{-128}, n)))
	})
}
