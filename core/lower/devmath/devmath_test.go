package devmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

// singleOnly reports whether f has no form for doubles.
func singleOnly(f func(*llir.Builder, llir.Value) llir.Value) bool {
	m := llir.NewModule("", "", "")
	fn := m.NewFunc("f", false, llir.Void, llir.F64)
	b := llir.NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	return f(b, fn.Param(0)) == nil
}

// eval runs a function on a number: the builder computes constants exactly.
func eval(t *testing.T, f func(*llir.Builder, llir.Value) llir.Value, typ llir.Type, x float64) float64 {
	t.Helper()
	m := llir.NewModule("", "", "")
	fn := m.NewFunc("f", false, llir.Void)
	b := llir.NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	v := f(b, m.Float(typ, x))
	c, ok := v.(*llir.Float)
	if !ok {
		t.Fatalf("f(%v) is no constant: %v", x, v)
	}
	return c.Value()
}

// ulp is the distance of neighbouring numbers of a format near x.
func ulp(typ llir.Type, x float64) float64 {
	man, least := 52, -1074
	if typ == llir.F32 {
		man, least = 23, -149
	}
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1-man, least))
}

var functions = []struct {
	name   string
	f      func(*llir.Builder, llir.Value) llir.Value
	ref    func(float64) float64
	lo, hi float64 // exponents of the arguments, base 2
	signed bool
	ulps   float64 // the reference errs too, by up to 1 where it is a double
	single bool    // of f32 alone
}{
	{"log", Log, math.Log, -140, 120, false, 1.1, false},
	{"log2", Log2, log2, -140, 120, false, 1.1, false},
	{"exp", Exp, math.Exp, -20, 7, true, 1.1, false},
	{"exp2", Exp2, math.Exp2, -20, 7.2, true, 1.1, false},
	{"sin", Sin, math.Sin, -20, 127, true, 1.6, true},
	{"cos", Cos, math.Cos, -20, 127, true, 1.6, true},
	{"erf", Erf, math.Erf, -20, 4, true, 1.6, true},
	{"asin", Asin, math.Asin, -20, 0, true, 2.6, true},
	{"acos", Acos, math.Acos, -20, 0, true, 2.6, true},
	{"atan", Atan, math.Atan, -20, 20, true, 1.6, true},
	{"tan", Tan, math.Tan, -20, 40, true, 3.5, true},
	{"log1p", Log1p, math.Log1p, -60, 60, false, 1.6, false},
	{"expm1", Expm1, math.Expm1, -40, 6, true, 1.6, false},
	{"exp10", Exp10, func(x float64) float64 { return math.Pow(10, x) }, -20, 5.2, true, 0.51, true},
	{"log10", Log10, math.Log10, -140, 120, false, 0.51, true},
	{"tanh", Tanh, math.Tanh, -20, 5, true, 1.6, true},
}

// log2 is math.Log2 without its cancellation below 1 and just above.
func log2(x float64) float64 {
	if x > 0.5 && x < 2 {
		return math.Log1p(x-1) / math.Ln2
	}
	return math.Log2(x)
}

func TestAccuracy(t *testing.T) {
	for _, f := range functions {
		for _, typ := range []llir.Type{llir.F32, llir.F64} {
			if typ == llir.F64 && f.single {
				continue
			}
			worst := 0.0
			limit := f.ulps
			if typ == llir.F64 {
				limit += 1
			}
			for i := range 6000 {
				x := math.Exp2(f.lo + rand.Float64()*(f.hi-f.lo))
				if i%4 == 0 { // around 1, where logarithms vanish
					x = 1 + (rand.Float64()-0.5)/math.Exp2(float64(rand.IntN(20)))
				}
				if f.hi == 0 {
					x = math.Mod(x, 1)
				}
				if f.signed && rand.IntN(2) == 0 {
					x = -x
				}
				if typ == llir.F32 {
					x = float64(float32(x))
				}
				want := f.ref(x)
				if typ == llir.F32 && math.Abs(want) > math.MaxFloat32 {
					continue
				}
				got := eval(t, f.f, typ, x)
				err := math.Abs(got-want) / ulp(typ, want)
				if worst = max(worst, err); err > limit {
					t.Fatalf("%s %s(%v) = %v, want %v: off by %.2f units in the last place", typ, f.name, x, got, want, err)
				}
			}
			t.Logf("%s %s: at most %.3f units in the last place", typ, f.name, worst)
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		f    func(*llir.Builder, llir.Value) llir.Value
		x    float64
		want float64
	}{
		{Log, 0, -inf},
		{Log, math.Copysign(0, -1), -inf},
		{Log, inf, inf},
		{Log, -1, nan},
		{Log, -inf, nan},
		{Log, nan, nan},
		{Log, 1, 0},
		{Log2, 0, -inf},
		{Log2, inf, inf},
		{Log2, -2, nan},
		{Log2, nan, nan},
		{Log2, 8, 3},
		{Log2, 0.25, -2},
		{Exp, -inf, 0},
		{Exp, inf, inf},
		{Exp, nan, nan},
		{Exp, 0, 1},
		{Exp, 1e6, inf},
		{Exp, -1e6, 0},
		{Exp2, -inf, 0},
		{Exp2, inf, inf},
		{Exp2, nan, nan},
		{Exp2, 10, 1024},
		{Exp2, -3, 0.125},
	} {
		for _, typ := range []llir.Type{llir.F32, llir.F64} {
			if typ == llir.F64 && singleOnly(c.f) {
				continue
			}
			if typ == llir.F32 {
				c.want = float64(float32(c.want))
			}
			if got := eval(t, c.f, typ, c.x); got != c.want && (got == got || c.want == c.want) {
				t.Errorf("%s f(%v) = %v, want %v", typ, c.x, got, c.want)
			}
		}
	}
	// Subnormal arguments and results.
	if got, want := eval(t, Log, llir.F32, 1e-42), math.Log(float64(float32(1e-42))); math.Abs(got-want) > 1e-5 {
		t.Errorf("log of a subnormal is %v, want %v", got, want)
	}
	if got := eval(t, Exp2, llir.F32, -149); got != math.SmallestNonzeroFloat32 {
		t.Errorf("2^-149 is %v", got)
	}
	if got := eval(t, Exp2, llir.F64, -1074); got != math.SmallestNonzeroFloat64 {
		t.Errorf("2^-1074 is %v", got)
	}
}

// The tails of the constants continue them to twice the precision.
func TestConstants(t *testing.T) {
	ln2, _ := new(big.Float).SetPrec(200).SetString("0.69314718055994530941723212145817656807550013436025525412068")
	tail, _ := new(big.Float).Sub(ln2, new(big.Float).SetFloat64(math.Ln2)).Float64()
	if got := ln2Minus(math.Ln2); math.Abs(got/tail-1) > 1e-15 {
		t.Errorf("ln2 continues by %v, not %v", tail, got)
	}
	inv := new(big.Float).Quo(new(big.Float).SetPrec(200).SetInt64(1), ln2)
	want, _ := new(big.Float).Sub(inv, new(big.Float).SetFloat64(math.Log2E)).Float64()
	if _, lo := inverseLn2(kit{t: llir.F64}); math.Abs(lo/want-1) > 1e-15 {
		t.Errorf("1/ln2 continues by %v, not %v", want, lo)
	}
}

func TestPow(t *testing.T) {
	eval2 := func(x, y float64) float64 {
		return eval(t, func(b *llir.Builder, v llir.Value) llir.Value { return Pow(b, v, b.M.Float(llir.F32, y)) }, llir.F32, x)
	}
	for range 5000 {
		x := float64(float32(math.Exp2(rand.Float64()*80 - 40)))
		y := float64(float32(rand.NormFloat64() * 3))
		if rand.IntN(3) == 0 {
			x, y = -x, math.Round(y)
		}
		want := math.Pow(x, y)
		if math.Abs(want) > math.MaxFloat32 {
			continue
		}
		if got := eval2(x, y); math.Abs(got-want) > 0.51*ulp(llir.F32, want) {
			t.Fatalf("%v^%v = %v, want %v", x, y, got, want)
		}
	}
}
