package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// wrap is what a form gains along an axis from a dividend x = start + i and a divisor:
// rem*(x % divisor) + quo*(x / divisor), with the quotient truncated. Divisors are taken
// to be positive.
//
// Where the quotient is the same, so is the slope: a block falls into pieces, one for each
// quotient q, in which x % divisor is x - q*divisor. That are the x from q*divisor to
// (q+1)*divisor, excluded, for positive q; as the remainder of a negative number is not
// positive, -divisor and divisor, both excluded, for 0; and so on.
type wrap struct {
	axis           int
	start, divisor poly
	rem, quo       poly
}

// divided is the form of x % y, or of x / y.
func (a *analysis) divided(x, y *form, quotient bool) *form {
	if x == nil || y == nil || !y.uniform() || x.root != nil || len(x.wraps) > 0 {
		return nil
	}
	axis := -1
	for i, p := range x.axes {
		if len(p) == 0 {
			continue
		}
		if n, ok := p.constant(); !ok || n != 1 || axis >= 0 {
			return nil
		}
		axis = i
	}
	if n, ok := y.base.constant(); axis < 0 || ok && n <= 0 {
		return nil
	}
	w := wrap{axis: axis, start: x.base, divisor: y.base}
	if quotient {
		w.quo = number(1)
	} else {
		w.rem = number(1)
	}
	return &form{axes: make([]poly, len(x.axes)), wraps: []wrap{w}}
}

// addWraps is the sum or difference of what two forms gain. It reports whether there is a
// form of it: an axis has one dividend and divisor.
func (a *analysis) addWraps(xs, ys []wrap, with func(x, y poly) poly) ([]wrap, bool) {
	out := slices.Clone(xs)
	for _, y := range ys {
		at := slices.IndexFunc(out, func(x wrap) bool { return x.axis == y.axis })
		if at < 0 {
			at = len(out)
			out = append(out, wrap{axis: y.axis, start: y.start, divisor: y.divisor})
		}
		x := &out[at]
		if !equal(x.start, y.start) || !equal(x.divisor, y.divisor) {
			return nil, false
		}
		x.rem, x.quo = with(x.rem, y.rem), with(x.quo, y.quo)
	}
	return slices.DeleteFunc(out, func(x wrap) bool { return len(x.rem) == 0 && len(x.quo) == 0 }), true
}

// scaleWraps is what forms gain by a factor.
func (a *analysis) scaleWraps(ws []wrap, by poly) []wrap {
	out := slices.Clone(ws)
	for i := range out {
		out[i].rem, out[i].quo = a.mul(out[i].rem, by), a.mul(out[i].quo, by)
	}
	return slices.DeleteFunc(out, func(x wrap) bool { return len(x.rem) == 0 && len(x.quo) == 0 })
}

// moveWraps has the axes of wraps renamed by to, where -1 is one that is no more.
func moveWraps(ws []wrap, to func(axis int) int) []wrap {
	out := slices.Clone(ws)
	for i := range out {
		out[i].axis = to(out[i].axis)
	}
	return slices.DeleteFunc(out, func(w wrap) bool { return w.axis < 0 })
}

// block is the form of pointers to the pieces of a block; nil for such that a wrap leaves
// no stride, of which each piece is one element.
func (a *analysis) block(v *ir.Value) *form {
	f := a.of(v)
	if f == nil || slices.ContainsFunc(f.wraps, func(w wrap) bool { return len(a.add(f.axes[w.axis], w.rem)) == 0 }) {
		return nil
	}
	return f
}

func equalWraps(a, b []wrap) bool {
	return slices.EqualFunc(a, b, func(x, y wrap) bool {
		return x.axis == y.axis && equal(x.start, y.start) && equal(x.divisor, y.divisor) && equal(x.rem, y.rem) && equal(x.quo, y.quo)
	})
}

// polys are the sums that a form is made of, but for its base.
func (f *form) polys() []poly {
	out := slices.Clone(f.axes)
	for _, w := range f.wraps {
		out = append(out, w.start, w.divisor, w.rem, w.quo)
	}
	return out
}

// gained makes what a form gains at an index.
func (c *converter) gained(w wrap, at *ir.Value) *ir.Value {
	x, y := c.binary(arith.AddI, c.sum(w.start), at), c.sum(w.divisor)
	var v *ir.Value
	if len(w.rem) > 0 {
		v = c.binary(arith.MulI, arith.Binary(c.Builder, arith.RemSI, x, y), c.sum(w.rem))
	}
	if len(w.quo) > 0 {
		v = c.binary(arith.AddI, v, c.binary(arith.MulI, arith.Binary(c.Builder, arith.DivSI, x, y), c.sum(w.quo)))
	}
	return v
}

// pieces makes the accesses of a block piece by piece: access gets the memory of each, and
// the part of the block that it is, nil for all.
func (c *converter) pieces(f *form, p *part, shape []int64, access func(memory *ir.Value, p *part)) {
	base := c.slot(f.base)
	if len(f.wraps) == 0 {
		access(c.blockAt(f, base, shape), p)
		return
	}
	if p == nil {
		p = &part{offsets: make([]linalg.Slot, len(shape)), sizes: linalg.Nums(shape...)}
	}
	c.pieceOf(f, f.wraps, base, p, shape, access)
}

func (c *converter) pieceOf(f *form, ws []wrap, base linalg.Slot, p *part, shape []int64, access func(*ir.Value, *part)) {
	if len(ws) == 0 {
		access(c.blockAt(f, base, shape), p)
		return
	}
	w, rest := ws[0], ws[1:]
	// Of the indices that the part leaves, [first, end).
	first := c.filled(p.offsets[w.axis])
	end := c.binary(arith.AddI, first, c.filled(p.sizes[w.axis]))
	start, divisor := c.sum(w.start), c.sum(w.divisor)
	quotient := func(at *ir.Value) *ir.Value {
		return arith.Binary(c.Builder, arith.DivSI, c.binary(arith.AddI, start, at), divisor)
	}
	one := func(q *ir.Value) {
		lo, hi := c.piece(q, start, divisor)
		lo = arith.Binary(c.Builder, arith.MaxSI, lo, first)
		hi = arith.Binary(c.Builder, arith.MinSI, hi, end)
		size := arith.Binary(c.Builder, arith.MaxSI, arith.Binary(c.Builder, arith.SubI, hi, lo), c.index(0))
		// x % divisor is start - q*divisor + i here.
		from := c.filled(base)
		if len(w.rem) > 0 {
			x := arith.Binary(c.Builder, arith.SubI, start, arith.Binary(c.Builder, arith.MulI, q, divisor))
			from = c.binary(arith.AddI, from, c.times(x, w.rem))
		}
		if len(w.quo) > 0 {
			from = c.binary(arith.AddI, from, c.times(q, w.quo))
		}
		piece := &form{root: f.root, axes: slices.Clone(f.axes)}
		piece.axes[w.axis] = c.a.add(piece.axes[w.axis], w.rem)
		part := &part{offsets: slices.Clone(p.offsets), sizes: slices.Clone(p.sizes)}
		part.offsets[w.axis], part.sizes[w.axis] = linalg.Slot{Value: lo}, linalg.Slot{Value: size}
		c.pieceOf(piece, rest, linalg.Slot{Value: from}, part, shape, access)
	}
	n, known := w.divisor.constant()
	if q := quotient(first); known && n >= shape[w.axis] { // two quotients at most
		one(q)
		one(arith.Binary(c.Builder, arith.AddI, q, c.index(1)))
		return
	}
	last := quotient(arith.Binary(c.Builder, arith.SubI, end, c.index(1)))
	loop := scf.NewFor(c.Builder, quotient(first), c.binary(arith.AddI, last, c.index(1)), c.index(1))
	at := c.Save()
	c.SetToEnd(loop.Body())
	one(scf.InductionVar(loop))
	scf.NewYield(c.Builder)
	c.Restore(at)
}

// times is x multiplied by a sum.
func (c *converter) times(x *ir.Value, p poly) *ir.Value {
	if n, ok := p.constant(); ok && n == 1 {
		return x
	}
	return arith.Binary(c.Builder, arith.MulI, x, c.sum(p))
}

// piece makes the range of the indices of which the quotient is q.
func (c *converter) piece(q, start, divisor *ir.Value) (lo, hi *ir.Value) {
	zero, one := c.index(0), c.index(1)
	compare := func(predicate int64) *ir.Value { return arith.Compare(c.Builder, arith.CmpI, predicate, q, zero) }
	origin := arith.Binary(c.Builder, arith.SubI, arith.Binary(c.Builder, arith.MulI, q, divisor), start)
	below := arith.Binary(c.Builder, arith.SubI, one, divisor)
	lo = arith.Binary(c.Builder, arith.AddI, origin, arith.NewSelect(c.Builder, compare(arith.SGT), zero, below))
	hi = arith.Binary(c.Builder, arith.AddI, origin, arith.NewSelect(c.Builder, compare(arith.SGE), divisor, one))
	return lo, hi
}
