package simt

import (
	"math"
	"math/big"
)

// Double-precision operations in other rounding modes than to nearest are rare:
// they take the exact result from math/big.

func bigMode(mode Round) big.RoundingMode {
	switch mode {
	case RoundZero:
		return big.ToZero
	case RoundDown:
		return big.ToNegativeInf
	case RoundUp:
		return big.ToPositiveInf
	}
	return big.ToNearestEven
}

// exactPrec holds every sum and product of doubles exactly: exponents from
// -2148 to 2048.
const exactPrec = 4400

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsInf(x, 0) || x != x {
			return false
		}
	}
	return true
}

// roundBig rounds an exact, nonzero value.
func roundBig(v *big.Float, mode Round) float64 {
	bm := bigMode(mode)
	exp := v.MantExp(nil) // v = m × 2^exp, m in [0.5, 1)
	prec := 53
	if exp < -1021 {
		prec = max(53-(-1021-exp), 0)
	}
	if prec == 0 {
		// Below half of the smallest subnormal, or just at or above the half.
		tiny := math.SmallestNonzeroFloat64
		half := new(big.Float).SetFloat64(tiny)
		half.SetMantExp(half, -1)
		abs := new(big.Float).Abs(v)
		up := mode == RoundUp && v.Sign() > 0 || mode == RoundDown && v.Sign() < 0 ||
			mode == RoundNearest && abs.Cmp(half) > 0
		r := 0.0
		if up {
			r = tiny
		}
		return math.Copysign(r, float64(v.Sign()))
	}
	r := new(big.Float).SetMode(bm).SetPrec(uint(prec)).Set(v)
	f, _ := r.Float64()
	if math.IsInf(f, 0) {
		toMax := mode == RoundZero || mode == RoundDown && f > 0 || mode == RoundUp && f < 0
		if toMax {
			return math.Copysign(math.MaxFloat64, f)
		}
	}
	return f
}

func add64(x, y float64, mode Round) float64 {
	s := x + y
	if mode == RoundNearest || !finite(x, y) {
		return s
	}
	return fma64(1, x, y, mode, false)
}

// fma64 is x*y+z, or x*y where mul is set.
func fma64(x, y, z float64, mode Round, mul bool) float64 {
	if mode == RoundNearest || !finite(x, y, z) {
		if mul {
			return x * y
		}
		return math.FMA(x, y, z)
	}
	if mul && (x == 0 || y == 0) {
		return x * y
	}
	v := new(big.Float).SetPrec(exactPrec).SetFloat64(x)
	v.Mul(v, new(big.Float).SetFloat64(y))
	if !mul {
		v.Add(v, new(big.Float).SetFloat64(z))
	}
	if v.Sign() == 0 {
		r := math.FMA(x, y, z)
		if mode == RoundDown && (math.Signbit(x) != math.Signbit(y) || math.Signbit(z)) {
			return math.Copysign(0, -1)
		}
		return r
	}
	return roundBig(v, mode)
}

func div64(x, y float64, mode Round) float64 {
	q := x / y
	if mode == RoundNearest || !finite(x, y) || x == 0 || y == 0 {
		return q
	}
	// 200 bits and a sticky one decide every rounding: a quotient of doubles is
	// neither a tie nor an exact value beyond 53 bits without repeating.
	v := new(big.Float).SetPrec(200).SetMode(big.ToZero)
	v.Quo(new(big.Float).SetFloat64(x), new(big.Float).SetFloat64(y))
	if v.Acc() != big.Exact {
		v = new(big.Float).SetPrec(260).Set(v)
		ulp := new(big.Float).SetMantExp(big.NewFloat(math.Copysign(1, float64(v.Sign()))), v.MantExp(nil)-230)
		v.Add(v, ulp)
	}
	return roundBig(v, mode)
}

func sqrt64(x float64, mode Round) float64 {
	q := math.Sqrt(x)
	if mode == RoundNearest || !finite(q) || q == 0 {
		return q
	}
	b := new(big.Float).SetPrec(exactPrec).SetFloat64(q)
	b.Mul(b, b)
	cmp := b.Cmp(new(big.Float).SetFloat64(x))
	switch {
	case cmp < 0 && mode == RoundUp:
		return math.Nextafter(q, math.Inf(1))
	case cmp > 0 && mode != RoundUp:
		return math.Nextafter(q, 0)
	}
	return q
}
