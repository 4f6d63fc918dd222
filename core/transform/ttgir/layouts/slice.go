package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// A slice is a set of values, each with the encoding in which it would have to
// be computed again so that the value from which the slice was taken comes out
// in another layout without a conversion.
type slice struct {
	values []*ir.Value // in the order of discovery, from the end to the start; those removed, too
	enc    map[*ir.Value]ir.Attribute
	// given are copies that exist already; what they are computed from is not
	// part of the slice unless it is in deep.
	given map[*ir.Value]*ir.Value
	// deep are the values whose operands are in the slice as far as needed.
	deep map[*ir.Value]bool
	// through are conversions that move nothing, whose operand is in the slice in
	// their place. Of another such conversion the operand may be in the slice for a
	// use elsewhere, and the copy that is given there need not be defined here.
	through map[*ir.Value]bool
}

func newSlice() *slice {
	return &slice{
		enc: make(map[*ir.Value]ir.Attribute), given: make(map[*ir.Value]*ir.Value),
		deep: make(map[*ir.Value]bool), through: make(map[*ir.Value]bool),
	}
}

// add puts v into the slice; false when it is there with another encoding.
func (s *slice) add(v *ir.Value, enc ir.Attribute) bool {
	if have, ok := s.enc[v]; ok {
		return have == enc
	}
	s.enc[v] = enc
	s.values = append(s.values, v)
	return true
}

// remove takes v out: it need not be computed again.
func (s *slice) remove(v *ir.Value) { delete(s.enc, v) }

// join adds all of t, unless a value has another encoding here: then nothing is
// added and the answer is false.
func (s *slice) join(t *slice) bool {
	for _, v := range t.values {
		if have, ok := s.enc[v]; ok && have != t.enc[v] {
			return false
		}
	}
	for _, v := range t.values {
		s.add(v, t.enc[v])
		if t.through[v] {
			s.through[v] = true
		}
		if t.deep[v] {
			s.deep[v] = true
			delete(s.given, v)
		} else if w := t.given[v]; w != nil && !s.deep[v] {
			s.given[v] = w
		}
	}
	return true
}

// maxSlice is the most values of a slice. Long straight-line code has a slice of
// thousands for each of its conversions, and nearly all need a value in two layouts,
// or cost more than the conversion. The largest that paid in 2,111
// kernels of 22 repositories had 551.
const maxSlice = 1024

// take collects everything that must be computed again for the use u to have
// the encoding enc. It stops at values that have their encoding already, at
// operations that make their result in any layout, at values of which r knows
// such a copy, and at operations for which stop says so. It fails where a value
// would be needed in two layouts, or comes from an operation that cannot be
// repeated, and where there are more than maxSlice.
func (r *remat) take(u *ir.Use, enc ir.Attribute, stop func(*ir.Operation) bool) (*slice, bool) {
	type item struct {
		u   *ir.Use
		enc ir.Attribute
	}
	s := newSlice()
	seen := map[item]bool{}
	var queue []item
	push := func(u *ir.Use, enc ir.Attribute) {
		if it := (item{u, enc}); !seen[it] {
			seen[it] = true
			queue = append(queue, it)
		}
	}
	push(u, enc)
	for len(queue) > 0 {
		it := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		v := it.u.Value()
		if tensors.Type(v) == nil {
			continue
		}
		r.b.Context().Meter().Visit()
		if !s.add(v, it.enc) || len(s.values) > maxSlice {
			return nil, false
		}
		if w := r.copies.of(v, it.enc); w != nil && !s.deep[v] && r.dominates(w, it.u.Owner()) {
			s.given[v] = w
			continue
		}
		delete(s.given, v)
		s.deep[v] = true
		op := v.Def()
		if op == nil {
			loop, i := v.Block().Parent(), scf.CarriedIndex(v)
			if loop == nil || !loop.Is(scf.For) || i < 0 {
				return nil, false
			}
			push(scf.AsFor(loop).InitArgsUse(i), it.enc)
			push(loop.Body().Terminator().OperandUse(i), it.enc)
			continue
		}
		if op.Is(scf.If) {
			if stop != nil && stop(op) {
				continue
			}
			for _, region := range op.Regions() {
				push(region.First().Terminator().OperandUse(v.Index()), it.enc)
			}
			continue
		}
		if op.Is(scf.For) || op.Is(scf.While) {
			return nil, false // without a look at its results, which may be many
		}
		for _, other := range op.Results() {
			if tensors.Type(other) != nil && !s.add(other, it.enc) {
				return nil, false
			}
		}
		switch {
		case r.seesThrough(op, stop):
			s.through[v] = true
			push(ttg.AsConvertLayout(op).SrcUse(), it.enc)
			continue
		case endsSlice(op, it.enc), stop != nil && stop(op):
			continue
		case !r.repeatable(op), op.Is(ttg.LocalLoad): // such a load would read what other CTAs have
			return nil, false
		}
		src := backward(op, it.enc)
		for i, w := range op.Operands() {
			u := op.OperandUse(i)
			if tensors.Type(w) == nil || op.Is(tt.Gather) && u == tt.AsGather(op).SrcUse() {
				continue
			}
			if src == nil {
				return nil, false
			}
			if tensors.Encoding(w) != src {
				push(u, src)
			}
		}
	}
	return s, true
}

// endsSlice reports whether op gives its result in the encoding enc without its
// operands changing theirs. A conversion is such, since it becomes one from
// what it has; but not to a matrix layout, which would only move it.
func endsSlice(op *ir.Operation, enc ir.Attribute) bool {
	if op.Is(ttg.ConvertLayout) {
		a, ok := enc.(*encoding.Attr)
		return !ok || !tensors.IsMatrix(a.Layout) || tensors.Encoding(ttg.AsConvertLayout(op).Src()) == enc
	}
	return op.Is(arith.Constant) || madeInAnyLayout(op, enc)
}

// seesThrough reports whether op is a conversion that moves nothing, of
// something that can be part of a slice or at which one stops.
func (r *remat) seesThrough(op *ir.Operation, stop func(*ir.Operation) bool) bool {
	if !op.Is(ttg.ConvertLayout) || !freeConvert(op) {
		return false
	}
	d := ttg.AsConvertLayout(op).Src().Def()
	return d == nil || d.Is(scf.If) || r.repeatable(d) || stop != nil && stop(d)
}

// freeConvert reports whether a conversion moves nothing: both encodings put
// each element in the same place.
func freeConvert(op *ir.Operation) bool {
	v := ttg.AsConvertLayout(op)
	t := tensors.Type(v.Src())
	return encoding.Same(t.Shape, t.Encoding, tensors.Encoding(v.Result()))
}

// repeatable reports whether op may be executed a second time, and cheaply
// enough to think of it.
func (r *remat) repeatable(op *ir.Operation) bool {
	switch op.Def() {
	case tt.Load, tt.Store:
		return !isExpensiveAccess(r.At(op), op)
	case tt.AtomicRMW, tt.AtomicCAS, tt.Dot, tt.DotScaled, tt.Cat, scf.For, scf.While, scf.Condition, ttg.WarpSpecialize:
		return false
	case tt.Gather:
		return !tt.AsGather(op).EfficientLayout()
	}
	return !ir.HasEffect(op, ir.Effects.Changes)
}
