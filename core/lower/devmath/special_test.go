package devmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	ref "github.com/tritonc/tritonc/internal/mathref"
	"github.com/tritonc/tritonc/internal/testseed"
)

var types = []llir.Type{llir.F32, llir.F64}

// limits are the numbers of a format at which functions change their ways.
func limits(typ llir.Type) []float64 {
	inf, most, least, normal := math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022
	if typ == llir.F32 {
		most, least, normal = math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-126
	}
	half := []float64{
		0, least, 3 * least, normal, normal - least, 0x1p-66, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 10, 101, 1 << 23, 1 << 26,
		most, inf,
	}
	out := []float64{math.NaN()}
	for _, v := range half {
		out = append(out, v, -v)
	}
	return out
}

func equal(a, b float64) bool {
	return a != a && b != b || a == b && math.Signbit(a) == math.Signbit(b)
}

func recip(f func(float64) float64) func(x ...float64) float64 {
	return func(x ...float64) float64 { return 1 / f(x[0]) }
}

func unary(f func(float64) float64) func(x ...float64) float64 {
	return func(x ...float64) float64 { return f(x[0]) }
}

func binary(f func(x, y float64) float64) func(x ...float64) float64 {
	return func(x ...float64) float64 { return f(x[0], x[1]) }
}

// known are Go's own functions, whose special cases are those of C.
var known = map[string]func(x ...float64) float64{
	"exp": unary(math.Exp), "exp2": unary(math.Exp2), "expm1": unary(math.Expm1), "log": unary(math.Log),
	"exp10": unary(func(x float64) float64 { return math.Pow(10, x) }),
	"log2":  unary(math.Log2), "log10": unary(math.Log10), "log1p": unary(math.Log1p), "logb": unary(math.Logb),
	"sin": unary(math.Sin), "cos": unary(math.Cos), "tan": unary(math.Tan), "asin": unary(math.Asin),
	"acos": unary(math.Acos), "atan": unary(math.Atan), "atan2": binary(math.Atan2), "sinh": unary(math.Sinh),
	"cosh": unary(math.Cosh), "tanh": unary(math.Tanh), "asinh": unary(math.Asinh), "acosh": unary(math.Acosh),
	"atanh": unary(math.Atanh), "erf": unary(math.Erf), "erfc": unary(math.Erfc), "erfinv": unary(math.Erfinv),
	"erfcinv": unary(math.Erfcinv),
	"tgamma":  unary(func(x float64) float64 { return math.Gamma(x) }),
	"lgamma":  unary(func(x float64) float64 { y, _ := math.Lgamma(x); return y }),
	"pow":     binary(math.Pow), "cbrt": unary(math.Cbrt), "rcbrt": recip(math.Cbrt), "rsqrt": recip(math.Sqrt),
	"hypot": binary(math.Hypot), "fmod": binary(math.Mod), "remainder": binary(math.Remainder), "fdim": binary(math.Dim),
}

// exceptions are where Go departs from C, or a function of Go's is only near.
func exception(name string, x, got float64) bool {
	switch name {
	case "fdim": // C: 0 for equal infinities
		return math.IsInf(x, 0) && got == 0
	case "atan2": // Go's loses the sign where y/x underflows
		return math.Abs(got) == math.Pi && math.Signbit(got) == math.Signbit(x)
	case "log", "lgamma", "log10", "pow": // Go's are far off for subnormal arguments
		return x != 0 && math.Abs(x) < 0x1p-1022 || name == "lgamma" && math.IsInf(x, -1) && math.IsInf(got, 1)
	case "erfcinv": // Go computes 1 - x
		return x != 0 && math.Abs(x) < 0x1p-53
	case "tgamma": // C: NaN at whole numbers below zero, where Go gives ∞ as well
		return x < 0 && x == math.Trunc(x) && got != got
	}
	return false
}

// everyCode is a function's code, and that with approximations, whatever they err by.
func everyCode(t *testing.T, name string, typ llir.Type) []*machine {
	ms := code(t, Find(name), typ)
	if short[name] == nil {
		return ms[:]
	}
	return append(ms[:], (&spec{name: name, approx: true}).code(t, typ)...)
}

func TestLimits(t *testing.T) {
	for name, f := range known {
		fn := Find(name)
		for _, typ := range types {
			ms := everyCode(t, name, typ)
			check := func(x ...float64) {
				want := f(x...)
				if typ == llir.F32 {
					want = float64(float32(want))
				}
				for _, m := range ms {
					got := m.call(typ, x...)
					if equal(got, want) || exception(name, x[0], got) {
						continue
					}
					// Other than zeros, infinities and NaNs, near is enough here.
					exact := want == 0 || math.IsInf(want, 0) || want != want || got != got
					if exact || math.Abs(got-want) > 1e-5*math.Abs(want) && math.Abs(got-want) > 1e-40 {
						t.Errorf("%s %s%v = %v, want %v", typ, name, x, got, want)
					}
				}
			}
			for _, x := range limits(typ) {
				if fn.Args == 1 {
					check(x)
					continue
				}
				for _, y := range limits(typ) {
					check(x, y)
				}
			}
		}
	}
}

// Functions that Go lacks.
func TestOtherLimits(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"sinpi", []float64{0}, 0},
		{"sinpi", []float64{zero}, zero},
		{"sinpi", []float64{1}, 0},
		{"sinpi", []float64{-1}, zero},
		{"sinpi", []float64{0.5}, 1},
		{"sinpi", []float64{1.5}, -1},
		{"sinpi", []float64{inf}, nan},
		{"sinpi", []float64{1e30}, 0},
		{"sinpi", []float64{nan}, nan},
		{"cospi", []float64{0}, 1},
		{"cospi", []float64{0.5}, 0},
		{"cospi", []float64{-1.5}, 0},
		{"cospi", []float64{1}, -1},
		{"cospi", []float64{-inf}, nan},
		{"cospi", []float64{1e30}, 1},
		{"cyl_bessel_i0", []float64{0}, 1},
		{"cyl_bessel_i0", []float64{-inf}, inf},
		{"cyl_bessel_i0", []float64{nan}, nan},
		{"cyl_bessel_i1", []float64{zero}, zero},
		{"cyl_bessel_i1", []float64{-inf}, -inf},
		{"cyl_bessel_i1", []float64{inf}, inf},
		{"cyl_bessel_i1", []float64{nan}, nan},
		{"erfcx", []float64{0}, 1},
		{"erfcx", []float64{inf}, 0},
		{"erfcx", []float64{-inf}, inf},
		{"erfcx", []float64{nan}, nan},
		{"normcdf", []float64{0}, 0.5},
		{"normcdf", []float64{inf}, 1},
		{"normcdf", []float64{-inf}, 0},
		{"normcdf", []float64{nan}, nan},
		{"normcdfinv", []float64{0.5}, 0},
		{"normcdfinv", []float64{0}, -inf},
		{"normcdfinv", []float64{1}, inf},
		{"normcdfinv", []float64{-1}, nan},
		{"normcdfinv", []float64{2}, nan},
		{"rhypot", []float64{0, 0}, inf},
		{"rhypot", []float64{3, 4}, 0.2},
		{"rhypot", []float64{nan, inf}, 0},
		{"rhypot", []float64{1, nan}, nan},
		{"norm3d", []float64{1, 2, 2}, 3},
		{"norm3d", []float64{nan, 1, -inf}, inf},
		{"norm3d", []float64{1, nan, 1}, nan},
		{"norm3d", []float64{zero, 0, 0}, 0},
		{"norm4d", []float64{1, 1, 1, 1}, 2},
		{"norm4d", []float64{0, 0, 0, inf}, inf},
		{"norm4d", []float64{0, 0, 0, nan}, nan},
		{"rnorm3d", []float64{0, 0, 0}, inf},
		{"rnorm3d", []float64{1, 2, 2}, 1. / 3},
		{"rnorm4d", []float64{2, 2, 2, 2}, 0.25},
		{"rnorm4d", []float64{0, inf, nan, 2}, 0},
	} {
		for _, typ := range types {
			want := c.want
			if typ == llir.F32 {
				want = float64(float32(want))
			}
			for _, m := range code(t, Find(c.name), typ) {
				if got := m.call(typ, c.x...); !equal(got, want) {
					t.Errorf("%s %s%v = %v, want %v", typ, c.name, c.x, got, want)
				}
			}
		}
	}
}

// anyBits is a random number of a format, of all exponents alike.
func anyBits(r *rand.Rand, typ llir.Type) float64 {
	return fromBits(typ, r.Uint64()>>(64-llir.Width(typ)))
}

// Functions with one right answer have it.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for _, c := range []struct {
		name string
		f    func(x, y float64) float64
	}{
		{"fmod", math.Mod},
		{"remainder", math.Remainder},
		{"fdim", math.Dim},
		{"logb", func(x, _ float64) float64 { return math.Logb(x) }},
	} {
		fn := Find(c.name)
		for _, typ := range types {
			for _, m := range everyCode(t, c.name, typ) {
				for i := range 1500 {
					x, y := anyBits(r, typ), anyBits(r, typ)
					if i%2 == 0 { // of comparable size
						y = x * (r.Float64() - 0.5) * 16
					}
					if i%5 == 0 { // near a whole or half quotient
						y = x / (float64(r.IntN(1<<20)) + 0.5*float64(r.IntN(2)))
					}
					if typ == llir.F32 {
						y = float64(float32(y))
					}
					want := c.f(x, y)
					if typ == llir.F32 {
						want = float64(float32(want))
					}
					if got := m.call(typ, []float64{x, y}[:fn.Args]...); !equal(got, want) {
						t.Fatalf("%s %s(%v, %v) = %v, want %v", typ, c.name, x, y, got, want)
					}
				}
			}
		}
	}
}

// edges is a number of a format with an exponent near one given, and a significand that
// is often next to a power of two, or short.
func edges(r *rand.Rand, typ llir.Type, exp int) float64 {
	man, most := 52, 2047
	if typ == llir.F32 {
		man, most = 23, 255
	}
	whole := uint64(1)<<man - 1
	m := [...]uint64{r.Uint64N(4), whole - r.Uint64N(4), 1<<r.IntN(man) + r.Uint64N(3) - 1, r.Uint64()}[r.IntN(4)] & whole
	exp = min(max(exp, 0), most)
	return fromBits(typ, uint64(exp)<<man|m|uint64(r.IntN(2))<<(llir.Width(typ)-1))
}

// Remainders where the guess at the quotient is nearly wrong, next to where it fails, and
// where the loop must divide.
func TestRests(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for _, typ := range types {
		man, exps := 52, 2048
		if typ == llir.F32 {
			man, exps = 23, 256
		}
		mod, rem := everyCode(t, "fmod", typ), everyCode(t, "remainder", typ)
		for i := range 12000 {
			e := r.IntN(exps)
			x, y := edges(r, typ, e+r.IntN(man+4)-2), edges(r, typ, e)
			switch i % 4 {
			case 0: // any two
				x = edges(r, typ, r.IntN(exps))
			case 1: // a whole or half quotient, or a neighbour of it
				p := y * (float64(r.IntN(1<<r.IntN(22))) + 0.5*float64(r.IntN(2)))
				x = fromBits(typ, toBits(typ, p)+r.Uint64N(5)-2)
			}
			for _, c := range []struct {
				name string
				ms   []*machine
				want float64
			}{{"fmod", mod, math.Mod(x, y)}, {"remainder", rem, math.Remainder(x, y)}} {
				for _, m := range c.ms {
					if got := m.call(typ, x, y); !equal(got, c.want) {
						t.Fatalf("%s %s(%v, %v) = %v, want %v", typ, c.name, x, y, got, c.want)
					}
				}
			}
		}
	}
}

func TestNextafter(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for _, typ := range types {
		next := math.Nextafter
		if typ == llir.F32 {
			next = func(x, y float64) float64 { return float64(math.Nextafter32(float32(x), float32(y))) }
		}
		m := code(t, Find("nextafter"), typ)[0]
		check := func(x, y float64) {
			want := next(x, y)
			if x == y {
				want = y // C says y, also for zeros
			}
			if x == 0 && x != y && y == y {
				want = math.Copysign(want, y)
			}
			if got := m.call(typ, x, y); !equal(got, want) {
				t.Errorf("%s nextafter(%v, %v) = %v, want %v", typ, x, y, got, want)
			}
		}
		for range 1000 {
			check(anyBits(r, typ), anyBits(r, typ))
		}
		for _, x := range limits(typ) {
			for _, y := range limits(typ) {
				check(x, y)
			}
		}
	}
}

// mixed runs a function of a float and an i32.
func mixed(t *testing.T, typ, result llir.Type, f func(b *llir.Builder, x, n llir.Value) llir.Value) func(x float64, n int32) uint64 {
	t.Helper()
	m := llir.NewModule("", "", "")
	fn := m.NewFunc("f", false, result, typ, llir.I32)
	b := llir.NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	b.Ret(f(b, fn.Param(0), fn.Param(1)))
	run := compile(fn, true)
	return func(x float64, n int32) uint64 { return run.run(toBits(typ, x), uint64(uint32(n))) }
}

// intPower is x to the power n: for small n exactly, rounded once, since Go's
// own power is off where it is subnormal.
func intPower(x float64, n int32) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || x == 0 || n < -4096 || n > 4096 {
		return math.Pow(x, float64(n))
	}
	p, square := big.NewFloat(1).SetPrec(300), new(big.Float).SetPrec(300).SetFloat64(x)
	for k := max(n, -n); k > 0; k >>= 1 {
		if k&1 == 1 {
			p.Mul(p, square)
		}
		square.Mul(square, square)
	}
	if n < 0 {
		p.Quo(big.NewFloat(1), p)
	}
	v, _ := p.Float64()
	return v
}

func TestExponents(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for _, typ := range types {
		ldexp := mixed(t, typ, typ, Ldexp)
		ilogb := mixed(t, typ, llir.I32, func(b *llir.Builder, x, _ llir.Value) llir.Value { return Ilogb(b, x) })
		powi := mixed(t, typ, typ, onePower)
		small := make(map[int32]func(float64, int32) uint64) // by constant powers
		for n := range int32(4) {
			small[n] = mixed(t, typ, typ, func(b *llir.Builder, x, _ llir.Value) llir.Value { return onePower(b, x, b.M.I32(int(n))) })
		}
		check := func(x float64, n int32) {
			want := math.Ldexp(x, int(n))
			if typ == llir.F32 {
				want = float64(float32(want)) // x has few bits: a double holds x·2^n or rounds alike
			}
			if got := fromBits(typ, ldexp(x, n)); !equal(got, want) {
				t.Errorf("%s ldexp(%v, %d) = %v, want %v", typ, x, n, got, want)
			}
			log := int32(math.MinInt32)
			switch {
			case math.IsInf(x, 0):
				log = math.MaxInt32
			case x != 0 && x == x:
				log = int32(math.Ilogb(x))
			}
			if got := int32(uint32(ilogb(x, 0))); got != log {
				t.Errorf("%s ilogb(%v) = %d, want %d", typ, x, got, log)
			}
			want = intPower(x, n)
			tiny := math.SmallestNonzeroFloat64
			if typ == llir.F32 {
				want = float64(float32(want))
				tiny = math.SmallestNonzeroFloat32
			}
			// Below the normal numbers the places are absolute.
			bound := max(1e-6, math.Abs(float64(n))*0x1p-45)
			if got := fromBits(typ, powi(x, n)); !equal(got, want) && !(math.Abs(got-want) <= max(bound*math.Abs(want), 8*tiny)) {
				t.Errorf("%s %v to the power %d = %v, want %v", typ, x, n, got, want)
			}
			if constant := small[n]; constant != nil {
				if got := fromBits(typ, constant(x, n)); !equal(got, want) && !(math.Abs(got-want) <= max(3e-7*math.Abs(want), 2*tiny)) {
					t.Errorf("%s %v to the constant power %d = %v, want %v", typ, x, n, got, want)
				}
			}
		}
		for _, x := range limits(typ) {
			for _, n := range []int32{0, 1, -1, 2, 3, 5, -7, 126, -126, -149, 300, -300, 2200, -2200, math.MaxInt32, math.MinInt32} {
				check(x, n)
			}
		}
		for range 1000 {
			check(anyBits(r, typ), int32(r.IntN(600)-300))
			check(float64(float32(r.NormFloat64())), int32(r.IntN(40)-20))
		}
	}
}

// onePower is one of the powers that Powi computes together.
func onePower(b *llir.Builder, x, n llir.Value) llir.Value {
	return Powi(b, []llir.Value{x}, []llir.Value{n})[0]
}

// TestPowersTogether: each of several powers is what it is alone, with one exponent and
// with several.
func TestPowersTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 1))
	const count = mostTogether + 3
	for _, typ := range types {
		alone := mixed(t, typ, typ, onePower)
		for _, shared := range []bool{false, true} {
			for at := range count {
				var ns []int32
				one := mixed(t, typ, typ, func(b *llir.Builder, x, n llir.Value) llir.Value {
					xs, exponents := make([]llir.Value, count), make([]llir.Value, count)
					for i := range xs {
						xs[i], exponents[i] = b.Binary(llir.FMul, x, b.M.Float(typ, float64(1+i-at)), 0), n
						if !shared {
							exponents[i] = b.Add(n, b.M.I32(i-at))
						}
					}
					return Powi(b, xs, exponents)[at]
				})
				ns = append(ns, 0, -1, 1, int32(r.IntN(100)-50))
				for _, n := range ns {
					x := float64(float32(r.NormFloat64()))
					if got, want := one(x, n), alone(x, n); got != want {
						t.Errorf("%s %v to the power %d, one of several: %#x, want %#x", typ, x, n, got, want)
					}
				}
			}
		}
	}
}

// TestPowerFar: where the power is nearest to the ends of its range the logarithm's
// error counts most.
func TestPowerFar(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	specs := append(shortOf(specs), specs...)
	for _, s := range specs {
		if s.name != "pow" {
			continue
		}
		for _, typ := range types {
			least, most := -126.0, 128.0
			if typ == llir.F64 {
				least, most = -1022, 1024
			}
			worst := 0.0
			for _, m := range s.code(t, typ) {
				for range 400 {
					x := fromBits(typ, toBits(typ, 0.5+1.5*r.Float64()))
					y := fromBits(typ, toBits(typ, (least+r.Float64()*(most-least))/math.Log2(x)))
					if math.IsInf(y, 0) {
						continue
					}
					worst = max(worst, off(typ, m.call(typ, x, y), ref.Pow(ref.New(x), ref.New(y))))
				}
			}
			t.Logf("%s %s: at most %.2f", typ, s.label(), worst)
			if worst > s.bound(typ) {
				t.Errorf("%s %s errs by %.2f units in the last place, more than %v", typ, s.label(), worst, s.bound(typ))
			}
		}
	}
}
