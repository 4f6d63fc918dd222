package text

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// msgUsedAs is MLIR's message for a value that is used with a type other than its own.
const msgUsedAs = "use of value '%%%s' expects different type than prior uses: '%s' vs '%s'"

// scope holds the values and blocks that names stand for while parsing.
type scope struct {
	values map[string]valueDef
	// undo restores values at the end of a region.
	undo []undoValue
	// wall is the region depth of the nearest operation that is isolated from
	// above: values defined further out cannot be seen.
	wall    int
	level   int                      // region depth
	forward map[string][]*forwardRef // by name
	waiting int                      // how many forward refs there are
	blocks  map[string]*blockRef     // of the region in hand
}

type valueDef struct {
	values []*ir.Value
	pos    int
	level  int
}

type undoValue struct {
	name string
	def  valueDef
	had  bool
}

// forwardRef is a use before the definition, by a stand-in.
type forwardRef struct {
	name  string
	index int
	pos   Pos
	level int // of the region that waits for the definition
	value *ir.Value
}

// blockRef is a block that was named; defined when its label has been read.
type blockRef struct {
	name    string
	block   *ir.Block
	pos     Pos
	defined bool
}

// Operand is a value's name as written in the text.
type Operand struct {
	name  string // without %
	index int    // the n of %x#n
	pos   Pos
}

// Pos is where the name is.
func (o Operand) Pos() Pos { return o.pos }

// AtOperand reports whether a value's name comes next.
func (p *Parser) AtOperand() bool { return p.tok.kind == tokValue }

// Operand reads %x or %x#n.
func (p *Parser) Operand() Operand {
	if p.tok.kind != tokValue {
		p.expected("a value such as %x")
	}
	o := Operand{name: p.text()[1:], pos: p.Pos()}
	p.advance()
	if p.tok.kind == tokHash && p.tok.pos == p.prev {
		n, err := parseUint(p.text()[1:])
		if err != nil || n > maxResults {
			p.Fail("expected a result number after '#'")
		}
		o.index = int(n)
		p.advance()
	}
	return o
}

// maxResults bounds the number of results of one operation.
const maxResults = 1 << 16

// Operands reads %a, %b, …; there may be none.
func (p *Parser) Operands() []Operand {
	if !p.AtOperand() {
		return nil
	}
	ops := []Operand{p.Operand()}
	for p.optPunct(',') {
		ops = append(ops, p.Operand())
	}
	return ops
}

// Value is what o stands for. Where it is not defined yet, t says its type; t
// nil means that the text does not say it here.
func (p *Parser) Value(o Operand, t ir.Type) *ir.Value {
	def, ok := p.scope.values[o.name]
	if !ok || def.level < p.scope.wall {
		if t == nil {
			p.FailAt(o.pos, "use of undeclared value %%%s", o.name)
		}
		return p.forwardValue(o, t)
	}
	if o.index >= len(def.values) {
		p.FailAt(o.pos, "%%%s has %s, there is no #%d", o.name, diag.Count(len(def.values), "result"), o.index)
	}
	v := def.values[o.index]
	if t != nil && v.Type() != t {
		p.FailAt(o.pos, msgUsedAs, o.name, TypeString(p.ctx, t), TypeString(p.ctx, v.Type()))
	}
	return v
}

// Values is Value for each of os with the type of the same index.
func (p *Parser) Values(pos Pos, os []Operand, ts []ir.Type) []*ir.Value {
	if len(os) != len(ts) {
		p.FailAt(pos, "%s, but %s", diag.Count(len(os), "operand"), diag.Count(len(ts), "type"))
	}
	vs := make([]*ir.Value, len(os))
	for i, o := range os {
		vs[i] = p.Value(o, ts[i])
	}
	return vs
}

// forwardValue is the stand-in for a value that is defined further on.
func (p *Parser) forwardValue(o Operand, t ir.Type) *ir.Value {
	s := &p.scope
	for _, f := range s.forward[o.name] {
		if f.index == o.index && f.level >= s.wall {
			if f.value.Type() != t {
				p.FailAt(o.pos, "%%%s is used as %s here and as %s before", o.name, TypeString(p.ctx, t), TypeString(p.ctx, f.value.Type()))
			}
			return f.value
		}
	}
	if s.waiting++; s.waiting > maxForward {
		p.FailAt(o.pos, "more than %d values are used before their definition", maxForward)
	}
	op := ir.NewOperation(p.ctx.UnregisteredOp("builtin.forward"), &ir.State{Ctx: p.ctx, Types: []ir.Type{t}})
	f := &forwardRef{o.name, o.index, o.pos, s.level, op.Result(0)}
	if s.forward == nil {
		s.forward = make(map[string][]*forwardRef)
	}
	s.forward[o.name] = append(s.forward[o.name], f)
	return f.value
}

// maxForward bounds how many values may be used before their definition at one
// place of the text.
const maxForward = 1 << 14

// define gives name to vs and resolves the uses before it.
func (p *Parser) define(name string, pos int, vs []*ir.Value) {
	s := &p.scope
	if old, ok := s.values[name]; ok && old.level >= s.wall {
		p.FailAt(Pos(pos), "%%%s is defined twice", name)
	}
	old, had := s.values[name]
	s.undo = append(s.undo, undoValue{name, old, had})
	s.values[name] = valueDef{vs, pos, s.level}
	if s.waiting > 0 && s.forward[name] != nil {
		p.resolveForward(name, vs)
	}
}

func (p *Parser) resolveForward(name string, vs []*ir.Value) {
	s := &p.scope
	refs := s.forward[name]
	kept := refs[:0]
	for _, f := range refs {
		if f.level != s.level {
			kept = append(kept, f)
			continue
		}
		if f.index >= len(vs) {
			p.FailAt(f.pos, "%%%s has %s, there is no #%d", name, diag.Count(len(vs), "result"), f.index)
		}
		v := vs[f.index]
		if v.Type() != f.value.Type() {
			p.FailAt(f.pos, msgUsedAs, name, TypeString(p.ctx, f.value.Type()), TypeString(p.ctx, v.Type()))
		}
		f.value.ReplaceAllUsesWith(v)
		s.waiting--
	}
	if len(kept) == 0 {
		delete(s.forward, name)
		return
	}
	s.forward[name] = kept
}

// leaveForward hands what still waits for a definition to the region around
// the one that ends; an isolated one has none around.
func (p *Parser) leaveForward(isolated bool) {
	s := &p.scope
	var lost *forwardRef
	for _, refs := range s.forward {
		for _, f := range refs {
			if f.level != s.level {
				continue
			}
			f.level--
			if isolated && (lost == nil || f.pos < lost.pos) {
				lost = f
			}
		}
	}
	if lost != nil {
		p.FailAt(lost.pos, "use of undeclared value %%%s", lost.name)
	}
}

// Region reads {…}. The arguments, if any, are those of the entry block, defined
// under the given names; else the text has a label with them or there are none.
// isolated is true for a region that sees no value from outside.
func (p *Parser) Region(args []RegionArg, isolated bool) *ir.Region {
	p.enter()
	defer p.leave()
	r := &ir.Region{}
	s := &p.scope
	saved := scope{wall: s.wall, level: s.level, blocks: s.blocks}
	mark := len(s.undo)
	s.level++
	s.blocks = nil
	if isolated {
		s.wall = s.level
	}
	open := p.Pos()
	p.punct('{')
	if len(args) > 0 || !p.atPunct('}') {
		entry := &blockRef{block: r.AddBlock(), defined: true}
		for _, a := range args {
			p.blockArg(entry.block, a)
		}
		if len(args) == 0 && p.tok.kind == tokBlock {
			p.label(r, entry)
		}
		p.blockBody(entry.block)
		for p.tok.kind == tokBlock {
			p.blockBody(p.label(r, nil))
		}
	}
	if !p.optPunct('}') {
		if p.tok.kind == tokEOF {
			p.FailAt(open, "this '{' is not closed")
		}
		p.expected("an operation, a block or '}'")
	}
	if b := firstUndefined(s.blocks); b != nil {
		p.FailAt(b.pos, "undefined block ^%s", b.name)
	}
	for i := len(s.undo) - 1; i >= mark; i-- {
		if u := s.undo[i]; u.had {
			s.values[u.name] = u.def
		} else {
			delete(s.values, u.name)
		}
	}
	s.undo = s.undo[:mark]
	if s.waiting > 0 {
		p.leaveForward(isolated)
	}
	s.wall, s.level, s.blocks = saved.wall, saved.level, saved.blocks
	return r
}

// firstUndefined is the block without a label that is named first in the text.
func firstUndefined(m map[string]*blockRef) *blockRef {
	var first *blockRef
	for _, b := range m {
		if !b.defined && (first == nil || b.pos < first.pos) {
			first = b
		}
	}
	return first
}

// RegionArg is an argument of a region's entry block as written in the text.
type RegionArg struct {
	Operand
	Type ir.Type
	Loc  ir.Location // nil: the text has none
}

// blockArg adds an argument to b. Where the text has no location, the name is
// kept until the names of the whole text can be told from their suffixes.
func (p *Parser) blockArg(b *ir.Block, a RegionArg) {
	if a.index != 0 {
		p.FailAt(a.pos, "an argument's name has no '#'")
	}
	loc := a.Loc
	if loc == nil {
		loc = p.ctx.UnknownLoc()
	}
	v := b.AddArg(a.Type, loc)
	if a.Loc == nil && a.name != "" {
		p.keepName(v, a.name)
	}
	p.define(a.name, int(a.pos), []*ir.Value{v})
}

// blockNamed is the block of that name, which may be defined further on.
func (p *Parser) blockNamed(name string, pos Pos) *blockRef {
	if b := p.scope.blocks[name]; b != nil {
		return b
	}
	b := &blockRef{name: name, block: &ir.Block{}, pos: pos}
	if p.scope.blocks == nil {
		p.scope.blocks = make(map[string]*blockRef)
	}
	p.scope.blocks[name] = b
	return b
}

// Successor reads ^name.
func (p *Parser) Successor() *ir.Block {
	if p.tok.kind != tokBlock {
		p.expected("a block such as ^bb1")
	}
	b := p.blockNamed(p.text()[1:], p.Pos())
	p.advance()
	return b.block
}

// label reads ^name(args): and places the block at the end of r. as, where it is
// not nil, is the entry block, which is in r already.
func (p *Parser) label(r *ir.Region, as *blockRef) *ir.Block {
	name, pos := p.text()[1:], p.Pos()
	p.advance()
	b := p.scope.blocks[name]
	switch {
	case b != nil && b.defined:
		p.FailAt(pos, "block ^%s is defined twice", name)
	case as != nil:
		as.name, as.pos = name, pos
		if p.scope.blocks == nil {
			p.scope.blocks = make(map[string]*blockRef)
		}
		p.scope.blocks[name] = as
		b = as
	default:
		b = p.blockNamed(name, pos)
		r.AppendBlock(b.block)
	}
	b.defined = true
	if p.atPunct('(') {
		p.List('(', ')', func() {
			a := RegionArg{Operand: p.Operand()}
			p.punct(':')
			a.Type = p.Type()
			a.Loc = p.OptLoc()
			p.blockArg(b.block, a)
		})
	}
	p.punct(':')
	return b.block
}

// blockBody reads operations up to a label or }.
func (p *Parser) blockBody(b *ir.Block) {
	for p.tok.kind == tokIdent || p.tok.kind == tokValue || p.tok.kind == tokString {
		b.Append(p.operation())
	}
}

// keepName remembers the name of a value that no location holds.
func (p *Parser) keepName(v *ir.Value, name string) {
	if p.pending == nil {
		p.pending = make(map[*ir.Value]string)
	}
	p.pending[v] = strings.Clone(name)
}
