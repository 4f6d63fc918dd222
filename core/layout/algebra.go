package layout

import (
	"fmt"
	"math/bits"
	"slices"
)

// Product puts b outside a: the bits of a dimension that both have are a's,
// then b's. a describes a tile and b how tiles are repeated. It is associative
// and has layouts without bits as units; axes keep a's order, then b's new
// ones.
func Product(a, b Layout) Layout {
	outs := slices.Clone(a.outs)
	for _, o := range b.outs {
		if i := slices.IndexFunc(outs, func(x Axis) bool { return x.Dim == o.Dim }); i >= 0 {
			outs[i].Bits += o.Bits
		} else {
			outs = append(outs, o)
		}
	}
	aPlace := placement(a.outs, outs, nil)
	bPlace := placement(b.outs, outs, a.outs)
	var l Layout
	l.outs = outs
	l.cols = make([]uint64, 0, len(a.cols)+len(b.cols))
	add := func(d Dim) {
		n := len(l.cols)
		for _, c := range a.Columns(d) {
			l.cols = append(l.cols, aPlace.move(c))
		}
		for _, c := range b.Columns(d) {
			l.cols = append(l.cols, bPlace.move(c))
		}
		l.ins = append(l.ins, Axis{d, len(l.cols) - n})
	}
	for _, in := range a.ins {
		add(in.Dim)
	}
	for _, in := range b.ins {
		if !hasAxis(a.ins, in.Dim) {
			add(in.Dim)
		}
	}
	return l
}

// Compose is outer after inner: x ↦ outer(inner(x)). The outputs of inner must
// be the inputs of outer, in any order, none larger than there.
func Compose(outer, inner Layout) Layout {
	p := placement(inner.outs, outer.ins, nil)
	for _, o := range inner.outs {
		if o.Bits > outer.InBits(o.Dim) {
			panic(fmt.Sprintf("BUG: composing output %v of %d bits with an input of %d", o.Dim, o.Bits, outer.InBits(o.Dim)))
		}
	}
	l := Layout{ins: inner.ins, outs: outer.outs, cols: make([]uint64, len(inner.cols))}
	for i, c := range inner.cols {
		l.cols[i] = outer.ApplyPacked(p.move(c))
	}
	return l
}

// Divide finds q with Product(tile, q) equal to l up to the order of axes, and
// reports whether there is one: whether l repeats the tile.
func (l Layout) Divide(tile Layout) (q Layout, ok bool) {
	for _, t := range tile.ins {
		if t.Bits > l.InBits(t.Dim) {
			return Layout{}, false
		}
	}
	for _, o := range l.outs {
		t := tile.OutBits(o.Dim)
		if t > o.Bits {
			return Layout{}, false
		}
		q.outs = append(q.outs, Axis{o.Dim, o.Bits - t})
	}
	tilePlace := placement(tile.outs, l.outs, nil)
	// The quotient's columns are l's with the low bits of each output, which
	// belong to the tile, dropped; there they must be zero.
	var low uint64
	shift := 0
	for _, o := range l.outs {
		low |= mask(tile.OutBits(o.Dim)) << shift
		shift += o.Bits
	}
	for _, in := range l.ins {
		cols, tcols := l.Columns(in.Dim), tile.Columns(in.Dim)
		for i, c := range tcols {
			if cols[i] != tilePlace.move(c) {
				return Layout{}, false
			}
		}
		for _, c := range cols[len(tcols):] {
			if c&low != 0 {
				return Layout{}, false
			}
			q.cols = append(q.cols, compress(l.outs, tile, c))
		}
		q.ins = append(q.ins, Axis{in.Dim, len(cols) - len(tcols)})
	}
	if !allAxesIn(tile.outs, l.outs) || !allAxesIn(tile.ins, l.ins) {
		return Layout{}, false
	}
	return q, true
}

// compress drops from a packed output the low bits that tile covers.
func compress(outs []Axis, tile Layout, c uint64) uint64 {
	var y uint64
	shift := 0
	for _, o := range outs {
		t := tile.OutBits(o.Dim)
		y |= (c & mask(o.Bits)) >> t << shift
		shift += o.Bits - t
		c >>= o.Bits
	}
	return y
}

func allAxesIn(some, all []Axis) bool {
	for _, a := range some {
		if a.Bits > 0 && !hasAxis(all, a.Dim) {
			return false
		}
	}
	return true
}

// Quotient drops the dimension d, that is both input and output and maps to
// itself alone, as Block does in a conversion within each CTA. It reports
// whether d is such.
func (l Layout) Quotient(d Dim) (Layout, bool) {
	lo, n := axisRange(l.outs, d)
	if n != l.InBits(d) {
		return Layout{}, false
	}
	for i, c := range l.Columns(d) {
		if c != 1<<(lo+i) {
			return Layout{}, false
		}
	}
	for _, in := range l.ins {
		if in.Dim == d {
			continue
		}
		for _, c := range l.Columns(in.Dim) {
			if c>>lo&mask(n) != 0 {
				return Layout{}, false
			}
		}
	}
	return l.Sub(without(l.ins, d), without(l.outs, d)), true
}

func without(axes []Axis, d Dim) []Dim {
	var keep []Dim
	for _, a := range axes {
		if a.Dim != d {
			keep = append(keep, a.Dim)
		}
	}
	return keep
}

// Sub restricts l to the given inputs (the others are 0) and projects it to
// the given outputs, in the given orders. Dimensions that l lacks are
// ignored.
func (l Layout) Sub(ins, outs []Dim) Layout {
	var s Layout
	for _, d := range outs {
		if hasAxis(l.outs, d) {
			s.outs = append(s.outs, Axis{d, l.OutBits(d)})
		}
	}
	p := placement(l.outs, s.outs, nil)
	for _, d := range ins {
		if hasAxis(l.ins, d) {
			for _, c := range l.Columns(d) {
				s.cols = append(s.cols, p.move(c))
			}
			s.ins = append(s.ins, Axis{d, l.InBits(d)})
		}
	}
	return s
}

// TransposeOuts is l with its outputs in the given order, which lists each
// once.
func (l Layout) TransposeOuts(order ...Dim) Layout {
	if len(order) != len(l.outs) {
		panic(fmt.Sprintf("BUG: %v does not permute %v", order, l.outs))
	}
	return l.Sub(dims(l.ins), order)
}

// TransposeIns is l with its inputs in the given order, which lists each once.
func (l Layout) TransposeIns(order ...Dim) Layout {
	if len(order) != len(l.ins) {
		panic(fmt.Sprintf("BUG: %v does not permute %v", order, l.ins))
	}
	return l.Sub(order, dims(l.outs))
}

// ReshapeOuts renames the packed output bits: outs takes the place of l's
// outputs, of as many bits together. The first axis is the lowest.
func (l Layout) ReshapeOuts(outs ...Axis) Layout {
	if totalBits(outs) != l.outBits() {
		panic(fmt.Sprintf("BUG: reshaping %v to %v", l.outs, outs))
	}
	return Layout{ins: l.ins, outs: outs, cols: l.cols}
}

// ReshapeIns renames the packed input bits: ins takes the place of l's inputs,
// of as many bits together. The first axis is the lowest.
func (l Layout) ReshapeIns(ins ...Axis) Layout {
	if totalBits(ins) != len(l.cols) {
		panic(fmt.Sprintf("BUG: reshaping %v to %v", l.ins, ins))
	}
	return Layout{ins: ins, outs: l.outs, cols: l.cols}
}

// DropZeroBases removes the bits of input d that map to zero.
func (l Layout) DropZeroBases(d Dim) Layout {
	var r Layout
	r.outs = l.outs
	for _, in := range l.ins {
		for _, c := range l.Columns(in.Dim) {
			if in.Dim == d && c == 0 {
				in.Bits--
				continue
			}
			r.cols = append(r.cols, c)
		}
		r.ins = append(r.ins, in)
	}
	return r
}

func dims(axes []Axis) []Dim {
	d := make([]Dim, len(axes))
	for i, a := range axes {
		d[i] = a.Dim
	}
	return d
}

// A place tells how the packed bits of one list of axes move into another's.
type place []struct{ from, n, to int }

// placement moves from-axes into the axes of the same name in to, above the
// bits that below's axis of that name takes. Axes that to lacks are dropped.
func placement(from, to, below []Axis) place {
	p := make(place, 0, len(from))
	lo := 0
	for _, f := range from {
		if hasAxis(to, f.Dim) && f.Bits > 0 {
			at, _ := axisRange(to, f.Dim)
			p = append(p, struct{ from, n, to int }{lo, f.Bits, at + axisBits(below, f.Dim)})
		}
		lo += f.Bits
	}
	return p
}

func (p place) move(x uint64) uint64 {
	var y uint64
	for _, m := range p {
		y |= (x >> m.from & mask(m.n)) << m.to
	}
	return y
}

// A span is a subspace of the packed vectors, grown one vector at a time, that
// remembers how each of its vectors is made of those that were added.
type span struct {
	rows [64]uint64 // rows[i], when not zero, has leading bit i
	made [64]uint64 // which added vectors XOR to rows[i]
	n    int        // vectors added
	rank int
}

// add appends v, and reports whether it was independent of those before.
func (s *span) add(v uint64) bool {
	rest, made := s.reduce(v)
	bit := uint64(1) << s.n
	s.n++
	if rest == 0 {
		return false
	}
	i := bits.Len64(rest) - 1
	s.rows[i], s.made[i] = rest, made|bit
	s.rank++
	return true
}

// reduce returns what is left of v outside the span, and the added vectors
// whose XOR is the part inside.
func (s *span) reduce(v uint64) (rest, made uint64) {
	for x := v; x != 0; {
		i := bits.Len64(x) - 1
		if s.rows[i] == 0 {
			rest |= 1 << i
			x &^= 1 << i
			continue
		}
		x ^= s.rows[i]
		made ^= s.made[i]
	}
	return rest, made
}

func (s *span) contains(v uint64) bool {
	rest, _ := s.reduce(v)
	return rest == 0
}

func spanOf(vs ...uint64) *span {
	s := new(span)
	for _, v := range vs {
		s.add(v)
	}
	return s
}

// Rank is the dimension of the image.
func (l Layout) Rank() int { return spanOf(l.cols...).rank }

// IsSurjective reports whether every output is reached.
func (l Layout) IsSurjective() bool { return l.Rank() == l.outBits() }

// IsInjective reports whether different inputs have different outputs.
func (l Layout) IsInjective() bool { return l.Rank() == len(l.cols) }

// IsInvertible reports whether l is a bijection.
func (l Layout) IsInvertible() bool { return l.IsInjective() && l.IsSurjective() }

// Invert is the inverse of a bijection: Compose(l, l.Invert()) and
// Compose(l.Invert(), l) are identities.
func (l Layout) Invert() Layout {
	if !l.IsInvertible() {
		panic("BUG: inverting a layout that is not a bijection: " + l.String())
	}
	return l.PseudoInvert()
}

// PseudoInvert is a right inverse of a surjective layout: Compose(l,
// l.PseudoInvert()) is the identity. Input bits that depend on lower ones
// (FreeMask) are 0 in it: of all replicas it finds the first.
func (l Layout) PseudoInvert() Layout {
	s := spanOf(l.cols...)
	if s.rank != l.outBits() {
		panic("BUG: pseudo-inverting a layout that is not surjective: " + l.String())
	}
	inv := Layout{ins: l.outs, outs: l.ins, cols: make([]uint64, s.rank)}
	for i := range inv.cols {
		_, inv.cols[i] = s.reduce(1 << i)
	}
	return inv
}

// InvertAndCompose returns c with Compose(l, c) equal to m: for each input of
// m, the first input of l that holds the same output. ok is false when some
// output of m is none of l's. The outputs of both must be the same axes in the
// same order.
func (l Layout) InvertAndCompose(m Layout) (c Layout, ok bool) {
	if !slices.Equal(l.outs, m.outs) {
		panic(fmt.Sprintf("BUG: outputs %v and %v differ", l.outs, m.outs))
	}
	s := spanOf(l.cols...)
	c = Layout{ins: m.ins, outs: l.ins, cols: make([]uint64, len(m.cols))}
	for i, v := range m.cols {
		var rest uint64
		if rest, c.cols[i] = s.reduce(v); rest != 0 {
			return Layout{}, false
		}
	}
	return c, true
}

// FreeMask has a bit set for each bit of input d whose basis vector is a
// combination of those before it (of lower bits and earlier inputs): changing
// such a bit reaches nothing new, so d's indices with a free bit set hold
// replicas.
func (l Layout) FreeMask(d Dim) uint64 {
	var s span
	var m uint64
	for _, in := range l.ins {
		for i, c := range l.Columns(in.Dim) {
			if !s.add(c) && in.Dim == d {
				m |= 1 << i
			}
		}
	}
	return m
}

// ZeroMask has a bit set for each bit of input d whose basis vector is zero.
func (l Layout) ZeroMask(d Dim) uint64 {
	var m uint64
	for i, c := range l.Columns(d) {
		if c == 0 {
			m |= 1 << i
		}
	}
	return m
}
