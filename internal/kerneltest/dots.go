package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
)

// Dot is a product of an M×K and a K×N matrix that one program computes, Block columns of A
// at a time.
type Dot struct {
	A, B string // the types of the operands, "fp16"
	Acc  string // the accumulator's in the language, "float32"
	// Precision is tl.dot's input_precision, ieee if empty.
	Precision string
	// IsTransposed: B lies transposed in memory.
	IsTransposed bool

	M, N, Block, K int
	// Tolerance is the relative error of a product of normal numbers; the absolute one is
	// ten times that.
	Tolerance float64
}

// String tells one Dot from others, as the name of a subtest.
func (d Dot) String() string {
	return fmt.Sprintf("%s/%s/%s/%s/%dx%dx%d", d.A, d.B, d.Acc, d.precision(), d.M, d.N, d.Block)
}

func (d Dot) precision() string {
	if d.Precision == "" {
		return "ieee"
	}
	return d.Precision
}

// result is the type of the product's memory.
func (d Dot) result() string {
	return map[string]string{"float16": "fp16", "float32": "fp32", "float64": "fp64", "int32": "i32"}[d.Acc]
}

// Source is a kernel k(a, b, out, K, M, N, B): a loop over K whose last part is masked.
func (d Dot) Source() string {
	zero := "0.0"
	if d.Acc == "int32" {
		zero = "0"
	}
	y := "tl.load(b + (at + l)[:, None] * N + j[None, :], mask=(at + l)[:, None] < K, other=" + zero + ")"
	if d.IsTransposed {
		y = "tl.load(b + j[:, None] * K + (at + l)[None, :], mask=(at + l)[None, :] < K, other=" + zero + ").T"
	}
	return `import triton
import triton.language as tl

@triton.jit
def k(a, b, out, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    l = tl.arange(0, B)
    acc = tl.zeros((M, N), tl.` + d.Acc + `)
    for at in range(0, K, B):
        x = tl.load(a + i[:, None] * K + (at + l)[None, :], mask=(at + l)[None, :] < K, other=` + zero + `)
        y = ` + y + `
        acc = tl.dot(x, y, acc, input_precision="` + d.precision() + `", out_dtype=tl.` + d.Acc + `)
    tl.store(out + i[:, None] * N + j[None, :], acc)
`
}

// Signature is that of Source.
func (d Dot) Signature() string {
	return fmt.Sprintf("a=*%s, b=*%s, out=*%s, K=i32, M=%d, N=%d, B=%d", d.A, d.B, d.result(), d.M, d.N, d.Block)
}

// Check multiplies random matrices for a target.
func (d Dot) Check(t testing.TB, r *rand.Rand, target string, o Options) {
	t.Helper()
	a, b := random(r, d.A, d.M*d.K), random(r, d.B, d.K*d.N)
	want := make([]float64, d.M*d.N)
	for i := range d.M {
		for j := range d.N {
			for l := range d.K {
				y := b.At(l*d.N + j)
				if d.IsTransposed {
					y = b.At(j*d.K + l)
				}
				want[i*d.N+j] += a.At(i*d.K+l) * y
			}
		}
	}
	out := Zeros(d.result(), d.M*d.N)
	Kernel{Source: d.Source(), Name: "k", Target: target, Options: o}.Run(t, Grid(1), a, b, out, d.K, d.M, d.N, d.Block)
	Near(t, "product", out, want, d.Tolerance, d.Tolerance*10)
}

// random are numbers of an operand: normal ones, or all bytes.
func random(r *rand.Rand, typ string, n int) *array.Array {
	if typ == "i8" {
		return Randint(r, -128, 128, typ, n)
	}
	return Randn(r, typ, n)
}
