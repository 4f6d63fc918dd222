package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// Remainders of divisions. First comes one guess at the quotient, which proves itself:
// r = x - q·y is, for a whole number q, a multiple of the last place of y, so that it is the
// remainder, and exact, if it is where a remainder must be. Right results need no bound on the
// guess's error. It succeeds for quotients up to some 2^19 (f32) and divisors that
// inverse takes; where it fails, a loop divides.

// Fmod is the exact remainder of x/y, truncated, with the sign of x.
func Fmod(b *llir.Builder, x, y llir.Value) llir.Value { return kitFor(b, x).fmod(x, y) }

func (k kit) fmod(x, y llir.Value) llir.Value {
	a, c := k.abs(x), k.abs(y)
	r := k.guessRest(a, c, k.inverse(c))
	// Negative numbers have greater bits than c, and NaN has.
	fails := k.ICmp(enum.IPredUGE, k.BitCast(r, k.bits), k.BitCast(c, k.bits))
	r = k.branch(fails, []llir.Value{r}, func() []llir.Value { return []llir.Value{k.long(a, c)} })[0]
	return k.withSign(r, x)
}

// guessRest is a mod c for a quotient below 2^(man-5).
func (k kit) guessRest(a, c, inverse llir.Value) llir.Value {
	// Down to a whole number, but up from ⅞: r + c, for too great a quotient, is exact.
	// (Where a < c and so a finer last place counts, r = a - c is exact from a = c/2.)
	q := k.sub(k.add(k.fma(a, inverse, k.num(-0.375)), k.wholes()), k.wholes())
	r := k.nfma(q, c, a)
	return k.notNegative(r, k.add(r, c))
}

// notNegative is the one of x and y that is not negative, the lesser if both.
func (k kit) notNegative(x, y llir.Value) llir.Value {
	umin := k.M.Declare("llvm.umin."+k.bits.String(), llir.Pure, k.bits, k.bits, k.bits)
	return k.BitCast(k.Call(umin, k.BitCast(x, k.bits), k.BitCast(y, k.bits)), k.t)
}

// wholes is a number so great that sums with it have no place for fractions.
func (k kit) wholes() llir.Value { return k.num(math.Ldexp(1.5, k.man)) }

// long is a mod c for numbers that are not negative, in a loop that divides the
// significands, with man-6 bits of the quotient at a time.
func (k kit) long(a, c llir.Value) llir.Value {
	ma, ea := k.exponent(a)
	mc, ec := k.exponent(c)
	inverse := k.inverse(mc)
	defined := k.And(k.And(k.FCmp(oge, a, c), k.less(a, k.inf())), k.less(k.num(0), c))
	left := k.Select(defined, k.Sub(ea, ec), k.int(0))
	smin := k.M.Declare("llvm.smin."+k.bits.String(), llir.Pure, k.bits, k.bits, k.bits)
	r := k.while([]llir.Value{k.notNegative(k.sub(ma, mc), ma), left}, func(v []llir.Value) llir.Value {
		return k.ICmp(enum.IPredSLT, k.int(0), v[1])
	}, func(v []llir.Value) []llir.Value {
		s := k.Call(smin, v[1], k.int(int64(k.man-6)))
		return []llir.Value{k.guessRest(k.mul(v[0], k.power(s)), mc, inverse), k.Sub(v[1], s)}
	})[0]
	return k.Select(k.less(a, c), a, k.Select(defined, k.timesPower(r, ec), k.nan()))
}

// Remainder is the exact remainder of x/y, rounded to nearest even.
func Remainder(b *llir.Builder, x, y llir.Value) llir.Value {
	k := kitFor(b, x)
	return k.remainder(x, y)
}

func (k kit) remainder(x, y llir.Value) llir.Value {
	a, c := k.abs(x), k.abs(y)
	q := k.sub(k.fma(a, k.inverse(c), k.wholes()), k.wholes())
	r := k.nfma(q, c, a)
	size := k.abs(r)
	fails := k.FCmp(enum.FPredUGE, k.add(size, size), c) // ties, too
	r = k.branch(fails, []llir.Value{r}, func() []llir.Value { return []llir.Value{k.longNearest(a, c)} })[0]
	return k.withSignOf(r, x)
}

// longNearest is the rest of a/c, rounded to nearest even, for numbers that are not
// negative. A zero is +0.
func (k kit) longNearest(a, c llir.Value) llir.Value {
	// Modulo 2c, unless that is infinite and a smaller anyway.
	r := k.long(a, k.add(c, c))
	// 2r > c, without overflow; for c below 1 doubling is safe, above it halving
	// exact.
	small := k.less(c, k.num(1))
	half := k.Select(small, c, k.mul(c, k.num(0.5)))
	twice := func(r llir.Value) llir.Value { return k.Select(small, k.add(r, r), r) }
	over := k.less(half, twice(r))
	r = k.Select(over, k.sub(r, c), r)
	again := k.And(over, k.FCmp(oge, twice(r), half))
	return k.Select(again, k.sub(r, c), r)
}
