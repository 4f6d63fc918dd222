package transform

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeEpilogue stores what was computed of a dot in the dot's own layout, in which a
// thread may write fewer elements side by side, but which needs no exchange through LDS:
// the pointers and the mask, which are computed and not loaded, are converted instead.
// Where lanes can swap registers, those of v_permlane*_swap, elements are exchanged so that
// a thread writes eight of 16 bits at once.
var OptimizeEpilogue = &pass.Pass{
	Name:    "tritonamdgpu-optimize-epilogue",
	Doc:     "store results of dots in the layout of the matrix cores",
	Example: optimizeEpilogueExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, op := range operations(r.Module, tt.Store) {
			store := tt.AsStore(op)
			if convert, chain := resultStored(store); convert != nil {
				storeAs(b, store, convert, chain)
				r.Count("stored as computed", 1)
			}
		}
		return nil
	},
}

// operations are those of a kind, in their order.
func operations(root *ir.Operation, def *ir.OpDef) []*ir.Operation {
	var list []*ir.Operation
	ir.Walk(root, func(op *ir.Operation) ir.WalkResult {
		if op.Is(def) {
			list = append(list, op)
		}
		return ir.Advance
	})
	return list
}

// resultStored is the conversion from matrix cores' layout of what store writes, and the
// operations between the two, the last first; nil if there is none.
func resultStored(store tt.StoreOp) (convert *ir.Operation, chain []*ir.Operation) {
	if !isBlocked(store.Ptr()) || !isBlocked(store.Value()) {
		return nil, nil
	}
	v := store.Value()
	for {
		def := v.Def()
		switch {
		case def == nil || !v.HasOneUse():
			return nil, nil
		case def.Is(ttg.ConvertLayout):
			if !tensors.IsMatrix(encoding.Get(ttg.AsConvertLayout(def).Src().Type())) {
				return nil, nil
			}
			return def, chain
		case !isUnary(def):
			return nil, nil
		}
		chain = append(chain, def)
		v = def.OneOperand()
	}
}

func isBlocked(v *ir.Value) bool {
	_, ok := encoding.Get(v.Type()).(*layout.Blocked)
	return ok
}

// isUnary reports whether op computes each element of a tensor from that of another one.
func isUnary(op *ir.Operation) bool {
	return op.NumOperands() == 1 && op.NumResults() == 1 && op.Def().Has(ir.Elementwise) && tensors.Type(op.OneOperand()) != nil &&
		!ir.HasEffect(op, ir.Effects.Any)
}

// storeAs stores in the layout in which convert finds its operand.
func storeAs(b *ir.Builder, store tt.StoreOp, convert *ir.Operation, chain []*ir.Operation) {
	c := b.Context()
	value := ttg.AsConvertLayout(convert).Src()
	enc := encoding.AttrOf(value.Type())
	last := value
	if len(chain) > 0 {
		chain[len(chain)-1].SetOperands([]*ir.Value{value})
		for _, op := range chain {
			op.OneResult().SetType(tensors.WithEncoding(c, tensors.Type(op.OneResult()), enc))
		}
		last = chain[0].OneResult()
	}
	b.At(store.Op)
	store.SetValue(last)
	relayout := func(enc ir.Attribute) {
		store.SetPtr(ttg.NewConvertLayout(b, store.Ptr(), enc))
		if store.Mask() != nil {
			store.SetMask(ttg.NewConvertLayout(b, store.Mask(), enc))
		}
	}
	relayout(enc)
	convert.Erase()
	if wide := swapped(tensors.Type(last)); wide != nil {
		relayout(encoding.Of(c, wide))
		store.SetValue(ttg.NewConvertLayout(b, last, encoding.Of(c, wide)))
	}
}

// swapVersion is the version of MFMA whose chips swap registers between halves or quarters
// of a wavefront.
const swapVersion = 4

// swapped is the layout of a transposed result in which a thread has eight neighbours of 16
// bits, not four: lanes of the other half of columns give their first four for the second
// four. Nil if the chip or the result has no use for it.
func swapped(t *ir.TensorType) layout.Encoding {
	e, ok := encoding.Get(t).(*layout.AMDMFMA)
	if !ok || e.Version != swapVersion || !e.IsTransposed || len(t.Shape) != 2 || ir.BitWidth(t.Elem) != 16 || !ir.IsFloat(t.Elem) {
		return nil
	}
	const first = 4 // the columns that a lane has side by side
	var other int32 // the columns to the next that it has
	switch {
	case e.InstrShape[0] == 32 && e.InstrShape[1] == 32:
		other = 8
	case e.InstrShape[0] == 16 && e.InstrShape[1] == 16 && e.WarpsPerCTA[1] == 1:
		other = 16 // of the next instruction, of the same warp
	}
	if other == 0 || t.Shape[1] < 2*int64(other) {
		return nil // or there is no such column
	}
	l := layout.FromLayout(tensors.Linear(t))
	for _, bases := range []layout.Bases{l.Register, l.Lane, l.Warp, l.Block} {
		for _, v := range bases {
			switch v[1] {
			case first:
				v[1] = other
			case other:
				v[1] = first
			}
		}
	}
	return l
}
