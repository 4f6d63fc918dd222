package text

import "github.com/tritonc/tritonc/core/ir"

// The attributes of a function that its text form says, beside the dictionary.
const (
	funcName       = "sym_name"
	funcVisibility = "sym_visibility"
	funcType       = "function_type"
	funcArgAttrs   = "arg_attrs"
	funcResAttrs   = "res_attrs"
)

// Function reads [public|private] @name(args) [-> results] [attributes {…}] [{body}],
// where an argument is %x: T {attrs} loc(…), or T {attrs} in a declaration without
// body. The function's type is what typeOf makes of those of arguments and results.
func (p *Parser) Function(s *OpState, typeOf func(in, out []ir.Type) ir.Type) {
	c := p.ctx
	if p.At("public") || p.At("private") || p.At("nested") {
		s.Add(funcVisibility, c.StringAttr(p.Keyword("a visibility")))
	}
	s.Add(funcName, c.StringAttr(p.Symbol()))
	var args []RegionArg
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
		a := RegionArg{Operand: p.Operand()}
		p.Expect(":")
		a.Type = p.Type()
		in = append(in, a.Type)
		attrs = append(attrs, c.DictAttr(p.OptDict()...))
		a.Loc = p.OptLoc()
		args = append(args, a)
	})
	s.Add(funcArgAttrs, dicts(c, attrs))
	out, resAttrs := p.functionResults()
	s.Add(funcResAttrs, dicts(c, resAttrs))
	s.Add(funcType, c.TypeAttr(typeOf(in, out)))
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

func (p *Parser) functionResults() (types []ir.Type, attrs []ir.Attribute) {
	if !p.Opt("->") {
		return nil, nil
	}
	if !p.At("(") {
		return []ir.Type{p.Type()}, nil
	}
	p.List('(', ')', func() {
		types = append(types, p.Type())
		attrs = append(attrs, p.ctx.DictAttr(p.OptDict()...))
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

// Function writes what Parser.Function reads of a function of that signature. The
// attributes elsewhere are not in the dictionary.
func (w *Printer) Function(op *ir.Operation, sig *ir.FunctionType, elsewhere ...string) {
	if v := op.StringAttr(funcVisibility); v != "" {
		w.Str(" ")
		w.Str(v)
	}
	w.Str(" ")
	w.Symbol(op.StringAttr(funcName))
	body := op.Body()
	w.Str("(")
	for i, t := range sig.In {
		if i > 0 {
			w.Str(", ")
		}
		attrs := dictOf(op.Attr(funcArgAttrs), i)
		if body == nil {
			w.Type(t)
			w.OptDict(attrs)
			continue
		}
		w.Arg(body.Arg(i), attrs)
	}
	w.Str(")")
	w.functionResults(op.Attr(funcResAttrs), sig.Out)
	w.AttrDictKeyword(op, append(elsewhere, funcName, funcVisibility, funcType, funcArgAttrs, funcResAttrs)...)
	if body != nil {
		w.Str(" ")
		w.Region(body.Region(), false, true)
	}
}

func (w *Printer) functionResults(attrs ir.Attribute, out []ir.Type) {
	if len(out) == 0 {
		return
	}
	w.Str(" -> ")
	_, fn := out[0].(*ir.FunctionType)
	if len(out) == 1 && !fn && len(dictOf(attrs, 0)) == 0 {
		w.Type(out[0])
		return
	}
	w.Str("(")
	for i, t := range out {
		if i > 0 {
			w.Str(", ")
		}
		w.Type(t)
		w.OptDict(dictOf(attrs, i))
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
