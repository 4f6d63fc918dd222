package ptx

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxMajor is the newest major ISA version whose grammar this parser follows.
const maxMajor = 9

// Parse reads PTX text; file names it in diagnostics. The error, if any, is a
// *diag.Diagnostic at the first offending place.
func Parse(file string, src []byte) (m *Module, err error) {
	p := &parser{s: scanner{file: file, src: string(src), line: 1}}
	p.m = &Module{File: file, Src: p.s.src, AddressSize: 64}
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bailout)
			if !ok {
				panic(r)
			}
			m, err = nil, b.d
		}
	}()
	p.advance()
	p.module()
	return p.m, nil
}

type parser struct {
	s   scanner
	tok token
	m   *Module
}

func (p *parser) advance() { p.tok = p.s.next() }

func (p *parser) pos() Pos { return Pos{p.tok.line, p.tok.col} }

func (p *parser) fail(format string, args ...any) {
	p.s.fail(p.tok.line, p.tok.col, format, args...)
}

// found names the current token in an error.
func (p *parser) found() string {
	if p.tok.kind == tokEOF {
		return "the end of the file"
	}
	return strconv.Quote(p.tok.text)
}

func (p *parser) is(punct string) bool {
	return p.tok.kind == tokPunct && p.tok.text == punct
}

func (p *parser) accept(punct string) bool {
	if p.is(punct) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(punct string) {
	if !p.accept(punct) {
		p.fail("expected %q, found %s", punct, p.found())
	}
}

func (p *parser) ident(what string) string {
	if p.tok.kind != tokIdent {
		p.fail("expected %s, found %s", what, p.found())
	}
	t := p.tok.text
	p.advance()
	return t
}

func (p *parser) integer(what string) int {
	if p.tok.kind != tokInt {
		p.fail("expected %s, found %s", what, p.found())
	}
	if p.tok.bits > 1<<40 {
		p.fail("%s %s is out of range", what, p.tok.text)
	}
	v := int(p.tok.bits)
	p.advance()
	return v
}

func (p *parser) module() {
	p.version()
	for p.tok.kind != tokEOF {
		p.topLevel()
	}
	if p.m.Target == "" {
		p.fail("the file has no .target directive")
	}
}

func (p *parser) version() {
	if p.tok.kind != tokDot || p.tok.text != ".version" {
		p.fail("a PTX file begins with .version, found %s", p.found())
	}
	p.advance()
	text := p.tok.text
	major, minor, ok := strings.Cut(text, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if p.tok.kind != tokF64 || !ok || err1 != nil || err2 != nil {
		p.fail("expected a version such as 8.0, found %s", p.found())
	}
	if a > maxMajor {
		p.fail("PTX version %s is newer than this simulator knows (up to %d.x)", text, maxMajor)
	}
	p.m.Major, p.m.Minor = a, b
	p.advance()
}

// linkage holds the prefixes of a declaration.
type linkage struct{ extern, visible, weak, common bool }

func (p *parser) topLevel() {
	var link linkage
	for {
		if p.tok.kind != tokDot {
			p.fail("expected a directive, found %s", p.found())
		}
		switch p.tok.text {
		case ".extern":
			link.extern = true
		case ".visible":
			link.visible = true
		case ".weak":
			link.weak = true
		case ".common":
			link.common = true
		default:
			p.directive(link)
			return
		}
		p.advance()
	}
}

func (p *parser) directive(link linkage) {
	switch name := p.tok.text; name {
	case ".target":
		p.advance()
		p.m.Target = p.ident("a target such as sm_80")
		for p.accept(",") {
			p.ident("a target option")
		}
	case ".address_size":
		p.advance()
		if n := p.integer("the address size"); n != 64 {
			p.fail("address size %d is not supported: only 64 is", n)
		}
	case ".file":
		p.advance()
		idx := p.integer("a file number")
		if p.tok.kind != tokString {
			p.fail("expected a file name in quotes, found %s", p.found())
		}
		p.m.Files = append(p.m.Files, SourceFile{idx, p.tok.text})
		p.advance()
		for p.accept(",") {
			p.integer("a time stamp or size")
		}
	case ".section":
		p.section()
	case ".pragma":
		p.pragma()
	case ".alias":
		p.fail(".alias is not supported by the simulator")
	case ".entry", ".func":
		p.function(link)
	case ".global", ".const", ".shared", ".local":
		for _, v := range p.variables() {
			v.Extern = link.extern
			p.m.Vars = append(p.m.Vars, v)
		}
		p.expect(";")
	case ".loc":
		p.loc()
	default:
		p.fail("unknown directive %q", name)
	}
}

// section skips a debug section: ".section .debug_x { … }".
func (p *parser) section() {
	line, col := p.tok.line, p.tok.col
	p.advance()
	for !p.is("{") {
		if p.tok.kind == tokEOF {
			p.s.fail(line, col, "section has no body")
		}
		p.advance()
	}
	for !p.is("}") {
		if p.tok.kind == tokEOF {
			p.s.fail(line, col, "section is not closed")
		}
		p.advance()
	}
	p.advance()
}

func (p *parser) pragma() {
	p.advance()
	for {
		if p.tok.kind != tokString {
			p.fail("expected a string after .pragma, found %s", p.found())
		}
		p.advance()
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
}

func (p *parser) function(link linkage) {
	f := &Func{Pos: p.pos(), Entry: p.tok.text == ".entry", Extern: link.extern}
	p.advance()
	if p.is("(") {
		f.Rets = p.params()
	}
	f.Name = p.ident("a function name")
	if p.is("(") {
		f.Params = p.params()
	}
	for p.tok.kind == tokDot {
		p.funcAttr(f)
	}
	if !p.accept(";") {
		f.HasBody = true
		f.Body = p.body()
	}
	p.m.Funcs = append(p.m.Funcs, f)
}

func (p *parser) funcAttr(f *Func) {
	switch name := p.tok.text; name {
	case ".noreturn":
		p.advance()
		f.NoReturn = true
	case ".reqntid", ".maxntid":
		p.advance()
		dims := [3]int{1, 1, 1}
		for i := range 3 {
			dims[i] = p.integer("a block dimension")
			if !p.accept(",") {
				break
			}
		}
		if name == ".reqntid" {
			f.ReqNTid = dims
		} else {
			f.MaxNTid = dims
		}
	case ".minnctapersm", ".maxnctapersm", ".maxclusterrank":
		p.advance()
		p.integer("a count")
	case ".maxnreg":
		p.advance()
		f.MaxNReg = p.integer("a count")
	case ".reqnctapercluster":
		p.advance()
		f.Cluster = [3]int{1, 1, 1}
		for i := range 3 {
			f.Cluster[i] = p.integer("a cluster dimension")
			if f.Cluster[i] < 1 || f.Cluster[i] > 16 {
				p.fail("a cluster dimension of %d", f.Cluster[i])
			}
			if !p.accept(",") {
				break
			}
		}
	case ".explicitcluster", ".blocksareclusters":
		p.advance()
	case ".pragma":
		p.pragma()
	default:
		p.fail("unknown function directive %q", name)
	}
}

// params reads "( .param …, … )".
func (p *parser) params() []*Var {
	p.expect("(")
	var out []*Var
	for !p.is(")") {
		if p.tok.kind != tokDot || (p.tok.text != ".param" && p.tok.text != ".reg") {
			p.fail("expected a parameter, found %s", p.found())
		}
		v := p.declHead()
		p.declarator(&v)
		out = append(out, &v)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return out
}

// variables reads a declaration up to its ";", which stays.
func (p *parser) variables() []*Var {
	head := p.declHead()
	var out []*Var
	for {
		v := head
		p.declarator(&v)
		out = append(out, &v)
		if !p.accept(",") {
			return out
		}
	}
}

// declHead reads ".space .align n .v4 .type .ptr .global .align 1".
func (p *parser) declHead() Var {
	v := Var{Space: spaceName(p.tok.text), Vec: 1}
	p.advance()
	for p.tok.kind == tokDot {
		switch t := p.tok.text; t {
		case ".align":
			p.advance()
			v.Align = p.integer("an alignment")
			continue
		case ".v2":
			v.Vec = 2
		case ".v4":
			v.Vec = 4
		case ".v8":
			v.Vec = 8
		case ".ptr":
			p.pointerAttr()
			continue
		case ".attribute":
			p.advance()
			p.expect("(")
			for !p.is(")") && p.tok.kind != tokEOF {
				p.advance()
			}
			p.expect(")")
			continue
		default:
			v.Type = t[1:]
		}
		p.advance()
	}
	if v.Type == "" {
		p.fail("declaration has no type before %s", p.found())
	}
	return v
}

// pointerAttr passes ".ptr .space .align n": hints to the assembler.
func (p *parser) pointerAttr() {
	p.advance()
	for p.tok.kind == tokDot {
		switch p.tok.text {
		case ".global", ".shared", ".local", ".const", ".param":
			p.advance()
		case ".align":
			p.advance()
			p.integer("an alignment")
		default:
			return
		}
	}
}

func spaceName(tok string) string {
	name, _, _ := strings.Cut(tok[1:], "::")
	return name
}

// declarator reads "name", "name<7>", "name[4][2] = {…}".
func (p *parser) declarator(v *Var) {
	v.Pos = p.pos()
	v.Name = p.ident("a name")
	v.Count = 1
	if v.Space == "reg" {
		v.Count = 0
	}
	if p.accept("<") {
		v.Count = p.integer("a register count")
		p.expect(">")
	}
	for p.accept("[") {
		v.Array = true
		if p.accept("]") {
			v.Count = 0
			continue
		}
		if n := p.integer("an array length"); n > 0 && v.Count > maxElements/n {
			v.Count = maxElements + 1 // which is refused
		} else {
			v.Count *= n
		}
		p.expect("]")
	}
	if p.accept("=") {
		v.HasInit = true
		p.initialiser(v)
		if v.Array && v.Count == 0 {
			v.Count = len(v.Init)
		}
	}
}

func (p *parser) initialiser(v *Var) {
	if p.accept("{") {
		for !p.is("}") {
			p.initialiser(v)
			if !p.accept(",") {
				break
			}
		}
		p.expect("}")
		return
	}
	if p.tok.kind == tokIdent && (p.tok.text == "generic" || p.tok.text == "mask") {
		generic := p.tok.text == "generic"
		if !generic {
			p.fail("mask() in an initialiser is not supported by the simulator")
		}
		p.advance()
		p.expect("(")
		o := p.operand()
		o.Generic = true
		p.expect(")")
		if p.accept("+") {
			o.Off += p.constant()
		}
		v.Init = append(v.Init, o)
		return
	}
	v.Init = append(v.Init, p.operand())
}

// body reads "{ … }" into a flat list without the outer braces.
func (p *parser) body() []Stmt {
	open := p.pos()
	p.expect("{")
	var out []Stmt
	for depth := 1; ; {
		switch {
		case p.tok.kind == tokEOF:
			p.s.fail(open.Line, open.Col, "function body is not closed: the file ends first")
		case p.is("{"):
			out = append(out, Stmt{Pos: p.pos(), Kind: StmtOpen})
			depth++
			p.advance()
		case p.is("}"):
			depth--
			pos := p.pos()
			p.advance()
			if depth == 0 {
				return out
			}
			out = append(out, Stmt{Pos: pos, Kind: StmtClose})
		case p.is(";"):
			p.advance()
		case p.tok.kind == tokDot:
			out = p.bodyDirective(out)
		default:
			out = p.statement(out)
		}
	}
}

func (p *parser) bodyDirective(out []Stmt) []Stmt {
	pos := p.pos()
	switch p.tok.text {
	case ".loc":
		return append(out, Stmt{Pos: pos, Kind: StmtLoc, Loc: p.loc()})
	case ".pragma":
		p.pragma()
		return out
	case ".reg", ".local", ".shared", ".param", ".const", ".global", ".shared::cta":
		for _, v := range p.variables() {
			out = append(out, Stmt{Pos: v.Pos, Kind: StmtVar, Var: v})
		}
		p.expect(";")
		return out
	}
	p.fail("unknown directive %q in a function body", p.tok.text)
	return nil
}

// loc reads ".loc file line col[, function_name …][, inlined_at file line col]". Where
// the directive has no call site, the comment after it may.
func (p *parser) loc() Loc {
	rest, _, _ := strings.Cut(p.s.src[p.s.pos:], "\n")
	p.advance()
	l := p.locPlace()
	for p.accept(",") {
		switch what := p.ident("function_name or inlined_at"); what {
		case "function_name":
			p.ident("a label")
			if p.accept("+") {
				p.integer("an offset")
			}
		case "inlined_at":
			at := p.locPlace()
			l.Inlined = &at
		default:
			p.fail("unknown .loc attribute %q", what)
		}
	}
	if _, comment, ok := strings.Cut(rest, "//"); ok && l.Inlined == nil {
		l.Inlined = callSites(comment)
	}
	return l
}

// maxCallSites bounds the call sites of one place.
const maxCallSites = 32

// callSites reads the call sites of inlined code, the innermost first, from the comment
// that LLVM writes after a .loc, in which it leaves them out:
//
//	// lib.py:157:15 @[ lib.py:165:34 @[ kernel.py:12:18 ] ]
//
// It is nil where there are none.
func callSites(comment string) *Loc {
	parts := strings.Split(strings.TrimRight(comment, " ]\t\r"), " @[ ")
	if len(parts)-1 > maxCallSites {
		return nil
	}
	var site *Loc
	for _, part := range slices.Backward(parts[1:]) {
		name, numbers := strings.TrimSpace(part), []int(nil)
		for len(numbers) < 2 { // line and column, or a line
			i := strings.LastIndexByte(name, ':')
			n, err := strconv.Atoi(name[i+1:])
			if i < 0 || err != nil || n < 0 || n > math.MaxInt32 {
				break
			}
			name, numbers = name[:i], append(numbers, n)
		}
		if len(numbers) == 0 || name == "" {
			return nil
		}
		slices.Reverse(numbers)
		site = &Loc{Name: name, Line: numbers[0], Inlined: site}
		if len(numbers) > 1 {
			site.Col = numbers[1]
		}
	}
	return site
}

func (p *parser) locPlace() Loc {
	return Loc{
		File: p.integer("a file number"),
		Line: p.integer("a line"),
		Col:  p.integer("a column"),
	}
}

// statement reads a label or an instruction.
func (p *parser) statement(out []Stmt) []Stmt {
	st := Stmt{Pos: p.pos()}
	if p.accept("@") {
		st.GuardNot = p.accept("!")
		st.GuardPos = p.pos()
		st.Guard = p.ident("a predicate register")
		st.Pos = p.pos()
	}
	st.Name = p.ident("an instruction or label")
	if st.Guard == "" && p.accept(":") {
		if p.tok.kind == tokDot {
			return p.table(out, st)
		}
		st.Kind = StmtLabel
		return append(out, st)
	}
	for !p.is(";") {
		st.Args = append(st.Args, p.pairOrOperand())
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
	return append(out, st)
}

// table reads "label: .branchtargets a, b;" and its kin.
func (p *parser) table(out []Stmt, st Stmt) []Stmt {
	switch p.tok.text {
	case ".branchtargets":
		p.advance()
		st.Kind = StmtTable
		for {
			st.Args = append(st.Args, p.operand())
			if !p.accept(",") {
				break
			}
		}
		p.expect(";")
		return append(out, st)
	case ".callprototype", ".calltargets":
		p.fail("indirect calls (%s) are not supported by the simulator", p.tok.text)
	}
	st.Kind = StmtLabel
	return append(out, st)
}

func (p *parser) pairOrOperand() Operand {
	o := p.operand()
	if p.is("|") {
		p.advance()
		q := p.operand()
		return Operand{Pos: o.Pos, Kind: OpdPair, List: []Operand{o, q}}
	}
	return o
}

func (p *parser) operand() Operand {
	o := Operand{Pos: p.pos()}
	switch {
	case p.is("{"):
		o.Kind = OpdVector
		o.List = p.list("{", "}")
	case p.is("("):
		o.Kind = OpdList
		o.List = p.list("(", ")")
	case p.is("["):
		p.address(&o)
	case p.is("!"):
		p.advance()
		o = p.operand()
		o.Not = !o.Not
	case p.is("-"):
		p.advance()
		o = p.operand()
		p.negate(&o)
	case p.tok.kind == tokInt:
		o.Kind, o.Bits = OpdInt, p.tok.bits
		p.advance()
	case p.tok.kind == tokF32:
		o.Kind, o.Bits = OpdF32, p.tok.bits
		p.advance()
	case p.tok.kind == tokF64:
		o.Kind, o.Bits = OpdF64, p.tok.bits
		p.advance()
	case p.tok.kind == tokIdent:
		o.Name = p.tok.text
		p.advance()
		if p.is("+") || p.is("-") {
			o.Off = p.constant()
		}
	default:
		p.fail("expected an operand, found %s", p.found())
	}
	return o
}

func (p *parser) negate(o *Operand) {
	switch o.Kind {
	case OpdInt:
		o.Bits = -o.Bits
	case OpdF32:
		o.Bits ^= 1 << 31
	case OpdF64:
		o.Bits ^= 1 << 63
	case OpdName:
		o.Neg = true
	default:
		p.s.fail(o.Pos.Line, o.Pos.Col, "a minus cannot come before this operand")
	}
}

func (p *parser) list(open, end string) []Operand {
	p.expect(open)
	var out []Operand
	for !p.is(end) {
		out = append(out, p.operand())
		if !p.accept(",") {
			break
		}
	}
	p.expect(end)
	return out
}

// address reads "[base+off]", "[imm]" or "[base, {coordinates}]".
func (p *parser) address(o *Operand) {
	p.expect("[")
	o.Kind = OpdAddr
	switch {
	case p.tok.kind == tokIdent:
		o.Name = p.tok.text
		p.advance()
		if p.is("+") || p.is("-") {
			o.Off = p.constant()
		}
	case p.tok.kind == tokInt || p.is("-"):
		o.Off = p.constant()
	default:
		p.fail("expected an address, found %s", p.found())
	}
	for p.accept(",") {
		o.List = append(o.List, p.operand())
	}
	p.expect("]")
}

// constant reads a signed sum of integers: "+4", "+-4", "8+8".
func (p *parser) constant() int64 {
	var sum int64
	for first := true; first || p.is("+") || p.is("-"); first = false {
		neg := false
		for p.is("+") || p.is("-") {
			neg = neg != p.is("-")
			p.advance()
		}
		if p.tok.kind != tokInt {
			p.fail("expected an integer, found %s", p.found())
		}
		v := int64(p.tok.bits)
		p.advance()
		if neg {
			v = -v
		}
		sum += v
	}
	return sum
}
