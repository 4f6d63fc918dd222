package gpu_test

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/mathref"
)

// libraryCall is a call in a kernel, of x, positive p, q, u between -1 and 1, and g above 1,
// with what it should give.
type libraryCall struct {
	call  string
	types string // fp32, fp64 or both, fp
	// want is the exact result of x, p, q, u and g.
	want func(v inputs) *big.Float
	// tolerance is the error relative to the result, in units of 2^-23 or 2^-52.
	tolerance float64
}

// inputs are the arguments of one element.
type inputs struct{ x, p, q, u, g float64 }

// of applies a reference to one of the inputs.
func of(name byte, f func(*big.Float) *big.Float) func(inputs) *big.Float {
	return func(v inputs) *big.Float {
		return f(mathref.New(map[byte]float64{'x': v.x, 'p': v.p, 'q': v.q, 'u': v.u, 'g': v.g}[name]))
	}
}

// double is a reference by Go's package math, which is right to a double's last places.
func double(f func(v inputs) float64) func(inputs) *big.Float {
	return func(v inputs) *big.Float { return mathref.New(f(v)) }
}

var libraryCalls = []libraryCall{
	{"exp(x)", "fp", of('x', mathref.Exp), 2},
	{"exp2(x)", "fp", of('x', mathref.Exp2), 2},
	{"exp10(x)", "fp", of('x', mathref.Exp10), 2},
	{"expm1(x)", "fp", of('x', mathref.Expm1), 2},
	{"log(p)", "fp", of('p', mathref.Log), 4},
	{"log2(p)", "fp", of('p', mathref.Log2), 4},
	{"log10(p)", "fp", of('p', mathref.Log10), 4},
	{"log1p(p)", "fp", of('p', mathref.Log1p), 2},
	{"sin(x)", "fp", of('x', mathref.Sin), 2},
	{"cos(x)", "fp", of('x', mathref.Cos), 2},
	{"tan(x)", "fp", of('x', mathref.Tan), 4},
	{"sinpi(x)", "fp", of('x', mathref.Sinpi), 2},
	{"cospi(x)", "fp", of('x', mathref.Cospi), 2},
	{"asin(u)", "fp", of('u', mathref.Asin), 2},
	{"acos(u)", "fp", of('u', mathref.Acos), 2},
	{"atan(x)", "fp", of('x', mathref.Atan), 2},
	{"sinh(x)", "fp", of('x', mathref.Sinh), 3},
	{"cosh(x)", "fp", of('x', mathref.Cosh), 3},
	{"tanh(x)", "fp", of('x', mathref.Tanh), 2},
	{"asinh(x)", "fp", of('x', mathref.Asinh), 3},
	{"acosh(g)", "fp", of('g', mathref.Acosh), 4},
	{"atanh(u)", "fp", of('u', mathref.Atanh), 3},
	{"erf(x)", "fp", of('x', mathref.Erf), 2},
	{"erfc(x)", "fp", of('x', mathref.Erfc), 5},
	{"erfcx(p)", "fp", of('p', mathref.Erfcx), 4},
	{"erfinv(u)", "fp", of('u', mathref.Erfinv), 5},
	{"normcdf(x)", "fp", of('x', mathref.Normcdf), 5},
	{"lgamma(g)", "fp64", of('g', mathref.Lgamma), 400}, // zero at 1 and 2
	{"tgamma(g)", "fp", of('g', mathref.Tgamma), 5},
	{"cbrt(x)", "fp", of('x', mathref.Cbrt), 1},
	{"sqrt(p)", "fp", of('p', mathref.Sqrt), 1},
	{"sqrt_rn(p)", "fp", of('p', mathref.Sqrt), 0.5},
	{"rsqrt(p)", "fp", of('p', func(x *big.Float) *big.Float { return mathref.Inverse(mathref.Sqrt(x)) }), 2},
	{"cyl_bessel_i0(x)", "fp", of('x', func(x *big.Float) *big.Float { return mathref.BesselI(0, x) }), 6},
	{"cyl_bessel_i1(x)", "fp", of('x', func(x *big.Float) *big.Float { return mathref.BesselI(1, x) }), 6},
	{"j0(u)", "fp", of('u', func(x *big.Float) *big.Float { return mathref.BesselJ(0, x) }), 7},
	{"j1(u)", "fp", of('u', func(x *big.Float) *big.Float { return mathref.BesselJ(1, x) }), 7},
	{"pow(p, x)", "fp", func(v inputs) *big.Float { return mathref.Pow(mathref.New(v.p), mathref.New(v.x)) }, 4},
	{"atan2(x, u)", "fp", func(v inputs) *big.Float { return mathref.Atan2(mathref.New(v.x), mathref.New(v.u)) }, 3},
	{"hypot(x, u)", "fp", func(v inputs) *big.Float { return mathref.Hypot(mathref.New(v.x), mathref.New(v.u)) }, 3},
	{"norm3d(x, u, p)", "fp", func(v inputs) *big.Float {
		return mathref.Hypot(mathref.New(v.x), mathref.New(v.u), mathref.New(v.p))
	}, 3},
	{"fmod(x, u)", "fp", double(func(v inputs) float64 { return math.Mod(v.x, v.u) }), 0},
	{"remainder(x, u)", "fp", double(func(v inputs) float64 { return math.Remainder(v.x, v.u) }), 0},
	{"copysign(p, x)", "fp", double(func(v inputs) float64 { return math.Copysign(v.p, v.x) }), 0},
	{"div_rn(x, p)", "fp", func(v inputs) *big.Float { return new(big.Float).Quo(mathref.New(v.x), mathref.New(v.p)) }, 0.5},
	{"fma(x, p, u)", "fp", func(v inputs) *big.Float {
		return new(big.Float).Add(new(big.Float).Mul(mathref.New(v.x), mathref.New(v.p)), mathref.New(v.u))
	}, 0.5},
	{"fdim(x, u)", "fp", double(func(v inputs) float64 { return math.Max(v.x-v.u, 0) }), 0.5},
	{"floor(x)", "fp", double(func(v inputs) float64 { return math.Floor(v.x) }), 0},
	{"ceil(x)", "fp", double(func(v inputs) float64 { return math.Ceil(v.x) }), 0},
	{"trunc(x)", "fp", double(func(v inputs) float64 { return math.Trunc(v.x) }), 0},
	{"round(x)", "fp", double(func(v inputs) float64 { return math.Round(v.x) }), 0},
	{"rint(x)", "fp", double(func(v inputs) float64 { return math.RoundToEven(v.x) }), 0},
	{"nearbyint(x)", "fp", double(func(v inputs) float64 { return math.RoundToEven(v.x) }), 0},
	{"abs(x)", "fp", double(func(v inputs) float64 { return math.Abs(v.x) }), 0},
	{"logb(p)", "fp", double(func(v inputs) float64 { return math.Logb(v.p) }), 0},
	{"ilogb(p)", "fp", double(func(v inputs) float64 { return math.Logb(v.p) }), 0},
	{"ldexp(x, 3)", "fp", double(func(v inputs) float64 { return v.x * 8 }), 0},
	{"pow(x, libdevice.ilogb(q))", "fp", double(func(v inputs) float64 { return math.Pow(v.x, math.Logb(v.q)) }), 3},
	{"llrint(x * 1000)", "fp64", double(func(v inputs) float64 { return math.RoundToEven(v.x * 1000) }), 0},
	{"signbit(x)", "fp", double(func(v inputs) float64 {
		if v.x < 0 {
			return 1
		}
		return 0
	}), 0},
	{"isnan(x / (x - x))", "fp", double(func(inputs) float64 { return 0 }), 0},
	{"isinf(x / (x - x))", "fp", double(func(inputs) float64 { return 1 }), 0},
	{"isnan((x - x) / (x - x))", "fp", double(func(inputs) float64 { return 1 }), 0},
	{"fast_expf(x)", "fp32", of('x', mathref.Exp), 20},
	{"fast_exp10f(u)", "fp32", of('u', mathref.Exp10), 20},
	{"fast_log2f(g)", "fp32", of('g', mathref.Log2), 1e4},
	{"fast_logf(g)", "fp32", of('g', mathref.Log), 1e4},
	{"fast_log10f(g)", "fp32", of('g', mathref.Log10), 1e4},
	{"fast_dividef(x, p)", "fp32", func(v inputs) *big.Float { return new(big.Float).Quo(mathref.New(v.x), mathref.New(v.p)) }, 3},
	{"fast_tanhf(g)", "fp32", of('g', mathref.Tanh), 8},
	{"fast_sinf(g / 2)", "fp32", double(func(v inputs) float64 { return math.Sin(v.g / 2) }), 1e4},
	{"fast_cosf(u)", "fp32", of('u', mathref.Cos), 1e4},
}

// TestLibrary calls the functions of triton.language.extra.libdevice on every chip, in one
// kernel for each type of floats. Each run draws the type on chips other than gfx942;
// TRITONC_ALL has both.
func TestLibrary(t *testing.T) {
	const n = 100
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		types := []string{"fp32", "fp64"}
		if drawn := r.IntN(2); chip != "gfx942" && os.Getenv("TRITONC_ALL") == "" {
			types = types[drawn : drawn+1]
		}
		for _, typ := range types {
			var source strings.Builder
			fmt.Fprint(&source, `def k(xs, ps, qs, us, gs, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < n
    x = tl.load(xs + i, mask=m, other=1)
    p = tl.load(ps + i, mask=m, other=1)
    q = tl.load(qs + i, mask=m, other=1)
    u = tl.load(us + i, mask=m, other=0)
    g = tl.load(gs + i, mask=m, other=1)
`)
			var rows []libraryCall
			for _, c := range libraryCalls {
				if strings.HasPrefix(typ, c.types) {
					fmt.Fprintf(&source, "    tl.store(out + %d * n + i, libdevice.%s.to(out.dtype.element_ty), mask=m)\n", len(rows), c.call)
					rows = append(rows, c)
				}
			}
			x, u := kerneltest.Randn(r, typ, n), kerneltest.Uniform(r, typ, n)
			p, q, g := kerneltest.Zeros(typ, n), kerneltest.Zeros(typ, n), kerneltest.Zeros(typ, n)
			for i := range n {
				x.Set(i, 3*x.At(i)+0x1p-20)
				u.Set(i, 2*u.At(i)-1+0x1p-25)
				p.Set(i, math.Exp(2*x.At(i)))
				q.Set(i, math.Exp2(math.Trunc(4*u.At(i))))
				g.Set(i, 1.0625+math.Abs(x.At(i))/4)
			}
			out := kerneltest.Zeros(typ, len(rows)*n)
			k := kernelOf(chip, "", kerneltest.Options{"num_warps": 1})
			k.Source = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n@triton.jit\n" + source.String()
			k.Run(t, kerneltest.Grid(1), x, p, q, u, g, out, n, 128)
			unit := map[string]float64{"fp32": 0x1p-23, "fp64": 0x1p-52}[typ]
			for row, c := range rows {
				checkLibrary(t, c, typ, unit, out, row*n, func(i int) inputs {
					return inputs{x.At(i), p.At(i), q.At(i), u.At(i), g.At(i)}
				}, n)
			}
		}
	})
}

// checkLibrary holds the n results of a call, from the place base, against its reference.
func checkLibrary(t *testing.T, c libraryCall, typ string, unit float64, out *array.Array, base int, at func(int) inputs, n int) {
	t.Helper()
	for i := range n {
		v, got := at(i), out.At(base+i)
		want := c.want(v)
		exact, _ := want.Float64()
		rounded := exact
		if typ == "fp32" {
			rounded = float64(float32(exact))
		}
		if got == rounded {
			continue
		}
		off, _ := new(big.Float).Sub(mathref.New(got), want).Float64()
		if !(math.Abs(off) <= c.tolerance*unit*math.Abs(exact)) {
			t.Errorf("%s of %s: %+v: got %v, want %v: off by %.3g units", c.call, typ, v, got, exact, off/unit/exact)
			return
		}
	}
}
