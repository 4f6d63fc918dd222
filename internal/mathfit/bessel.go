package main

import (
	"fmt"
	"io"
	"math/big"

	ref "github.com/tritonc/tritonc/internal/mathref"
)

// The Bessel functions J and Y below 8 are polynomials on pieces, divided by the
// distance from a zero, next to which they are as exact as elsewhere.

type besselRow struct {
	name  string
	f     func(n int64, x *big.Float) *big.Float
	order int64
	n     int
	// ends of the pieces, and a zero for each, in it or near.
	ends, zeros []float64
}

var besselRows = []besselRow{
	{"besselJ0Pieces", ref.BesselJ, 0, 21, []float64{0, 4, 8}, []float64{2.404825557695773, 5.520078110286311}},
	{"besselJ1Pieces", ref.BesselJ, 1, 19, []float64{0, 2.5, 5.4, 8}, []float64{0, 3.8317059702075125, 7.015586669815619}},
	{"besselY0Pieces", ref.BesselY, 0, 22, []float64{0.6, 1.4, 3, 5.5, 8}, []float64{0.8935769662791675, 3.957678419314858, 3.957678419314858, 7.086051060301773}},
	{"besselY1Pieces", ref.BesselY, 1, 22, []float64{1.2, 1.7, 3, 4.6, 8}, []float64{2.197141326031017, 2.197141326031017, 5.429681040794135, 5.429681040794135}},
}

// besselYTail is what Y has beside 2/π·log x·J (and -2/πx), over xⁿ, as a function
// of x².
func besselYTail(n int64) func(z *big.Float) *big.Float {
	return func(z *big.Float) *big.Float {
		x := ref.Sqrt(z)
		part := mul(ref.Log(x), ref.BesselJ(n, x))
		if n == 1 {
			part = sub(part, ref.Inverse(x))
		}
		y := sub(ref.BesselY(n, x), mul(part, quo(num(2), num(0).Set(ref.Pi()))))
		if n == 1 {
			y = quo(y, x)
		}
		return y
	}
}

// besselP and besselQ are the amplitudes of the cosine and, times x, of the sine for
// large x, as functions of 1/x².
func besselP(n int64) func(z *big.Float) *big.Float {
	return func(z *big.Float) *big.Float {
		p, _ := ref.BesselPQ(n, ref.Inverse(ref.Sqrt(z)))
		return p
	}
}

func besselQ(n int64) func(z *big.Float) *big.Float {
	return func(z *big.Float) *big.Float {
		x := ref.Inverse(ref.Sqrt(z))
		_, q := ref.BesselPQ(n, x)
		return mul(q, x)
	}
}

// writePieces writes a row as a slice of devmath's type piece.
func writePieces(w io.Writer, b besselRow) {
	fmt.Fprintf(w, "\n// %s: each function over the distance from its zero, about its centre.\nvar %s = []piece{\n", b.name, b.name)
	for i, start := range b.zeros {
		zero := num(start)
		if start != 0 {
			zero = ref.BesselZero(b.f, b.order, start)
		}
		head, _ := zero.Float64()
		tail, _ := sub(zero, num(head)).Float64()
		lo, hi := b.ends[i], b.ends[i+1]
		centre := (lo + hi) / 2
		r := row{lo: lo - centre, hi: hi - centre, n: b.n, f: func(u *big.Float) *big.Float {
			x := add(u, num(centre))
			return quo(b.f(b.order, x), sub(x, zero))
		}}
		c := fit(r)
		fmt.Fprintf(w, "{%v, %v, %v, %v, []float64{ // relative error %.1e\n", lo, centre, head, tail, worst(r, c))
		for _, v := range c {
			fmt.Fprintf(w, "%v,\n", v)
		}
		fmt.Fprint(w, "}},\n")
	}
	fmt.Fprint(w, "}\n")
}
