package llir

import (
	"strconv"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/work"
)

// Print returns the module's text. Before it numbers a function's values it
// drops unused pure instructions. Nothing may be built afterwards.
func (m *Module) Print() []byte {
	p := printer{b: make([]byte, 0, m.textSize()), meter: m.meter}
	p.module(m)
	return p.b
}

// Sweep drops unused pure instructions, as Print does. Nothing may be built afterwards.
func (m *Module) Sweep() {
	for _, f := range m.IR.Funcs {
		if len(f.Blocks) > 0 {
			sweep(f)
		}
	}
}

// Number gives what functions hold the numbers that the text has, in the order in
// which it stands there: parameters, blocks and results, from 0 on. Print does so, too.
func (m *Module) Number() {
	for _, f := range m.IR.Funcs {
		if len(f.Blocks) > 0 {
			number(f)
		}
	}
}

// textSize is about how long the text will be, and seldom less: copying it to a longer
// buffer costs more than room that is not used. What is long are assembly and the types of
// its results, which stand in the lines that take them apart.
func (m *Module) textSize() int {
	const line, operand = 64, 16
	n := 4096
	for _, f := range m.IR.Funcs {
		for _, b := range f.Blocks {
			n += line * len(b.Insts)
			for _, inst := range b.Insts {
				switch i := inst.(type) {
				case *ir.InstExtractValue:
					n += operand / 2 * fields(i.X.Type())
				case *ir.InstCall:
					n += operand*len(i.Args) + operand/2*fields(i.Type())
					if asm, ok := i.Callee.(*ir.InlineAsm); ok {
						n += len(asm.Asm) + len(asm.Constraint)
					}
				}
			}
		}
	}
	return n
}

func fields(t Type) int {
	if s, ok := t.(*types.StructType); ok {
		return len(s.Fields)
	}
	return 0
}

// printer appends text. The library prints through fmt and strings for every
// part of every line, which is ten times slower.
type printer struct {
	b     []byte
	meter *work.Meter
	// nextMD is the number of the next metadata node; locs are the locations
	// that have been numbered, in that order.
	nextMD int64
	locs   []*metadata.DILocation
}

func (p *printer) str(s string) { p.b = append(p.b, s...) }

func (p *printer) num(n int64) { p.b = strconv.AppendInt(p.b, n, 10) }

func (p *printer) module(m *Module) {
	if m.IR.SourceFilename != "" {
		p.str("source_filename = ")
		p.quoted(m.IR.SourceFilename)
		p.str("\n")
	}
	if m.IR.DataLayout != "" {
		p.str("target datalayout = ")
		p.quoted(m.IR.DataLayout)
		p.str("\n")
	}
	if m.IR.TargetTriple != "" {
		p.str("target triple = ")
		p.quoted(m.IR.TargetTriple)
		p.str("\n")
	}
	p.numberNodes(m)
	for _, g := range m.IR.Globals {
		p.str("\n")
		p.global(g)
	}
	for _, f := range m.IR.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		sweep(f)
		number(f)
		p.str("\n")
		p.function(f)
	}
	for _, f := range m.IR.Funcs {
		if len(f.Blocks) == 0 {
			p.str("\n")
			p.function(f)
		}
	}
	p.metadata(m)
}

// numberNodes gives the nodes and flags their numbers; those of locations follow
// as they are used.
func (p *printer) numberNodes(m *Module) {
	p.nextMD = int64(len(m.debug.nodes))
	for _, f := range m.flags {
		f.SetID(p.nextMD)
		p.nextMD++
	}
	for _, l := range m.texts {
		for _, n := range l.nodes {
			n.SetID(p.nextMD)
			p.nextMD++
		}
	}
	for _, s := range m.scopes {
		for _, n := range s.nodes {
			n.SetID(p.nextMD)
			p.nextMD++
		}
	}
}

func (p *printer) numberLocation(l *metadata.DILocation) {
	if l.InlinedAt != nil && l.InlinedAt.ID() < 0 {
		p.numberLocation(l.InlinedAt)
	}
	l.SetID(p.nextMD)
	p.nextMD++
	p.locs = append(p.locs, l)
}

func (p *printer) metadata(m *Module) {
	if p.nextMD > 0 {
		p.str("\n")
	}
	if m.debug.unit != nil {
		p.str("!llvm.dbg.cu = !{")
		p.str(m.debug.unit.Ident())
		p.str("}\n")
	}
	p.named("llvm.module.flags", m.flags)
	for _, l := range m.texts {
		p.named(l.name, l.nodes)
	}
	for _, n := range m.debug.nodes {
		p.definition(n)
	}
	for _, f := range m.flags {
		p.definition(f)
	}
	for _, l := range m.texts {
		for _, n := range l.nodes {
			p.definition(n)
		}
	}
	for _, s := range m.scopes {
		for _, n := range s.nodes {
			p.definition(n)
		}
	}
	for _, l := range p.locs {
		p.location(l)
	}
}

// named writes a list of nodes under a name.
func (p *printer) named(name string, nodes []*metadata.Tuple) {
	for i, n := range nodes {
		if i == 0 {
			p.str("!" + name + " = !{")
		} else {
			p.str(", ")
		}
		p.str(n.Ident())
		if i == len(nodes)-1 {
			p.str("}\n\n")
		}
	}
}

func (p *printer) definition(d metadata.Definition) {
	p.str(d.Ident())
	p.str(" = ")
	p.str(d.LLString())
	p.str("\n")
}

func (p *printer) location(l *metadata.DILocation) {
	p.str("!")
	p.num(l.ID())
	if l.Distinct {
		p.str(" = distinct !DILocation(line: ")
	} else {
		p.str(" = !DILocation(line: ")
	}
	p.num(l.Line)
	if l.Column != 0 {
		p.str(", column: ")
		p.num(l.Column)
	}
	p.str(", scope: !")
	p.num(l.Scope.(*metadata.DISubprogram).ID())
	if l.InlinedAt != nil {
		p.str(", inlinedAt: !")
		p.num(l.InlinedAt.ID())
	}
	p.str(")\n")
}

func (p *printer) global(g *ir.Global) {
	p.ident(g.GlobalName)
	p.str(" =")
	if g.Linkage != enum.LinkageNone {
		p.str(" ")
		p.str(g.Linkage.String())
	}
	if g.AddrSpace != 0 {
		p.str(" addrspace(")
		p.num(int64(g.AddrSpace))
		p.str(")")
	}
	if g.Immutable {
		p.str(" constant ")
	} else {
		p.str(" global ")
	}
	p.typ(g.ContentType)
	if g.Init != nil {
		p.str(" ")
		p.str(g.Init.Ident())
	}
	if g.Align != 0 {
		p.str(", align ")
		p.num(int64(g.Align))
	}
	p.str("\n")
}

func (p *printer) function(f *ir.Func) {
	def := len(f.Blocks) > 0
	if def {
		p.str("define")
	} else {
		p.str("declare")
	}
	if f.Linkage != enum.LinkageNone {
		p.str(" ")
		p.str(f.Linkage.String())
	}
	p.callingConv(f.CallingConv)
	for _, a := range f.ReturnAttrs {
		p.str(" ")
		p.str(a.String())
	}
	p.str(" ")
	p.typ(f.Sig.RetType)
	p.str(" ")
	p.ident(f.GlobalName)
	p.str("(")
	for i, param := range f.Params {
		if i > 0 {
			p.str(", ")
		}
		p.typ(param.Typ)
		for _, a := range param.Attrs {
			p.str(" ")
			p.str(a.String())
		}
		if def {
			p.str(" ")
			p.value(param)
		}
	}
	p.str(")")
	for _, a := range f.FuncAttrs {
		p.str(" ")
		p.str(a.String())
	}
	p.attachments(f.Metadata, " ")
	if !def {
		p.str("\n")
		return
	}
	p.str(" {\n")
	for i, blk := range f.Blocks {
		if i > 0 {
			p.str("\n")
			p.num(blk.LocalID)
			p.str(":\n")
		}
		for _, inst := range blk.Insts {
			p.str("  ")
			p.meter.Visit()
			p.inst(inst)
			p.str("\n")
		}
		if blk.Term == nil {
			panic("BUG: llir: block without terminator in " + f.GlobalName)
		}
		p.str("  ")
		p.inst(blk.Term)
		p.str("\n")
	}
	p.str("}\n")
}

func (p *printer) callingConv(cc enum.CallingConv) {
	switch cc {
	case enum.CallingConvNone, enum.CallingConvC:
	case ptxKernel:
		p.str(" ptx_kernel")
	default:
		p.str(" cc ")
		p.num(int64(cc))
	}
}

// ptxKernel is the calling convention that has a word of its own here.
const ptxKernel enum.CallingConv = 71

func (p *printer) attachments(md ir.Metadata, sep string) {
	for _, a := range md {
		p.str(sep)
		p.str("!")
		p.str(a.Name)
		p.str(" !")
		switch n := a.Node.(type) {
		case *metadata.DILocation:
			if n.ID() < 0 {
				p.numberLocation(n)
			}
			p.num(n.ID())
		case *metadata.DISubprogram:
			p.num(n.ID())
		case *metadata.Tuple:
			p.num(n.ID())
		default:
			panic("BUG: llir: unknown metadata attachment")
		}
	}
}

// ident writes a global's name, quoted where needed.
func (p *printer) ident(name string) {
	p.str("@")
	for i := range len(name) {
		c := name[i]
		plain := c == '_' || c == '.' || c == '$' || c == '-' ||
			'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9'
		if !plain {
			p.quoted(name)
			return
		}
	}
	p.str(name)
}

func (p *printer) quoted(s string) { p.b = appendQuoted(p.b, s) }

// appendQuoted writes a string literal in LLVM's form: every byte that is not
// plain ASCII, a quote or a backslash is written as \XX.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b = append(b, '\\')
			b = appendHex(b, uint64(c), 2)
		} else {
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func (p *printer) typ(t Type) {
	switch t := t.(type) {
	case *types.IntType:
		p.str("i")
		p.num(int64(t.BitSize))
	case *Ptr:
		p.str("ptr")
		if t.AddrSpace != 0 {
			p.str(" addrspace(")
			p.num(int64(t.AddrSpace))
			p.str(")")
		}
	case *BFloat:
		p.str("bfloat")
	case *types.FloatType:
		switch t.Kind {
		case types.FloatKindHalf:
			p.str("half")
		case types.FloatKindFloat:
			p.str("float")
		default:
			p.str(t.Kind.String())
		}
	case *types.VoidType:
		p.str("void")
	case *types.VectorType:
		p.str("<")
		p.num(int64(t.Len))
		p.str(" x ")
		p.typ(t.ElemType)
		p.str(">")
	case *types.ArrayType:
		p.str("[")
		p.num(int64(t.Len))
		p.str(" x ")
		p.typ(t.ElemType)
		p.str("]")
	case *types.StructType:
		p.str("{ ")
		for i, f := range t.Fields {
			if i > 0 {
				p.str(", ")
			}
			p.typ(f)
		}
		p.str(" }")
	default:
		p.str(t.String())
	}
}

// localID is what every result of an instruction, every parameter and every
// block has.
type localID interface {
	ID() int64
	SetID(int64)
}

func (p *printer) value(v Value) {
	switch c := v.(type) {
	case *Int:
		p.b = c.appendIdent(p.b)
	case *Float:
		p.b = c.appendIdent(p.b)
	case *Literal:
		p.str(c.Text)
	case *Address:
		p.ident(c.Global.GlobalName)
	case *ir.Func:
		p.ident(c.GlobalName)
	case localID:
		p.str("%")
		p.num(c.ID())
	default:
		p.str(v.Ident())
	}
}

// typed writes a type and a value.
func (p *printer) typed(v Value) {
	p.typ(v.Type())
	p.str(" ")
	p.value(v)
}

// number gives parameters, blocks and results their numbers in textual order.
func number(f *ir.Func) {
	id := int64(0)
	for _, p := range f.Params {
		p.SetID(id)
		id++
	}
	for _, b := range f.Blocks {
		b.SetID(id)
		id++
		for _, inst := range b.Insts {
			if v, ok := inst.(Value); ok && v.Type() != Void {
				inst.(localID).SetID(id)
				id++
			}
		}
	}
}

// sweep removes instructions without effect whose result nobody uses. Live ones
// are marked by a non-zero id, found backwards from those that must stay.
func sweep(f *ir.Func) {
	for _, b := range f.Blocks {
		for _, inst := range b.Insts {
			if l, ok := inst.(localID); ok {
				l.SetID(0)
			}
		}
	}
	var work []Value
	mark := func(v Value) {
		inst, ok := v.(ir.Instruction)
		if !ok {
			return
		}
		if l := inst.(localID); l.ID() == 0 {
			l.SetID(1)
			work = append(work, v)
		}
	}
	for _, b := range f.Blocks {
		for _, inst := range b.Insts {
			if !removable(inst) {
				if l, ok := inst.(localID); ok {
					l.SetID(1)
				}
				operands(inst, mark)
			}
		}
		if b.Term != nil {
			operands(b.Term, mark)
		}
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		operands(v, mark)
	}
	for _, b := range f.Blocks {
		kept := b.Insts[:0]
		for _, inst := range b.Insts {
			if l, ok := inst.(localID); !ok || l.ID() != 0 {
				kept = append(kept, inst)
			}
		}
		b.Insts = kept
	}
}

// removable reports whether an unused instruction may go.
func removable(inst ir.Instruction) bool {
	switch i := inst.(type) {
	case *ir.InstStore, *ir.InstFence, *ir.InstAtomicRMW, *ir.InstCmpXchg:
		return false
	case *ir.InstLoad:
		return !i.Volatile && !i.Atomic
	case *ir.InstCall:
		switch c := i.Callee.(type) {
		case *ir.Func:
			return isPure(c)
		case *ir.InlineAsm:
			return !c.SideEffect
		}
		return false
	}
	return true
}

func isPure(f *ir.Func) bool {
	return len(f.FuncAttrs) > 0 && f.FuncAttrs[0] == pureAttr
}
