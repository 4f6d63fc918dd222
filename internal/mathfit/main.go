// The command mathfit writes the coefficients of package devmath's polynomials, in
// coefficients.go. Those of doubles interpolate their function at Chebyshev's
// nodes, in the arithmetic of package mathref; those of floats have the least
// greatest relative error (remez.go). All are rounded at the end.
//
//	cd core/lower/devmath && go run ../../../internal/mathfit
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"math"
	"math/big"
	"os"

	ref "github.com/tritonc/tritonc/internal/mathref"
)

// row is one polynomial: n coefficients of f on [lo, hi]. The comment of the
// result tells the greatest error, relative to scale at the same place.
type row struct {
	name   string
	is     string
	lo, hi float64
	n      int
	f      func(u *big.Float) *big.Float
	// scale is what the function is a part of; nil for f itself.
	scale func(u *big.Float) *big.Float
	// single polynomials are of floats.
	single bool
}

func num(x float64) *big.Float       { return ref.New(x) }
func add(x, y *big.Float) *big.Float { return num(0).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return num(0).Sub(x, y) }
func mul(x, y *big.Float) *big.Float { return num(0).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return num(0).Quo(x, y) }

// remainder is (f(x) - x)/x³ as a function of x².
func rest(f func(*big.Float) *big.Float) func(*big.Float) *big.Float {
	return func(z *big.Float) *big.Float {
		x := ref.Sqrt(z)
		return quo(sub(f(x), x), mul(x, z))
	}
}

// whole is f(x)/x³ beside remainder.
func whole(f func(*big.Float) *big.Float) func(*big.Float) *big.Float {
	return func(z *big.Float) *big.Float {
		x := ref.Sqrt(z)
		return quo(f(x), mul(x, z))
	}
}

// logTail is (2·artanh s - 2s - ⅔s³)/s⁵ as a function of s², logScale the whole.
func logTail(z *big.Float) *big.Float {
	s := ref.Sqrt(z)
	y := sub(mul(num(2), sub(ref.Atanh(s), s)), quo(mul(num(2), mul(s, z)), num(3)))
	return quo(y, mul(mul(s, z), z))
}

func logScale(z *big.Float) *big.Float {
	s := ref.Sqrt(z)
	return quo(mul(num(2), ref.Atanh(s)), mul(mul(s, z), z))
}

// besselSmall is 2ⁿ·Iₙ(x)/xⁿ as a function of x²/4, besselLarge √x·e^-x·Iₙ(x) of 1/x.
func besselSmall(n int64) func(*big.Float) *big.Float {
	return func(z *big.Float) *big.Float {
		half := ref.Sqrt(z)
		y := ref.BesselI(n, mul(num(2), half))
		if n == 1 {
			y = quo(y, half)
		}
		return y
	}
}

func besselLarge(n int64) func(*big.Float) *big.Float {
	return func(t *big.Float) *big.Float {
		x := ref.Inverse(t)
		return mul(mul(ref.Sqrt(x), ref.Exp(num(0).Neg(x))), ref.BesselI(n, x))
	}
}

// erfinvNear is erfinv(x)/x as a function of -log(1-x²) less a number.
func erfinvNear(less float64) func(*big.Float) *big.Float {
	return func(w *big.Float) *big.Float {
		x := ref.Sqrt(sub(num(1), ref.Exp(num(0).Neg(add(w, num(less))))))
		return quo(ref.Erfinv(x), x)
	}
}

func halfRootPi() *big.Float { return mul(ref.Sqrt(ref.Pi()), num(0.5)) }

// erfinvFar is erfinv(x) as a function of √-log(1-x²) less a number.
func erfinvFar(less float64) func(*big.Float) *big.Float {
	return func(s *big.Float) *big.Float {
		s = add(s, num(less))
		c := ref.Exp(num(0).Neg(mul(s, s))) // 1-x² = c·(2-c) with 1-x = c
		c = quo(c, add(num(1), ref.Sqrt(sub(num(1), c))))
		return ref.Erfcinv(c)
	}
}

// erfcx is (1+2x)·erfcx(x) as a function of (x-4)/(x+4).
func erfcx(t *big.Float) *big.Float {
	x := quo(mul(num(4), add(num(1), t)), sub(num(1), t))
	return mul(add(num(1), mul(num(2), x)), ref.Erfcx(x))
}

// log1pTail is (log(1+f) - f)/f² as a function of f, log1pScale the whole.
func log1pTail(f *big.Float) *big.Float {
	return quo(sub(ref.Log(add(num(1), f)), f), mul(f, f))
}

func log1pScale(f *big.Float) *big.Float { return quo(ref.Log(add(num(1), f)), mul(f, f)) }

// log1pBase is log(1+f)/f to a base as a function of f.
func log1pBase(base float64) func(*big.Float) *big.Float {
	return func(f *big.Float) *big.Float {
		return quo(ref.Log(add(num(1), f)), mul(f, ref.Log(num(base))))
	}
}

// cosTail is (cos x - 1 + x²/2)/x⁴ as a function of x², cosScale the whole.
func cosTail(z *big.Float) *big.Float {
	return quo(add(sub(ref.Cos(ref.Sqrt(z)), num(1)), mul(z, num(0.5))), mul(z, z))
}

func cosScale(z *big.Float) *big.Float { return quo(ref.Cos(ref.Sqrt(z)), mul(z, z)) }

// erfcLog is log(erfc a)/a + 1 as a function of a: what is added to -a is rounded less
// than what is multiplied with a. erfcLogScale weighs its error as that of erf a.
func erfcLog(a *big.Float) *big.Float { return add(quo(ref.Log(ref.Erfc(a)), a), num(1)) }

func erfcLogScale(a *big.Float) *big.Float { return quo(ref.Erf(a), mul(ref.Erfc(a), a)) }

var rows = []row{
	{single: true, name: "logSingle", is: "(log(1+f) - f)/f² in f, √½ ≤ 1+f ≤ √2", lo: math.Sqrt2/2 - 1, hi: math.Sqrt2 - 1, n: 8, f: log1pTail, scale: log1pScale},
	{single: true, name: "log2Single", is: "log2(1+f)/f - 1 in f, √½ ≤ 1+f ≤ √2", lo: math.Sqrt2/2 - 1, hi: math.Sqrt2 - 1, n: 9, f: func(f *big.Float) *big.Float {
		return sub(log1pBase(2)(f), num(1)) // as with erfcLog
	}, scale: log1pBase(2)},
	{single: true, name: "log10Single", is: "log10(1+f)/f in f, √½ ≤ 1+f ≤ √2", lo: math.Sqrt2/2 - 1, hi: math.Sqrt2 - 1, n: 9, f: log1pBase(10)},
	{single: true, name: "exp4Single", is: "4^r in r, |r| ≤ ½", lo: -0.5, hi: 0.5, n: 8, f: func(r *big.Float) *big.Float {
		return ref.Exp2(mul(r, num(2)))
	}},
	{single: true, name: "expm1Single", is: "(e^r - 1 - r)/r² in r, |r| ≤ ½·ln 2", lo: -math.Ln2 / 2, hi: math.Ln2 / 2, n: 5, f: func(r *big.Float) *big.Float {
		return quo(sub(ref.Expm1(r), r), mul(r, r))
	}, scale: func(r *big.Float) *big.Float { return quo(ref.Expm1(r), mul(r, r)) }},
	{single: true, name: "sinSingle", is: "(sin x - x)/x³ in x², |x| ≤ π/4", lo: 1e-9, hi: 0.6169, n: 3, f: rest(ref.Sin), scale: whole(ref.Sin)},
	{single: true, name: "cosSingle", is: "(cos x - 1 + x²/2)/x⁴ in x², |x| ≤ π/4", lo: 1e-9, hi: 0.6169, n: 3, f: cosTail, scale: cosScale},
	{single: true, name: "erfSingle", is: "log(erfc a)/a + 1 in a, 0 ≤ a ≤ 3.93", lo: 1e-9, hi: 3.93, n: 9, f: erfcLog, scale: erfcLogScale},
	{single: true, name: "erfNearSingle", is: "(erf x - x)/x in x², |x| ≤ ⅝", lo: 1e-9, hi: 0.390625, n: 5, f: func(z *big.Float) *big.Float {
		x := ref.Sqrt(z)
		return sub(quo(ref.Erf(x), x), num(1))
	}, scale: func(z *big.Float) *big.Float { return quo(ref.Erf(ref.Sqrt(z)), ref.Sqrt(z)) }},
	{single: true, name: "tanhSingle", is: "(tanh x - x)/x³ in x², |x| ≤ 0.8", lo: 1e-9, hi: 0.64, n: 6, f: rest(ref.Tanh), scale: whole(ref.Tanh)},
	{single: true, name: "atanSingle", is: "(atan x - x)/x³ in x², |x| ≤ 1", lo: 1e-9, hi: 1, n: 8, f: rest(ref.Atan), scale: whole(ref.Atan)},
	{single: true, name: "asinSingle", is: "(asin x - x)/x³ in x², |x| ≤ 0.5405", lo: 1e-9, hi: 0.2922, n: 5, f: rest(ref.Asin), scale: whole(ref.Asin)},
	{single: true, name: "sinhSingle", is: "(sinh x - x)/x³ in x², |x| ≤ 1", lo: 1e-9, hi: 1, n: 4, f: rest(ref.Sinh), scale: whole(ref.Sinh)},
	{single: true, name: "logTailSingle", is: "(2·artanh s - 2s - ⅔s³)/s⁵ in s², |s| ≤ ⅕", lo: 1e-9, hi: 0.04, n: 3, f: logTail, scale: logScale},
	{single: true, name: "log2TailSingle", is: "2·(artanh s - s)/(s³·ln 2) in s², |s| ≤ 0.1716", lo: 1e-9, hi: 0.02945, n: 4, f: func(z *big.Float) *big.Float {
		return quo(rest(ref.Atanh)(z), mul(num(0.5), ref.Ln2()))
	}, scale: func(z *big.Float) *big.Float { return quo(whole(ref.Atanh)(z), mul(num(0.5), ref.Ln2())) }},
	{name: "sinDouble", is: "(sin x - x)/x³ in x², |x| ≤ π/4", hi: 0.6169, n: 7, f: rest(ref.Sin), scale: whole(ref.Sin)},
	{name: "cosDouble", is: "(cos x - 1 + x²/2)/x⁴ in x², |x| ≤ π/4", hi: 0.6169, n: 6, f: cosTail, scale: cosScale},
	{name: "atanDouble", is: "(atan x - x)/x³ in x², |x| ≤ 1", hi: 1, n: 22, f: rest(ref.Atan), scale: whole(ref.Atan)},
	{name: "asinDouble", is: "(asin x - x)/x³ in x², |x| ≤ ½", hi: 0.25, n: 13, f: rest(ref.Asin), scale: whole(ref.Asin)},
	{name: "sinhDouble", is: "(sinh x - x)/x³ in x², |x| ≤ 1", hi: 1, n: 7, f: rest(ref.Sinh), scale: whole(ref.Sinh)},
	{name: "logTail", is: "(2·artanh s - 2s - ⅔s³)/s⁵ in s², |s| ≤ 0.1716", hi: 0.02945, n: 8, f: logTail, scale: logScale},
	{name: "erfDouble", is: "erf(x)/x - 1 in x², |x| ≤ 1", hi: 1, n: 14, f: func(z *big.Float) *big.Float {
		x := ref.Sqrt(z)
		return sub(quo(ref.Erf(x), x), num(1))
	}, scale: func(z *big.Float) *big.Float { return quo(ref.Erf(ref.Sqrt(z)), ref.Sqrt(z)) }},
	{name: "erfcxDouble", is: "(1+2x)·erfcx(x) in (x-4)/(x+4), x ≥ 0", lo: -1, hi: 1 - 1e-9, n: 25, f: erfcx},
	{name: "erfcxSingle", is: "(1+2x)·erfcx(x) in (x-4)/(x+4), x ≥ 0", lo: -1, hi: 1 - 1e-9, n: 14, f: erfcx},
	{name: "erfinvNear", is: "erfinv(x)/x in -log(1-x²) - 2.5 up to 2.5", lo: -2.5, hi: 2.5, n: 11, f: erfinvNear(2.5)},
	{name: "erfinvFar", is: "erfinv(x) in √-log(1-x²) - 8, from √5 to 28", lo: math.Sqrt(5) - 8, hi: 20, n: 17, f: erfinvFar(8)},
	{single: true, name: "erfinvNearSingle", is: "(erfinv(x)/x - ½√π)/w in w - 3.25 up to 3.25, w = -log(1-x²)", lo: -3.25 + 1e-9, hi: 3.25, n: 10, f: func(t *big.Float) *big.Float {
		return quo(sub(erfinvNear(3.25)(t), halfRootPi()), add(t, num(3.25)))
	}, scale: func(t *big.Float) *big.Float { return quo(erfinvNear(3.25)(t), add(t, num(3.25))) }},
	{single: true, name: "erfinvFarSingle", is: "erfinv(x) - s in s - 6, s = √-log(1-x²) from √6.5 to 10.2", lo: math.Sqrt(6.5) - 6, hi: 4.2, n: 14, f: func(t *big.Float) *big.Float {
		return sub(erfinvFar(6)(t), add(t, num(6)))
	}, scale: erfinvFar(6)},
	{name: "lgammaDouble", is: "log Γ(2+t)/t, -¾ ≤ t ≤ 1", lo: -0.75, hi: 1, n: 25, f: func(t *big.Float) *big.Float {
		return quo(ref.Lgamma(add(num(2), t)), t)
	}},
	{name: "stirlingDouble", is: "x·(log Γ(x) - (x-½)·log x + x - ½·log 2π) in 1/x², x ≥ 8", hi: 1.0 / 64, n: 8, f: func(z *big.Float) *big.Float {
		x := ref.Sqrt(ref.Inverse(z))
		y := sub(ref.Lgamma(x), mul(sub(x, num(0.5)), ref.Log(x)))
		y = sub(add(y, x), mul(num(0.5), ref.Log(mul(num(2), num(0).Set(ref.Pi())))))
		return mul(x, y)
	}},
	{name: "besselI0Small", is: "I₀(x) in x²/4, x ≤ 8", hi: 16, n: 24, f: besselSmall(0)},
	{name: "besselI1Small", is: "2·I₁(x)/x in x²/4, x ≤ 8", hi: 16, n: 24, f: besselSmall(1)},
	{name: "besselI0Large", is: "√x·e^-x·I₀(x) in 1/x, x ≥ 8", lo: 1e-4, hi: 0.125, n: 24, f: besselLarge(0)},
	{name: "besselY0Tail", is: "Y₀(x) - 2/π·log x·J₀(x) in x², x ≤ 0.6", lo: 1e-9, hi: 0.36, n: 8, f: besselYTail(0)},
	{name: "besselY1Tail", is: "(Y₁(x) - 2/π·(log x·J₁(x) - 1/x))/x in x², x ≤ 1.2", lo: 1e-9, hi: 1.44, n: 9, f: besselYTail(1)},
	{name: "besselP0", is: "P of order 0 in 1/x², x ≥ 8", lo: 1e-7, hi: 1. / 64, n: 15, f: besselP(0)},
	{name: "besselQ0", is: "x·Q of order 0 in 1/x², x ≥ 8", lo: 1e-7, hi: 1. / 64, n: 15, f: besselQ(0)},
	{name: "besselP1", is: "P of order 1 in 1/x², x ≥ 8", lo: 1e-7, hi: 1. / 64, n: 15, f: besselP(1)},
	{name: "besselQ1", is: "x·Q of order 1 in 1/x², x ≥ 8", lo: 1e-7, hi: 1. / 64, n: 15, f: besselQ(1)},
	{name: "besselI1Large", is: "√x·e^-x·I₁(x) in 1/x, x ≥ 8", lo: 1e-4, hi: 0.125, n: 24, f: besselLarge(1)},
}

// fit interpolates f at the n Chebyshev nodes of [lo, hi], by divided differences.
func fit(r row) []float64 {
	node := make([]*big.Float, r.n)
	c := make([]*big.Float, r.n)
	for i := range node {
		u := ref.Cospi(quo(num(float64(2*i+1)), num(float64(2*r.n))))
		node[i] = add(mul(u, num((r.hi-r.lo)/2)), num((r.hi+r.lo)/2))
		c[i] = r.f(node[i])
	}
	for j := 1; j < r.n; j++ {
		for i := r.n - 1; i >= j; i-- {
			c[i] = quo(sub(c[i], c[i-1]), sub(node[i], node[i-j]))
		}
	}
	// Newton's form to powers.
	p := []*big.Float{c[r.n-1]}
	for i := r.n - 2; i >= 0; i-- {
		p = append([]*big.Float{num(0)}, p...)
		for k := range len(p) - 1 {
			p[k] = sub(p[k], mul(node[i], p[k+1]))
		}
		p[0] = add(p[0], c[i])
	}
	out := make([]float64, r.n)
	for i, v := range p {
		out[i], _ = v.Float64()
	}
	return out
}

// worst is the greatest error of the rounded polynomial.
func worst(r row, c []float64) float64 {
	const n = 400
	most := 0.0
	for i := range n {
		u := num(r.lo + (r.hi-r.lo)*(float64(i)+0.37)/n)
		y := num(c[len(c)-1])
		for k := len(c) - 2; k >= 0; k-- {
			y = add(mul(y, u), num(c[k]))
		}
		f := r.f(u)
		s := f
		if r.scale != nil {
			s = r.scale(u)
		}
		e, _ := quo(sub(y, f), s).Float64()
		most = max(most, math.Abs(e))
	}
	return most
}

func main() {
	var out bytes.Buffer
	out.WriteString("// Code generated by internal/mathfit; DO NOT EDIT.\n\npackage devmath\n")
	for _, r := range rows {
		to := fit
		if r.single {
			to = minimax
		}
		c := to(r)
		fmt.Fprintf(&out, "\n// %s is %s; relative error %.1e.\nvar %s = []float64{\n", r.name, r.is, worst(r, c), r.name)
		for _, v := range c {
			fmt.Fprintf(&out, "%v,\n", v)
		}
		out.WriteString("}\n")
	}
	for _, b := range besselRows {
		writePieces(&out, b)
	}
	src, err := format.Source(out.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("coefficients.go", src, 0o644); err != nil {
		log.Fatal(err)
	}
}
