package kernels

import (
	"math"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// golden is a kernel of the front end's golden tests: one feature of the
// language each.
func golden(t *testing.T, archive string) kerneltest.Kernel {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("../../core/frontend/testdata/golden", archive+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == "k.py" {
			return kerneltest.Kernel{Source: string(f.Data), Name: archive, Origin: archive}
		}
	}
	t.Fatalf("%s has no k.py", archive)
	return kerneltest.Kernel{}
}

func named(k kerneltest.Kernel, name string) kerneltest.Kernel {
	k.Name = name
	return k
}

func TestLanguageAggregates(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, n := range []int{2, 7} {
		p := kerneltest.Randn(r, "fp32", n)
		sum := 0.0
		for _, v := range p.Floats() {
			sum += v
		}
		named(golden(t, "aggregate"), "aggregates").Run(t, kerneltest.Grid(1), p, n)
		kerneltest.Near(t, "p[0]", p, append([]float64{sum / float64(2*n)}, p.Floats()[1:]...), 1e-5, 1e-6)
	}
}

func TestLanguageBranches(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 6, 7, 99, 101, 249, 250, 251} {
		p := kerneltest.Full(-1, "i32", 2)
		golden(t, "branches").Run(t, kerneltest.Grid(1), p, n, true)
		want := []float64{-1, -1}
		if n != 0 {
			x, both := 1, n*3
			if n > 2 {
				x, both = n, n*2
			}
			z := both
			if n < 7 {
				z = x
			}
			if n > 100 {
				want[0] = 1
			}
			if n > 200 && n < 300 || n != 250 {
				want[1] = float64(max(x, z))
				if x == z {
					want[1] = 0
				}
			}
		}
		kerneltest.Equal(t, "p", p, want)
	}
}

func TestLanguageCalls(t *testing.T) {
	for _, n := range []int{1, 6, 50} {
		p := kerneltest.Empty("fp32", 1)
		golden(t, "calls").Run(t, kerneltest.Grid(1), p, n)
		b := float64(2*n + n)
		c := 3 * b
		kerneltest.Near(t, "p", p, []float64{1.5/float64(3*n) + 4*c}, 1e-6, 0)
	}
}

func TestLanguageConstants(t *testing.T) {
	r := kerneltest.Rand(t)
	const n = 64
	p := kerneltest.Randn(r, "fp16", n/2, n)
	x := p.Floats()
	golden(t, "constants").Run(t, kerneltest.Grid(1), p, n, kerneltest.Expr("'fast'"))
	kerneltest.Near(t, "p", p, each(len(x), func(i int) float64 {
		return min(max(math.Exp2(x[i]*math.Log2E), 0.5), 2) + 3 + 4 + 7
	}), 1e-3, 0)
}

func TestLanguageFunctions(t *testing.T) {
	r := kerneltest.Rand(t)
	forWarps(t, golden(t, "functions"), func(t *testing.T, k kerneltest.Kernel) {
		x, y := scaled(r, -1.2, 0.8, "fp32", 16), kerneltest.Empty("i32", 1)
		v := x.Floats()
		k.Run(t, kerneltest.Grid(1), x, y)
		top, at, sum, p, q := math.Inf(-1), 0, 0.0, 1.0, 0.0
		z := make([]float64, 16)
		for i, e := range v {
			if e > top {
				top, at = e, i
			}
			sum += e
			p, q = p*e, q*e+e+1
			if i == 0 {
				p, q = e, e+1
			}
			z[i] = min(p, q)
		}
		kerneltest.Near(t, "x", x, each(16, func(i int) float64 { return (z[i]+2)*(z[i]-2) + top + sum }), 1e-4, 1e-4)
		kerneltest.Equal(t, "y", y, []float64{float64(at)})
	})
}

func TestLanguageHeuristics(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, n := range []int{100, 128} { // masked, and not
		x, y := kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", 128)
		golden(t, "heuristics").Run(t, kerneltest.Grid(1), x, y, n)
		for i := range n {
			if y.At(i) != x.At(i) {
				t.Fatalf("y[%d] = %v, want %v", i, y.At(i), x.At(i))
			}
		}
	}
}

func TestLanguageHints(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, n := range []int{0, 1, 5} {
		x, y := kerneltest.Randn(r, "fp32", 16*n+240), kerneltest.Empty("fp32", 256)
		named(golden(t, "hints"), "carried").Run(t, kerneltest.Grid(1), x, y, n)
		kerneltest.Near(t, "carried", y, each(256, func(i int) float64 {
			sum := 0.0
			for k := range n {
				sum += x.At(i + 16*k)
			}
			return sum
		}), 1e-5, 1e-5)
	}
	x, y := kerneltest.Randn(r, "fp32", 16), kerneltest.Empty("fp32", 16)
	named(golden(t, "hints"), "kept").Run(t, kerneltest.Grid(1), x, y, 8)
	kerneltest.Equal(t, "kept", y, each(16, x.At))
	x, index := kerneltest.Full(-1, "fp32", 16), kerneltest.Empty("i32", 1)
	x.Set(11, 1)
	x.Set(13, 1)
	named(golden(t, "hints"), "greater").Run(t, kerneltest.Grid(1), x, index)
	kerneltest.Equal(t, "greater", index, []float64{11})
}

func TestLanguageInheritance(t *testing.T) {
	p := kerneltest.Empty("fp32", 1)
	golden(t, "inheritance").Run(t, kerneltest.Grid(1), p, 9)
	kerneltest.Equal(t, "p", p, []float64{9*4 + 9 + 40 + 4})
}

func TestLanguageLoops(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5, 8} {
		p := kerneltest.Empty("fp32", 1)
		golden(t, "loops").Run(t, kerneltest.Grid(1), p, n)
		a, b, c := 0, 1.0, 2
		for i := range n {
			b += float64(a + c)
			a = i
			if n+1 > 3 {
				c++
			}
		}
		for j := n; j > 0; j -= 2 {
			a += j
		}
		for k := 0; k < n; k += 4 {
			b *= 2
		}
		for a < n && c > 0 {
			a++
			b += 2 * float64(a)
		}
		kerneltest.Near(t, "p", p, []float64{b + float64(c)}, 1e-6, 0)
	}
}

func TestLanguageSymbols(t *testing.T) {
	p := kerneltest.Empty("fp32", 1)
	golden(t, "symbols").Run(t, kerneltest.Grid(1), p, 5)
	kerneltest.Equal(t, "p", p, []float64{0 + (5 - 35) + (35 - 5)})
}

func TestLanguageAssembly(t *testing.T) {
	forNVIDIA(t, "the kernel has PTX; backends/amd/gpu has other assembly")
	r := kerneltest.Rand(t)
	x, y := kerneltest.Randint(r, -1000, 1000, "i32", 16), kerneltest.Randint(r, 0, 256, "u8", 16)
	want := each(16, func(i int) float64 {
		// 7 is reinterpreted as a float, which is next to nothing.
		return x.At(i) + float64(^uint8(y.Int(i)))
	})
	named(golden(t, "random"), "assembly").Run(t, kerneltest.Grid(1), x, y)
	kerneltest.Equal(t, "x", x, want)
}

func TestLanguageArithmetic(t *testing.T) {
	r := kerneltest.Rand(t)
	const n = 32
	x, b, u := scaled(r, 0.1, 1, "fp32", n), kerneltest.Randn(r, "bf16", n), kerneltest.Randint(r, 0, 1<<32, "u32", n)
	xs, bs, us := x.Floats(), b.Floats(), u.Ints()
	k := named(golden(t, "builtins"), "arithmetic")
	if _, err := k.TryRun(t, kerneltest.Grid(1), x, b, u, n); err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	v := make([]float64, n)
	for i := range v {
		e := xs[i]
		e = e/2 + (e-1)*(e*3) + 2*e
		v[i] = e + max(bs[i], 0) + min(bs[i], e) + min(max(e, -1), 1)
	}
	s := softmax(v, n)
	for i := range v {
		e := v[i]
		e += s[i] + 1/(1+math.Exp(-e)) + math.Abs(e) - math.Tanh(e)
		v[i] = e*2 + e + e/3 // and the root of what that gives
		v[i] += math.Sqrt(e)
	}
	for i, e := range v {
		k := uint32(us[i])
		sum := uint32(uint64(k)*uint64(k)>>32) + (k+2)/3 + k + k/2 - k%5 + k>>1 + k<<2
		if e > 0 && uint32(u.Int(i)) != sum {
			t.Errorf("u[%d] = %d, want %d (of %d)", i, u.Int(i), sum, k)
		}
		if got, want := b.At(i), e+bs[i]; math.Abs(got-want) > 0.01*(1+math.Abs(want)) {
			t.Errorf("b[%d] = %v, want %v", i, got, want)
		}
	}
}

// TestLanguageE4B15: the format without a type of its own. The kernel ends with
// the bits that it began with.
func TestLanguageE4B15(t *testing.T) {
	forNVIDIA(t, "AMD's have no fp8e4b15")
	r := kerneltest.Rand(t)
	q, h, f, is := kerneltest.Randn(r, "fp8e4b15", 16), kerneltest.Empty("fp16", 16), kerneltest.Empty("fp32", 16), kerneltest.Empty("i32", 16)
	want := q.Floats()
	golden(t, "e4b15").Run(t, kerneltest.Grid(1), q, h, f, is)
	kerneltest.Equal(t, "h", h, each(16, func(i int) float64 { return want[i] + math.Abs(want[i]) }))
	kerneltest.Equal(t, "f", f, want)
	kerneltest.Equal(t, "i", is, each(16, func(i int) float64 { return math.Trunc(want[i]) }))
	kerneltest.Equal(t, "q", q, want)
}

func TestLanguageTuples(t *testing.T) {
	for _, n := range []int{3, 4, 16} {
		p := kerneltest.Empty("fp32", 32)
		k := golden(t, "tuples").Run(t, kerneltest.Grid(1), []any{p, n}, []any{8, 16}, kerneltest.Expr("'mode'"), kerneltest.Expr("tl.float16"), kerneltest.Expr("helper"))
		a, b, c := float64(n), float64(n+1), 2.5
		for range n {
			a, b, c = b, a, c*2
		}
		// The pair's fields are swapped, and added; so is the other pair.
		want := array.Named("fp16").Round(c + a + a + float64(n))
		for i := 3; i < 19; i++ {
			if p.At(i) != want {
				t.Fatalf("n=%d: p[%d] = %v, want %v (signature %s)", n, i, p.At(i), want, k.Signature)
			}
		}
	}
}
