package matrix

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// partsOf is how e divides a tensor of that shape among the CTAs of a cluster; nil where
// a cluster is one CTA.
func partsOf(e layout.Shared, shape []int64) layout.Bases {
	if layout.CTAs(e) == 1 {
		return nil
	}
	l, err := e.Linear(shape)
	if err != nil {
		panic("BUG: matrix: " + err.Error())
	}
	parts, _ := l.CGA()
	return parts
}

// loadParts has each CTA of a cluster load other parts of a tensor, and returns it. For
// its other users it is converted back.
//
//	%v = tt.load %p : tensor<64x256x!tt.ptr<f16>, #rows>
//
// becomes
//
//	%q = ttg.convert_layout %p : … -> tensor<64x256x!tt.ptr<f16>, #columns>
//	%w = tt.load %q : tensor<64x256x!tt.ptr<f16>, #columns>
//	%v = ttg.convert_layout %w : … -> tensor<64x256xf16, #rows>
func (a *accelerator) loadParts(load *ir.Operation, parts layout.Bases) *ir.Value {
	b, c, v := a.b, a.b.Context(), load.OneResult()
	defer b.Restore(b.Save())
	old := tensors.Type(v)
	blocked := *encoding.Get(old).(*layout.Blocked)
	blocked.CGA = parts
	enc := encoding.Of(c, &blocked)
	b.At(load)
	for i, o := range load.Operands() {
		if tensors.Type(o) != nil {
			load.SetOperand(i, ttg.NewConvertLayout(b, o, enc))
		}
	}
	v.SetType(tensors.WithEncoding(c, old, enc))
	b.SetAfter(load)
	back := ttg.NewConvertLayout(b, v, old.Encoding)
	v.ReplaceUsesIf(back, func(u *ir.Use) bool { return u.Owner() != back.Def() })
	return v
}
