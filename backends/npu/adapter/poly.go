package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// term is a product: a number times values.
type term struct {
	n       int64
	factors []*ir.Value // in the order of their numbers
}

// poly is a sum of products. Terms are in the order of their factors, and no two have
// the same; none is zero. The sum without terms is 0. What the values are is said by who
// makes the sum; they are not looked into here.
type poly []term

// algebra numbers values, so that sums have one form.
type algebra struct{ numbers map[*ir.Value]int }

func (g *algebra) number(v *ir.Value) int {
	n, ok := g.numbers[v]
	if !ok {
		n = len(g.numbers)
		g.numbers[v] = n
	}
	return n
}

func (g *algebra) compare(a, b []*ir.Value) int {
	return slices.CompareFunc(a, b, func(x, y *ir.Value) int { return g.number(x) - g.number(y) })
}

// number is a constant.
func number(n int64) poly {
	if n == 0 {
		return nil
	}
	return poly{{n: n}}
}

// value is the sum that is one value.
func value(v *ir.Value) poly { return poly{{n: 1, factors: []*ir.Value{v}}} }

func (g *algebra) add(a, b poly) poly {
	out := make(poly, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && g.compare(a[0].factors, b[0].factors) < 0:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || g.compare(a[0].factors, b[0].factors) > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			if n := a[0].n + b[0].n; n != 0 {
				out = append(out, term{n, a[0].factors})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

func (g *algebra) mul(a, b poly) poly {
	var out poly
	for _, x := range a {
		for _, y := range b {
			factors := slices.Concat(x.factors, y.factors)
			slices.SortFunc(factors, func(v, w *ir.Value) int { return g.number(v) - g.number(w) })
			out = g.add(out, poly{{x.n * y.n, factors}})
		}
	}
	return out
}

func (g *algebra) sub(a, b poly) poly { return g.add(a, g.mul(number(-1), b)) }

func equal(a, b poly) bool {
	return slices.EqualFunc(a, b, func(x, y term) bool { return x.n == y.n && slices.Equal(x.factors, y.factors) })
}

// constant is the number that a sum is.
func (p poly) constant() (int64, bool) {
	switch {
	case len(p) == 0:
		return 0, true
	case len(p) == 1 && len(p[0].factors) == 0:
		return p[0].n, true
	}
	return 0, false
}
