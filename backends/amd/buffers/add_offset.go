package buffers

import (
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// A splitter takes tensors of offsets apart.
type splitter struct {
	b *ir.Builder
	// spread: also what is spread along dimensions. What it has in common is then added
	// for each element, and not for each row.
	spread bool
	known  map[*ir.Value]parts
	splats map[splat]*ir.Value // tensors that have a scalar as all of their elements
}

type splat struct {
	scalar *ir.Value
	tensor ir.Type
}

// parts are a scalar that all elements of a tensor have in common, and the rest. Either is
// nil for 0.
type parts struct{ common, rest *ir.Value }

func newSplitter(b *ir.Builder, spread bool) *splitter {
	return &splitter{b: b, spread: spread, known: map[*ir.Value]parts{}, splats: map[splat]*ir.Value{}}
}

// of takes v apart. Where nothing is in common the rest is v itself.
func (s *splitter) of(v *ir.Value) parts {
	p := s.inner(v)
	if p.common == nil && p.rest != nil {
		p.rest = v
	}
	return p
}

// inner takes v apart, and makes again what spreads the rest.
func (s *splitter) inner(v *ir.Value) parts {
	p, ok := s.known[v]
	if !ok {
		p = s.split(v)
		s.known[v] = p
	}
	return p
}

func (s *splitter) split(v *ir.Value) parts {
	if x := s.scalar(v); x != nil || arith.IsZero(scalarOf(v)) {
		return parts{common: x}
	}
	op := v.Def()
	if op == nil {
		return parts{rest: v}
	}
	switch op.Def() {
	case tt.Broadcast, tt.ExpandDims:
		if !s.spread {
			return parts{rest: v}
		}
		p := s.inner(tt.AsUnary(op).Src())
		if p.rest != nil {
			p.rest = s.b.Create(op.Def(), ir.State{Operands: []*ir.Value{p.rest}, Types: []ir.Type{v.Type()}, Attrs: op.Attrs()}).OneResult()
		}
		return p
	case arith.AddI:
		sum := arith.AsAddI(op)
		x, y := s.inner(sum.Lhs()), s.inner(sum.Rhs())
		if x.common == nil && y.common == nil {
			return parts{rest: v}
		}
		return parts{s.sum(x.common, y.common), s.sum(x.rest, y.rest)}
	case arith.MulI:
		return s.product(v)
	}
	return parts{rest: v}
}

// product takes apart a product of a scalar and what is a sum of a scalar and a tensor.
// Other products stay: they would become several.
func (s *splitter) product(v *ir.Value) parts {
	factors := arith.AsMulI(v.Def())
	x, y := factors.Lhs(), factors.Rhs()
	by := s.scalar(y)
	if by == nil {
		x, y = y, x
		by = s.scalar(y)
	}
	if by == nil {
		return parts{rest: v}
	}
	p := s.inner(x)
	if p.common == nil {
		return parts{rest: v}
	}
	p.common = arith.Binary(s.b, arith.MulI, p.common, by)
	if p.rest != nil {
		p.rest = arith.Binary(s.b, arith.MulI, p.rest, tt.Unary(s.b, tt.Splat, by, p.rest.Type()))
	}
	return p
}

// scalar is what all elements of a tensor are, but for 0, or nil.
func (s *splitter) scalar(v *ir.Value) *ir.Value {
	x := scalarOf(v)
	if x != v {
		s.splats[splat{x, v.Type()}] = v
	} else if n, ok := arith.ConstantInt(v); ok && n != 0 {
		x = arith.Int(s.b, ir.ElemOf(v.Type()), n)
	} else {
		return nil
	}
	if arith.IsZero(x) {
		return nil
	}
	return x
}

// sum adds numbers, of which each may be nil for 0.
func (s *splitter) sum(x, y *ir.Value) *ir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return arith.Binary(s.b, arith.AddI, x, y)
}

// addToSmall adds to the offset, modulo 2^32.
func (c *canonicalizer) addToSmall(p pointer, add tt.AddPtrOp) pointer {
	by := add.Offset()
	if ir.BitWidth(ir.ElemOf(by.Type())) > 32 {
		by = c.narrow.value(by)
	}
	c.b.At(add.Op)
	if t := p.offset.Type(); by.Type() != t {
		by = arith.Cast(c.b, arith.ExtSI, by, t)
	}
	if isTensor(by) {
		p.offset = c.sumOfTensors(p.offset, by)
	} else {
		p.offset = c.sumOfScalars(p.offset, by)
	}
	return p
}

// sumOfTensors adds what the elements of each tensor have in common as scalars, and what is
// left of both as tensors.
func (c *canonicalizer) sumOfTensors(x, y *ir.Value) *ir.Value {
	s := newSplitter(c.b, false)
	var all parts
	var uniform []*ir.Value
	taken := make([]parts, 0, 2)
	for _, v := range []*ir.Value{x, y} {
		if s.scalar(v) != nil {
			uniform = append(uniform, v)
		} else {
			taken = append(taken, s.of(v))
		}
	}
	for _, p := range taken {
		all.common = s.sum(all.common, p.common)
	}
	for _, p := range taken {
		all.rest = s.sum(all.rest, p.rest)
	}
	// A tensor of equal elements is there, and added as it is, unless there is a constant
	// that it joins.
	join := all.common != nil && all.rest != nil && all.common.DefIs(arith.Constant)
	for _, v := range uniform {
		if join {
			all.common = s.sum(all.common, s.scalar(v))
		} else {
			all.rest = s.sum(all.rest, v)
		}
	}
	switch {
	case all.common == nil && all.rest == nil:
		return x // both are 0
	case all.common == nil:
		return all.rest
	}
	same := s.splats[splat{all.common, x.Type()}]
	if same == nil {
		same = tt.Unary(c.b, tt.Splat, all.common, x.Type())
	}
	return s.sum(same, all.rest)
}

// sumOfScalars adds scalars, of which each may be the constant 0.
func (c *canonicalizer) sumOfScalars(x, y *ir.Value) *ir.Value {
	switch {
	case arith.IsZero(x):
		return y
	case arith.IsZero(y):
		return x
	}
	return arith.Binary(c.b, arith.AddI, x, y)
}

// addToLarge moves the base by what all elements have in common, and adds the rest to the
// offset.
func (c *canonicalizer) addToLarge(p pointer, add tt.AddPtrOp) pointer {
	by := parts{common: add.Offset()}
	if isTensor(add.Offset()) {
		by = newSplitter(c.b, true).of(add.Offset())
	}
	common, rest := by.common, by.rest
	p.hints = hints(add.Op)
	if common != nil && !arith.IsZero(common) {
		p.base = tt.NewAddPtr(c.b, p.base, common)
		if rest == nil && len(ir.ShapeOf(add.Ptr().Type())) <= 1 {
			for _, a := range p.hints {
				p.base.Def().SetAttr(a.Name, a.Attr)
			}
		}
	}
	if rest == nil {
		p.hints = nil
		return p
	}
	p.fits = p.fits && p.offset.DefIs(tt.Splat) && ir.BitWidth(ir.ElemOf(rest.Type())) <= 32
	if t := p.offset.Type(); rest.Type() != t {
		rest = arith.Cast(c.b, arith.ExtSI, rest, t)
	}
	if arith.IsZero(scalarOf(p.offset)) {
		p.offset = rest
	} else {
		p.offset = arith.Binary(c.b, arith.AddI, rest, p.offset)
	}
	return p
}

// hints are what the user says of op's result.
func hints(op *ir.Operation) (list []ir.NamedAttr) {
	for _, a := range op.Attrs() {
		switch strings.TrimPrefix(a.Name, "tt.") {
		case "divisibility", "contiguity", "constancy":
			list = append(list, a)
		}
	}
	return list
}
