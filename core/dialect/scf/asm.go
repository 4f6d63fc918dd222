package scf

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

var asm = &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{
	For:           {Parse: parseFor, Print: printFor},
	If:            {Parse: parseIf, Print: printIf},
	While:         {Parse: parseWhile, Print: printWhile},
	ExecuteRegion: {Parse: parseExecuteRegion, Print: printExecuteRegion},
}}

// assignments reads (%arg = %init, …).
func assignments(p *text.Parser) (args []text.RegionArg, inits []text.Operand) {
	p.List('(', ')', func() {
		args = append(args, text.RegionArg{Operand: p.Operand()})
		p.Expect("=")
		inits = append(inits, p.Operand())
	})
	return args, inits
}

func printAssignments(w *text.Printer, args, inits []*ir.Value) {
	w.Str("(")
	for i, a := range args {
		if i > 0 {
			w.Str(", ")
		}
		w.Value(a)
		w.Str(" = ")
		w.Value(inits[i])
	}
	w.Str(")")
}

// parseFor reads [unsigned] %i = %lo to %hi step %s [iter_args(%a = %b) -> (T)]
// [: T] {…} [{attrs}].
func parseFor(p *text.Parser, s *text.OpState) {
	if p.Opt("unsigned") {
		s.Add("unsignedCmp", p.Context().Unit())
	}
	iv := text.RegionArg{Operand: p.Operand()}
	p.Expect("=")
	lower := p.Operand()
	p.Expect("to")
	upper := p.Operand()
	p.Expect("step")
	step := p.Operand()
	args, inits := []text.RegionArg{iv}, []text.Operand(nil)
	pos := p.Pos()
	s.Types = []ir.Type{}
	if p.Opt("iter_args") {
		var carried []text.RegionArg
		carried, inits = assignments(p)
		args = append(args, carried...)
		s.Types = append(s.Types, p.ArrowTypes()...)
		if len(s.Types) != len(inits) {
			p.FailAt(pos, "%s, but %s", diag.Count(len(inits), "carried value"), diag.Count(len(s.Types), "type"))
		}
	}
	var t ir.Type = p.Context().Index()
	if p.Opt(":") {
		t = p.Type()
	}
	s.Operands = append(s.Operands, p.Value(lower, t), p.Value(upper, t), p.Value(step, t))
	s.Operands = append(s.Operands, p.Values(pos, inits, s.Types)...)
	args[0].Type = t
	for i, t := range s.Types {
		args[i+1].Type = t
	}
	body := p.Region(args, false)
	p.Terminate(s, body, Yield)
	s.Bodies = []*ir.Region{body}
	p.DictInto(s)
}

func printFor(w *text.Printer, op *ir.Operation) {
	inits := Inits(op)
	loop := AsFor(op)
	if loop.UnsignedCmp() {
		w.Str(" unsigned")
	}
	w.Str(" ")
	w.Value(InductionVar(op))
	w.Str(" = ")
	w.Value(LowerBound(op))
	w.Str(" to ")
	w.Value(UpperBound(op))
	w.Str(" step ")
	w.Value(Step(op))
	if len(inits) > 0 {
		w.Str(" iter_args")
		printAssignments(w, IterArgs(op), inits)
		w.Str(" -> (")
		w.ValueTypes(inits)
		w.Str(")")
	}
	w.Str(" ")
	if t := InductionVar(op).Type(); t != ir.Type(op.Context().Index()) {
		w.Str(" : ")
		w.Type(t)
		w.Str(" ")
	}
	w.Region(loop.Region(), false, len(inits) > 0)
	w.AttrDict(op, "unsignedCmp")
}

// parseIf reads %cond [-> (T)] {…} [else {…}] [{attrs}].
func parseIf(p *text.Parser, s *text.OpState) {
	s.Operands = []*ir.Value{p.Value(p.Operand(), p.Context().I1())}
	s.Types = []ir.Type{}
	if p.At("->") {
		s.Types = append(s.Types, p.ArrowTypes()...)
	}
	then := p.Region(nil, false)
	p.Terminate(s, then, Yield)
	s.Bodies = []*ir.Region{then, {}}
	if p.Opt("else") {
		s.Bodies[1] = p.Region(nil, false)
		p.Terminate(s, s.Bodies[1], Yield)
	}
	p.DictInto(s)
}

func printIf(w *text.Printer, op *ir.Operation) {
	cond := AsIf(op)
	w.Str(" ")
	w.Value(cond.Condition())
	if op.NumResults() > 0 {
		w.Str(" -> (")
		w.ValueTypes(op.Results())
		w.Str(")")
	}
	w.Str(" ")
	w.Region(cond.ThenRegion(), false, op.NumResults() > 0)
	if !cond.ElseRegion().Empty() {
		w.Str(" else ")
		w.Region(cond.ElseRegion(), false, op.NumResults() > 0)
	}
	w.AttrDict(op)
}

// parseWhile reads [(%a = %b, …)] : (T) -> (U) {…} do {…} [attributes {…}].
func parseWhile(p *text.Parser, s *text.OpState) {
	var args []text.RegionArg
	var inits []text.Operand
	if p.At("(") {
		args, inits = assignments(p)
	}
	p.Expect(":")
	pos := p.Pos()
	in := p.TypeListInParens()
	s.Types = p.ArrowTypes()
	s.Operands = p.Values(pos, inits, in)
	for i, t := range in {
		args[i].Type = t
	}
	before := p.Region(args, false)
	p.Expect("do")
	s.Bodies = []*ir.Region{before, p.Region(nil, false)}
	if p.Opt("attributes") {
		p.DictInto(s)
	}
}

func printWhile(w *text.Printer, op *ir.Operation) {
	loop := AsWhile(op)
	if op.NumOperands() > 0 {
		w.Str(" ")
		printAssignments(w, loop.Before().First().Args(), loop.Inits())
	}
	w.Str(" : (")
	w.ValueTypes(op.OperandValues())
	w.Str(")")
	w.ArrowTypes(op.Results())
	w.Str(" ")
	w.Region(loop.Before(), false, true)
	w.Str(" do ")
	w.Region(loop.After(), true, true)
	w.AttrDictKeyword(op)
}

// parseExecuteRegion reads [-> T] [no_inline] {…} [{attrs}].
func parseExecuteRegion(p *text.Parser, s *text.OpState) {
	s.Types = []ir.Type{}
	if p.At("->") {
		s.Types = append(s.Types, p.ArrowTypes()...)
	}
	if p.Opt("no_inline") {
		s.Add("no_inline", p.Context().Unit())
	}
	s.Bodies = []*ir.Region{p.Region(nil, false)}
	p.DictInto(s)
}

func printExecuteRegion(w *text.Printer, op *ir.Operation) {
	if op.NumResults() > 0 {
		w.ArrowTypes(op.Results())
	}
	w.Str(" ")
	if AsExecuteRegion(op).NoInline() {
		w.Str("no_inline ")
	}
	w.Region(AsExecuteRegion(op).Region(), true, true)
	w.AttrDict(op, "no_inline")
}
