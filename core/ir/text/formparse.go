package text

import (
	"strconv"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// formRun is one operation being read by directives. Names and types are in
// two flat lists, of which each group has its part.
type formRun struct {
	p     *Parser
	s     *OpState
	f     *form
	pos   Pos
	names []Operand
	types []ir.Type

	operands []part // of names, by operand group
	opTypes  []part // of types, by operand group
	resTypes []part // of types, by result group
	all      part   // of names: "operands"
	allTypes part   // of types: the types of "operands"
	results  part   // of types: the types of "results"
}

// part is list[from:to] of a flat list; ok says that the text has it.
type part struct {
	from, to int
	ok       bool
}

func (a part) len() int { return a.to - a.from }

func parts(buf []part, n int) []part {
	if cap(buf) < n {
		return make([]part, n)
	}
	buf = buf[:n]
	clear(buf)
	return buf
}

// runForm reads an operation by its directives.
func (p *Parser) runForm(f *form, s *OpState) {
	var r *formRun
	if n := len(p.freeRuns); n > 0 {
		r, p.freeRuns = p.freeRuns[n-1], p.freeRuns[:n-1]
	} else {
		r = &formRun{}
	}
	d := s.Def
	*r = formRun{
		p: p, s: s, f: f, pos: Pos(s.pos), names: r.names[:0], types: r.types[:0],
		operands: parts(r.operands, len(d.Operands)), opTypes: parts(r.opTypes, len(d.Operands)),
		resTypes: parts(r.resTypes, len(d.Results)),
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
	p.freeRuns = append(p.freeRuns, r)
}

// readOperands reads %a, %b, …; there may be none.
func (r *formRun) readOperands() part {
	g := part{from: len(r.names), ok: true}
	if r.p.AtOperand() {
		r.names = append(r.names, r.p.Operand())
		for r.p.optPunct(',') {
			r.names = append(r.names, r.p.Operand())
		}
	}
	g.to = len(r.names)
	return g
}

func (r *formRun) readOperand() part {
	r.names = append(r.names, r.p.Operand())
	return part{len(r.names) - 1, len(r.names), true}
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
		switch g := &s.Def.Operands[e.index]; {
		case g.Arity == ir.Variadic:
			r.operands[e.index] = r.readOperands()
		case g.Arity == ir.One || p.AtOperand():
			r.operands[e.index] = r.readOperand()
		}
	case elOperands:
		r.all = r.readOperands()
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
		r.readTypes(e)
	case elFunction:
		pos := p.Pos()
		r.setTypes(e.ref, pos, r.keep(p.TypeListInParens()...))
		r.setTypes(e.ref2, pos, r.keep(p.ArrowTypes()...))
	case elToken:
		r.token(e)
	case elPairs:
		r.pairs(e)
	case elPartitions:
		r.partitions(e)
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

// keep adds types to the flat list.
func (r *formRun) keep(ts ...ir.Type) part {
	g := part{from: len(r.types), ok: true}
	r.types = append(r.types, ts...)
	g.to = len(r.types)
	return g
}

// token reads [%dep] or [] or nothing.
func (r *formRun) token(e *element) {
	p := r.p
	r.resTypes[e.ref2.index] = part{ok: true}
	if p.optPunct('[') {
		if p.AtOperand() {
			r.operands[e.ref.index] = r.readOperand()
		}
		p.punct(']')
		r.resTypes[e.ref2.index] = r.keep(p.shortType(e.prefix))
	}
}

// pairs reads , %a[%b] any number of times.
func (r *formRun) pairs(e *element) {
	var first, second []Operand
	for r.p.optPunct(',') {
		first = append(first, r.p.Operand())
		r.p.punct('[')
		second = append(second, r.p.Operand())
		r.p.punct(']')
	}
	n := len(r.names)
	r.names = append(append(r.names, first...), second...)
	r.operands[e.ref.index] = part{n, n + len(first), true}
	r.operands[e.ref2.index] = part{n + len(first), len(r.names), true}
}

// partitions reads partition0 num_warps(n) {…} partition1 …, as many as there are.
func (r *formRun) partitions(e *element) {
	p := r.p
	warps := []int64{}
	r.s.Bodies = nil
	for p.Opt("partition" + strconv.Itoa(len(warps))) {
		p.Expect("num_warps")
		p.punct('(')
		warps = append(warps, p.IntBelow(1<<10, "the number of warps"))
		p.punct(')')
		r.s.Bodies = append(r.s.Bodies, p.Region(nil, r.s.Def.Has(ir.IsolatedFromAbove)))
	}
	r.s.Add(r.s.Def.Attrs[e.index].Name, p.ctx.I32Array(warps...))
}

func (r *formRun) oneType(e *element) {
	if e.prefix != "" {
		r.types = append(r.types, r.p.shortType(e.prefix))
	} else {
		r.types = append(r.types, r.p.Type())
	}
}

// readTypes reads the types of a type(…) directive.
func (r *formRun) readTypes(e *element) {
	p := r.p
	pos := p.Pos()
	arity := ir.Variadic
	switch e.ref.kind {
	case refOperand:
		arity = r.s.Def.Operands[e.ref.index].Arity
	case refResult:
		arity = r.s.Def.Results[e.ref.index].Arity
	}
	g := part{from: len(r.types), ok: true}
	if there := e.prefix == "" && p.atType() || e.prefix != "" && (p.atPunct('<') || p.tok.kind == tokBang); there || arity == ir.One {
		r.oneType(e)
		for arity == ir.Variadic && p.optPunct(',') {
			r.oneType(e)
		}
	}
	g.to = len(r.types)
	r.setTypes(e.ref, pos, g)
}

// setTypes notes the types that the text says for what ref names.
func (r *formRun) setTypes(ref typeRef, pos Pos, ts part) {
	d := r.s.Def
	switch ref.kind {
	case refOperand:
		if d.Operands[ref.index].Arity == ir.One && ts.len() != 1 {
			r.p.FailAt(pos, "expected one type for operand '%s', found %d", d.Operands[ref.index].Name, ts.len())
		}
		r.opTypes[ref.index] = ts
	case refResult:
		if d.Results[ref.index].Arity == ir.One && ts.len() != 1 {
			r.p.FailAt(pos, "expected one type for result '%s', found %d", d.Results[ref.index].Name, ts.len())
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
				r.resTypes[t.ref.index] = part{ok: true}
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
				r.p.Fail("clause '%s' appears twice", c[0].text)
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

// resolve resolves the operands' names to values and finds the result types.
func (r *formRun) resolve() {
	p, s, d := r.p, r.s, r.s.Def
	if r.results.ok {
		s.Types = append(s.Types[:0], r.types[r.results.from:r.results.to]...)
	} else {
		r.resultTypes()
	}
	if r.all.ok {
		ts := r.allTypes
		if !ts.ok { // the types of the groups, one after the other
			ts = part{from: len(r.types), ok: true}
			for _, g := range r.opTypes {
				r.types = append(r.types, r.types[g.from:g.to]...)
			}
			ts.to = len(r.types)
		}
		s.Operands = p.Values(r.pos, r.names[r.all.from:r.all.to], r.types[ts.from:ts.to])
		return
	}
	n := 0
	for _, g := range r.operands {
		n += g.len()
	}
	if r.allTypes.ok && r.allTypes.len() != n {
		p.FailAt(r.pos, "'%s' has %s, but %s", d.Name, diag.Count(n, "operand"), diag.Count(r.allTypes.len(), "type"))
	}
	segmented := d.Has(ir.SegmentedOperands)
	if segmented {
		s.Segments = make([]int32, 0, len(r.operands))
	}
	given := r.allTypes.from
	for i, g := range r.operands {
		if segmented {
			s.Segments = append(s.Segments, int32(g.len()))
		}
		ts := r.opTypes[i]
		if r.allTypes.ok {
			ts = part{given, given + g.len(), true}
			given += g.len()
		}
		if ts.ok && ts.len() != g.len() {
			p.FailAt(r.pos, "operand '%s' of '%s' has %s, but %s", d.Operands[i].Name, d.Name, diag.Count(g.len(), "value"), diag.Count(ts.len(), "type"))
		}
		for k := range g.len() {
			s.Operands = append(s.Operands, p.Value(r.names[g.from+k], r.typeOf(ts, k)))
		}
	}
}

// typeOf is the k-th of the types ts, or what the traits say, or nil: the value
// knows its own.
func (r *formRun) typeOf(ts part, k int) ir.Type {
	s, d := r.s, r.s.Def
	switch {
	case ts.ok:
		return r.types[ts.from+k]
	case d.Has(ir.SameOperandsAndResultType) && len(s.Types) == 1:
		return s.Types[0]
	case d.Has(ir.SameOperandsType|ir.SameOperandsAndResultType) && len(s.Operands) > 0:
		return s.Operands[0].Type()
	}
	return nil
}

// resultTypes takes the types of all results if the text says all of them. A
// result without a type in the text has that of the one before, unless the
// table has a rule.
func (r *formRun) resultTypes() {
	s := r.s
	ts := s.Types[:0]
	for i, g := range r.resTypes {
		switch {
		case g.ok:
			ts = append(ts, r.types[g.from:g.to]...)
		case i > 0 && len(ts) > 0 && s.Def.Infer == nil && s.Def.Results[i].Arity == ir.One:
			ts = append(ts, ts[len(ts)-1])
		default:
			s.Types = nil
			return
		}
	}
	s.Types = ts
}

// bareAttr reads an attribute as written in a format: without its type where
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

// enum reads a keyword of an enumeration, which may be in quotes.
func (p *Parser) enum(d *ir.AttrDef) ir.Attribute {
	kw := ""
	switch p.tok.kind {
	case tokIdent:
		kw = p.text()
	case tokString:
		kw, _ = unquote(p.text())
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
