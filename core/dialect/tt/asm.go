package tt

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

var asm = &text.Dialect{
	ParseType: parseType,
	PrintType: printType,
	Constraints: map[string]ir.Constraint{
		"tt.ptr": ScalarPtr, "tt.ptrs": PtrLike, "tt.tensordesc": DescLike, "tt.value": AnyValue,
	},
	Ops: map[*ir.OpDef]text.OpAsm{Func: {Parse: parseFunc, Print: printFunc}},
}

// maxAddrSpace bounds the address space of a pointer.
const maxAddrSpace = 1 << 24

func parseType(p *text.Parser, name string) ir.Type {
	switch name {
	case "ptr":
		p.Expect("<")
		pointee, space := p.Type(), 1
		if p.Opt(",") {
			space = int(p.IntBelow(maxAddrSpace, "address space"))
		}
		p.Expect(">")
		return PtrIn(p.Context(), pointee, space)
	case "tensordesc":
		p.Expect("<")
		pos := p.Pos()
		block, ok := p.Type().(*ir.TensorType)
		if !ok {
			p.FailAt(pos, "a descriptor describes blocks: expected a tensor type")
		}
		p.Expect(">")
		return TensorDesc(p.Context(), block)
	}
	return nil
}

func printType(w *text.Printer, t ir.Type) {
	switch t := t.(type) {
	case *PtrType:
		w.Str("ptr<")
		w.Type(t.Pointee)
		if t.AddrSpace != 1 {
			w.Str(", ")
			w.Int(int64(t.AddrSpace))
		}
	case *TensorDescType:
		w.Str("tensordesc<")
		w.Type(t.Block)
	}
	w.Str(">")
}

// parseFunc reads [public|private] @name(args) [-> results] [attributes {…}]
// [{body}], where an argument is %x: T {attrs} loc(…), or T {attrs} in a
// declaration without body.
func parseFunc(p *text.Parser, s *text.OpState) {
	c := p.Context()
	if p.At("public") || p.At("private") || p.At("nested") {
		s.Add("sym_visibility", c.StringAttr(p.Keyword("a visibility")))
	}
	s.Add("sym_name", c.StringAttr(p.Symbol()))
	var args []text.RegionArg
	var in []ir.Type
	var attrs []ir.Attribute
	declared := false
	p.List('(', ')', func() {
		if !p.AtOperand() {
			declared = true
			in = append(in, p.Type())
			attrs = append(attrs, c.DictAttr(p.OptDict()...))
			return
		}
		if declared {
			p.Fail("either all arguments have a name or none has")
		}
		a := text.RegionArg{Operand: p.Operand()}
		p.Expect(":")
		a.Type = p.Type()
		in = append(in, a.Type)
		attrs = append(attrs, c.DictAttr(p.OptDict()...))
		a.Loc = p.OptLoc()
		args = append(args, a)
	})
	s.Add("arg_attrs", dicts(c, attrs))
	out, resAttrs := parseResults(p)
	s.Add("res_attrs", dicts(c, resAttrs))
	s.Add("function_type", c.TypeAttr(c.Func(in, out)))
	if p.Opt("attributes") {
		p.DictInto(s)
	}
	s.Types = []ir.Type{}
	if !p.At("{") {
		s.Bodies = []*ir.Region{{}}
		return
	}
	if declared {
		p.Fail("the arguments of a function with a body need names")
	}
	s.Bodies = []*ir.Region{p.Region(args, true)}
}

func parseResults(p *text.Parser) (types []ir.Type, attrs []ir.Attribute) {
	if !p.Opt("->") {
		return nil, nil
	}
	if !p.At("(") {
		return []ir.Type{p.Type()}, nil
	}
	p.List('(', ')', func() {
		types = append(types, p.Type())
		attrs = append(attrs, p.Context().DictAttr(p.OptDict()...))
	})
	return types, attrs
}

// dicts is the list of dictionaries, or nil if all are empty.
func dicts(c *ir.Context, attrs []ir.Attribute) ir.Attribute {
	for _, a := range attrs {
		if len(a.(*ir.DictAttr).Entries) > 0 {
			return c.ArrayAttr(attrs...)
		}
	}
	return nil
}

func printFunc(w *text.Printer, op *ir.Operation) {
	f := AsFunc(op)
	if v := f.SymVisibility(); v != "" {
		w.Str(" ")
		w.Str(v)
	}
	w.Str(" ")
	w.Symbol(f.SymName())
	sig := Signature(op)
	body := op.Body()
	w.Str("(")
	for i, t := range sig.In {
		if i > 0 {
			w.Str(", ")
		}
		attrs := dictOf(f.ArgAttrs(), i)
		if body == nil {
			w.Type(t)
			w.OptDict(attrs)
			continue
		}
		w.Arg(body.Arg(i), attrs)
	}
	w.Str(")")
	printResults(w, f, sig.Out)
	w.AttrDictKeyword(op, "sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")
	if body != nil {
		w.Str(" ")
		w.Region(f.Body(), false, true)
	}
}

func printResults(w *text.Printer, f FuncOp, out []ir.Type) {
	if len(out) == 0 {
		return
	}
	w.Str(" -> ")
	_, fn := out[0].(*ir.FunctionType)
	if len(out) == 1 && !fn && len(dictOf(f.ResAttrs(), 0)) == 0 {
		w.Type(out[0])
		return
	}
	w.Str("(")
	for i, t := range out {
		if i > 0 {
			w.Str(", ")
		}
		w.Type(t)
		w.OptDict(dictOf(f.ResAttrs(), i))
	}
	w.Str(")")
}

// dictOf is the i-th dictionary of a list, if there is one.
func dictOf(list ir.Attribute, i int) []ir.NamedAttr {
	l, ok := list.(*ir.ArrayAttr)
	if !ok || i >= len(l.Elems) {
		return nil
	}
	d, ok := l.Elems[i].(*ir.DictAttr)
	if !ok {
		return nil
	}
	return d.Entries
}
