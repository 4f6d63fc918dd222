package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// pair is an unevaluated sum of a number and a much smaller one: about twice the
// format's precision.
//
// The error terms below are exact only while no product is fused into a sum that
// needs the rounded product. A backend's optimiser may fuse any fmul with an fadd
// (llc -fp-contract=fast); products whose rounding matters are therefore written
// as an fma with +0, which is left alone, and the tests run every function fused
// and not.
type pair struct{ hi, lo llir.Value }

func (k kit) sub(x, y llir.Value) llir.Value { return k.Binary(llir.FSub, x, y, 0) }
func (k kit) div(x, y llir.Value) llir.Value { return k.Binary(llir.FDiv, x, y, 0) }

// prod is x·y, never fused with what follows. A zero result is +0.
func (k kit) prod(x, y llir.Value) llir.Value { return k.fma(x, y, k.num(0)) }

// nfma is z - x·y, rounded once.
func (k kit) nfma(x, y, z llir.Value) llir.Value { return k.fma(k.FNeg(x), y, z) }

// sumOrdered is x + y for |x| ≥ |y| or x = 0.
func (k kit) sumOrdered(x, y llir.Value) pair {
	s := k.add(x, y)
	return pair{s, k.sub(y, k.sub(s, x))}
}

// sum is x + y.
func (k kit) sum(x, y llir.Value) pair {
	s := k.add(x, y)
	v := k.sub(s, x)
	return pair{s, k.add(k.sub(x, k.sub(s, v)), k.sub(y, v))}
}

// product is x·y.
func (k kit) product(x, y llir.Value) pair {
	p := k.prod(x, y)
	return pair{p, k.fma(x, y, k.FNeg(p))}
}

// timesPair is x·y for a pair x.
func (k kit) timesPair(x pair, y llir.Value) pair {
	p := k.product(x.hi, y)
	return pair{p.hi, k.fma(x.lo, y, p.lo)}
}

// mulPair is x·y for two pairs.
func (k kit) mulPair(x, y pair) pair {
	p := k.product(x.hi, y.hi)
	return pair{p.hi, k.fma(x.hi, y.lo, k.fma(x.lo, y.hi, p.lo))}
}

// quotient is x/y, correct to about a bit beyond the format.
func (k kit) quotient(x, y pair) pair {
	r := k.inverse(y.hi)
	q := k.prod(x.hi, r)
	rest := k.nfma(q, y.lo, k.add(k.nfma(q, y.hi, x.hi), x.lo))
	return k.sumOrdered(q, k.prod(rest, r))
}

// constant is v split into a number of the format and the next; lo continues a
// double's own tail.
func (k kit) constant(v, tail float64) pair {
	if k.t == llir.F64 {
		return pair{k.num(v), k.num(tail)}
	}
	hi := float64(float32(v))
	return pair{k.num(hi), k.num(v - hi + tail)}
}

// The tails of constants: what the double of each lacks.
const (
	piTail     = 1.2246467991473532e-16
	halfPiTail = 6.123233995736766e-17
	ln10Tail   = -2.1707562233822494e-16
	log2e      = math.Log2E
	rootHalf   = math.Sqrt2 / 2
	// 1/√2 and ⅔ continue by these.
	rootHalfTail  = -4.833646656726457e-17
	twoThirdsTail = 3.700743415417188e-17
)

func (k kit) less(x, y llir.Value) llir.Value  { return k.FCmp(enum.FPredOLT, x, y) }
func (k kit) equal(x, y llir.Value) llir.Value { return k.FCmp(enum.FPredOEQ, x, y) }
func (k kit) isNaN(x llir.Value) llir.Value    { return k.FCmp(enum.FPredUNO, x, x) }
func (k kit) inf() llir.Value                  { return k.num(math.Inf(1)) }
func (k kit) nan() llir.Value                  { return k.num(math.NaN()) }

func (k kit) min(x, y llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.minnum."+k.name, llir.Pure, k.t, k.t, k.t), x, y)
}

func (k kit) max(x, y llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.maxnum."+k.name, llir.Pure, k.t, k.t, k.t), x, y)
}

func (k kit) trunc(x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.trunc."+k.name, llir.Pure, k.t, k.t), x)
}

// negative reports, as an i1, whether the sign bit is set.
func (k kit) negative(x llir.Value) llir.Value {
	return k.ICmp(enum.IPredSLT, k.BitCast(x, k.bits), k.int(0))
}

// integer is an integral x as an integer of the same width; anything where it
// does not fit.
func (k kit) integer(x llir.Value) llir.Value {
	return k.Freeze(k.Cast(llir.FPToSI, x, k.bits, 0))
}

// expParts writes x = n·ln2 + r with |r| ≤ ln2/2, for moderate x.
func (k kit) expParts(x pair) (n llir.Value, r pair) {
	n = k.round(k.mul(x.hi, k.num(log2e)))
	hi := k.ln2()
	first := k.fma(n, k.num(-hi), x.hi) // exact
	q := k.product(n, k.num(ln2Minus(hi)))
	r = k.sum(first, k.FNeg(q.hi))
	// The lower part belongs to the last places of x, not of r: add it in full.
	return n, k.sum(r.hi, k.add(r.lo, k.sub(x.lo, q.lo)))
}

// expm1Core is e^r - 1 for |r| ≤ ln2/2, correct to a few bits beyond the format.
func (k kit) expm1Core(r pair) pair {
	c := expm1Single
	if k.t == llir.F64 {
		c = expDouble
	}
	return k.sumOrdered(r.hi, k.fma(k.prod(r.hi, r.hi), k.poly(r.hi, c), r.lo))
}

// expPair is e^x as m·2^n, m between √½ and √2, for moderate x.
func (k kit) expPair(x pair) (m pair, n llir.Value) {
	n, r := k.expParts(x)
	p := k.expm1Core(r)
	s := k.sumOrdered(k.num(1), p.hi)
	return pair{s.hi, k.add(s.lo, p.lo)}, n
}

// times2 is y·2^n for an integral n, rounded once where y is near 1.
func (k kit) times2(y, n llir.Value) llir.Value {
	limit := float64(2 * k.bias)
	n = k.min(k.max(n, k.num(-limit)), k.num(limit))
	return k.timesPower(y, k.integer(n))
}

// timesPower is times2 for an integer within twice the exponents' range.
func (k kit) timesPower(y, i llir.Value) llir.Value {
	half := k.Binary(llir.AShr, i, k.int(1), 0)
	return k.mul(k.mul(y, k.power(half)), k.power(k.Sub(i, half)))
}

// logPair is log(x) for a positive finite x: to about 2^-65 of an f64, 2^-35 of an
// f32.
func (k kit) logPair(x llir.Value) pair {
	c5 := logTailSingle
	if k.t == llir.F64 {
		c5 = logTail
	}
	m, e := k.parts(x)
	f := k.add(m, k.num(-1))
	d := k.sumOrdered(k.num(2), f)
	s := k.quotient(pair{f, k.num(0)}, d)
	z := k.mulPair(s, s)
	c := k.mulPair(s, z)
	third := k.mulPair(c, k.constant(2./3, twoThirdsTail))
	tail := k.prod(k.prod(c.hi, z.hi), k.poly(z.hi, c5))
	two := k.sumOrdered(k.mul(s.hi, k.num(2)), third.hi)
	rest := k.add(k.fma(s.lo, k.num(2), two.lo), k.add(third.lo, tail))
	// e·ln2: the product with the leading part is exact.
	hi := k.ln2()
	lead := k.sumOrdered(k.prod(e, k.num(hi)), two.hi)
	return k.sumOrdered(lead.hi, k.add(k.fma(e, k.num(ln2Minus(hi)), rest), lead.lo))
}
