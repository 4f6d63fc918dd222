package lower

import (
	"cmp"
	"fmt"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// A Place is where an operation of a target's dialect accesses memory: at offsets, a
// tensor of integers, in elements from a base pointer that all threads share.
type Place struct {
	Base, Offsets *ir.Value
	Mask          *ir.Value // nil: everywhere
}

// Load gives result the elements at a place, and those of other, where that is not nil, in
// the place of masked ones. Each call of load makes one access, as wide as alignment lets
// it be: its first element is at the given offset, and its address is not set.
func (s *Site) Load(result *ir.Value, at Place, other *ir.Value, load func(a *Access, offset llir.Value) ([]llir.Value, error)) error {
	offsets, err := s.offsets(at)
	if err != nil {
		return err
	}
	return s.e.loadTensor(&loading{
		op: s.op, result: result, mask: at.Mask, other: other, where: at.Offsets,
		width: s.e.m.placeWidth(at),
		load:  func(a *Access, r int) ([]llir.Value, error) { return load(a, offsets[r]) },
	})
}

// Store puts the elements of value at a place; store makes one access, as load does in
// Load. Of elements that several threads have, all accesses are in a branch that one of
// these takes: so warps with nothing to store do not compute what only this needs.
func (s *Site) Store(value *ir.Value, at Place, store func(a *Access, offset llir.Value, vals []llir.Value) error) error {
	offsets, err := s.offsets(at)
	if err != nil {
		return err
	}
	var first []llir.Value // of each access
	all, owner, err := s.e.stores(&storing{
		value: value, mask: at.Mask, where: at.Offsets, width: s.e.m.placeWidth(at), apart: true,
		place: func(_ *Access, r int) { first = append(first, offsets[r]) },
	})
	if err != nil || len(all) == 0 {
		return err
	}
	guarded(s.B, owner, nil, func() llir.Value {
		for i := range all {
			err = cmp.Or(err, store(&all[i].Access, first[i], all[i].vals))
		}
		return nil
	})
	s.e.seenByLanes(s.op, at.Offsets)
	return err
}

// Copy puts the elements at a place into a buffer, those of other, where that is not nil, or
// zeros in the place of masked ones; contiguity is how many neighbours the user says that
// there are. Each call of load reads neighbours, as in Load, which are stored at once; it is
// made where direct does not start the copy by itself.
func (s *Site) Copy(token, buffer *ir.Value, at Place, other *ir.Value, contiguity int64, load func(a *Access, offset llir.Value) ([]llir.Value, error), direct func(c *Copy, offset llir.Value) bool) error {
	offsets, err := s.offsets(at)
	if err != nil {
		return err
	}
	s.e.set(token, nil)
	return s.e.copies(&copying{
		dst: buffer, from: CopySource{Place: at, Contiguity: contiguity}, other: other,
		start: func(c *Copy, r int) error {
			if direct(c, offsets[r]) {
				return nil
			}
			vals, err := load(&c.From, offsets[r])
			if err == nil {
				s.e.m.caps.Memory.StoreShared(s.B, &Access{Ptr: c.To, Offset: c.ToOffset, Elem: c.From.Elem, Count: c.From.Count, Mask: c.Owner}, vals)
			}
			return err
		},
	})
}

// Atomic gives result the old values of the elements at a place, where an atomic does
// something to each of them once; values are the operands, and with compare it compares.
// Each call of do makes one access, of neighbours that are no more than width: a.Ptr is
// not set.
func (s *Site) Atomic(result *ir.Value, at Place, values, compare *ir.Value, width int, do func(a *Atomic, offset llir.Value) ([]llir.Value, error)) error {
	offsets, err := s.offsets(at)
	if err != nil {
		return err
	}
	return s.e.atomicTensor(&updating{
		op: s.op, result: result, mask: at.Mask, values: values, compare: compare, where: at.Offsets,
		width: func(l *tensorLayout, bits int) int { return min(width, s.e.m.placeWidth(at)(l, bits)) },
		do:    func(a *Atomic, r int) ([]llir.Value, error) { return do(a, offsets[r]) },
	})
}

// offsets are the registers of the offsets of a place.
func (s *Site) offsets(at Place) ([]llir.Value, error) {
	if _, ok := at.Offsets.Type().(*ir.TensorType); !ok {
		return nil, fmt.Errorf("the offsets are not a tensor")
	}
	return s.e.value(at.Offsets), nil
}

// placeWidth is how many neighbours one access at a place can move.
func (m *module) placeWidth(at Place) func(l *tensorLayout, bits int) int {
	return func(l *tensorLayout, bits int) int {
		axis := m.axis.Of(at.Offsets).Axes[l.layout.Order()[0]]
		base := m.axis.Of(at.Base).Axes[0].Divisibility
		return m.runWidth(axis.Contiguity, min(axis.Divisibility, base/axisinfo.ElemBytes(at.Base.Type())), at.Mask, l, bits)
	}
}
