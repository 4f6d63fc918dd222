package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// hoistDotOperands moves conversions to operands of matrix instructions next to
// the loads that feed them, above everything that a thread can do with its own
// values: there a pipeliner can join load and conversion.
func (r *remat) hoistDotOperands(f *ir.Operation) (changed bool) {
	last := lastDots(f)
	for _, cvt := range tensors.Conversions(f) {
		dot := last[cvt.Block()]
		if dot != nil && isDotOperand(cvt) && cvt.HasUses() && cvt.IsBeforeInBlock(dot) && r.hoistDotOperand(cvt) {
			r.count("hoisted", 1)
			changed = true
		}
	}
	return changed
}

// lastDots returns, for each block, its last dot with a matrix instruction's operands.
func lastDots(f *ir.Operation) map[*ir.Block]*ir.Operation {
	last := make(map[*ir.Block]*ir.Operation)
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if !op.Is(tt.Dot) && !op.Is(tt.DotScaled) && !isForeign(op) {
			return ir.Advance
		}
		for _, v := range op.Operands() {
			if d, ok := encoding.Get(v.Type()).(*layout.DotOp); ok && tensors.IsMatrix(d.Parent) {
				last[op.Block()] = op
			}
		}
		return ir.Advance
	})
	return last
}

// staysInThread reports whether op needs of its operands only what the same
// thread holds.
func staysInThread(op *ir.Operation) bool {
	switch op.Def() {
	case tt.Broadcast, ttg.Fp4ToFp, ttg.ConvertLayout, tt.FpToFp, tt.ExpandDims, tt.Reshape, tt.Trans, tt.Join, tt.Split:
		return true
	}
	return op.Def().Has(ir.Elementwise) && ir.IsPure(op)
}

func (r *remat) hoistDotOperand(cvt *ir.Operation) bool {
	s, ok := r.take(ttg.AsConvertLayout(cvt).SrcUse(), tensors.Encoding(cvt.OneResult()), func(op *ir.Operation) bool { return !staysInThread(op) })
	if !ok {
		return false
	}
	var loads []*ir.Value
	for _, v := range s.values {
		switch op := v.Def(); {
		case op == nil:
			return false
		case op.Is(tt.Load), op.Is(tt.DescriptorLoad), op.Is(tt.DescriptorGather):
			loads = append(loads, v)
		case !op.Is(arith.Constant) && !staysInThread(op):
			return false
		}
	}
	if len(loads) == len(s.values) {
		return false // nothing comes between the loads and the conversion
	}
	done := make(map[*ir.Value]*ir.Value)
	for _, v := range loads {
		w := r.copies.of(v, s.enc[v])
		if w == nil {
			r.b.SetAfterValue(v)
			r.b.Loc = cvt.Loc()
			w = ttg.NewConvertLayout(r.b, v, s.enc[v])
			r.copies.add(conversion{v, s.enc[v]}, w)
		}
		done[v] = w
		s.remove(v)
	}
	r.replace(cvt, r.rebuild(s, done, ttg.AsConvertLayout(cvt).Src()))
	return true
}
