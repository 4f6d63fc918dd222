package linalg

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

func parseFunc(p *text.Parser, s *text.OpState) {
	c := p.Context()
	p.Function(s, func(in, out []ir.Type) ir.Type { return c.Func(in, out) })
}

func printFunc(w *text.Printer, op *ir.Operation) { w.Function(op, Signature(op)) }

// Signature is the type of a Func.
func Signature(op *ir.Operation) *ir.FunctionType {
	return AsFunc(op).FunctionType().(*ir.FunctionType)
}

// parseOperands reads word(%a, … : T, …), where the word was read.
func parseOperands(p *text.Parser) []*ir.Value {
	p.Expect("(")
	pos := p.Pos()
	names := p.Operands()
	p.Expect(":")
	types := p.Types()
	p.Expect(")")
	return p.Values(pos, names, types)
}

// parseInOut reads [ins(…)] outs(…), and gives the operation its operands.
func parseInOut(p *text.Parser, s *text.OpState) {
	var ins []*ir.Value
	if p.Opt("ins") {
		ins = parseOperands(p)
	}
	p.Expect("outs")
	outs := parseOperands(p)
	s.Operands = append(ins, outs...)
	s.Segments = []int32{int32(len(ins)), int32(len(outs))}
	s.Types = []ir.Type{}
}

func printInOut(w *text.Printer, op *ir.Operation) {
	for i, word := range []string{" ins(", " outs("} {
		values := op.Group(i)
		if len(values) == 0 {
			continue
		}
		w.Str(word)
		w.Values(values)
		w.Str(" : ")
		w.ValueTypes(values)
		w.Str(")")
	}
}

// outputTypes are the result types of an operation whose text does not say them: those
// of its outputs that are tensors.
func outputTypes(s *text.OpState) {
	for _, v := range s.Operands[s.Segments[0]:] {
		if t, ok := v.Type().(*ir.TensorType); ok {
			s.Types = append(s.Types, t)
		}
	}
}

// namedAsm is ins(…) outs(…) [-> T].
var namedAsm = text.OpAsm{
	Parse: func(p *text.Parser, s *text.OpState) {
		p.DictInto(s)
		parseInOut(p, s)
		if p.At("->") {
			s.Types = p.ArrowTypes()
		}
	},
	Print: func(w *text.Printer, op *ir.Operation) {
		w.AttrDict(op)
		printInOut(w, op)
		if op.NumResults() > 0 {
			w.ArrowTypes(op.Results())
		}
	},
}

// dimensionsAsm is ins(…) outs(…) name = [0, 1].
func dimensionsAsm(name string) text.OpAsm {
	return text.OpAsm{
		Parse: func(p *text.Parser, s *text.OpState) {
			parseInOut(p, s)
			parseDimensions(p, s, name)
			p.DictInto(s)
			outputTypes(s)
		},
		Print: func(w *text.Printer, op *ir.Operation) {
			printInOut(w, op)
			printDimensions(w, op, name)
			w.AttrDict(op, name)
		},
	}
}

func parseDimensions(p *text.Parser, s *text.OpState, name string) {
	p.Expect(name)
	p.Expect("=")
	s.Add(name, p.Context().DenseArray(p.Context().I64(), p.Ints()...))
}

func printDimensions(w *text.Printer, op *ir.Operation, name string) {
	w.Str(" " + name + " = ")
	printInts(w, Ints(op, name))
}

// Ints are the numbers of an attribute array<i64: …>.
func Ints(op *ir.Operation, name string) []int64 {
	a, _ := op.Attr(name).(*ir.DenseArrayAttr)
	if a == nil {
		return nil
	}
	return a.Values
}

// parseReduce reads ins(…) outs(…) dimensions = […] (%in: T, %init: T) {…}.
func parseReduce(p *text.Parser, s *text.OpState) {
	parseInOut(p, s)
	parseDimensions(p, s, "dimensions")
	p.DictInto(s)
	outputTypes(s)
	var args []text.RegionArg
	p.List('(', ')', func() {
		a := text.RegionArg{Operand: p.Operand()}
		p.Expect(":")
		a.Type = p.Type()
		a.Loc = p.OptLoc()
		args = append(args, a)
	})
	s.Bodies = []*ir.Region{p.Region(args, false)}
}

func printReduce(w *text.Printer, op *ir.Operation) {
	printInOut(w, op)
	printDimensions(w, op, "dimensions")
	w.AttrDict(op, "dimensions")
	w.Str(" (")
	for i, a := range op.Body().Args() {
		if i > 0 {
			w.Str(", ")
		}
		w.Arg(a, nil)
	}
	w.Str(") ")
	w.Region(AsReduce(op).Region(), false, true)
}

// parseGeneric reads {attrs} [ins(…)] outs(…) {…} [-> T].
func parseGeneric(p *text.Parser, s *text.OpState) {
	p.DictInto(s)
	parseInOut(p, s)
	if p.Opt("attrs") {
		p.Expect("=")
		p.DictInto(s)
	}
	s.Bodies = []*ir.Region{p.Region(nil, false)}
	if p.At("->") {
		s.Types = p.ArrowTypes()
	}
}

func printGeneric(w *text.Printer, op *ir.Operation) {
	w.AttrDict(op)
	printInOut(w, op)
	w.Str(" ")
	w.Region(AsGeneric(op).Region(), true, true)
	if op.NumResults() > 0 {
		w.ArrowTypes(op.Results())
	}
}

// parseGenericAtomic reads %m[%i] : T {…}.
func parseGenericAtomic(p *text.Parser, s *text.OpState) {
	m := p.Operand()
	pos := p.Pos()
	var names []text.Operand
	p.List('[', ']', func() { names = append(names, p.Operand()) })
	p.Expect(":")
	s.Operands = []*ir.Value{p.Value(m, p.Type())}
	for _, name := range names {
		s.Operands = append(s.Operands, p.Value(name, p.Context().Index()))
	}
	t := elemOf(p.Context(), s.Operands[0].Type())
	if t == s.Operands[0].Type() {
		p.FailAt(pos, "expected memory")
	}
	s.Types = []ir.Type{t}
	s.Bodies = []*ir.Region{p.Region(nil, false)}
	p.DictInto(s)
}

func printGenericAtomic(w *text.Printer, op *ir.Operation) {
	v := AsGenericAtomicRMW(op)
	w.Str(" ")
	w.Value(v.Memref())
	w.Str("[")
	w.Values(v.Indices())
	w.Str("] : ")
	w.Type(v.Memref().Type())
	w.Str(" ")
	w.Region(v.AtomicBody(), true, true)
	w.AttrDict(op)
}
