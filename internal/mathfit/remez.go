package main

import (
	"math"
	"math/big"

	ref "github.com/tritonc/tritonc/internal/mathref"
)

// minimax is the polynomial of n coefficients whose greatest error, relative to
// scale, is least, by Remez's exchange: an error that is as great at n+1 places,
// with alternating signs, is the least one. Good to the precision of a double,
// which is what an f32 needs.
func minimax(r row) []float64 {
	const grid = 1500
	u, f, s := make([]float64, grid), make([]float64, grid), make([]float64, grid)
	for i := range u {
		// Denser at the ends, where extremes are.
		c := math.Cos(math.Pi * (float64(i) + 0.5) / grid)
		u[i] = (r.hi+r.lo)/2 - c*(r.hi-r.lo)/2
		x := num(u[i])
		v := r.f(x)
		f[i], _ = v.Float64()
		s[i] = math.Abs(f[i])
		if r.scale != nil {
			w, _ := r.scale(x).Float64()
			s[i] = math.Abs(w)
		}
	}
	at := make([]int, r.n+1)
	for i := range at {
		at[i] = (grid - 1) * i / r.n
	}
	var c []float64
	for range 60 {
		c = level(at, u, f, s)
		next := extremes(c, u, f, s, r.n+1)
		same := next != nil
		for i := range next {
			same = same && next[i] == at[i]
		}
		if same || next == nil {
			break
		}
		at = next
	}
	return c
}

// level solves for the coefficients of an error ±e at the places, in turn.
func level(at []int, u, f, s []float64) []float64 {
	n := len(at)
	m := make([][]*big.Float, n) // each row with its right side
	for i, k := range at {
		row := make([]*big.Float, n+1)
		p := num(1)
		for j := range n - 1 {
			row[j] = num(0).Set(p)
			p = mul(p, num(u[k]))
		}
		sign := float64(1 - 2*(i&1))
		row[n-1], row[n] = num(sign*s[k]), num(f[k])
		m[i] = row
	}
	for i := range n {
		best := i
		for k := i + 1; k < n; k++ {
			if num(0).Abs(m[k][i]).Cmp(num(0).Abs(m[best][i])) > 0 {
				best = k
			}
		}
		m[i], m[best] = m[best], m[i]
		inv := ref.Inverse(m[i][i])
		for k := range n {
			if k == i || m[k][i].Sign() == 0 {
				continue
			}
			q := mul(m[k][i], inv)
			for j := i; j <= n; j++ {
				m[k][j] = sub(m[k][j], mul(q, m[i][j]))
			}
		}
	}
	c := make([]float64, n-1)
	for i := range c {
		c[i], _ = quo(m[i][n], m[i][i]).Float64()
	}
	return c
}

// extremes are n places of alternating greatest errors; nil if there are fewer.
func extremes(c, u, f, s []float64, n int) []int {
	e := make([]float64, len(u))
	for i, x := range u {
		y := c[len(c)-1]
		for k := len(c) - 2; k >= 0; k-- {
			y = math.FMA(y, x, c[k])
		}
		e[i] = (y - f[i]) / s[i]
	}
	var at []int
	for i := range e { // the greatest of each run of one sign
		last := len(at) - 1
		switch {
		case last < 0 || math.Signbit(e[i]) != math.Signbit(e[at[last]]):
			at = append(at, i)
		case math.Abs(e[i]) > math.Abs(e[at[last]]):
			at[last] = i
		}
	}
	for len(at) > n { // drop the smaller end
		if math.Abs(e[at[0]]) < math.Abs(e[at[len(at)-1]]) {
			at = at[1:]
		} else {
			at = at[:len(at)-1]
		}
	}
	if len(at) < n {
		return nil
	}
	return at
}
