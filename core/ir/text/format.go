package text

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
)

// form is an operation's assembly, ready for use: a pair of functions for an
// irregular one, else directives; neither for the generic form.
type form struct {
	custom *OpAsm
	elems  []element
	// inDict[i] is false for the attributes of the table that are elsewhere in
	// the text.
	inDict []bool
	// keyword: the dictionary comes after "attributes".
	keyword bool
}

// elementKind is the kind of a directive.
type elementKind uint8

const (
	elLiteral    elementKind = iota // text
	elAttr                          // attribute number index of the table
	elOperand                       // operand group index
	elOperands                      // all operands
	elRegion                        // region index
	elSuccessor                     // successor index
	elSuccessors                    // all successors
	elDict                          // the attribute dictionary
	elType                          // types of what ref names
	elFunction                      // (types of ref) -> types of ref2
	elOptional                      // ( then ^ )? or ( then ^ ) : ( els )
	elOIList                        // clauses in any order
	elToken                         // [%dep] or [] if there is a token result
	elPairs                         // , %a[%b] for each of two equal groups
	elPartitions                    // partition0 num_warps(n) {…} for each number and region
)

// element is one directive.
type element struct {
	kind  elementKind
	space bool // printed with a space before
	text  string
	index int
	ref   typeRef
	ref2  typeRef
	// prefix is what the printed type leaves out, empty for a whole type.
	prefix string

	then, els []element
	anchor    int // the directive of then that decides whether the group is there
	clauses   [][]element
}

// typeRef names the values whose types a directive holds.
type typeRef struct {
	kind  refKind
	index int // of the group
}

type refKind uint8

const (
	refOperand  refKind = iota // one operand group
	refResult                  // one result group
	refOperands                // all operands
	refResults                 // all results
)

// formOf returns the form of d, compiled on first use.
func formOf(ctx *ir.Context, d *ir.OpDef) *form {
	return d.Form(func(d *ir.OpDef) any {
		if h := hooksOf(ctx.Dialect(d.Dialect())); h != nil {
			if asm, ok := h.Ops[d]; ok {
				return &form{custom: &asm}
			}
		}
		if d.Asm == "" {
			return &form{}
		}
		f, err := compileForm(d)
		if err != nil {
			panic("BUG: text: assembly of " + d.Name + ": " + err.Error())
		}
		return f
	}).(*form)
}

// CheckForm reports what is wrong with d.Asm, for declarations that come from
// outside.
func CheckForm(d *ir.OpDef) error {
	if d.Asm == "" {
		return nil
	}
	_, err := compileForm(d)
	return err
}

// compiler parses a format string into directives. space and punct are the state
// of the rules of spacing: whether the next directive gets a space before it,
// and whether the last literal was punctuation.
type compiler struct {
	d    *ir.OpDef
	src  string
	off  int
	form *form

	space, punct bool
	seenDict     bool
	depth        int
}

func compileForm(d *ir.OpDef) (f *form, err error) {
	c := &compiler{d: d, src: d.Asm, form: &form{inDict: make([]bool, len(d.Attrs))}, space: true}
	defer func() {
		if r := recover(); r != nil {
			fe, ok := r.(formatError)
			if !ok {
				panic(r)
			}
			f, err = nil, fmt.Errorf("%s at column %d of %q", fe.msg, fe.off+1, d.Asm)
		}
	}()
	for i := range d.Attrs {
		c.form.inDict[i] = true
	}
	c.form.elems = c.list("")
	if !c.seenDict {
		c.fail("attr-dict is missing")
	}
	return c.form, nil
}

type formatError struct {
	msg string
	off int
}

func (c *compiler) fail(format string, args ...any) {
	panic(formatError{fmt.Sprintf(format, args...), c.off})
}

func (c *compiler) blank() {
	for c.off < len(c.src) && (c.src[c.off] == ' ' || c.src[c.off] == '\n' || c.src[c.off] == '\t') {
		c.off++
	}
}

func (c *compiler) peek() byte {
	c.blank()
	if c.off == len(c.src) {
		return 0
	}
	return c.src[c.off]
}

func (c *compiler) opt(ch byte) bool {
	if c.peek() == ch {
		c.off++
		return true
	}
	return false
}

func (c *compiler) expect(ch byte) {
	if !c.opt(ch) {
		c.fail("expected '%c'", ch)
	}
}

func (c *compiler) word() string {
	c.blank()
	start := c.off
	for c.off < len(c.src) && classes[c.src[c.off]]&(clLetter|clDigit|clMinus) != 0 {
		c.off++
	}
	if c.off == start {
		c.fail("expected a directive")
	}
	return c.src[start:c.off]
}

// list reads directives up to one of the bytes in stop, which it leaves.
func (c *compiler) list(stop string) []element {
	if c.depth++; c.depth > 16 {
		c.fail("nested too deep")
	}
	var els []element
	for {
		switch ch := c.peek(); {
		case ch == 0 && stop == "":
			c.depth--
			return els
		case ch == 0:
			c.fail("expected one of '%s'", stop)
		case strings.IndexByte(stop, ch) >= 0:
			c.depth--
			return els
		case ch == '`':
			if e, ok := c.literal(); ok {
				els = append(els, e)
			}
		case ch == '(':
			els = append(els, c.optional())
		case ch == '$':
			els = append(els, c.variable())
		case ch == '^':
			c.fail("'^' must follow a directive of an optional group")
		default:
			els = append(els, c.directive())
		}
		if len(els) > 0 && c.off < len(c.src) && c.src[c.off] == '^' {
			if stop == "" {
				c.fail("'^' is outside an optional group")
			}
			c.off++
			els[len(els)-1].anchor = -1 // marked; optional looks for it
		}
	}
}

// literal reads `text`; empty and blank ones only steer the spacing.
func (c *compiler) literal() (element, bool) {
	c.off++
	n := strings.IndexByte(c.src[c.off:], '`')
	if n < 0 {
		c.fail("unterminated literal")
	}
	s := c.src[c.off : c.off+n]
	c.off += n + 1
	switch s {
	case "":
		c.space, c.punct = false, true
		return element{}, false
	case " ":
		c.space, c.punct = false, false
		return element{kind: elLiteral, text: " "}, true
	}
	e := element{kind: elLiteral, text: s, space: c.space && spaceBefore(s, c.punct)}
	c.space = len(s) != 1 || strings.IndexByte("<({[", s[0]) < 0
	c.punct = classes[s[0]]&clLetter == 0
	return e, true
}

// spaceBefore reports whether the literal s has a space before it.
func spaceBefore(s string, afterPunct bool) bool {
	switch {
	case len(s) != 1 && s != "->":
		return true
	case afterPunct:
		return strings.IndexByte(">)}],", s[0]) < 0
	default:
		return strings.IndexByte("<>(){}[],", s[0]) < 0
	}
}

// spaced sets whether a directive other than a literal has a space before it.
func (c *compiler) spaced(e element) element {
	e.space = c.space || !c.punct
	c.space, c.punct = true, false
	return e
}

func (c *compiler) variable() element {
	c.off++
	name := c.word()
	for i, o := range c.d.Operands {
		if o.Name == name {
			return c.spaced(element{kind: elOperand, index: i})
		}
	}
	for i, a := range c.d.Attrs {
		if a.Name == name {
			c.form.inDict[i] = false
			if a.Kind == ir.AttrUnit {
				return element{kind: elAttr, index: i} // stands for its literal
			}
			return c.spaced(element{kind: elAttr, index: i})
		}
	}
	for i, r := range c.d.Regions {
		if r.Name == name {
			return c.spaced(element{kind: elRegion, index: i})
		}
	}
	if i := successorIndex(name); i >= 0 && i < c.d.Successors {
		return c.spaced(element{kind: elSuccessor, index: i})
	}
	c.fail("the table has no operand, attribute, region or successor '%s'", name)
	return element{}
}

// successorIndex is n of "succ<n>", else -1.
func successorIndex(name string) int {
	if len(name) == 5 && name[:4] == "succ" && classes[name[4]]&clDigit != 0 {
		return int(name[4] - '0')
	}
	return -1
}

func (c *compiler) directive() element {
	switch w := c.word(); w {
	case "attr-dict", "attr-dict-with-keyword":
		c.seenDict = true
		c.form.keyword = w != "attr-dict"
		c.punct = false
		return element{kind: elDict}
	case "operands":
		return c.spaced(element{kind: elOperands})
	case "successors":
		return c.spaced(element{kind: elSuccessors})
	case "type":
		return c.spaced(element{kind: elType, ref: c.parenRef()})
	case "qualified":
		c.expect('(')
		e := c.directive()
		c.expect(')')
		return e
	case "qualifiedless":
		c.expect('(')
		e := c.directive()
		c.expect(')')
		if e.kind != elType || e.ref.kind > refResult {
			c.fail("qualifiedless needs the type of one operand or result")
		}
		if e.prefix = c.constraint(e.ref).Prefix; e.prefix == "" {
			c.fail("the constraint of the type names no prefix to leave out")
		}
		return e
	case "functional-type":
		c.expect('(')
		in := c.ref()
		c.expect(',')
		out := c.ref()
		c.expect(')')
		return c.spaced(element{kind: elFunction, ref: in, ref2: out})
	case "oilist":
		return c.oilist()
	case "custom":
		return c.custom()
	default:
		c.fail("unknown directive '%s'", w)
		return element{}
	}
}

// custom reads custom<Token>($dep, $token), which says by brackets whether there
// is a token result and what it waits for, or custom<Pairs>($a, $b).
func (c *compiler) custom() element {
	c.expect('<')
	name := c.word()
	c.expect('>')
	c.expect('(')
	if name == "Partitions" {
		return c.partitions()
	}
	a := c.ref()
	c.expect(',')
	b := c.ref()
	c.expect(')')
	e := element{ref: a, ref2: b, index: a.index}
	switch name {
	case "Token":
		if a.kind != refOperand || c.d.Operands[a.index].Arity != ir.Optional ||
			b.kind != refResult || c.d.Results[b.index].Arity != ir.Optional {
			c.fail("Token needs an optional operand and an optional result")
		}
		if e.kind, e.prefix = elToken, c.constraint(b).Prefix; e.prefix == "" {
			c.fail("the constraint of the token names no type")
		}
	case "Pairs":
		e.kind = elPairs
		for _, r := range []typeRef{a, b} {
			if r.kind != refOperand || c.d.Operands[r.index].Arity != ir.Variadic {
				c.fail("Pairs needs two variadic operands")
			}
		}
	default:
		c.fail("unknown custom directive '%s'", name)
	}
	return c.spaced(e)
}

// partitions reads $warps, $regions): an attribute of kind i32s and the only region,
// which is variadic.
func (c *compiler) partitions() element {
	if c.peek() != '$' {
		c.fail("expected $name")
	}
	warps := c.variable()
	c.expect(',')
	if c.peek() != '$' {
		c.fail("expected $name")
	}
	regions := c.variable()
	c.expect(')')
	if warps.kind != elAttr || c.d.Attrs[warps.index].Kind != ir.AttrDenseI32 ||
		regions.kind != elRegion || len(c.d.Regions) != 1 || !c.d.Regions[0].Variadic {
		c.fail("Partitions needs an attribute of kind i32s and a variadic region, the only one")
	}
	e := c.spaced(element{kind: elPartitions, index: warps.index})
	e.space = false
	return e
}

func (c *compiler) constraint(r typeRef) ir.Constraint {
	if r.kind == refOperand {
		return c.d.Operands[r.index].Type
	}
	return c.d.Results[r.index].Type
}

func (c *compiler) parenRef() typeRef {
	c.expect('(')
	r := c.ref()
	c.expect(')')
	return r
}

func (c *compiler) ref() typeRef {
	if !c.opt('$') {
		switch w := c.word(); w {
		case "operands":
			return typeRef{kind: refOperands}
		case "results":
			return typeRef{kind: refResults}
		default:
			c.fail("expected $name, operands or results, found '%s'", w)
		}
	}
	name := c.word()
	for i, o := range c.d.Operands {
		if o.Name == name {
			return typeRef{refOperand, i}
		}
	}
	for i, r := range c.d.Results {
		if r.Name == name {
			return typeRef{refResult, i}
		}
	}
	c.fail("the table has no operand or result '%s'", name)
	return typeRef{}
}

func (c *compiler) optional() element {
	c.expect('(')
	e := element{kind: elOptional, then: c.list(")")}
	c.expect(')')
	if c.opt(':') {
		c.expect('(')
		e.els = c.list(")")
		c.expect(')')
	}
	c.expect('?')
	e.anchor = -1
	for i := range e.then {
		if e.then[i].anchor < 0 {
			e.then[i].anchor = 0
			if e.anchor >= 0 {
				c.fail("an optional group has one '^'")
			}
			e.anchor = i
		}
	}
	if e.anchor < 0 {
		c.fail("an optional group needs a '^'")
	}
	switch e.then[e.anchor].kind {
	case elOperand, elAttr, elRegion, elType, elFunction:
	default:
		c.fail("'^' must follow an operand, attribute, region or type")
	}
	first := &e.then[0]
	switch {
	case first.kind == elLiteral && first.text != " ":
	case first.kind == elOperand || first.kind == elRegion || first.kind == elSuccessor:
	case first.kind == elAttr && c.optionalAttr(first.index):
	default:
		c.fail("an optional group must begin with a literal, operand, successor or region")
	}
	return e
}

// optionalAttr reports whether the parser can tell that the attribute is absent.
func (c *compiler) optionalAttr(i int) bool {
	switch c.d.Attrs[i].Kind {
	case ir.AttrUnit:
		c.fail("a unit attribute needs a literal before it")
	case ir.AttrString, ir.AttrSymbol, ir.AttrI32, ir.AttrI64, ir.AttrInt, ir.AttrDict, ir.AttrDenseI32, ir.AttrDenseI64:
		return true
	}
	return false
}

func (c *compiler) oilist() element {
	e := element{kind: elOIList}
	c.expect('(')
	for {
		clause := c.list("|)")
		if len(clause) == 0 || clause[0].kind != elLiteral || clause[0].text == " " {
			c.fail("a clause must begin with a literal")
		}
		if !hasValue(clause) {
			c.fail("a clause needs an operand or attribute")
		}
		e.clauses = append(e.clauses, clause)
		if !c.opt('|') {
			break
		}
	}
	c.expect(')')
	return e
}

func hasValue(els []element) bool {
	for i := range els {
		if els[i].kind == elAttr || els[i].kind == elOperand {
			return true
		}
	}
	return false
}
