package ptx

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/llir"
)

// immediate reports whether operand i of an instruction may be a constant.
func immediate(v *value, i int) bool {
	if v.typ == tF16 || v.typ == tBF16 || v.typ == tF16x2 || v.typ == tBF16x2 {
		return false
	}
	if v.args[i].class == pred {
		return false
	}
	if v.op == opMad && i == 0 || v.op == opFma && i == 0 {
		return false
	}
	switch v.op {
	case opPhi, opCall, opAtom:
		return v.op != opAtom || i > 0
	case opCopy:
		return true
	case opAsm:
		s, ok := v.aux.(*assembly)
		return ok && i < len(s.numbers) && s.numbers[i]
	case opInst:
		if v.flags&pure != 0 {
			return i > 0 && v.typ != tNone // those whose constants are written by their type
		}
		return v.class == none || i > 0 && !strings.HasPrefix(v.text, "redux.")
	case opAdd, opMul, opMin, opMax, opAnd, opOr, opXor, opSetp, opMulWide, opMulHi, opMad, opMadWide, opFma:
		return i > 0
	case opSub, opDiv, opRem, opShl, opShr, opSelp, opShf:
		return true
	case opBfe, opPrmt:
		return i > 0
	case opSt:
		return len(v.args) == 2 && i == 1
	}
	return false
}

// placeConstants puts constants and addresses of variables into registers where an
// instruction takes neither, before the first one that does, and before loops. At the
// beginning of the function ptxas would keep them from there on, and the first loads of
// a short kernel would come later.
func placeConstants(f *fn) {
	f.analyze()
	children := make([][]*block, len(f.blocks))
	for _, b := range f.blocks[1:] {
		children[b.idom.id] = append(children[b.idom.id], b)
	}
	made := make(map[*value][]*value)
	var at *block
	var out []*value // of the block at
	var loc llir.Location
	need := func(a **value) {
		for _, c := range made[*a] {
			if dominates(c.block, at) {
				*a = c
				return
			}
		}
		if l := made[*a]; len(l) > 0 { // one for both, where the ways to them part
			c := l[0]
			if m := beforeLoops(meet(c.block, at)); m != at && m != c.block {
				i := slices.Index(c.block.insts, c)
				c.block.insts = slices.Delete(c.block.insts, i, i+1)
				m.append(c)
				*a = c
				return
			}
		}
		c := f.newValue(opCopy, bitsOf((*a).class), (*a).class, *a)
		c.loc = loc
		made[*a] = append(made[*a], c)
		if to := beforeLoops(at); to != at {
			to.append(c)
		} else {
			c.block = at
			out = append(out, c)
		}
		*a = c
	}
	var walk func(*block)
	walk = func(b *block) {
		at, out = b, make([]*value, 0, len(b.insts))
		for _, v := range b.insts {
			loc = v.loc
			for i, a := range v.args {
				switch {
				case v.op == opCopy:
				case a.op == opSym:
					if v.op != opLd && v.op != opSt && v.op != opAtom || i > 0 {
						if _, ok := v.aux.(addressed); !ok {
							need(&v.args[i])
						}
					}
				case a.isConst() && !immediate(v, i):
					need(&v.args[i])
				}
			}
			out = append(out, v)
		}
		if c := b.term.cond; c != nil && c.isConst() {
			loc = b.term.loc
			need(&b.term.cond)
		}
		b.insts = out
		for _, c := range children[b.id] {
			walk(c)
		}
	}
	walk(f.blocks[0])
}

// beforeLoops is b, or where it is in loops the block that leads to the outermost of them.
func beforeLoops(b *block) *block {
	for b.loop != nil {
		l := b.loop
		for l.outer != nil {
			l = l.outer
		}
		if l.head.idom == l.head {
			return b // the function begins with the loop
		}
		b = l.head.idom
	}
	return b
}
