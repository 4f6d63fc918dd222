package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
)

// operation reads one operation with its results and location.
func (p *Parser) operation() *ir.Operation {
	s := p.newState()
	total := p.resultNames(s)
	s.pos = p.tok.pos
	switch p.tok.kind {
	case tokString:
		p.generic(s)
	case tokIdent:
		p.customOp(s)
	default:
		p.expected("an operation")
	}
	if s.Types == nil {
		p.infer(s)
	}
	if len(s.names) > 0 && total != len(s.Types) {
		p.FailAt(Pos(s.pos), "'%s' has %s, but %d are named", s.Def.Name, diag.Count(len(s.Types), "result"), total)
	}
	s.Loc = p.OptLoc()
	op := p.finish(s)
	p.freeStates = append(p.freeStates, s)
	return op
}

// newState is an empty state, one of a finished operation if there is any.
func (p *Parser) newState() *OpState {
	n := len(p.freeStates)
	if n == 0 {
		return &OpState{State: ir.State{Ctx: p.ctx}}
	}
	s := p.freeStates[n-1]
	p.freeStates = p.freeStates[:n-1]
	*s = OpState{
		State: ir.State{Ctx: p.ctx, Operands: s.Operands[:0], Attrs: s.Attrs[:0], Types: nil},
		names: s.names[:0],
	}
	return s
}

// resultNames reads %a:2, %b = and returns how many results that names.
func (p *Parser) resultNames(s *OpState) (total int) {
	if p.tok.kind != tokValue {
		return 0
	}
	for {
		if p.tok.kind != tokValue {
			p.expected("a result such as %x")
		}
		r := resultName{name: p.text()[1:], count: 1, pos: p.tok.pos}
		p.advance()
		if p.optPunct(':') {
			r.count = int(p.IntBelow(maxResults, "the number of results"))
			if r.count == 0 {
				p.FailAt(Pos(r.pos), "expected at least one result")
			}
		}
		s.names = append(s.names, r)
		total += r.count
		if !p.optPunct(',') {
			break
		}
	}
	p.punct('=')
	return total
}

func (p *Parser) customOp(s *OpState) {
	name := p.text()
	if name == "module" {
		name = "builtin.module"
	}
	s.Def = p.ctx.OpDef(name)
	if s.Def == nil {
		p.unknownOp(name)
	}
	p.advance()
	p.enter()
	switch f := formOf(p.ctx, s.Def); {
	case f.custom != nil:
		f.custom.Parse(p, s)
	case f.elems != nil:
		p.runForm(f, s)
	default:
		p.FailAt(Pos(s.pos), "'%s' is written in generic form: \"%s\"(…)", name, name)
	}
	p.leave()
}

func (p *Parser) unknownOp(name string) {
	dialect, _, ok := strings.Cut(name, ".")
	switch {
	case !ok:
		p.expected("an operation")
	case p.ctx.Dialect(dialect) == nil:
		reason := fmt.Sprintf("dialect '%s' is not loaded", dialect)
		if err := p.ctx.WhyMissing(dialect); err != nil {
			reason = err.Error()
		}
		panic(failure{p.mistake(p.Pos(), "unknown operation '%s': %s", name, reason).
			WithHelp("operations of unknown dialects may appear in generic form: \"%s\"(…) : (…) -> …", name)})
	default:
		p.Fail("unknown operation '%s'", name)
	}
}

// infer finds the result types that the text does not say.
func (p *Parser) infer(s *OpState) {
	d := s.Def
	if d.Infer == nil {
		if len(d.Results) == 1 && d.Results[0].Arity == ir.One && d.Has(ir.SameOperandsAndResultType) && len(s.Operands) > 0 {
			s.Types = []ir.Type{s.Operands[0].Type()}
		}
		return
	}
	types, err := d.Infer(&s.State)
	if err != nil {
		p.FailAt(Pos(s.pos), "'%s' op %s", d.Name, err)
	}
	s.Types = types
}

// finish makes the operation, defines its results and notes its place.
func (p *Parser) finish(s *OpState) *ir.Operation {
	if s.Types == nil {
		s.Types = []ir.Type{} // none, rather than to be inferred
	}
	if len(s.Types) > maxResults {
		p.FailAt(Pos(s.pos), "more than %d results", maxResults)
	}
	op := ir.NewOperation(s.Def, &s.State)
	for _, r := range s.Bodies {
		op.AddRegion().TakeBody(r)
	}
	for _, t := range s.implicit {
		t.SetLoc(op.Loc())
	}
	if s.Loc == nil {
		p.out.bare = append(p.out.bare, int32(len(p.out.ops)))
	}
	p.out.note(op, s.pos)
	results := op.Results()
	for i, n := range s.names {
		p.define(n.name, n.pos, results[:n.count])
		if s.Loc == nil {
			if i == 0 || s.Def.ResultName != nil {
				p.keepName(results[0], n.name)
			}
		}
		results = results[n.count:]
	}
	return op
}

// --- generic form

// propertiesName is the attribute that holds the inherent attributes <{…}> of an
// operation no loaded dialect knows.
const propertiesName = "<properties>"

// generic reads "name"(operands)[successors] <{properties}> ({regions}) {attrs} :
// (types) -> types.
func (p *Parser) generic(s *OpState) {
	name := p.Quoted()
	if name == "" {
		p.FailAt(Pos(s.pos), "an operation needs a name")
	}
	if s.Def = p.ctx.OpDef(name); s.Def == nil {
		s.Def = p.ctx.UnregisteredOp(name)
	}
	p.enter()
	var operands []Operand
	p.List('(', ')', func() { operands = append(operands, p.Operand()) })
	if p.atPunct('[') {
		p.List('[', ']', func() { s.Successors = append(s.Successors, p.Successor()) })
	}
	if p.optPunct('<') {
		props := p.Dict()
		p.punct('>')
		if s.Def.Unregistered {
			s.Add(propertiesName, p.ctx.DictAttr(props...))
		} else {
			p.properties(s, props)
		}
	}
	if p.atPunct('(') {
		p.List('(', ')', func() {
			s.Bodies = append(s.Bodies, p.Region(nil, s.Def.Has(ir.IsolatedFromAbove)))
		})
	}
	if p.atPunct('{') {
		p.discardable(s, p.Dict())
	}
	p.punct(':')
	pos := p.Pos()
	in := p.TypeListInParens()
	s.Types = p.ArrowTypes()
	s.Operands = p.Values(pos, operands, in)
	p.leave()
}

// segmentsName is the property that holds the sizes of operand groups.
const segmentsName = "operandSegmentSizes"

// properties takes the inherent attributes of an operation of the table.
func (p *Parser) properties(s *OpState, props []ir.NamedAttr) {
	for _, a := range props {
		if a.Name != segmentsName || !s.Def.Has(ir.SegmentedOperands) {
			s.Add(a.Name, a.Attr)
			continue
		}
		sizes, ok := a.Attr.(*ir.DenseArrayAttr)
		if !ok {
			p.FailAt(Pos(s.pos), "%s must be an array<i32: …>", segmentsName)
		}
		s.Segments = make([]int32, len(sizes.Values))
		for i, v := range sizes.Values {
			if v < 0 || v > maxResults {
				p.FailAt(Pos(s.pos), "%s holds a size of %d", segmentsName, v)
			}
			s.Segments[i] = int32(v)
		}
	}
}

func (p *Parser) discardable(s *OpState, attrs []ir.NamedAttr) {
	for _, a := range attrs {
		if s.Attr(a.Name) != nil {
			p.FailAt(Pos(s.pos), "attribute '%s' appears twice", a.Name)
		}
		if a.Name == segmentsName && s.Def.Has(ir.SegmentedOperands) {
			p.properties(s, []ir.NamedAttr{a})
			continue
		}
		s.Attrs = append(s.Attrs, a)
	}
}

// DictInto reads a dictionary if one comes next and gives s its attributes.
func (p *Parser) DictInto(s *OpState) {
	if p.atPunct('{') {
		p.discardable(s, p.Dict())
	}
}

// Terminate ends the one block of r with an operation that does not appear in
// the text, unless it has a terminator already.
func (p *Parser) Terminate(s *OpState, r *ir.Region, d *ir.OpDef) {
	b := r.First()
	if b == nil {
		b = r.AddBlock()
	}
	if b.Next() != nil || b.Terminator() != nil {
		return
	}
	t := ir.NewOperation(d, &ir.State{Ctx: p.ctx, Types: []ir.Type{}})
	b.Append(t)
	s.implicit = append(s.implicit, t)
	p.out.note(t, s.pos)
}

// Note gives s as the place of an operation that a hook has made and that is
// not in the text itself.
func (p *Parser) Note(s *OpState, op *ir.Operation) { p.out.note(op, s.pos) }

// NoteAt is Note for an operation whose place is pos.
func (p *Parser) NoteAt(pos Pos, op *ir.Operation) { p.out.note(op, int(pos)) }

// --- files

// File is a parsed text: its top operation and the place of each operation.
type File struct {
	Op   *ir.Operation
	name string
	src  string
	ops  []*ir.Operation
	offs []int32
	bare []int32 // of ops, those to which the text gives no location

	aliases  map[string]*alias
	metadata string
}

func (f *File) note(op *ir.Operation, off int) {
	f.ops = append(f.ops, op)
	f.offs = append(f.offs, int32(off))
}

// Pos is where op is in the text; the zero line for an operation that did
// not come from it.
func (f *File) Pos(op *ir.Operation) diag.Pos {
	for i, o := range f.ops {
		if o == op {
			return f.posOf(int(f.offs[i]))
		}
	}
	return diag.Pos{File: f.name}
}

func (f *File) posOf(off int) diag.Pos {
	before := f.src[:min(off, len(f.src))]
	return diag.Pos{File: f.name, Line: strings.Count(before, "\n") + 1, Col: len(before) - strings.LastIndexByte(before, '\n')}
}

// OpAt returns the first operation that begins in a line, or nil.
func (f *File) OpAt(line int) *ir.Operation {
	begin := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(f.src[begin:], '\n')
		if n < 0 {
			return nil
		}
		begin += n + 1
	}
	end := begin + strings.IndexByte(f.src[begin:]+"\n", '\n')
	var found *ir.Operation
	for i, op := range f.ops {
		if off := int(f.offs[i]); begin <= off && off < end {
			found, end = op, off
		}
	}
	return found
}

// Locate gives each operation to which the text gives no location the place where
// it is in the text. Columns of locations count from 0.
func (f *File) Locate() {
	if len(f.bare) == 0 {
		return
	}
	starts := []int32{0} // of lines
	for i := range len(f.src) {
		if f.src[i] == '\n' {
			starts = append(starts, int32(i+1))
		}
	}
	ctx := f.Op.Context()
	for _, i := range f.bare {
		op, off := f.ops[i], f.offs[i]
		line, found := slices.BinarySearch(starts, off)
		if !found {
			line-- // the one that begins before
		}
		var l ir.Location = ctx.FileLoc(f.name, line+1, int(off-starts[line]))
		if name := ir.NameOf(op.Loc()); name != "" {
			l = ctx.NameLoc(name, l)
		}
		op.SetLoc(l)
	}
}

// Verify checks the operations and says where in the text the first broken rule
// is. The error is a *diag.Diagnostic.
func (f *File) Verify() error {
	ve := ir.Verify(f.Op)
	if ve == nil {
		return nil
	}
	return diag.Errorf(f.Pos(ve.Op), "%s", ve.Error()).WithSource(f.src)
}

// ParseFile reads the module of a text. Operations that are in none are put into one.
// file is its name in diagnostics. The error is a *diag.Diagnostic.
func ParseFile(ctx *ir.Context, file string, src []byte) (f *File, err error) {
	f = &File{name: file, src: string(src)}
	if len(src) > maxSource {
		return nil, diag.Errorf(diag.Pos{File: file}, "text is larger than %d bytes", maxSource)
	}
	ctx.Meter().Enter("reading " + file)
	defer work.Catch(&err)
	p := newParser(ctx, f)
	defer recoverFailure(&err)
	p.scanAliases()
	p.skipAliases()
	f.Op = p.operations()
	if p.scope.waiting > 0 {
		p.leaveForward(true)
	}
	if len(p.pending) > 0 {
		recoverNames(ctx, f.Op, p.pending)
	}
	f.aliases = p.aliases
	return f, nil
}

// Parse is ParseFile for those who do not need the places.
func Parse(ctx *ir.Context, file string, src []byte) (*ir.Operation, error) {
	f, err := ParseFile(ctx, file, src)
	if err != nil {
		return nil, err
	}
	return f.Op, nil
}

func newParser(ctx *ir.Context, f *File) *Parser {
	p := &Parser{ctx: ctx, file: f.name, lexer: lexer{src: f.src}, out: f}
	// About a name every hundred bytes, and an operation every hundred.
	p.scope.values = make(map[string]valueDef, len(f.src)/128+8)
	f.ops, f.offs = make([]*ir.Operation, 0, len(f.src)/96+4), make([]int32, 0, len(f.src)/96+4)
	p.advance()
	return p
}

func recoverFailure(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.d
	default:
		panic(r)
	}
}

// operations reads the operations at the top of a file. If they are not one module,
// they are put into one, which is empty if there are none.
func (p *Parser) operations() *ir.Operation {
	module := p.ctx.OpDef("builtin.module")
	var first []*ir.Operation
	if p.tok.kind != tokEOF || module == nil {
		first = append(first, p.operation())
		p.skipAliases()
	}
	if p.tok.kind == tokEOF && len(first) == 1 && (first[0].Def() == module || module == nil) {
		return first[0]
	}
	if module == nil {
		p.expected("the end of the file")
	}
	top := ir.NewOperation(module, &ir.State{Ctx: p.ctx, Regions: 1})
	p.out.note(top, 0)
	body := top.Region(0).AddBlock()
	for _, op := range first {
		body.Append(op)
	}
	for p.tok.kind != tokEOF {
		body.Append(p.operation())
		p.skipAliases()
	}
	return top
}

// Metadata is what the text has between {-# and #-}: the contents of resources. It
// is empty where there is none.
func (f *File) Metadata() string { return f.metadata }

// skipMetadata moves past {-# … #-}, which may stand between operations at the top.
func (p *Parser) skipMetadata() bool {
	if !strings.HasPrefix(p.src[p.tok.pos:], "{-#") {
		return false
	}
	n := strings.Index(p.src[p.tok.pos:], "#-}")
	if n < 0 {
		p.Fail("this '{-#' has no matching '#-}'")
	}
	end := p.tok.pos + n + len("#-}")
	p.out.metadata = p.src[p.tok.pos:end]
	p.jump(end)
	return true
}

// skipAliases moves past alias lines and metadata at the top level, reading aliases
// once so that mistakes in those that nothing refers to are found.
func (p *Parser) skipAliases() {
	for p.tok.kind == tokHash || p.tok.kind == tokBang || p.skipMetadata() {
		if p.tok.kind != tokHash && p.tok.kind != tokBang {
			continue
		}
		name := p.text()
		a := p.aliases[name[1:]]
		if p.tok.kind == tokBang {
			a = p.typeAliases[name[1:]]
		}
		if a == nil { // perhaps on the line of another one
			a = p.defineAlias(p.tok.pos)
		}
		if a == nil || a.pos != p.span(p.tok.end, clSpace)+1 {
			p.expected("an operation") // it is not a definition, or not the one that was found
		}
		p.resolveAlias(a, name)
		p.jump(a.end)
	}
}

// ParseType reads a type alone.
func ParseType(ctx *ir.Context, src string) (t ir.Type, err error) {
	p := newParser(ctx, &File{name: "type", src: src})
	defer recoverFailure(&err)
	t = p.Type()
	p.atEnd()
	return t, nil
}

// ParseAttr reads an attribute alone.
func ParseAttr(ctx *ir.Context, src string) (a ir.Attribute, err error) {
	p := newParser(ctx, &File{name: "attribute", src: src})
	defer recoverFailure(&err)
	a = p.Attr()
	p.atEnd()
	return a, nil
}

func (p *Parser) atEnd() {
	if p.tok.kind != tokEOF {
		p.expected("the end of the text")
	}
}
