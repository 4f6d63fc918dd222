package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// bufferFor is the layout of the buffer in LDS through which what load loads goes to dots;
// nil if something else than a dot's operand is made of it, or operands want layouts that no
// buffer has both of.
func (l *streamLowering) bufferFor(load *ir.Operation) *encoding.Attr {
	t := tensors.Type(load.OneResult())
	if t == nil || load.HasAttr(bypassLDS) {
		return nil
	}
	l.padded = l.async && l.chip == &chip.GFX950 && pipeline.AccessBytes(l.info, load) >= narrowestCopy
	var wanted []layout.Shared
	for u := range load.OneResult().Users() {
		if u.NumResults() != 1 {
			return nil
		}
		if m, ok := u.OneResult().Type().(*ttg.MemDescType); ok {
			e, ok := m.Encoding.(*encoding.Attr)
			if !ok || !u.Is(ttg.LocalAlloc) {
				return nil
			}
			shared, ok := e.Layout.(layout.Shared)
			if !ok {
				return nil
			}
			wanted = append(wanted, shared)
			continue
		}
		if !u.Is(ttg.ConvertLayout) {
			return nil
		}
		if e := l.bufferOf(u.OneResult(), t); e != nil {
			wanted = append(wanted, e)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	common := wanted[0]
	for _, e := range wanted[1:] {
		if common = commonBuffer(common, e); common == nil {
			return nil
		}
	}
	return encoding.Of(load.Context(), common)
}

// bufferOf is the layout of a buffer of a tensor of type t from which operand is read; nil
// if it is not an operand of a dot, and what is made of it is none either.
func (l *streamLowering) bufferOf(operand *ir.Value, t *ir.TensorType) layout.Shared {
	order := bufferOrder(t)
	e, ok := encoding.Get(operand.Type()).(*layout.DotOp)
	if ok && l.padded {
		if p := padded(e, t, order); p != nil {
			return p
		}
	}
	buffer := dots.Buffer{Shape: t.Shape, Order: order, Bits: ir.BitWidth(t.Elem)}
	if ok {
		return sharedmem.For(matrixcore.Unit{}.Buffer(e, buffer), t)
	}
	if e, buffer.Transposed = operandBehind(operand); e == nil {
		return nil
	}
	if e.OpIdx > 1 {
		return sharedmem.For(dots.Plain(order), t)
	}
	shared := matrixcore.Unit{}.Buffer(e, buffer)
	if s, ok := shared.(*layout.SwizzledShared); ok && isPlain(s) {
		// Where rows need no permutation it does no harm, and suits readers along rows.
		buffer.Transposed = !buffer.Transposed
		shared = matrixcore.Unit{}.Buffer(e, buffer)
	}
	return sharedmem.For(shared, t)
}

// bufferOrder is the order of dimensions of a buffer of a tensor of type t: that in which
// lanes follow one another, if threads have no neighbours along the first of them, else that
// of the tensor. The batch of three dimensions is the slowest.
func bufferOrder(t *ir.TensorType) []int {
	l := tensors.Linear(t)
	order := l.LaneOrder()
	if l.Contig(layout.TensorDim(order[0])) > 1 {
		order = sharedmem.Order(t)
	}
	if len(order) != 3 {
		return order
	}
	order = slices.DeleteFunc(slices.Clone(order), func(d int) bool { return d == 0 })
	return append(order, 0)
}

// operandBehind is the layout of the operand of a dot on matrix cores that v becomes through
// operations of which each alone uses the value before, and whether these transpose it; nil
// if there is none. Scales are operands 2 and 3.
func operandBehind(v *ir.Value) (e *layout.DotOp, transposed bool) {
	if _, ok := encoding.Get(v.Type()).(*layout.Linear); !ok {
		return nil, false
	}
	for v.HasOneUse() {
		u := v.OnlyUser()
		if u.NumResults() != 1 || u.Block() != v.Block() {
			return nil, false
		}
		if !u.Is(tt.Dot) && !u.Is(tt.DotScaled) {
			transposed = transposed != u.Is(tt.Trans)
			v = u.OneResult()
			continue
		}
		result, ok := encoding.Get(u.OneResult().Type()).(*layout.AMDMFMA)
		switch {
		case !ok:
			return nil, false
		case u.Is(tt.DotScaled) && v == tt.AsDotScaled(u).AScale():
			return &layout.DotOp{OpIdx: 2, Parent: result}, transposed
		case u.Is(tt.DotScaled) && v == tt.AsDotScaled(u).BScale():
			return &layout.DotOp{OpIdx: 3, Parent: result}, transposed
		}
		e, _ := encoding.Get(v.Type()).(*layout.DotOp)
		return e, transposed
	}
	return nil, false
}

// commonBuffer is a layout that serves two readers: their own, where it is the same but for
// the vectors that are permuted, of which it has the wider; and one without permutation
// yields to one with. Nil if there is none.
func commonBuffer(a, b layout.Shared) layout.Shared {
	if layout.Equal(a, b) {
		return a
	}
	x, ok1 := a.(*layout.SwizzledShared)
	y, ok2 := b.(*layout.SwizzledShared)
	if !ok1 || !ok2 || !slices.Equal(x.Order, y.Order) {
		return nil
	}
	switch {
	case isPlain(x):
		return y
	case isPlain(y):
		return x
	case x.PerPhase != y.PerPhase || x.MaxPhase != y.MaxPhase:
		return nil
	case x.Vec < y.Vec:
		return y
	}
	return x
}

func isPlain(e *layout.SwizzledShared) bool { return e.MaxPhase == 1 }
