package kernels

import (
	"fmt"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMatmulStrides multiplies matrices of which no stride is 1, and those of 8 bits of
// which B has the elements of a column side by side.
func TestMatmulStrides(t *testing.T) {
	for _, c := range []struct {
		typ, out   string
		m, n, k    int
		bm, bn, bk int
		warps      int
		apart      int // elements from one of A, B and C to the next
		tolerance  float64
	}{
		{"fp16", "fp16", 100, 150, 130, 128, 128, 64, 4, 2, 2e-2},
		{"fp16", "fp32", 70, 50, 40, 64, 32, 32, 2, 3, 1e-4},
		{"fp8e4nv", "fp16", 128, 128, 128, 128, 128, 64, 4, 1, 2e-2},
		{"fp8e4nv", "fp32", 40, 70, 100, 32, 64, 32, 2, 1, 1e-4},
	} {
		kernel := kernels("matmul").With(kerneltest.Options{"num_warps": c.warps, "num_stages": 3})
		atol := c.tolerance
		if target == "" && c.typ == "fp8e4nv" { // cuda:80 lacks it
			kernel, atol = kernel.On("cuda:90"), 0.3 // dots of warpgroups keep 13 bits below the greatest term
		}
		t.Run(fmt.Sprintf("%s/%d×%d×%d", c.typ, c.m, c.n, c.k), func(t *testing.T) {
			r := kerneltest.Rand(t)
			a, b := kerneltest.Randn(r, c.typ, c.m, c.k, c.apart), kerneltest.Randn(r, c.typ, c.n, c.k, c.apart)
			out := kerneltest.Empty(c.out, c.m, c.n, c.apart)
			kernel.Run(t, kerneltest.Grid(cdiv(c.m, c.bm)*cdiv(c.n, c.bn)), a, b, out, c.m, c.n, c.k,
				c.k*c.apart, c.apart, c.apart, c.k*c.apart, c.n*c.apart, c.apart, c.bm, c.bn, c.bk, 8)
			got, want := kerneltest.Empty(c.out, c.m, c.n), make([]float64, c.m*c.n)
			for i := range c.m {
				for j := range c.n {
					got.Set(i*c.n+j, out.At((i*c.n+j)*c.apart))
					for x := range c.k {
						want[i*c.n+j] += a.At((i*c.k+x)*c.apart) * b.At((j*c.k+x)*c.apart)
					}
				}
			}
			kerneltest.Near(t, "c", got, want, c.tolerance, atol)
		})
	}
}
