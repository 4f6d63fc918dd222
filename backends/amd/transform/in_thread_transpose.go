package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// InThreadTranspose transposes small tiles in the registers of a thread before they are stored
// to LDS, for operands of dots that memory has the other way round than matrix cores read
// them: elements that follow one another along K are then next to each other in LDS, and
// are read as vectors. A thread loads a few rows instead of one for that. Buffers rotate
// their swizzle, for stores now are along the other dimension. Where matrix cores read
// single elements along K, those are read as well from rows: the loads take a few rows, too,
// but nothing is turned.
var InThreadTranspose = &pass.Pass{
	Name:    "tritonamdgpu-in-thread-transpose",
	Doc:     "transpose operands of dots in registers on their way to LDS",
	Example: inThreadTransposeExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		b, m := ir.NewBuilder(r.Module.Context()), machine.Of(r.Module)
		for _, op := range operations(r.Module, ttg.LocalLoad) {
			if t := turnable(m.At(op), op); t != nil {
				t.apply(b)
				r.Count("turned", 1)
			}
		}
		return nil
	},
}

// turned is an operand of a dot that is to be turned on its way through LDS.
type turned struct {
	flow   *bufferFlow
	loads  []*ir.Operation
	enc    *layout.Blocked // of the loads
	shared layout.Shared   // of the buffer; nil if it stays as it is
}

// rowBits are the bits along K that a thread reads at once.
const rowBits = 64

// turnable finds how the operand that read gives comes from memory; nil if it has not to be
// turned, or cannot.
func turnable(m machine.Machine, read *ir.Operation) *turned {
	t := tensors.Type(read.OneResult())
	operand, _ := encoding.Get(t).(*layout.DotOp)
	if operand == nil || !tensors.IsMatrix(operand.Parent) || len(t.Shape) != 2 {
		return nil
	}
	if _, nvidia := operand.Parent.(*layout.NvidiaMMA); nvidia {
		return nil
	}
	k := 1 - operand.OpIdx
	flow := flowOf(ttg.AsLocalLoad(read).Src())
	if flow == nil || len(flow.filled) == 0 {
		return nil
	}
	w := &turned{flow: flow}
	for _, use := range flow.filled {
		e, ok := encoding.Get(use.Value().Type()).(*layout.Blocked)
		if !ok || e.Order[0] == k {
			return nil
		}
		loads, ok := loadsOf(use.Value())
		if !ok {
			return nil
		}
		w.loads = append(w.loads, loads...)
	}
	if len(w.loads) == 0 {
		return nil
	}
	loaded := tensors.Type(w.loads[0].OneResult())
	if slices.ContainsFunc(w.loads, func(op *ir.Operation) bool { return op.OneResult().Type() != ir.Type(loaded) }) {
		return nil
	}
	from, ok := encoding.Get(loaded).(*layout.Blocked)
	if !ok || len(loaded.Shape) != 2 {
		return nil
	}
	most := int(loaded.Shape[k]) / (from.ThreadsPerWarp[k] * from.WarpsPerCTA[k])
	if most < 2 {
		return nil
	}
	bits := ir.BitWidth(loaded.Elem)
	size := slices.Clone(from.SizePerThread)
	size[k] = min(most, rowBits/bits)
	w.enc = layout.BlockedFor(loaded.Shape, size, from.Order, m.Warps, m.Lanes, m.CTAs)
	if _, err := amdg.TransposedInThread(loaded.Shape, w.enc); err != nil {
		return nil
	}
	s, ok := matrixcore.Unit{}.Buffer(operand, dots.Buffer{Shape: t.Shape, Order: []int{k, 1 - k}, Bits: bits}).(*layout.SwizzledShared)
	if !ok {
		return nil
	}
	if s.Vec > 1 {
		w.shared = &layout.AMDRotatingShared{Vec: s.Vec, PerPhase: s.PerPhase, MaxPhase: s.MaxPhase, Order: s.Order, CGA: from.CGA}
	}
	return w
}

// apply turns the operand.
func (w *turned) apply(b *ir.Builder) {
	c := b.Context()
	enc := encoding.Of(c, w.enc)
	for _, load := range w.loads {
		b.At(load)
		old := encoding.AttrOf(load.OneResult().Type())
		for i, v := range load.Operands() {
			if tensors.Type(v) != nil {
				load.OperandUse(i).Set(ttg.NewConvertLayout(b, v, enc))
			}
		}
		load.OneResult().SetType(tensors.WithEncoding(c, tensors.Type(load.OneResult()), enc))
		b.After(load)
		back := ttg.NewConvertLayout(b, load.OneResult(), old)
		load.OneResult().ReplaceUsesIf(back, func(u *ir.Use) bool { return u.Owner() != back.Def() })
	}
	for _, use := range w.flow.filled {
		b.At(use.Owner())
		t := tensors.Type(use.Value())
		v := ttg.NewConvertLayout(b, use.Value(), enc)
		if w.shared == nil {
			use.Set(v)
			continue
		}
		l, err := amdg.TransposedInThread(t.Shape, w.enc)
		if err != nil {
			panic("BUG: in-thread-transpose: " + err.Error())
		}
		to := tensors.WithEncoding(c, t, encoding.Of(c, layout.FromLayout(l)))
		use.Set(b.Op(amdg.Dialect().Op("amdg.in_thread_transpose"), []*ir.Value{v}, to).OneResult())
	}
	if w.shared == nil {
		return
	}
	for _, v := range w.flow.buffers {
		t := *v.Type().(*ttg.MemDescType)
		if a, ok := t.Encoding.(*encoding.Attr); ok {
			if _, swizzled := a.Layout.(*layout.SwizzledShared); swizzled {
				t.Encoding = encoding.Of(c, w.shared)
				v.SetType(ttg.MemDesc(c, t))
			}
		}
	}
}

// loadsOf are the loads that a tensor is one of, and whether it is known where it is from.
func loadsOf(v *ir.Value) (loads []*ir.Operation, ok bool) {
	seen := map[*ir.Value]bool{}
	for list := []*ir.Value{v}; len(list) > 0; {
		v := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		from, carried := carriedFrom(v)
		switch {
		case carried:
			list = append(list, from...)
		case v.IsArgument():
			return nil, false
		case v.DefIs(tt.Load):
			loads = append(loads, v.Def())
		}
	}
	return loads, true
}
