package ptx

import (
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// Memories, by LLVM's numbers of address spaces.
const (
	spaceGeneric = 0
	spaceGlobal  = 1
	spaceShared  = 3
	spaceConst   = 4
	spaceLocal   = 5
	spaceParam   = 101 // parameters of kernels
)

var spaceNames = map[int]string{
	spaceGlobal: "global", spaceShared: "shared", spaceConst: "const", spaceLocal: "local", 7: "shared::cluster", spaceParam: "param",
}

// access is what a load or store is beside its operands.
type access struct {
	space    int
	typ      typ // of a word
	words    int // of them
	volatile bool
}

// memory converts loads, stores and atomic operations.
func (c *conv) memory(inst ir.Instruction) bool {
	switch i := inst.(type) {
	case *ir.InstLoad:
		c.setLoc(i.Metadata)
		c.load(i)
	case *ir.InstStore:
		c.setLoc(i.Metadata)
		c.store(i)
	case *ir.InstAtomicRMW:
		c.setLoc(i.Metadata)
		c.atomic(i)
	case *ir.InstCmpXchg:
		c.setLoc(i.Metadata)
		c.exchange(i)
	case *ir.InstFence:
		c.setLoc(i.Metadata)
		name := "fence.acq_rel."
		if i.Ordering == enum.AtomicOrderingSequentiallyConsistent {
			name = "fence.sc."
		}
		c.effect(name+scopeOf(i.SyncScope), none)
	default:
		t, align, ok := llir.AllocaOf(inst)
		if !ok {
			return false
		}
		n := int(sizeOf(t))
		if align == 0 {
			align = min(16, n)
		}
		c.fn.local = (c.fn.local + align - 1) / align * align
		c.set(inst, c.add(c.frame(true), c.constant(r64, int64(c.fn.local))))
		c.fn.local += n
		c.fn.align = max(c.fn.align, align)
	}
	return true
}

// frame is the address of local memory: in it, or among all memories.
func (c *conv) frame(generic bool) *value {
	v := c.newValue(opFrame, tB64, r64)
	v.imm = truth(generic)
	return c.put(v)
}

// pieces cuts an access to memory: the registers that hold the type are those of
// some accesses, each of words of one size.
type piece struct {
	first, words int // registers
	offset       int64
	bits         int // of a word
}

// cut divides the registers of a type among accesses as wide as the alignment allows.
func (c *conv) cut(t llir.Type, align int64) []piece {
	size := sizeOf(t)
	if align == 0 {
		align = min(size&-size, 16)
	}
	l := c.mod.layout(t)
	width := int(size) * 8 / len(l)
	if st, ok := t.(*types.StructType); ok && len(l) > 1 {
		refuse("an access to memory of type %s", st)
	}
	if width < 8 || int64(width/8) > align && width > 8 {
		if int64(width/8) > align {
			return c.misaligned(l, width, align)
		}
	}
	var out []piece
	for k := 0; k < len(l); {
		n := 1
		for n < 4 && 2*n*width <= 128 && k+2*n <= len(l) && int64(2*n*width/8) <= align && (k*width/8)%(2*n*width/8) == 0 {
			n *= 2
		}
		out = append(out, piece{first: k, words: n, offset: int64(k * width / 8), bits: width})
		k += n
	}
	return out
}

// misaligned is for words that do not lie at a multiple of their size: it is left to
// the callers, which take them apart.
func (c *conv) misaligned(l []class, width int, align int64) []piece {
	var out []piece
	for k := range l {
		out = append(out, piece{first: k, words: 0, offset: int64(k * width / 8), bits: int(align) * 8})
	}
	return out
}

func bitsType(bits int) typ {
	switch bits {
	case 8:
		return tB8
	case 16:
		return tB16
	case 32:
		return tB32
	}
	return tB64
}

func (c *conv) load(i *ir.InstLoad) {
	space := i.Src.Type().(*llir.Ptr).AddrSpace
	base, off := splitAddress(c.get1(i.Src))
	if base.op == opFrame {
		base, space = c.frame(false), spaceLocal
	}
	l := c.mod.layout(i.ElemType)
	parts := make([]*value, len(l))
	one := func(at int64, bits, words int) *value {
		v := c.newValue(opLd, bitsType(bits), none, base)
		v.imm, v.loc = off+at, c.loc
		v.aux = &access{space: space, typ: v.typ, words: words, volatile: i.Volatile}
		if i.Volatile {
			v.flags = 0
		}
		if words == 1 {
			v.class = classOf(max(bits, 16))
		}
		if i.ElemType == llir.F32 {
			v.typ = tF32
		}
		if bits == 8 { // bytes of words are what conversions and packing meet
			v.class = r32
			return c.cvt(c.b.append(v), tU32, tU16)
		}
		return c.b.append(v)
	}
	for _, p := range c.cut(i.ElemType, int64(i.Align)) {
		cl := l[p.first]
		if p.words == 0 { // together from smaller ones
			var sum *value
			for k := 0; k < cl.bits(); k += p.bits {
				x := c.integerTo(one(p.offset+int64(k/8), p.bits, 1), max(p.bits, 16), cl.bits(), false)[0]
				if p.bits < 16 {
					x = c.zx(x, 8)
				}
				if k > 0 {
					x = c.emit(opShl, bitsOf(cl), cl, x, c.constant(r32, int64(k)))
					x = c.or(sum, x)
				}
				sum = x
			}
			parts[p.first] = sum
			continue
		}
		v := one(p.offset, p.bits, p.words)
		if p.words == 1 {
			if cl == pred {
				v = c.nonZero(c.and(v, c.constant(r16, 1)))
			}
			parts[p.first] = v
			continue
		}
		for k := range p.words {
			parts[p.first+k] = c.proj(v, k, cl)
		}
	}
	c.set(i, parts...)
}

func (c *conv) store(i *ir.InstStore) {
	space := i.Dst.Type().(*llir.Ptr).AddrSpace
	base, off := splitAddress(c.get1(i.Dst))
	if base.op == opFrame {
		base, space = c.frame(false), spaceLocal
	}
	parts := c.get(i.Src)
	one := func(at int64, bits int, words ...*value) {
		v := c.newValue(opSt, bitsType(bits), none, append([]*value{base}, words...)...)
		v.imm, v.loc = off+at, c.loc
		v.aux = &access{space: space, typ: v.typ, words: len(words), volatile: i.Volatile}
		c.b.append(v)
	}
	for _, p := range c.cut(i.Src.Type(), int64(i.Align)) {
		x := parts[p.first]
		if p.words == 0 {
			for k := 0; k < x.class.bits(); k += p.bits {
				part := c.emit(opShr, unsignedOf(x.class), x.class, x, c.constant(r32, int64(k)))
				one(p.offset+int64(k/8), p.bits, c.integerTo(part, x.class.bits(), max(p.bits, 16), false)[0])
			}
			continue
		}
		words := append([]*value(nil), parts[p.first:p.first+p.words]...)
		for k, w := range words {
			if w.class == pred {
				words[k] = c.bit(w, r16)
			} else if w := llir.Width(i.Src.Type()); llir.IsInt(i.Src.Type()) && w < p.bits {
				words[k] = c.zx(words[k], w)
			}
		}
		one(p.offset, p.bits, words...)
	}
}

// splitAddress takes a constant off an address.
func splitAddress(v *value) (*value, int64) {
	off := int64(0)
	for v.op == opAdd && v.args[1].isConst() && !v.typ.isFloat() && fits(off+v.args[1].imm) {
		off += v.args[1].imm
		v = v.args[0]
	}
	return v, off
}

// fits reports whether an instruction can add n to an address.
func fits(n int64) bool { return n >= -(1<<31) && n < 1<<31 }

func scopeOf(name string) string {
	switch name {
	case "":
		return "sys"
	case "block", "workgroup":
		return "cta"
	case "device", "agent":
		return "gpu"
	case "cluster":
		return "cluster"
	}
	refuse("the synchronization scope %q", name)
	return ""
}

var orders = map[enum.AtomicOrdering]string{
	enum.AtomicOrderingMonotonic: "relaxed", enum.AtomicOrderingAcquire: "acquire", enum.AtomicOrderingRelease: "release",
	enum.AtomicOrderingAcquireRelease: "acq_rel", enum.AtomicOrderingUnordered: "relaxed",
}

func (c *conv) orderOf(o enum.AtomicOrdering, scope string) string {
	name, ok := orders[o]
	if !ok { // the strongest order is that of a fence before
		c.effect("fence.sc."+scope, none)
		name = "acq_rel"
	}
	return name
}

func (c *conv) atomic(i *ir.InstAtomicRMW) {
	scope := scopeOf(i.SyncScope)
	x := c.get1(i.X)
	t, w := i.X.Type(), x.class.bits()
	name, suffix := llir.AtomicName(i.Op), "b"
	switch name {
	case "add":
		suffix = "u"
	case "sub":
		name, suffix, x = "add", "u", c.emit(opNeg, signedOf(x.class), x.class, x)
	case "xchg":
		name = "exch"
	case "max", "min":
		suffix = "s"
	case "umax", "umin":
		name, suffix = name[1:], "u"
	case "fadd":
		if w == 16 || w == 64 && c.mod.opts.CC < 60 {
			c.set(i, c.atomicLoop(i, t, scope, x))
			return
		}
		name, suffix = "add", "f"
	case "and", "or", "xor":
	default:
		c.set(i, c.atomicLoop(i, t, scope, x))
		return
	}
	if w < 32 {
		c.set(i, c.atomicLoop(i, t, scope, c.get1(i.X)))
		return
	}
	order := c.orderOf(i.Ordering, scope)
	if order == "relaxed" && (scope == "gpu" || i.Dst.Type().(*llir.Ptr).AddrSpace == spaceShared) {
		order, scope = "", "" // which is what an instruction does that does not say
	}
	c.set(i, c.atom(name+"."+suffix+itoa(w), i.Dst, order, scope, x))
}

// atomicLoop exchanges until nobody came between: what no instruction does at once.
// Elements of 16 and 8 bits are exchanged with the rest of their word.
func (c *conv) atomicLoop(i *ir.InstAtomicRMW, t llir.Type, scope string, x *value) *value {
	order := c.orderOf(i.Ordering, scope)
	space := i.Dst.Type().(*llir.Ptr).AddrSpace
	w := llir.Width(t)
	p := c.get1(i.Dst)
	cl := x.class
	var shift, mask *value
	if w < 32 {
		low := p
		if p.class == r64 {
			low = c.cvt(p, tU64, tU32)
		}
		cl = r32
		shift = c.emit(opShl, tB32, r32, c.and(low, c.constant(r32, 3)), c.constant(r32, 3))
		mask = c.not(c.emit(opShl, tB32, r32, c.constant(r32, 1<<w-1), shift))
		p = c.and(p, c.constant(p.class, -4))
	}
	before := c.b
	first := c.newValue(opLd, bitsOf(cl), cl, p)
	first.aux, first.loc = &access{space: space, typ: first.typ, words: 1}, c.loc
	c.b.append(first)
	again, after := c.fn.newBlockAfter(before), (*block)(nil)
	after = c.fn.newBlockAfter(again)
	before.term = terminator{to: []*block{again}, loc: c.loc}
	old := c.newValue(opPhi, bitsOf(cl), cl, first)
	old.block = again
	again.phis = append(again.phis, old)
	c.b = again
	elem := old
	if w < 32 {
		elem = c.cvt(c.emit(opShr, tU32, r32, old, shift), tU32, tU16)
	}
	next := c.combine(llir.AtomicName(i.Op), t, elem, x)
	if w < 32 {
		wide := c.emit(opShl, tB32, r32, c.cvt(c.zx(next, w), tU16, tU32), shift)
		next = c.or(c.and(old, mask), wide)
	}
	v := c.newValue(opAtom, tNone, cl, p, old, next)
	v.text = strings.Join(nonEmpty("atom", order, scope, spaceNames[space], "cas.b"+itoa(cl.bits())), ".")
	v.loc = c.loc
	c.b.append(v)
	old.args = append(old.args, v)
	other := c.setp(cmpNE, bitsOf(cl), v, old)
	again.term = terminator{cond: other, to: []*block{again, after}, loc: c.loc}
	c.b = after
	return elem
}

// combine is what an atomic operation makes of the old value and its operand.
func (c *conv) combine(name string, t llir.Type, old, x *value) *value {
	w := llir.Width(t)
	switch name {
	case "xchg":
		return x
	case "add":
		return c.integer(opAdd, 0, w, old, x)
	case "sub":
		return c.integer(opSub, 0, w, old, x)
	case "and":
		return c.and(old, x)
	case "or":
		return c.or(old, x)
	case "xor":
		return c.xor(old, x)
	case "max", "min", "umax", "umin":
		return c.bits(map[string]string{"max": "smax", "min": "smin", "umax": "umax", "umin": "umin"}[name], w, []*value{old, x})
	case "fadd":
		return c.floating(opAdd, floatType(t), old, x)
	case "fsub":
		return c.floating(opSub, floatType(t), old, x)
	case "fmax":
		return c.math("maxnum", floatType(t), []*value{old, x})
	case "fmin":
		return c.math("minnum", floatType(t), []*value{old, x})
	}
	refuse("the atomic operation %s", name)
	return nil
}

// atom is an atomic instruction.
func (c *conv) atom(name string, p llir.Value, order, scope string, args ...*value) *value {
	space := spaceNames[p.Type().(*llir.Ptr).AddrSpace]
	base, off := splitAddress(c.get1(p))
	v := c.newValue(opAtom, tNone, args[0].class, append([]*value{base}, args...)...)
	switch { // constants are written as the type has them
	case strings.HasSuffix(name, ".f32"):
		v.typ = tF32
	case strings.HasSuffix(name, ".f64"):
		v.typ = tF64
	}
	v.text = strings.Join(nonEmpty("atom", order, scope, space, name), ".")
	v.imm, v.loc = off, c.loc
	return c.b.append(v)
}

func nonEmpty(words ...string) []string {
	out := words[:0]
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

func (c *conv) exchange(i *ir.InstCmpXchg) {
	scope := scopeOf(i.SyncScope)
	want, x := c.get1(i.Cmp), c.get1(i.New)
	w := x.class.bits()
	if n := llir.Width(i.New.Type()); n < 16 && llir.IsInt(i.New.Type()) {
		refuse("an atomic compare and exchange of i%d", n)
	}
	old := c.atom("cas.b"+itoa(w), i.Ptr, c.orderOf(i.SuccessOrdering, scope), scope, want, x)
	c.set(i, old, c.setp(cmpEQ, bitsOf(x.class), old, want))
}
