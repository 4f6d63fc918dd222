package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// remat removes conversions by computing their operand again in the layout that
// is wanted, for one function.
type remat struct {
	machine.Machine
	b      *ir.Builder
	copies copies
	dom    map[*ir.Region]*ir.DomTree
	count  func(name string, n int)
}

func newRemat(f *ir.Operation, m machine.Machine, count func(string, int)) *remat {
	return &remat{
		Machine: m, b: ir.NewBuilder(f.Context()), copies: newCopies(),
		dom: make(map[*ir.Region]*ir.DomTree), count: count,
	}
}

// dominates reports whether v is defined wherever op is executed, before it.
func (r *remat) dominates(v *ir.Value, op *ir.Operation) bool {
	block := v.Block()
	if block == nil {
		return false
	}
	// The ancestor of op that is in v's region.
	for op.Block().Region() != block.Region() {
		if op = op.Parent(); op == nil || op.Block() == nil {
			return false
		}
	}
	if op.Block() == block {
		return v.Def() == nil || v.Def() != op && v.Def().IsBeforeInBlock(op)
	}
	region := block.Region()
	if r.dom[region] == nil {
		r.dom[region] = ir.Dominators(region)
	}
	return r.dom[region].Dominates(block, op.Block())
}

// run tries every conversion of f once, in order, and reports whether one was
// removed.
func (r *remat) run(f *ir.Operation) (changed bool) {
	for _, cvt := range tensors.Conversions(f) {
		if r.try(cvt) {
			r.count("rematerialized", 1)
			changed = true
			continue
		}
		src, enc := ttg.AsConvertLayout(cvt).Src(), tensors.Encoding(cvt.OneResult())
		if r.copies.of(src, enc) == nil {
			r.copies.add(conversion{src, enc}, cvt.OneResult())
		}
	}
	return changed
}

// isDotOperand: conversions to operands of dots have passes of their own.
func isDotOperand(cvt *ir.Operation) bool {
	_, ok := encoding.Get(cvt.OneResult().Type()).(*layout.DotOp)
	return ok
}

// try replaces one conversion by a copy of what computes its operand, where
// that costs less.
func (r *remat) try(cvt *ir.Operation) bool {
	if isDotOperand(cvt) || !cvt.HasUses() {
		return false
	}
	v := ttg.AsConvertLayout(cvt)
	src, enc := v.Src(), tensors.Encoding(v.Result())
	if w := r.copies.of(src, enc); w != nil && w != v.Result() && r.dominates(w, cvt) {
		r.replace(cvt, w)
		return true
	}
	if def := src.Def(); def != nil && def.Is(arith.Constant) && !madeInAnyLayout(def, enc) {
		return false // made again, it is converted again
	}
	s, ok := r.take(v.SrcUse(), enc, nil)
	if !ok || !r.worth(cvt, s) {
		return false
	}
	r.replace(cvt, r.rebuild(s, nil, src))
	return true
}

func (r *remat) replace(cvt *ir.Operation, w *ir.Value) {
	src, old := ttg.AsConvertLayout(cvt).Src(), cvt.OneResult()
	r.copies.rename(old, w)
	r.copies.add(conversion{src, tensors.Encoding(old)}, w)
	old.ReplaceAllUsesWith(w)
	cvt.Erase()
}

// Costs are in thousandths of a cycle of one multiprocessor. A conversion goes
// through shared memory and back, at least one word for each lane of a warp,
// and twice for the waiting: a byte costs 32. A load from a near cache costs 8
// a byte, arithmetic 1, functions of many instructions 8. A reduction costs its
// steps within a warp and eightfold those between warps.
const (
	convertByte   = 32
	loadByte      = 8
	expensiveByte = 8
	warpStep      = 8
	wordBits      = 32
)

// worth reports whether computing the slice again costs less than the
// conversion. What is used by the slice alone does not count: the original
// dies.
func (r *remat) worth(cvt *ir.Operation, s *slice) bool {
	t := tensors.Type(ttg.AsConvertLayout(cvt).Src())
	words := max(t.NumElements(), int64(r.Lanes))
	limit := convertByte * words * int64(max(ir.BitWidth(t.Elem), wordBits)) / 8
	members := make(map[*ir.Operation]bool, len(s.values))
	var ops []*ir.Operation
	for _, v := range s.values {
		if op := v.Def(); op != nil && !members[op] {
			members[op] = true
			ops = append(ops, op)
		}
	}
	dies := make(map[*ir.Operation]bool)
	known := make(map[*ir.Operation]bool)
	var alone func(op *ir.Operation) bool
	alone = func(op *ir.Operation) bool {
		if known[op] {
			return dies[op]
		}
		known[op] = true // a cycle through a loop keeps the original alive
		for _, v := range op.Results() {
			for u := range v.Users() {
				if u != cvt && !(members[u] && alone(u)) {
					return false
				}
			}
		}
		dies[op] = true
		return true
	}
	cost := int64(0)
	for _, op := range ops {
		if alone(op) || op.Is(arith.Constant) {
			continue
		}
		switch d := op.Def(); {
		case d == tt.Load || d == ttg.LocalLoad:
			cost += loadByte * resultBytes(op)
		case d.Dialect() == "math" || d.Dialect() == "arith":
			cost += arithmeticByte(op) * resultBytes(op)
		case d == tt.Reduce:
			if !reorderable(op) {
				return false
			}
			l, err := encoding.Get(firstTensor(op).Type()).Linear(operandShape(op))
			if err != nil {
				panic("BUG: ttgir: " + err.Error())
			}
			axis := layout.TensorDim(axisOf(op))
			cost += int64(l.Along(layout.Lane, axis)) + warpStep*int64(l.Along(layout.Warp, axis))
		}
		if cost > limit {
			return false
		}
	}
	return true
}

func resultBytes(op *ir.Operation) int64 {
	n := int64(0)
	for _, v := range op.Results() {
		if t := tensors.Type(v); t != nil {
			n += t.NumElements() * int64(ir.BitWidth(t.Elem)) / 8
		}
	}
	return n
}

// arithmeticByte is the cost of a byte: expensive are divisions of floats and
// functions that take more than one instruction.
func arithmeticByte(op *ir.Operation) int64 {
	switch op.Def() {
	case arith.DivF, arith.RemF, math.Exp, math.Exp2, math.ExpM1, math.Log, math.Log2, math.Log10, math.Log1P,
		math.Sin, math.Cos, math.Tan, math.Tanh, math.Erf, math.Sqrt, math.Rsqrt, math.PowF, math.CtPop, math.CtLZ, math.CtTZ:
		return expensiveByte
	}
	return 1
}

// reorderable reports whether a reduction gives the same bits in any order:
// sums and products of floats do not, once there are three of them.
func reorderable(op *ir.Operation) bool {
	if !ir.IsFloat(ir.ElemOf(firstTensor(op).Type())) || operandShape(op)[axisOf(op)] <= 2 {
		return true
	}
	return !ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if o.Is(arith.AddF) || o.Is(arith.MulF) {
			return ir.Stop
		}
		return ir.Advance
	})
}
