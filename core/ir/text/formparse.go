package text

import (
	"github.com/tritonc/tritonc/core/ir"
)

// formRun is one operation being read by directives.
type formRun struct {
	p        *Parser
	s        *OpState
	f        *form
	operands [][]Operand // of each group
	all      []Operand   // of "operands"
	opTypes  [][]ir.Type // types in the text, nil where there are none
	allTypes []ir.Type
	resTypes [][]ir.Type
	results  []ir.Type // of "results"
	gotAll   bool
	pos      Pos
}

// runForm reads an operation by its directives.
func (p *Parser) runForm(f *form, s *OpState) {
	d := s.Def
	r := &formRun{
		p: p, s: s, f: f, pos: Pos(s.pos),
		operands: make([][]Operand, len(d.Operands)),
		opTypes:  make([][]ir.Type, len(d.Operands)),
		resTypes: make([][]ir.Type, len(d.Results)),
	}
	if n := len(d.Regions); n > 0 {
		s.Bodies = make([]*ir.Region, n)
	}
	r.list(f.elems)
	for i, b := range s.Bodies {
		if b == nil {
			s.Bodies[i] = &ir.Region{}
		}
	}
	r.resolve()
}

func (r *formRun) list(els []element) {
	for i := range els {
		r.element(&els[i])
	}
}

func (r *formRun) element(e *element) {
	p, s := r.p, r.s
	switch e.kind {
	case elLiteral:
		r.literal(e.text)
	case elAttr:
		a := &s.Def.Attrs[e.index]
		s.Add(a.Name, p.bareAttr(a))
	case elOperand:
		g := &s.Def.Operands[e.index]
		switch {
		case g.Arity == ir.Variadic:
			r.operands[e.index] = p.Operands()
		case g.Arity == ir.One || p.AtOperand():
			r.operands[e.index] = []Operand{p.Operand()}
		}
	case elOperands:
		r.all, r.gotAll = p.Operands(), true
	case elRegion:
		s.Bodies[e.index] = p.Region(nil, s.Def.Has(ir.IsolatedFromAbove))
	case elSuccessor, elSuccessors:
		s.Successors = append(s.Successors, p.Successor())
		for e.kind == elSuccessors && p.optPunct(',') {
			s.Successors = append(s.Successors, p.Successor())
		}
	case elDict:
		if !r.f.keyword || p.Opt("attributes") {
			p.DictInto(s)
		}
	case elType:
		r.types(e)
	case elFunction:
		pos := p.Pos()
		r.setTypes(e.ref, pos, p.TypeListInParens())
		r.setTypes(e.ref2, pos, p.ArrowTypes())
	case elToken:
		r.resTypes[e.ref2.index] = []ir.Type{}
		if p.optPunct('[') {
			if p.AtOperand() {
				r.operands[e.ref.index] = []Operand{p.Operand()}
			}
			p.punct(']')
			r.resTypes[e.ref2.index] = []ir.Type{p.shortType(e.prefix)}
		}
	case elPairs:
		for p.optPunct(',') {
			r.operands[e.ref.index] = append(r.operands[e.ref.index], p.Operand())
			p.punct('[')
			r.operands[e.ref2.index] = append(r.operands[e.ref2.index], p.Operand())
			p.punct(']')
		}
	case elOptional:
		r.optional(e)
	case elOIList:
		r.oilist(e)
	}
}

// literal reads a literal of a format, which may hold several tokens ("()").
func (r *formRun) literal(text string) {
	p := r.p
	if text == " " {
		return
	}
	if classes[text[0]]&clLetter != 0 || text == "->" || len(text) == 1 {
		p.Expect(text)
		return
	}
	for i := range len(text) {
		p.punct(text[i])
	}
}

func (r *formRun) types(e *element) {
	p := r.p
	pos := p.Pos()
	one := func() ir.Type {
		if e.prefix != "" {
			return p.shortType(e.prefix)
		}
		return p.Type()
	}
	arity := ir.Variadic
	switch e.ref.kind {
	case refOperand:
		arity = r.s.Def.Operands[e.ref.index].Arity
	case refResult:
		arity = r.s.Def.Results[e.ref.index].Arity
	}
	var ts []ir.Type
	switch {
	case arity == ir.One:
		ts = []ir.Type{one()}
	case !p.atType() && e.prefix == "" || e.prefix != "" && !p.atPunct('<'):
		ts = []ir.Type{}
	default:
		ts = []ir.Type{one()}
		for arity == ir.Variadic && p.optPunct(',') {
			ts = append(ts, one())
		}
	}
	r.setTypes(e.ref, pos, ts)
}

// setTypes notes the types that the text says for what ref names.
func (r *formRun) setTypes(ref typeRef, pos Pos, ts []ir.Type) {
	d := r.s.Def
	if ts == nil {
		ts = []ir.Type{}
	}
	switch ref.kind {
	case refOperand:
		if d.Operands[ref.index].Arity == ir.One && len(ts) != 1 {
			r.p.FailAt(pos, "expected one type for operand '%s', found %d", d.Operands[ref.index].Name, len(ts))
		}
		r.opTypes[ref.index] = ts
	case refResult:
		if d.Results[ref.index].Arity == ir.One && len(ts) != 1 {
			r.p.FailAt(pos, "expected one type for result '%s', found %d", d.Results[ref.index].Name, len(ts))
		}
		r.resTypes[ref.index] = ts
	case refOperands:
		r.allTypes = ts
	case refResults:
		r.results = ts
	}
}

func (r *formRun) optional(e *element) {
	if !r.present(&e.then[0]) {
		for i := range e.then {
			if t := &e.then[i]; t.kind == elType && t.ref.kind == refResult {
				r.resTypes[t.ref.index] = []ir.Type{}
			}
		}
		r.list(e.els)
		return
	}
	r.list(e.then)
	if a := &e.then[e.anchor]; a.kind == elAttr {
		if d := &r.s.Def.Attrs[a.index]; d.Kind == ir.AttrUnit && r.s.Attr(d.Name) == nil {
			r.s.Add(d.Name, r.p.ctx.Unit())
		}
	}
}

// present reports whether the text goes on with e, the first directive of a
// group.
func (r *formRun) present(e *element) bool {
	p := r.p
	switch e.kind {
	case elLiteral:
		if classes[e.text[0]]&clLetter == 0 && len(e.text) > 1 && e.text != "->" {
			return p.atPunct(e.text[0])
		}
		return p.At(e.text)
	case elOperand:
		return p.AtOperand()
	case elRegion:
		return p.atPunct('{')
	case elSuccessor:
		return p.tok.kind == tokBlock
	case elAttr:
		switch r.s.Def.Attrs[e.index].Kind {
		case ir.AttrString:
			return p.AtString()
		case ir.AttrSymbol:
			return p.tok.kind == tokSymbol
		case ir.AttrDict:
			return p.atPunct('{')
		case ir.AttrDenseI32, ir.AttrDenseI64:
			return p.atPunct('[')
		default:
			return p.AtInt()
		}
	}
	return false
}

func (r *formRun) oilist(e *element) {
	var seen uint64
next:
	for {
		for i, c := range e.clauses {
			if !r.p.At(c[0].text) {
				continue
			}
			if seen&(1<<i) != 0 {
				r.p.Fail("clause '%s' stands twice", c[0].text)
			}
			seen |= 1 << i
			r.list(c)
			for j := range c {
				if c[j].kind == elAttr {
					if d := &r.s.Def.Attrs[c[j].index]; d.Kind == ir.AttrUnit {
						r.s.Add(d.Name, r.p.ctx.Unit())
					}
				}
			}
			continue next
		}
		return
	}
}

// resolve turns the operands' names into values and finds the result types.
func (r *formRun) resolve() {
	p, s, d := r.p, r.s, r.s.Def
	if r.results != nil {
		s.Types = r.results
	} else {
		s.Types = r.resultTypes()
	}
	if r.gotAll {
		if r.allTypes == nil {
			for i := range r.opTypes {
				r.allTypes = append(r.allTypes, r.opTypes[i]...)
			}
		}
		s.Operands = p.Values(r.pos, r.all, r.allTypes)
		return
	}
	n, given := 0, 0
	for _, g := range r.operands {
		n += len(g)
	}
	if r.allTypes != nil && len(r.allTypes) != n {
		p.FailAt(r.pos, "'%s' has %d operands, but %d types", d.Name, n, len(r.allTypes))
	}
	s.Operands = make([]*ir.Value, 0, n)
	segmented := d.Has(ir.SegmentedOperands)
	for i, g := range r.operands {
		if segmented {
			s.Segments = append(s.Segments, int32(len(g)))
		}
		ts := r.opTypes[i]
		if r.allTypes != nil {
			ts = r.allTypes[given : given+len(g)]
		}
		given += len(g)
		if ts != nil && len(ts) != len(g) {
			p.FailAt(r.pos, "operand '%s' of '%s' has %d values, but %d types", d.Operands[i].Name, d.Name, len(g), len(ts))
		}
		for k, o := range g {
			var t ir.Type
			switch {
			case ts != nil:
				t = ts[k]
			case d.Has(ir.SameOperandsAndResultType) && len(s.Types) == 1:
				t = s.Types[0]
			case d.Has(ir.SameOperandsType|ir.SameOperandsAndResultType) && len(s.Operands) > 0:
				t = s.Operands[0].Type()
			}
			s.Operands = append(s.Operands, p.Value(o, t))
		}
	}
}

// resultTypes are the types of all results as the text says them, else nil. A
// result without a type in the text has that of the one before, unless the
// table has a rule.
func (r *formRun) resultTypes() []ir.Type {
	var ts []ir.Type
	for i, t := range r.resTypes {
		switch {
		case t != nil:
			ts = append(ts, t...)
		case i > 0 && len(ts) > 0 && r.s.Def.Infer == nil && r.s.Def.Results[i].Arity == ir.One:
			ts = append(ts, ts[len(ts)-1])
		default:
			return nil
		}
	}
	return ts
}

// bareAttr reads an attribute as it stands in a format: without its type where
// the table says the type.
func (p *Parser) bareAttr(d *ir.AttrDef) ir.Attribute {
	c := p.ctx
	switch d.Kind {
	case ir.AttrUnit:
		return nil // its literal has been read; the group that holds it adds it
	case ir.AttrEnum:
		return p.enum(d)
	case ir.AttrBool:
		return c.BoolAttr(p.Bool())
	case ir.AttrI32:
		return p.TypedAttr(c.I32())
	case ir.AttrI64:
		return p.TypedAttr(c.I64())
	case ir.AttrString:
		return c.StringAttr(p.Quoted())
	case ir.AttrType:
		return c.TypeAttr(p.Type())
	case ir.AttrSymbol:
		if p.tok.kind != tokSymbol {
			p.expected("a symbol name such as @kernel")
		}
		return p.symbolRef()
	case ir.AttrDenseI32, ir.AttrDenseI64:
		elem := c.I32()
		if d.Kind == ir.AttrDenseI64 {
			elem = c.I64()
		}
		var vs []int64
		p.List('[', ']', func() { vs = append(vs, p.element(elem)) })
		return c.DenseArray(elem, vs...)
	}
	return p.Attr()
}

// enum reads a keyword of an enumeration.
func (p *Parser) enum(d *ir.AttrDef) ir.Attribute {
	kw := ""
	if p.tok.kind == tokIdent {
		kw = p.text()
	}
	for i := range d.Enum {
		if d.Enum[i].Keyword == kw {
			p.advance()
			return p.ctx.IntAttr(p.ctx.Int(enumWidth(d)), d.Enum[i].Value)
		}
	}
	list := ""
	for i := range d.Enum {
		if i > 0 {
			list += ", "
		}
		list += d.Enum[i].Keyword
	}
	p.expected("one of " + list + " for '" + d.Name + "'")
	return nil
}

func enumWidth(d *ir.AttrDef) int {
	if d.Width != 0 {
		return d.Width
	}
	return 32
}
