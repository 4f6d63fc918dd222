package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// Bessel functions of the first and second kind, J and Y, in f64. Below 8 they are
// relatively exact; above, where they are waves of falling height, absolutely.

// piece is a function from a number up to the next piece's: the distance from a
// zero (as a pair) times a polynomial about the centre.
type piece struct {
	from, centre, zero, tail float64
	c                        []float64
}

// pieces computes a function that is given in pieces.
func (k kit) pieces(x llir.Value, ps []piece) llir.Value {
	in := make([]llir.Value, len(ps))
	for i := 1; i < len(ps); i++ {
		in[i] = k.FCmp(oge, x, k.num(ps[i].from))
	}
	pick := func(get func(p *piece) float64) llir.Value {
		v := k.num(get(&ps[0]))
		for i := 1; i < len(ps); i++ {
			v = k.Select(in[i], k.num(get(&ps[i])), v)
		}
		return v
	}
	t := k.sub(x, pick(func(p *piece) float64 { return p.centre }))
	d := k.sub(x, pick(func(p *piece) float64 { return p.zero }))
	d = k.sub(d, pick(func(p *piece) float64 { return p.tail }))
	var y llir.Value
	for i := len(ps[0].c) - 1; i >= 0; i-- {
		c := pick(func(p *piece) float64 { return p.c[i] })
		if y == nil {
			y = c
		} else {
			y = k.fma(y, t, c)
		}
	}
	return k.mul(d, y)
}

// waves are √(πx)·J and √(πx)·Y of order 0 or 1 for large x, but for a factor
// 1/√(πx): P·cos χ - Q·sin χ and P·sin χ + Q·cos χ, times √2, with
// χ = x - (n/2 + ¼)·π.
func (k kit) waves(order int, x llir.Value) (j, y llir.Value) {
	r, q := k.quadrant(x)
	sin, cos := k.sinCos(r)
	s, c := k.add(sin.hi, sin.lo), k.add(cos.hi, cos.lo)
	odd := k.ICmp(enum.IPredNE, k.And(q, k.M.I32(1)), k.M.I32(0))
	s, c = k.Select(odd, c, s), k.Select(odd, k.FNeg(s), c)
	back := k.ICmp(enum.IPredNE, k.And(q, k.M.I32(2)), k.M.I32(0))
	s, c = k.Select(back, k.FNeg(s), s), k.Select(back, k.FNeg(c), c)

	inverse := k.div(k.num(1), x)
	z := k.mul(inverse, inverse)
	p, h := besselP0, besselQ0
	cosine, sine := k.add(c, s), k.sub(s, c)
	if order == 1 {
		p, h = besselP1, besselQ1
		cosine, sine = sine, k.FNeg(cosine)
	}
	a, b := k.poly(z, p), k.mul(k.poly(z, h), inverse)
	// √(1/πx) in two factors: πx may be too large.
	root := k.mul(k.sqrt(inverse), k.num(1/math.SqrtPi))
	j = k.mul(root, k.fma(a, cosine, k.FNeg(k.mul(b, sine))))
	return j, k.mul(root, k.fma(a, sine, k.mul(b, cosine)))
}

// besselFar is from where on the waves serve.
const besselFar = 8

// besselJ is J of order 0 or 1.
func (k kit) besselJ(order int, x llir.Value) llir.Value {
	a := k.abs(x)
	ps := besselJ0Pieces
	if order == 1 {
		ps = besselJ1Pieces
	}
	low := k.less(a, k.num(besselFar))
	far, _ := k.waves(order, k.Select(low, k.num(besselFar), a))
	y := k.Select(low, k.pieces(k.Select(low, a, k.num(0)), ps), far)
	y = k.Select(k.equal(a, k.inf()), k.num(0), y)
	if order == 1 {
		y = k.withSignOf(y, x)
	}
	return k.Select(k.isNaN(x), x, y)
}

// besselY is Y of order 0 or 1: -∞ at zero, NaN below.
func (k kit) besselY(order int, x llir.Value) llir.Value {
	ps, tail, near := besselY0Pieces, besselY0Tail, besselY0Pieces[0].from
	if order == 1 {
		ps, tail, near = besselY1Pieces, besselY1Tail, besselY1Pieces[0].from
	}
	low := k.less(x, k.num(besselFar))
	_, far := k.waves(order, k.Select(low, k.num(besselFar), x))

	// 2/π·log x·J and a polynomial, for order 1 also -2/πx.
	in := k.less(x, k.num(near))
	small := k.Select(in, x, k.num(near))
	z := k.mul(small, small)
	l := k.mul(Log(k.Builder, small), k.num(2/math.Pi))
	rest := k.poly(z, tail)
	if order == 1 {
		rest = k.sub(k.mul(rest, small), k.div(k.num(2/math.Pi), small))
	}
	first := k.fma(l, k.besselJ(order, small), rest)

	y := k.Select(in, first, k.pieces(k.Select(low, x, k.num(besselFar)), ps))
	y = k.Select(low, y, far)
	y = k.Select(k.equal(x, k.num(0)), k.num(math.Inf(-1)), y)
	y = k.Select(k.less(x, k.num(0)), k.nan(), y)
	y = k.Select(k.equal(x, k.inf()), k.num(0), y)
	return k.Select(k.isNaN(x), x, y)
}

// J0, J1, Y0 and Y1 are the Bessel functions of these orders.
func J0(b *llir.Builder, x llir.Value) llir.Value { return besselOf(b, x, kit.besselJ, 0) }
func J1(b *llir.Builder, x llir.Value) llir.Value { return besselOf(b, x, kit.besselJ, 1) }
func Y0(b *llir.Builder, x llir.Value) llir.Value { return besselOf(b, x, kit.besselY, 0) }
func Y1(b *llir.Builder, x llir.Value) llir.Value { return besselOf(b, x, kit.besselY, 1) }

func besselOf(b *llir.Builder, x llir.Value, f func(k kit, order int, x llir.Value) llir.Value, order int) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value { return f(k, order, x) })
}

// upwards is C(n) from C(0) and C(1), n ≥ 2, by C(i+1) = 2i/x·C(i) - C(i-1), while go
// holds and the values are finite.
func (k kit) upwards(n, x, c0, c1, run llir.Value) llir.Value {
	v := k.while([]llir.Value{k.M.I32(1), c0, c1}, func(v []llir.Value) llir.Value {
		return k.And(k.And(run, k.ICmp(enum.IPredSLT, v[0], n)), k.less(k.abs(v[2]), k.inf()))
	}, func(v []llir.Value) []llir.Value {
		twice := k.Cast(llir.SIToFP, v[0], k.t, 0)
		ratio := k.div(k.add(twice, twice), x)
		return []llir.Value{k.Add(v[0], k.M.I32(1)), v[2], k.fma(ratio, v[2], k.FNeg(v[1]))}
	})
	return v[2]
}

// Yn is Y of order n, an i32: NaN for n < 0.
func Yn(b *llir.Builder, n, x llir.Value) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value {
		y0, y1 := k.besselY(0, x), k.besselY(1, x)
		y := k.upwards(n, x, y0, y1, k.less(x, k.inf()))
		return k.ofOrder(n, y0, y)
	})
}

// ofOrder is y, but c0 for order 0 and NaN for negative ones.
func (k kit) ofOrder(n, c0, y llir.Value) llir.Value {
	zero := k.M.I32(0)
	y = k.Select(k.ICmp(enum.IPredEQ, n, zero), c0, y)
	return k.Select(k.ICmp(enum.IPredSLT, n, zero), k.nan(), y)
}

// Jn is J of order n, an i32: NaN for n < 0. It takes some n steps.
func Jn(b *llir.Builder, n, x llir.Value) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value {
		a := k.abs(x)
		j0, j1 := k.besselJ(0, a), k.besselJ(1, a)
		order := k.Cast(llir.SIToFP, n, k.t, 0)
		above := k.less(order, a)
		up := k.upwards(n, a, j0, j1, k.And(above, k.less(a, k.inf())))
		low := k.less(a, k.num(besselTiny))
		y := k.Select(above, up, k.Select(low, k.leading(n, a, low), k.downwards(n, order, a, j0, j1, k.Not(k.Or(above, low)))))
		y = k.Select(k.ICmp(enum.IPredSLE, n, k.M.I32(1)), j1, y)
		y = k.ofOrder(n, j0, y)
		odd := k.ICmp(enum.IPredNE, k.And(n, k.M.I32(1)), k.M.I32(0))
		y = k.Select(k.And(odd, k.less(x, k.num(0))), k.FNeg(y), y)
		return k.Select(k.isNaN(x), x, y)
	})
}

// besselTiny is up to where (a/2)ⁿ/n! is J to the last place.
const besselTiny = 0x1p-27

// leading is (a/2)ⁿ/n!, if run holds.
func (k kit) leading(n, a, run llir.Value) llir.Value {
	half := k.mul(a, k.num(0.5))
	v := k.while([]llir.Value{k.M.I32(1), k.num(1)}, func(v []llir.Value) llir.Value {
		return k.And(k.And(run, k.ICmp(enum.IPredSLE, v[0], n)), k.less(k.num(0), v[1]))
	}, func(v []llir.Value) []llir.Value {
		by := k.div(half, k.Cast(llir.SIToFP, v[0], k.t, 0))
		return []llir.Value{k.Add(v[0], k.M.I32(1)), k.mul(v[1], by)}
	})
	return v[1]
}

// downwards is J(n) for n ≥ a by Miller's method: from a much higher order, where J
// is nothing beside J(n), the recurrence runs down to orders 0 and 1, whose values
// give the scale. (Olver and Sookne, "Note on backward recurrence algorithms", 1972.)
func (k kit) downwards(n, order, a, j0, j1, run llir.Value) llir.Value {
	one, zero := k.M.I32(1), k.M.I32(0)
	// Beyond the order a by d, J falls as e^-(d/a^⅓)^1.5: 40 powers of e are enough.
	more := k.fma(k.sqrt(k.max(order, k.num(0))), k.num(7), k.num(26))
	start := k.Add(n, k.Freeze(k.Cast(llir.FPToSI, k.min(more, k.num(1e6)), llir.I32, 0)))
	const big = 0x1p500
	// The order, the values of it and of the next, and that of n once it is passed;
	// where that is lost, so is J(n).
	v := k.while([]llir.Value{start, k.num(1 / big), k.num(0), k.num(1)}, func(v []llir.Value) llir.Value {
		return k.And(k.And(run, k.ICmp(enum.IPredSGT, v[0], zero)), k.less(k.num(0), k.abs(v[3])))
	}, func(v []llir.Value) []llir.Value {
		at := k.Cast(llir.SIToFP, v[0], k.t, 0)
		next := k.fma(k.div(k.add(at, at), a), v[1], k.FNeg(v[2]))
		i := k.Sub(v[0], one)
		this := k.ICmp(enum.IPredEQ, i, n)
		passed := k.ICmp(enum.IPredSLT, i, n)
		kept := k.Select(this, next, v[3])
		scale := k.Select(k.less(k.num(big), k.abs(next)), k.num(1/big), k.num(1))
		kept = k.mul(kept, k.Select(k.Or(this, passed), scale, k.num(1)))
		return []llir.Value{i, k.mul(next, scale), k.mul(v[1], scale), kept}
	})
	c0, c1 := v[1], v[2]
	// By the greater of both.
	first := k.FCmp(oge, k.abs(j0), k.abs(j1))
	scale := k.div(k.Select(first, j0, j1), k.Select(first, c0, c1))
	done := k.ICmp(enum.IPredEQ, v[0], zero)
	return k.Select(done, k.mul(v[3], scale), k.num(0))
}
