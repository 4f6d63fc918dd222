package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// kit holds what every function needs of one floating-point format.
type kit struct {
	*llir.Builder
	t    llir.Type
	bits interface{ llir.Type }
	man  int // bits of the stored significand
	bias int64
	name string  // in LLVM's overloaded intrinsics
	hw   *Approx // instructions to use, or nil
}

func kitFor(b *llir.Builder, x llir.Value) kit {
	if x.Type() == llir.F64 {
		return kit{b, llir.F64, llir.I64, 52, 1023, "f64", nil}
	}
	return kit{b, llir.F32, llir.I32, 23, 127, "f32", nil}
}

func (k kit) num(v float64) llir.Value { return k.M.Float(k.t, v) }
func (k kit) int(v int64) llir.Value   { return k.M.Int(llir.IntN(llir.Width(k.t)), v) }

func (k kit) mul(x, y llir.Value) llir.Value { return k.Binary(llir.FMul, x, y, 0) }
func (k kit) add(x, y llir.Value) llir.Value { return k.Binary(llir.FAdd, x, y, 0) }

// fma is x·y + z, rounded once.
func (k kit) fma(x, y, z llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.fma."+k.name, llir.Pure, k.t, k.t, k.t, k.t), x, y, z)
}

// round is x rounded to an integer.
func (k kit) round(x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.rint."+k.name, llir.Pure, k.t, k.t), x)
}

// poly evaluates a polynomial, lowest coefficient first, by Horner's rule.
func (k kit) poly(x llir.Value, c []float64) llir.Value {
	y := k.num(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = k.fma(y, x, k.num(c[i]))
	}
	return y
}

// (log((1+s)/(1-s))/s - 2)/s² as a polynomial in s², for (1+s)/(1-s) in
// [√½, √2]; the logarithm errs by 2.0e-22.
var atanhDouble = []float64{
	0.6666666666666666, 0.3999999999999999, 0.28571428571435364, 0.22222222219857557, 0.1818181859379024,
	0.15384575123751304, 0.1333563898384184, 0.11688117544856204, 0.11882045963605906,
}

// (e^r - 1 - r)/r² for |r| ≤ ln2/2; the exponential errs by 2.8e-21.
var expDouble = []float64{
	0.5, 0.16666666666666666, 0.04166666666666668, 0.008333333333333333, 0.0013888888888879082,
	0.00019841269841263304, 2.480158733642132e-05, 2.755731924720479e-06, 2.755726330147475e-07,
	2.5052071109214447e-08, 2.0918129454967065e-09, 1.6086622436215554e-10,
}

// parts splits a positive x into m·2^e with m in [√½, √2). Subnormal numbers are
// scaled up first.
func (k kit) parts(x llir.Value) (m, e llir.Value) {
	smallest := math.Ldexp(1, 1-int(k.bias))
	tiny := k.FCmp(enum.FPredOLT, x, k.num(smallest))
	scaled := k.Select(tiny, k.mul(x, k.num(math.Ldexp(1, k.man+1))), x)
	shift := k.Select(tiny, k.num(-float64(k.man+1)), k.num(0))
	i := k.BitCast(scaled, k.bits)
	n := k.exponentAbove(i)
	m = k.BitCast(k.Sub(i, n), k.t)
	if k.t == llir.F64 {
		high := k.Trunc(k.LShr(n, 32), llir.I32)
		return m, k.fma(k.Cast(llir.SIToFP, high, k.t, 0), k.num(0x1p-20), shift)
	}
	return m, k.fma(k.Cast(llir.SIToFP, n, k.t, 0), k.num(0x1p-23), shift)
}

// exponentAbove is e, in the place of a number's exponent, for the bits of m·2^e with
// m in [√½, √2).
func (k kit) exponentAbove(bits llir.Value) llir.Value {
	return k.And(k.Sub(bits, k.BitCast(k.num(math.Sqrt2/2), k.bits)), k.int(-1<<k.man))
}

// logSpecial puts in what the formula does not give: -∞ at 0, NaN below, and
// what x itself is at ∞ and NaN.
func (k kit) logSpecial(x, y llir.Value) llir.Value {
	// By its bits, which are not negative then, x is finite: else x·∞ + ∞.
	ends := k.ICmp(enum.IPredUGE, k.BitCast(x, k.bits), k.BitCast(k.inf(), k.bits))
	y = k.Select(ends, k.fma(x, k.inf(), k.inf()), y)
	return k.Select(k.equal(x, k.num(0)), k.num(math.Inf(-1)), y)
}

// log1p is log(m) for m near 1, as a leading part and a correction.
func (k kit) log1p(m llir.Value) (lead, rest llir.Value) {
	f := k.add(m, k.num(-1))
	if k.t == llir.F32 {
		return f, k.mul(k.mul(f, f), k.poly(f, logSingle))
	}
	// log(1+f) = f - s·(f - R) with s = f/(2+f), R the odd part's remainder:
	// f stays exact, and only the small remainder is rounded.
	s := k.over(f, k.add(f, k.num(2)))
	z := k.mul(s, s)
	r := k.mul(z, k.poly(z, atanhDouble))
	half := k.mul(k.mul(f, f), k.num(0.5))
	return f, k.Binary(llir.FSub, k.mul(s, k.add(half, r)), half, 0)
}

// Log is the natural logarithm.
func Log(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).log(x) }

func (k kit) log(x llir.Value) llir.Value {
	m, e := k.parts(x)
	if k.t == llir.F32 {
		f := k.add(m, k.num(-1))
		y := k.fma(k.mul(f, f), k.poly(f, logSingle), f)
		return k.logSpecial(x, k.fma(e, k.num(math.Ln2), y))
	}
	lead, rest := k.log1p(m)
	hi := k.ln2()
	y := k.fma(e, k.num(hi), k.add(lead, k.fma(e, k.num(ln2Minus(hi)), rest)))
	return k.logSpecial(x, y)
}

// ln2 is the number of the format below ln2 whose last bits are zero, so that
// its products with exponents are exact.
func (k kit) ln2() float64 {
	return math.Ldexp(math.Floor(math.Ldexp(math.Ln2, k.man-11)), 11-k.man)
}

// ln2Minus is ln2 - hi, ln2 to twice the precision of a double.
func ln2Minus(hi float64) float64 {
	const tail = 2.319046813846299558e-17 // ln2 - float64(ln2)
	return (math.Ln2 - hi) + tail
}

// Log2 is the logarithm to base 2.
func Log2(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).log2(x) }

func (k kit) log2(x llir.Value) llir.Value {
	m, e := k.parts(x)
	if k.t == llir.F32 {
		f := k.add(m, k.num(-1))
		return k.logSpecial(x, k.add(k.fma(f, k.poly(f, log2Single), f), e))
	}
	lead, rest := k.log1p(m)
	// 1/ln2 in two pieces; the product with the leading part is exact up to a
	// remainder that fma gives.
	hi, lo := inverseLn2(k)
	p := k.mul(lead, k.num(hi))
	exact := k.fma(lead, k.num(hi), k.FNeg(p))
	small := k.fma(lead, k.num(lo), k.fma(rest, k.num(hi), exact))
	// e + p: the larger first, the rounding error of the sum kept.
	sum := k.add(e, p)
	lost := k.add(k.Binary(llir.FSub, e, sum, 0), p)
	return k.logSpecial(x, k.add(sum, k.add(lost, small)))
}

func inverseLn2(k kit) (hi, lo float64) {
	const tail = 2.0355273740931033e-17 // 1/ln2 - float64(1/ln2)
	if k.t == llir.F32 {
		hi = float64(float32(math.Log2E))
		return hi, math.Log2E - hi
	}
	return math.Log2E, tail
}

// Exp is e to the power x.
func Exp(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	if k.t == llir.F32 {
		return k.expSingle(x, math.Log2E/2)
	}
	n := k.round(k.mul(x, k.num(math.Log2E)))
	hi := k.ln2()
	r := k.fma(n, k.num(-hi), x)
	r = k.fma(n, k.num(-ln2Minus(hi)), r)
	return k.scaleExp(x, n, r, float64(k.bias+1)*math.Ln2, -float64(int64(k.man)+k.bias+1)*math.Ln2)
}

// Exp2 is 2 to the power x.
func Exp2(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	if k.t == llir.F32 {
		return k.expSingle(x, 0.5)
	}
	n := k.round(x)
	r := k.Binary(llir.FSub, x, n, 0) // exact
	p := k.mul(r, k.num(math.Ln2))
	p = k.add(p, k.fma(r, k.num(math.Ln2), k.FNeg(p)))
	return k.scaleExp(x, n, p, float64(k.bias+1), -float64(int64(k.man)+k.bias+1))
}

// scaleExp is e^r·2^n of f64s, 0 where x is below low, ∞ where it is above high.
func (k kit) scaleExp(x, n, r llir.Value, high, low float64) llir.Value {
	y := k.add(k.fma(k.mul(r, r), k.poly(r, expDouble), r), k.num(1))
	// 2^n in two factors, each a normal number even where the product is not.
	limit := float64(2 * k.bias)
	n = k.Call(k.M.Declare("llvm.maxnum."+k.name, llir.Pure, k.t, k.t, k.t), n, k.num(-limit))
	n = k.Call(k.M.Declare("llvm.minnum."+k.name, llir.Pure, k.t, k.t, k.t), n, k.num(limit))
	i := k.Cast(llir.FPToSI, n, k.bits, 0)
	half := k.Binary(llir.AShr, i, k.int(1), 0)
	y = k.mul(k.mul(y, k.power(half)), k.power(k.Sub(i, half)))
	y = k.Select(k.FCmp(enum.FPredOGT, x, k.num(high)), k.num(math.Inf(1)), y)
	y = k.Select(k.FCmp(enum.FPredOLT, x, k.num(low)), k.num(0), y)
	return k.Select(k.FCmp(enum.FPredUNO, x, x), x, y)
}

// power is 2^i for i within the range of normal exponents.
func (k kit) power(i llir.Value) llir.Value {
	return k.BitCast(k.Shl(k.Add(i, k.int(k.bias)), k.man), k.t)
}

// Rsqrt is 1/√x.
func Rsqrt(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	root := k.Call(k.M.Declare("llvm.sqrt."+k.name, llir.Pure, k.t, k.t), x)
	return k.Binary(llir.FDiv, k.num(1), root, 0)
}
