package pipeline

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// peels reports whether the last iteration of the pipelined loop comes after it. It only
// waits for dots that run on and uses their results, so that the loop need not ask whether
// the dot that it starts is one too many.
func (e *expansion) peels() bool {
	if e.loop.HasAttr(tt.KeepPredicateStageAttr) || e.loop.ParentOf(ttg.WarpSpecialize) != nil {
		return false
	}
	for _, op := range e.ops {
		if e.stage(op) == e.last && awaitsDot(e.unit, op) {
			return true
		}
	}
	return false
}

// epilogue makes the last iteration of the loop n, which ends one step early, and returns
// the values in place of the old loop's results. Of that iteration only the last stage is
// one of the old loop:
//
//	for i = lo to hi - step { stages }
//	if lo < hi { last stage }
func (e *expansion) epilogue(n *ir.Operation) []*ir.Value {
	b, loop := e.b, e.loop
	lo, hi, step := scf.LowerBound(loop), scf.UpperBound(loop), scf.Step(loop)
	b.At(loop)
	span := arith.Binary(b, arith.SubI, arith.Binary(b, arith.SubI, hi, lo), arith.Int(b, lo.Type(), 1))
	before := arith.Binary(b, arith.MulI, arith.Binary(b, arith.DivSI, span, step), step)
	m := ir.NewMapping()
	m.Map(scf.InductionVar(n), arith.Binary(b, arith.AddI, before, lo))
	for i, v := range scf.IterArgs(n) {
		m.Map(v, n.Result(i))
	}
	var types []ir.Type
	for _, r := range loop.Results() {
		types = append(types, r.Type())
	}
	choice := scf.NewIf(b, arith.Compare(b, arith.CmpI, arith.SLT, lo, hi), true, types...)
	b.SetToEnd(scf.AsIf(choice).ThenRegion().First())
	for _, op := range e.made {
		b.Insert(op.Clone(m))
	}
	var values []*ir.Value
	for i, v := range forloop.Yield(loop).Operands() {
		is := n.Result(i)
		if d := v.Def(); d == nil || !e.s.has(d) || e.stage(d) == e.last {
			is = m.Lookup(forloop.Yield(n).Operand(i))
		}
		values = append(values, is)
	}
	scf.NewYield(b, values...)
	b.SetToEnd(scf.AsIf(choice).ElseRegion().First())
	scf.NewYield(b, n.Results()[:len(types)]...)
	return choice.Results()
}
