package ptx

import (
	"slices"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/slab"
)

// class is a class of virtual registers. Registers have no type in PTX but for
// their width: instructions say what they make of the bits.
type class uint8

const (
	none class = iota // no result
	pred
	r16
	r32
	r64
)

var classInfo = [...]struct {
	prefix, reg string // of a register's name, and in .reg
	bits        int
	move        string
}{
	none: {},
	pred: {"%p", ".pred", 1, "mov.pred"},
	r16:  {"%rs", ".b16", 16, "mov.b16"},
	r32:  {"%r", ".b32", 32, "mov.b32"},
	r64:  {"%rd", ".b64", 64, "mov.b64"},
}

func (c class) bits() int { return classInfo[c].bits }

// typ is the type that an instruction gives its operands.
type typ uint8

const (
	tNone typ = iota
	tPred
	tB8
	tB16
	tB32
	tB64
	tS8
	tS16
	tS32
	tS64
	tU8
	tU16
	tU32
	tU64
	tF16
	tBF16
	tF16x2
	tBF16x2
	tF32
	tF64
)

var typNames = [...]string{
	"", "pred", "b8", "b16", "b32", "b64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64",
	"f16", "bf16", "f16x2", "bf16x2", "f32", "f64",
}

func (t typ) String() string { return typNames[t] }

func (t typ) isFloat() bool { return t >= tF16 }

func (t typ) signed() bool { return t >= tS8 && t <= tS64 }

// bits, signed and unsigned integers of a class.
func bitsOf(c class) typ     { return [...]typ{tNone, tPred, tB16, tB32, tB64}[c] }
func signedOf(c class) typ   { return [...]typ{tNone, tNone, tS16, tS32, tS64}[c] }
func unsignedOf(c class) typ { return [...]typ{tNone, tNone, tU16, tU32, tU64}[c] }

// value is an instruction, and its result where it has one. A function is in SSA
// form until registers are chosen.
type value struct {
	op    op
	class class // of the result
	typ   typ   // of the operands
	from  typ   // of what a conversion converts
	cmp   cmp   // of a comparison
	flags flags
	id    int32
	uses  int32
	imm   int64  // bits of a constant, offset of an address, number of a result
	text  string // the instruction's name, where op has none; assembly
	args  []*value
	block *block
	aux   any
	loc   llir.Location

	pos int32 // in the block, when registers are chosen
	reg int32
}

type flags uint8

const (
	// disjoint: an or whose operands have no bit in common, so it is a sum; a sum with a
	// constant of which that is known.
	disjoint flags = 1 << iota
	// pure: the result depends on the operands alone.
	pure
	// reads: it reads memory and has no other effect.
	reads
	// contract: a product that a sum may fuse with.
	contract
)

// isConst reports whether v is a constant, and which.
func (v *value) isConst() bool { return v.op == opConst }

// fn is a function.
type fn struct {
	mod    *module
	name   string
	blocks []*block
	params []*value
	lastID int32
	consts map[constKey]*value
	syms   map[string]*value
	local  int // bytes of local memory
	align  int // of it
	loc    llir.Location
	entry  bool // a kernel, which others do not call
	// rets are the classes of the results.
	rets []class

	regs [5]int32 // registers of each class, when they have been chosen
	// projections are the results of instructions with several, for printing.
	projections map[*value][]*value

	slab slab.Of[value]
}

type constKey struct {
	class class
	bits  uint64
}

// block is a basic block.
type block struct {
	id    int
	phis  []*value
	insts []*value
	term  terminator
	preds []*block

	// Of the dominator tree and the loops; see flow.go.
	idom  *block
	order int // in reverse postorder
	depth int // in the dominator tree
	// first counts the blocks of that tree from 1, each before its children; the next
	// dominated blocks, itself among them, are those that it dominates.
	first, dominated int
	loop             *loop
	last             *loop // that the block was added to
}

// terminator ends a block: a branch by cond where there are two targets, a
// return of args, or the end of the program.
type terminator struct {
	cond *value
	not  bool
	to   []*block
	ret  bool
	args []*value
	// noLICM: the loop that the branch closes is to keep its code.
	noLICM bool
	loc    llir.Location
}

// newValue makes an instruction that is in no block yet.
func (f *fn) newValue(o op, t typ, c class, args ...*value) *value {
	f.lastID++
	v := f.slab.One()
	v.op, v.typ, v.class, v.args, v.id, v.flags = o, t, c, args, f.lastID, opTable[o].flags
	return v
}

// constant returns the constant of a class with these bits.
func (f *fn) constant(c class, bits int64) *value {
	b := uint64(bits)
	if n := c.bits(); n < 64 {
		b &= 1<<n - 1
	}
	k := constKey{c, b}
	if v, ok := f.consts[k]; ok {
		return v
	}
	v := f.newValue(opConst, bitsOf(c), c)
	v.imm = signExtend(int64(b), c.bits())
	f.consts[k] = v
	return v
}

func signExtend(v int64, bits int) int64 {
	s := 64 - bits
	return v << s >> s
}

// symbol returns the address of a variable.
func (f *fn) symbol(name string, c class) *value {
	if v, ok := f.syms[name]; ok {
		return v
	}
	v := f.newValue(opSym, bitsOf(c), c)
	v.text = name
	f.syms[name] = v
	return v
}

// rooted reports whether v belongs to no block: constants and addresses of
// variables, which every block may name.
func (v *value) rooted() bool { return v.op == opConst || v.op == opSym }

func (f *fn) newBlock() *block {
	b := &block{id: len(f.blocks)}
	f.blocks = append(f.blocks, b)
	return b
}

// newBlockAfter makes a block that follows another in the text.
func (f *fn) newBlockAfter(b *block) *block {
	n := &block{}
	for i, x := range f.blocks {
		if x == b {
			f.blocks = append(f.blocks[:i+1:i+1], append([]*block{n}, f.blocks[i+1:]...)...)
		}
	}
	for i, x := range f.blocks {
		x.id = i
	}
	return n
}

// eachArg calls do for every operand of every instruction, phi and terminator.
func (f *fn) eachArg(do func(**value)) {
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i := range p.args {
				do(&p.args[i])
			}
		}
		for _, v := range b.insts {
			for i := range v.args {
				do(&v.args[i])
			}
		}
		b.term.each(do)
	}
}

func (t *terminator) each(do func(**value)) {
	if t.cond != nil {
		do(&t.cond)
	}
	for i := range t.args {
		do(&t.args[i])
	}
}

// countUses sets uses of every value.
func (f *fn) countUses() {
	for _, b := range f.blocks {
		for _, v := range b.phis {
			v.uses = 0
		}
		for _, v := range b.insts {
			v.uses = 0
		}
	}
	for _, v := range f.consts {
		v.uses = 0
	}
	for _, v := range f.syms {
		v.uses = 0
	}
	for _, v := range f.params {
		v.uses = 0
	}
	f.eachArg(func(a **value) { (*a).uses++ })
}

// replaceAll puts other values in the place of some, by their ids.
func (f *fn) replaceAll(by map[*value]*value) {
	if len(by) == 0 {
		return
	}
	replaced := make([]bool, f.lastID+1) // by ids: most operands are none of them
	for v := range by {
		replaced[v.id] = true
	}
	f.eachArg(func(a **value) {
		for replaced[(*a).id] {
			*a = by[*a]
		}
	})
}

// insertBefore puts v before the instruction at index i.
func (b *block) insertBefore(i int, v ...*value) {
	for _, x := range v {
		x.block = b
	}
	b.insts = slices.Insert(b.insts, i, v...)
}

func (b *block) append(v *value) *value {
	v.block = b
	b.insts = append(b.insts, v)
	return v
}
