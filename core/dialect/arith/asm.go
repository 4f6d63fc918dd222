package arith

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

var asm = &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{Select: {Parse: parseSelect, Print: printSelect}}}

// parseSelect reads %c, %a, %b [{attrs}] : [C,] T, where C is the condition's
// type, left out for i1.
func parseSelect(p *text.Parser, s *text.OpState) {
	cond := p.Operand()
	p.Expect(",")
	yes := p.Operand()
	p.Expect(",")
	no := p.Operand()
	p.DictInto(s)
	p.Expect(":")
	condType, t := ir.Type(p.Context().I1()), p.Type()
	if p.Opt(",") {
		condType, t = t, p.Type()
	}
	s.Operands = []*ir.Value{p.Value(cond, condType), p.Value(yes, t), p.Value(no, t)}
	s.Types = []ir.Type{t}
}

func printSelect(w *text.Printer, op *ir.Operation) {
	w.Str(" ")
	w.Values(op.OperandValues())
	w.AttrDict(op)
	w.Str(" : ")
	if t, ok := AsSelect(op).Condition().Type().(*ir.TensorType); ok {
		w.Type(t)
		w.Str(", ")
	}
	w.Type(op.OneResult().Type())
}
