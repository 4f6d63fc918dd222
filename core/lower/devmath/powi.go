package devmath

import (
	"slices"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// mostTogether is how many powers one loop computes, each with four numbers to carry.
const mostTogether = 8

// Powi gives each x to its integral power n, an i32. Up to the cube, a constant power is
// a product: off by less than a place.
func Powi(b *llir.Builder, x, n []llir.Value) []llir.Value {
	out := make([]llir.Value, 0, len(x))
	if c, ok := llir.ConstInt(n[0]); ok && 0 <= c && c <= 3 && alike(n) {
		for _, v := range x {
			out = append(out, kitFor(b, v).smallPower(v, c))
		}
		return out
	}
	for i := 0; i < len(x); i += mostTogether {
		end := min(i+mostTogether, len(x))
		out = append(out, kitFor(b, x[i]).powers(x[i:end], n[i:end])...)
	}
	return out
}

// alike reports whether all exponents are one value.
func alike(n []llir.Value) bool {
	return !slices.ContainsFunc(n, func(v llir.Value) bool { return v != n[0] })
}

// smallPower is x to the power n, of 0 to 3, by products.
func (k kit) smallPower(x llir.Value, n int64) llir.Value {
	switch n {
	case 0:
		return k.num(1)
	case 1:
		return x
	case 2:
		return k.mul(x, x)
	}
	return k.mul(k.mul(x, x), x)
}

// powers gives each x to the power n by repeated squaring of pairs: each step doubles the
// error so far, so a power is off by |n| times that of a product of pairs. All elements take
// their steps in one loop, which runs as long as one of them has bits of n left.
func (k kit) powers(x, n []llir.Value) []llir.Value {
	count := len(x)
	if alike(n) {
		n = n[:1]
	}
	of := func(i int) int { return min(i, len(n)-1) } // the place of element i's exponent
	zero := k.M.I32(0)
	var carried []llir.Value // what is left of each |n|; of each element the power so far, and the square
	for _, v := range n {
		carried = append(carried, k.Select(k.ICmp(enum.IPredSLT, v, zero), k.Sub(zero, v), v))
	}
	var bases []llir.Value // a number and the rest of its inverse each
	for _, v := range x {
		bases = append(bases, k.abs(v), k.num(0))
	}
	bases = k.when(k.any(n, func(n llir.Value) llir.Value { return k.ICmp(enum.IPredSLT, n, zero) }), bases, func() []llir.Value {
		var inverted []llir.Value
		for i := range count {
			inverted = append(inverted, k.invertBelow(bases[2*i], k.ICmp(enum.IPredSLT, n[of(i)], zero))...)
		}
		return inverted
	})
	for i := range count {
		carried = append(carried, k.num(1), k.num(0), bases[2*i], bases[2*i+1])
	}
	last := k.while(carried, func(v []llir.Value) llir.Value {
		return k.any(v[:len(n)], func(left llir.Value) llir.Value { return k.ICmp(enum.IPredNE, left, zero) })
	}, func(v []llir.Value) []llir.Value {
		var next []llir.Value
		for i := range n {
			next = append(next, k.Binary(llir.LShr, v[i], k.M.I32(1), 0))
		}
		for i := range count {
			e := v[len(n)+4*i:]
			power, square := pair{e[0], e[1]}, pair{e[2], e[3]}
			odd := k.ICmp(enum.IPredNE, k.And(v[of(i)], k.M.I32(1)), zero)
			more := k.mulNormal(power, square)
			square = k.mulNormal(square, square)
			next = append(next, k.Select(odd, more.hi, power.hi), k.Select(odd, more.lo, power.lo), square.hi, square.lo)
		}
		return next
	})
	out := make([]llir.Value, count)
	for i := range out {
		e := last[len(n)+4*i:]
		v := k.add(e[0], e[1])
		// Where a product was too large the pair is not a number.
		tooLarge := k.And(k.isNaN(v), k.Not(k.isNaN(x[i])))
		v = k.Select(tooLarge, k.inf(), v)
		odd := k.ICmp(enum.IPredNE, k.And(n[of(i)], k.M.I32(1)), zero)
		out[i] = k.Select(k.And(k.negative(x[i]), odd), k.FNeg(v), v)
	}
	return out
}

// any is whether f holds of one of v.
func (k kit) any(v []llir.Value, f func(llir.Value) llir.Value) llir.Value {
	out := f(v[0])
	for _, x := range v[1:] {
		out = k.Or(out, f(x))
	}
	return out
}

// invertBelow is the inverse of x ≥ 0, as a pair, where the exponent is below zero, else x.
func (k kit) invertBelow(x, below llir.Value) []llir.Value {
	inverse := k.div(k.num(1), x)
	rest := k.prod(k.nfma(inverse, x, k.num(1)), inverse)
	// Of an infinite number and of those whose inverse is, there is no rest.
	rest = k.Select(k.And(k.less(x, k.inf()), k.less(inverse, k.inf())), rest, k.num(0))
	return []llir.Value{k.Select(below, inverse, x), k.Select(below, rest, k.num(0))}
}

// mulNormal is x·y with as much of it in hi as there is room for.
func (k kit) mulNormal(x, y pair) pair {
	p := k.mulPair(x, y)
	return k.sumOrdered(p.hi, p.lo)
}
