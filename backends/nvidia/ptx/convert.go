package ptx

import (
	"fmt"
	"math"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// conv makes a function of one of LLVM IR. Values of LLVM IR become lists of
// registers: an aggregate is its parts one after the other, a vector of narrow
// elements is words of 32 bits, and an integer that has no register of its width
// lies in the next wider one, whose other bits are anything.
type conv struct {
	*fn
	b      *block // where instructions go
	loc    llir.Location
	byID   [][]*value
	elems  [][]*value // of vectors, as far as they have been taken apart or are not put together
	blocks map[*ir.Block]*block
	ends   map[*ir.Block]*block // where the code of a block ends, if not where it begins
	halves map[*value][2]*value // of words that were split
	packed map[int64]packed     // vectors that were put together
	// phis that wait for their operands
	phis []*ir.InstPhi
}

// packed is what a vector's registers are in a block.
type packed struct {
	block *block
	parts []*value
}

// unsupported is the panic of what cannot be translated.
type unsupported string

func refuse(format string, args ...any) {
	panic(unsupported(fmt.Sprintf(format, args...)))
}

type localID interface{ ID() int64 }

// convert makes the blocks of a function with a body.
func (m *module) convert(irf *ir.Func) *fn {
	f := &fn{
		mod: m, name: mangle(irf.GlobalName),
		consts: make(map[constKey]*value), syms: make(map[string]*value), align: 1, entry: irf.CallingConv == ptxKernel,
	}
	last := int64(0)
	for _, b := range irf.Blocks {
		last = max(last, b.ID())
		for _, i := range b.Insts {
			if l, ok := i.(localID); ok {
				last = max(last, l.ID())
			}
		}
	}
	c := &conv{
		fn: f, byID: make([][]*value, last+1), elems: make([][]*value, last+1),
		blocks: make(map[*ir.Block]*block), ends: make(map[*ir.Block]*block), halves: make(map[*value][2]*value),
		packed: make(map[int64]packed),
	}
	for _, a := range irf.Metadata {
		if s, ok := a.Node.(*metadata.DISubprogram); ok {
			f.loc = &metadata.DILocation{Line: s.Line, Scope: s}
		}
	}
	entry := f.newBlock()
	c.b = entry
	for i, p := range irf.Params {
		var parts []*value
		if byValue(p) > 0 { // its address is what the function has
			v := c.named("mov.b64", r64)
			v.aux = paramName(f.name, len(f.params))
			f.params = append(f.params, v)
			c.byID[p.ID()] = []*value{c.named("cvta.param.u64", r64, v)}
			continue
		}
		for _, cl := range m.layout(p.Typ) {
			v := f.newValue(opParam, bitsOf(cl), cl)
			v.imm, v.loc = int64(len(f.params)), f.loc
			f.params = append(f.params, v)
			entry.append(v)
			narrow := f.entry && llir.IsInt(p.Typ) && llir.Width(p.Typ) <= 8
			if narrow {
				v.typ = tB8
			}
			if cl == pred { // passed as a number
				v.class = r16
				if !narrow {
					v.class, v.typ = r32, tB32
				}
				v = c.nonZero(c.and(v, c.constant(v.class, 1)))
			}
			parts = append(parts, v)
		}
		c.byID[irf.Params[i].ID()] = parts
	}
	if irf.Sig.RetType != llir.Void {
		f.rets = m.layout(irf.Sig.RetType)
	}
	for i, b := range irf.Blocks {
		if i == 0 {
			c.blocks[b] = entry
		} else {
			c.blocks[b] = f.newBlock()
		}
	}
	for _, b := range irf.Blocks {
		c.b = c.blocks[b]
		for _, inst := range b.Insts {
			c.inst(inst)
		}
		c.terminator(b)
		c.ends[b] = c.b
	}
	for _, p := range c.phis {
		parts := c.byID[p.ID()]
		for _, in := range p.Incs {
			from := c.ends[in.Pred.(*ir.Block)]
			c.b = from
			for i, x := range c.get(in.X) {
				parts[i].args = append(parts[i].args, x)
			}
		}
	}
	// A phi's operands are in the order of LLVM IR, and predecessors take theirs
	// from the first phi: the lists of both agree from here on.
	c.order(irf)
	return f
}

// order makes the lists of predecessors, and puts the operands of phis in their order.
func (c *conv) order(irf *ir.Func) {
	c.fn.setPreds()
	for _, b := range irf.Blocks {
		to := c.blocks[b]
		for _, inst := range b.Insts {
			p, ok := inst.(*ir.InstPhi)
			if !ok {
				break
			}
			for _, v := range c.byID[p.ID()] {
				args := make([]*value, len(to.preds))
				for i, pr := range to.preds {
					for k, in := range p.Incs {
						if c.ends[in.Pred.(*ir.Block)] == pr || c.switchStep(in.Pred.(*ir.Block), pr) {
							args[i] = v.args[k]
							break
						}
					}
					if args[i] == nil {
						refuse("a phi without a value for each of its predecessors")
					}
				}
				v.args = args
			}
		}
	}
}

// switchStep reports whether b is one of the blocks that a switch at the end of
// from was made of.
func (c *conv) switchStep(from *ir.Block, b *block) bool {
	sw, ok := from.Term.(*ir.TermSwitch)
	if !ok || len(sw.Cases) < 2 {
		return false
	}
	for x := c.blocks[from]; x != nil; {
		if x == b {
			return true
		}
		if x == c.ends[from] || len(x.term.to) < 2 {
			return false
		}
		x = x.term.to[1]
	}
	return false
}

// layout is the registers that hold a type.
func (m *module) layout(t llir.Type) []class {
	l, ok := m.layouts[t]
	if !ok {
		l = m.appendLayout(nil, t)
		m.layouts[t] = l
	}
	return l
}

func (m *module) appendLayout(l []class, t llir.Type) []class {
	switch t := t.(type) {
	case *types.IntType:
		if t.BitSize > 64 {
			if t.BitSize > 128 {
				refuse("the type i%d", t.BitSize)
			}
			return append(l, r64, r64)
		}
		return append(l, classOf(int(t.BitSize)))
	case *llir.Ptr:
		return append(l, ptrClass(t))
	case *types.VectorType:
		n, w := int(t.Len), elemWidth(t)
		switch {
		case w >= 32 || w == 1:
			for range n {
				l = m.appendLayout(l, t.ElemType)
			}
			return l
		case w != 8 && w != 16 || n*w > 32 && n*w%32 != 0 || n*w < 32 && n*w&(n*w-1) != 0 || n*w == 24:
			refuse("vectors of type %s", t)
		case n*w <= 16:
			return append(l, r16)
		}
		for range n * w / 32 {
			l = append(l, r32)
		}
		return l
	case *types.StructType:
		for _, f := range t.Fields {
			l = m.appendLayout(l, f)
		}
		return l
	case *types.ArrayType:
		for range t.Len {
			l = m.appendLayout(l, t.ElemType)
		}
		return l
	}
	if llir.IsFloat(t) {
		return append(l, classOf(llir.Width(t)))
	}
	refuse("values of type %s", t)
	return nil
}

func elemWidth(t *types.VectorType) int {
	if llir.IsPtr(t.ElemType) {
		return ptrClass(t.ElemType.(*llir.Ptr)).bits()
	}
	return llir.Width(t.ElemType)
}

// classOf is the class of registers for so many bits, up to 64.
func classOf(bits int) class {
	switch {
	case bits == 1:
		return pred
	case bits <= 16:
		return r16
	case bits <= 32:
		return r32
	}
	return r64
}

// ptrClass is that of an address: those of shared and other small memories have
// 32 bits.
func ptrClass(t *llir.Ptr) class {
	if t.AddrSpace >= 3 && t.AddrSpace <= 7 {
		return r32
	}
	return r64
}

// get is the registers of a value.
func (c *conv) get(v llir.Value) []*value {
	switch k := v.(type) {
	case *llir.Int:
		if k.Typ.BitSize > 64 {
			return []*value{c.constant(r64, int64(k.Bits)), c.constant(r64, 0)}
		}
		if k.Typ.BitSize == 1 {
			return []*value{c.constant(pred, int64(k.Bits))}
		}
		return []*value{c.constant(classOf(int(k.Typ.BitSize)), k.Signed())}
	case *llir.Float:
		return []*value{c.constant(classOf(llir.Width(k.Typ)), int64(k.Bits))}
	case *llir.Literal: // null, poison, undef, zeroinitializer: zeros serve for all
		l := c.mod.layout(k.Typ)
		out := make([]*value, len(l))
		for i, cl := range l {
			out[i] = c.constant(cl, 0)
		}
		return out
	case *llir.Address:
		return []*value{c.symbol(mangle(k.Global.GlobalName), ptrClass(k.Typ))}
	case localID:
		id := k.ID()
		if c.byID[id] == nil && c.elems[id] != nil {
			// Another block may not follow the one that put it together.
			p := c.packed[id]
			if p.block != c.b {
				p = packed{c.b, c.pack(v.Type().(*types.VectorType), c.elems[id])}
				c.packed[id] = p
			}
			return p.parts
		}
		if c.byID[id] == nil {
			panic("BUG: ptx: no registers for " + v.String())
		}
		return c.byID[id]
	}
	refuse("the operand %s", v)
	return nil
}

// get1 is the only register of a value.
func (c *conv) get1(v llir.Value) *value {
	l := c.get(v)
	if len(l) != 1 {
		panic("BUG: ptx: several registers hold " + v.String())
	}
	return l[0]
}

func (c *conv) set(inst any, parts ...*value) { c.byID[inst.(localID).ID()] = parts }

// emit appends an instruction, or returns what it amounts to.
func (c *conv) emit(o op, t typ, cl class, args ...*value) *value {
	return c.put(c.newValue(o, t, cl, args...))
}

func (c *conv) put(v *value) *value {
	if s := c.simplify(v); s != nil {
		return s
	}
	v.loc = c.loc
	return c.b.append(v)
}

// effect appends an instruction by name that must stay where it is.
func (c *conv) effect(text string, cl class, args ...*value) *value {
	v := c.newValue(opInst, tNone, cl, args...)
	v.text = text
	v.loc = c.loc
	return c.b.append(v)
}

// named appends an instruction by name that computes its result of its operands alone.
func (c *conv) named(text string, cl class, args ...*value) *value {
	v := c.newValue(opInst, tNone, cl, args...)
	v.text, v.loc, v.flags = text, c.loc, pure
	return c.b.append(v)
}

// proj is one of the results of v.
func (c *conv) proj(v *value, i int, cl class) *value {
	p := c.newValue(opProj, tNone, cl, v)
	p.imm, p.loc = int64(i), v.loc
	return c.b.append(p)
}

func (c *conv) setLoc(md ir.Metadata) {
	for _, a := range md {
		if l, ok := a.Node.(*metadata.DILocation); ok {
			c.loc = l
			return
		}
	}
}

func (c *conv) inst(inst ir.Instruction) {
	c.mod.meter.Visit()
	if c.arithmetic(inst) || c.conversion(inst) || c.memory(inst) {
		return
	}
	switch i := inst.(type) {
	case *ir.InstPhi:
		l := c.mod.layout(i.Typ)
		parts := make([]*value, len(l))
		for k, cl := range l {
			parts[k] = c.newValue(opPhi, bitsOf(cl), cl)
			parts[k].block = c.b
			c.b.phis = append(c.b.phis, parts[k])
		}
		c.set(i, parts...)
		c.phis = append(c.phis, i)
	case *ir.InstICmp:
		c.setLoc(i.Metadata)
		c.icmp(i)
	case *ir.InstFCmp:
		c.setLoc(i.Metadata)
		c.fcmp(i)
	case *ir.InstSelect:
		c.setLoc(i.Metadata)
		conds, x, y := c.get(i.Cond), c.get(i.ValueTrue), c.get(i.ValueFalse)
		if len(conds) > 1 {
			vt := i.Typ.(*types.VectorType)
			c.elementwise(i, vt, func(args []*value) *value { return c.chooseOf(vt.ElemType, args[0], args[1], args[2]) }, i.Cond, i.ValueTrue, i.ValueFalse)
			return
		}
		parts := make([]*value, len(x))
		for k := range parts {
			parts[k] = c.chooseOf(i.Typ, conds[0], x[k], y[k])
		}
		c.set(i, parts...)
	case *ir.InstFreeze:
		c.set(i, c.get(i.X)...)
	case *ir.InstExtractValue:
		at, t := c.field(i.X.Type(), i.Indices)
		c.set(i, c.get(i.X)[at:at+len(c.mod.layout(t))]...)
	case *ir.InstInsertValue:
		at, t := c.field(i.X.Type(), i.Indices)
		parts := append([]*value(nil), c.get(i.X)...)
		copy(parts[at:at+len(c.mod.layout(t))], c.get(i.Elem))
		c.set(i, parts...)
	case *ir.InstExtractElement:
		c.setLoc(i.Metadata)
		n, ok := i.Index.(*llir.Int)
		if !ok {
			refuse("an element of a vector by a number that is not constant")
		}
		c.set(i, c.elem(i.X, int(n.Bits))...)
	case *ir.InstInsertElement:
		n, ok := i.Index.(*llir.Int)
		if !ok {
			refuse("an element of a vector by a number that is not constant")
		}
		t := i.X.Type().(*types.VectorType)
		per := max(1, len(c.mod.layout(t.ElemType)))
		elems := make([]*value, int(t.Len)*per)
		c.copyElems(elems, i.X)
		copy(elems[int(n.Bits)*per:], c.get(i.Elem))
		c.elems[i.ID()] = elems
	case *ir.InstCall:
		c.setLoc(i.Metadata)
		c.call(i)
	default:
		refuse("the instruction %T", inst)
	}
}

// field is where a field's registers begin among those of an aggregate, and its type.
func (c *conv) field(t llir.Type, indices []uint64) (int, llir.Type) {
	at := 0
	for _, n := range indices {
		switch s := t.(type) {
		case *types.StructType:
			for _, f := range s.Fields[:n] {
				at += len(c.mod.layout(f))
			}
			t = s.Fields[n]
		case *types.ArrayType:
			at += int(n) * len(c.mod.layout(s.ElemType))
			t = s.ElemType
		}
	}
	return at, t
}

// choose is x where cond holds, else y.
func (c *conv) choose(cond, x, y *value) *value {
	if x == y {
		return x
	}
	if isBit(x) && isBit(y) && x.args[0].class == y.args[0].class {
		n := c.choose(cond, x.args[0].args[0], y.args[0].args[0])
		return c.nonZero(c.and(n, c.constant(n.class, 1)))
	}
	if x.class == pred {
		return c.or(c.and(cond, x), c.and(c.not(cond), y))
	}
	return c.emit(opSelp, bitsOf(x.class), x.class, x, y, cond)
}

// chooseOf is choose for values of a type. Of a number ptxas negates an operand on the way,
// and of bits it does not.
func (c *conv) chooseOf(t llir.Type, cond, x, y *value) *value {
	if x == y || !llir.IsFloat(t) {
		return c.choose(cond, x, y)
	}
	if o := extremeOf(t, cond, x, y); o != opConst {
		return c.emit(o, floatType(t), x.class, x, y)
	}
	if t != llir.F32 && t != llir.F64 {
		return c.choose(cond, x, y)
	}
	return c.emit(opSelp, floatType(t), x.class, x, y, cond)
}

// extremeOf is opMax or opMin where a choice between x and a constant y is that, as
// x > 0 ? x : 0 is, else opConst. Of a NaN max and min make the constant, as the comparison
// does, which is false. Of zeros, which compare equal, they take -0 for the lesser.
func extremeOf(t llir.Type, cond, x, y *value) op {
	if cond.op != opSetp || cond.typ != floatType(t) || cond.args[0] != x || !y.isConst() || !cond.args[1].isConst() || cond.args[1].imm != y.imm {
		return opConst
	}
	n := (&llir.Float{Typ: t, Bits: uint64(y.imm) & (^uint64(0) >> (64 - y.class.bits()))}).Value()
	switch {
	case math.IsNaN(n):
	case cond.cmp == cmpGT && (n != 0 || !math.Signbit(n)):
		return opMax
	case cond.cmp == cmpLT && (n != 0 || math.Signbit(n)):
		return opMin
	}
	return opConst
}

func (c *conv) terminator(b *ir.Block) {
	switch t := b.Term.(type) {
	case *ir.TermRet:
		c.setLoc(t.Metadata)
		var args []*value
		if t.X != nil {
			for _, v := range c.get(t.X) {
				if v.class == pred {
					v = c.bit(v, r32)
				}
				args = append(args, v)
			}
		}
		c.b.term = terminator{ret: true, args: args, loc: c.loc}
	case *ir.TermBr:
		c.setLoc(t.Metadata)
		c.b.term = terminator{to: []*block{c.blocks[t.Target.(*ir.Block)]}, loc: c.loc, noLICM: keepsCode(t.Metadata)}
	case *ir.TermCondBr:
		c.setLoc(t.Metadata)
		yes, no := c.blocks[t.TargetTrue.(*ir.Block)], c.blocks[t.TargetFalse.(*ir.Block)]
		cond := c.get1(t.Cond)
		switch {
		case yes == no:
			c.b.term = terminator{to: []*block{yes}, loc: c.loc}
		default:
			c.b.term = terminator{cond: cond, to: []*block{yes, no}, loc: c.loc, noLICM: keepsCode(t.Metadata)}
		}
	case *ir.TermSwitch:
		c.setLoc(t.Metadata)
		c.switchOn(t)
	case *ir.TermUnreachable:
		c.b.term = terminator{ret: true, loc: c.loc, args: nil}
	default:
		refuse("the terminator %T", b.Term)
	}
}

// keepsCode reports whether a branch closes a loop that nothing is to be moved out of.
func keepsCode(md ir.Metadata) bool {
	for _, a := range md {
		loop, ok := a.Node.(*metadata.Tuple)
		if !ok || a.Name != "llvm.loop" {
			continue
		}
		for _, f := range loop.Fields {
			if t, ok := f.(*metadata.Tuple); ok && len(t.Fields) > 0 {
				if s, ok := t.Fields[0].(*metadata.String); ok && s.Value == "llvm.licm.disable" {
					return true
				}
			}
		}
	}
	return false
}

// switchOn compares with one case after the other.
func (c *conv) switchOn(t *ir.TermSwitch) {
	x := c.zx(c.get1(t.X), llir.Width(t.X.Type()))
	for i, k := range t.Cases {
		n := k.X.(*llir.Int)
		eq := c.setp(cmpEQ, bitsOf(x.class), x, c.constant(x.class, int64(n.Bits)))
		to := []*block{c.blocks[k.Target.(*ir.Block)], nil}
		if i == len(t.Cases)-1 {
			to[1] = c.blocks[t.TargetDefault.(*ir.Block)]
		} else {
			to[1] = c.fn.newBlockAfter(c.b)
		}
		if to[0] == to[1] {
			to = to[:1]
			eq = nil
		}
		c.b.term = terminator{cond: eq, to: to, loc: c.loc}
		if i < len(t.Cases)-1 {
			c.b = to[1]
		}
	}
	if len(t.Cases) == 0 {
		c.b.term = terminator{to: []*block{c.blocks[t.TargetDefault.(*ir.Block)]}, loc: c.loc}
	}
}

var icmps = map[enum.IPred]struct {
	cmp    cmp
	signed bool
}{
	enum.IPredEQ: {cmpEQ, false}, enum.IPredNE: {cmpNE, false},
	enum.IPredSLT: {cmpLT, true}, enum.IPredSLE: {cmpLE, true}, enum.IPredSGT: {cmpGT, true}, enum.IPredSGE: {cmpGE, true},
	enum.IPredULT: {cmpLT, false}, enum.IPredULE: {cmpLE, false}, enum.IPredUGT: {cmpGT, false}, enum.IPredUGE: {cmpGE, false},
}

func (c *conv) setp(k cmp, t typ, x, y *value) *value {
	v := c.newValue(opSetp, t, pred, x, y)
	v.cmp = k
	return c.put(v)
}

// nonZero reports whether v is not zero.
func (c *conv) nonZero(v *value) *value {
	return c.setp(cmpNE, bitsOf(v.class), v, c.constant(v.class, 0))
}

func (c *conv) icmp(i *ir.InstICmp) {
	if _, ok := i.Typ.(*types.VectorType); ok {
		w := elemWidth(i.X.Type().(*types.VectorType))
		c.elementwise(i, i.Typ, func(args []*value) *value { return c.compare(i.Pred, w, args[0], args[1]) }, i.X, i.Y)
		return
	}
	x, y := c.get(i.X), c.get(i.Y)
	if len(x) == 2 {
		c.set(i, c.compareWide(i.Pred, llir.Width(i.X.Type()), x, y))
		return
	}
	w := llir.Width(i.X.Type())
	if w == 0 {
		w = x[0].class.bits()
	}
	c.set(i, c.compare(i.Pred, w, x[0], y[0]))
}

// compare compares integers of w bits.
func (c *conv) compare(p enum.IPred, w int, x, y *value) *value {
	k := icmps[p]
	if x.class == pred {
		switch p {
		case enum.IPredEQ:
			return c.not(c.xor(x, y))
		case enum.IPredNE:
			return c.xor(x, y)
		case enum.IPredULT, enum.IPredSGT:
			return c.and(c.not(x), y)
		case enum.IPredUGT, enum.IPredSLT:
			return c.and(x, c.not(y))
		case enum.IPredULE, enum.IPredSGE:
			return c.or(c.not(x), y)
		}
		return c.or(x, c.not(y))
	}
	t := unsignedOf(x.class)
	switch {
	case k.signed:
		t, x, y = signedOf(x.class), c.sx(x, w), c.sx(y, w)
	default:
		x, y = c.zx(x, w), c.zx(y, w)
		if k.cmp == cmpEQ || k.cmp == cmpNE {
			t = bitsOf(x.class)
		}
	}
	return c.setp(k.cmp, t, x, y)
}

// compareWide compares integers of 65 to 128 bits: the high words, and where they
// are equal the low ones.
func (c *conv) compareWide(p enum.IPred, w int, x, y []*value) *value {
	k := icmps[p]
	x, y = c.zxWide(x, w, k.signed), c.zxWide(y, w, k.signed)
	eq := c.setp(cmpEQ, tB64, x[1], y[1])
	lowEq := c.setp(cmpEQ, tB64, x[0], y[0])
	switch k.cmp {
	case cmpEQ:
		return c.and(eq, lowEq)
	case cmpNE:
		return c.not(c.and(eq, lowEq))
	}
	t := tU64
	if k.signed {
		t = tS64
	}
	strict := k.cmp
	switch strict {
	case cmpLE:
		strict = cmpLT
	case cmpGE:
		strict = cmpGT
	}
	high, low := c.setp(strict, t, x[1], y[1]), c.setp(k.cmp, tU64, x[0], y[0])
	return c.or(high, c.and(eq, low))
}

var fcmps = map[enum.FPred]cmp{
	enum.FPredOEQ: cmpEQ, enum.FPredONE: cmpNE, enum.FPredOLT: cmpLT, enum.FPredOLE: cmpLE, enum.FPredOGT: cmpGT, enum.FPredOGE: cmpGE,
	enum.FPredUEQ: cmpEQU, enum.FPredUNE: cmpNEU, enum.FPredULT: cmpLTU, enum.FPredULE: cmpLEU, enum.FPredUGT: cmpGTU, enum.FPredUGE: cmpGEU,
	enum.FPredORD: cmpNum, enum.FPredUNO: cmpNaN,
}

func (c *conv) fcmp(i *ir.InstFCmp) {
	t := i.X.Type()
	vec, isVec := t.(*types.VectorType)
	if isVec {
		t = vec.ElemType
	}
	one := func(args []*value) *value {
		switch i.Pred {
		case enum.FPredTrue:
			return c.constant(pred, 1)
		case enum.FPredFalse:
			return c.constant(pred, 0)
		}
		x, y, ft := args[0], args[1], floatType(t)
		if ft == tBF16 && c.mod.opts.CC < 90 {
			x, y, ft = c.widen(x), c.widen(y), tF32
		}
		return c.setp(fcmps[i.Pred], ft, x, y)
	}
	if isVec {
		c.elementwise(i, i.Typ, one, i.X, i.Y)
		return
	}
	c.set(i, one([]*value{c.get1(i.X), c.get1(i.Y)}))
}

func floatType(t llir.Type) typ {
	switch t {
	case llir.Half:
		return tF16
	case llir.BF16:
		return tBF16
	case llir.F32:
		return tF32
	}
	return tF64
}
