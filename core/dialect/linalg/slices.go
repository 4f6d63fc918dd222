package linalg

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// The attributes of slices. A Dynamic entry stands for the next operand of its group.
const (
	offsetsAttr = "static_offsets"
	sizesAttr   = "static_sizes"
	stridesAttr = "static_strides"
)

var sliceAttrs = [...]string{offsetsAttr, sizesAttr, stridesAttr}

// before is how many operands a slice has before its offsets.
func before(d *ir.OpDef) int { return len(d.Operands) - len(sliceAttrs) }

func verifySlice(op *ir.Operation) error {
	for i, name := range sliceAttrs {
		dynamic := 0
		for _, n := range Ints(op, name) {
			if n == Dynamic {
				dynamic++
			}
		}
		if got := len(op.Group(before(op.Def()) + i)); got != dynamic {
			return fmt.Errorf("%s leaves %s to the operands, of which there are %d", name, diag.Count(dynamic, "number"), got)
		}
	}
	return nil
}

// parseMixed reads [%a, 3, …].
func parseMixed(p *text.Parser) (static []int64, dynamic []*ir.Value) {
	p.List('[', ']', func() {
		if p.AtOperand() {
			dynamic = append(dynamic, p.Value(p.Operand(), p.Context().Index()))
			static = append(static, Dynamic)
			return
		}
		static = append(static, p.Int())
	})
	return static, dynamic
}

func printMixed(w *text.Printer, op *ir.Operation, i int) {
	dynamic := op.Group(before(op.Def()) + i)
	w.Str("[")
	for k, n := range Ints(op, sliceAttrs[i]) {
		if k > 0 {
			w.Str(", ")
		}
		if n != Dynamic {
			w.Int(n)
			continue
		}
		w.Value(dynamic[0])
		dynamic = dynamic[1:]
	}
	w.Str("]")
}

// sliceState is what parsing collects of a slice until the types are known.
type sliceState struct {
	static  [len(sliceAttrs)][]int64
	dynamic [len(sliceAttrs)][]*ir.Value
}

func (l *sliceState) finish(p *text.Parser, s *text.OpState) {
	for i, name := range sliceAttrs {
		s.Add(name, p.Context().DenseArray(p.Context().I64(), l.static[i]...))
		s.Segments = append(s.Segments, int32(len(l.dynamic[i])))
		s.Operands = append(s.Operands, l.dynamic[i]...)
	}
}

// sliceAsm is %a [into %b][offsets] [sizes] [strides] : T to U.
func sliceAsm(into, to string) text.OpAsm {
	return text.OpAsm{
		Parse: func(p *text.Parser, s *text.OpState) {
			var l sliceState
			names := []text.Operand{p.Operand()}
			if into != "" {
				p.Expect(into)
				names = append(names, p.Operand())
			}
			for i := range sliceAttrs {
				l.static[i], l.dynamic[i] = parseMixed(p)
			}
			p.DictInto(s)
			p.Expect(":")
			first := p.Type()
			p.Expect(to)
			second := p.Type()
			s.Operands, s.Segments = []*ir.Value{p.Value(names[0], first)}, []int32{1}
			if into != "" {
				s.Operands, s.Segments = append(s.Operands, p.Value(names[1], second)), []int32{1, 1}
			}
			l.finish(p, s)
			s.Types = []ir.Type{second}
		},
		Print: func(w *text.Printer, op *ir.Operation) {
			operands := op.OperandValues()
			w.Str(" ")
			w.Value(operands[0])
			if into != "" {
				w.Str(" " + into + " ")
				w.Value(operands[1])
			}
			for i := range sliceAttrs {
				if i > 0 {
					w.Str(" ")
				}
				printMixed(w, op, i)
			}
			w.AttrDict(op, sliceAttrs[:]...)
			w.Str(" : ")
			w.Type(operands[0].Type())
			w.Str(" " + to + " ")
			w.Type(op.OneResult().Type())
		},
	}
}

// reassociation is the attribute of operations that join or split dimensions.
const reassociation = "reassociation"

// sliceWords come before the lists of a reinterpret_cast.
var sliceWords = [...]string{"offset", "sizes", "strides"}

// parseReinterpret reads %a to offset: [o], sizes: […], strides: […] : T to U.
func parseReinterpret(p *text.Parser, s *text.OpState) {
	var l sliceState
	name := p.Operand()
	p.Expect("to")
	for i, word := range sliceWords {
		if i > 0 {
			p.Expect(",")
		}
		p.Expect(word)
		p.Expect(":")
		l.static[i], l.dynamic[i] = parseMixed(p)
	}
	p.DictInto(s)
	p.Expect(":")
	s.Operands, s.Segments = []*ir.Value{p.Value(name, p.Type())}, []int32{1}
	p.Expect("to")
	l.finish(p, s)
	s.Types = []ir.Type{p.Type()}
}

func printReinterpret(w *text.Printer, op *ir.Operation) {
	source := AsReinterpretCast(op).Source()
	w.Str(" ")
	w.Value(source)
	w.Str(" to ")
	for i, word := range sliceWords {
		if i > 0 {
			w.Str(", ")
		}
		w.Str(word + ": ")
		printMixed(w, op, i)
	}
	w.AttrDict(op, sliceAttrs[:]...)
	w.Str(" : ")
	w.Type(source.Type())
	w.Str(" to ")
	w.Type(op.OneResult().Type())
}

// parseGrouped reads %a [[0, 1], …] [output_shape [4, 8]] : T into U.
func parseGrouped(p *text.Parser, s *text.OpState) {
	c := p.Context()
	name := p.Operand()
	var groups []ir.Attribute
	p.List('[', ']', func() {
		var group []ir.Attribute
		for _, n := range p.Ints() {
			group = append(group, c.I64Attr(n))
		}
		groups = append(groups, c.ArrayAttr(group...))
	})
	s.Add(reassociation, c.ArrayAttr(groups...))
	if p.Opt("output_shape") {
		s.Add("static_output_shape", c.DenseArray(c.I64(), p.Ints()...))
	}
	p.DictInto(s)
	p.Expect(":")
	s.Operands = []*ir.Value{p.Value(name, p.Type())}
	p.Expect("into")
	s.Types = []ir.Type{p.Type()}
}

func printGrouped(w *text.Printer, op *ir.Operation) {
	w.Str(" ")
	w.Value(op.OneOperand())
	w.Str(" [")
	for i, g := range op.Attr(reassociation).(*ir.ArrayAttr).Elems {
		if i > 0 {
			w.Str(", ")
		}
		var group []int64
		for _, n := range g.(*ir.ArrayAttr).Elems {
			group = append(group, n.(*ir.IntegerAttr).Value)
		}
		printInts(w, group)
	}
	w.Str("]")
	if shape := Ints(op, "static_output_shape"); shape != nil {
		w.Str(" output_shape ")
		printInts(w, shape)
	}
	w.AttrDict(op, reassociation, "static_output_shape")
	w.Str(" : ")
	w.Type(op.OneOperand().Type())
	w.Str(" into ")
	w.Type(op.OneResult().Type())
}

// printInts writes [1, 2, …].
func printInts(w *text.Printer, vs []int64) {
	w.Str("[")
	for i, v := range vs {
		if i > 0 {
			w.Str(", ")
		}
		w.Int(v)
	}
	w.Str("]")
}
