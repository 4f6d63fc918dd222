package ptx

import (
	"math/bits"
	"slices"
)

// bypassDivisions has divisions of 64 bits by a variable look first whether 32 bits hold both
// numbers, and then divide these, as LLVM does (BypassSlowDivision): most numbers of 64 bits
// are indices, and ptxas calls a routine for the long division, of some seventy instructions.
func bypassDivisions(f *fn) {
	edit(f, func(e *editor, v *value) *value {
		if !isLongDivision(v) || !isShort(v.args[0]) || !isShort(v.args[1]) {
			return nil
		}
		return e.divideShort(v)
	})
	by := make(map[*value]*value)
	for _, b := range slices.Clone(f.blocks) {
		for at := longDivision(b); at >= 0; at = longDivision(b) {
			f.mod.meter.Visit()
			v := b.insts[at]
			by[v], b = f.bypass(b, at)
		}
	}
	if len(by) > 0 {
		f.replaceAll(by)
		f.analyze()
	}
}

// longDivision is the number of the first of them in b, or -1.
func longDivision(b *block) int { return slices.IndexFunc(b.insts, isLongDivision) }

// isLongDivision reports whether v is a division of 64 bits that may be one of 32.
func isLongDivision(v *value) bool {
	return (v.op == opDiv || v.op == opRem) && v.class == r64 && !v.typ.isFloat() && !v.args[1].isConst() &&
		!likelyLong(v.args[0], 4) && !likelyLong(v.args[1], 4)
}

// isShort reports whether 32 bits are known to hold v.
func isShort(v *value) bool { return zeroAbove(v, 32, 6) }

// divideShort is the result of a division of 64 bits whose numbers 32 bits hold.
func (e *editor) divideShort(v *value) *value {
	q := e.emit(v.op, tU32, r32, e.convert(tU64, tU32, r32, v.args[0]), e.convert(tU64, tU32, r32, v.args[1]))
	return e.convert(tU32, tU64, r64, q)
}

// likelyLong reports whether v is computed as hashes are, which fill all of their bits.
func likelyLong(v *value, depth int) bool {
	switch {
	case v.isConst():
		return !isShort(v)
	case v.op == opXor:
		return true
	case v.op == opMul && v.args[1].isConst():
		n := v.args[1].imm
		return bits.Len64(uint64(n^n>>63))+1 > 32
	case v.op == opPhi && depth > 0:
		for _, a := range v.args {
			if a.op == opPhi && a == v || !likelyLong(a, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

// bypass ends b before the division with the number at. One block after it divides in 32 bits,
// another in 64, and the rest has the result and what followed. An unsigned dividend of 32 bits
// needs no long division: a divisor that exceeds it leaves nothing to divide.
func (f *fn) bypass(b *block, at int) (result *value, rest *block) {
	v := b.insts[at]
	x, y := v.args[0], v.args[1]
	rest = f.newBlockAfter(b)
	var slow *block
	rest.insts, rest.term = b.insts[at+1:], b.term
	for _, r := range rest.insts {
		r.block = rest
	}
	for _, to := range rest.term.to {
		for i, p := range to.preds {
			if p == b {
				to.preds[i] = rest
			}
		}
	}
	e := &editor{fn: f, b: b, loc: v, out: b.insts[:at:at]}
	least := isShort(x) && !v.typ.signed()
	if least {
		b.term = terminator{cond: e.compare(cmpLT, tU64, x, y)}
	} else {
		slow = f.newBlockAfter(b)
		var both *value
		switch {
		case isShort(x):
			both = y
		case isShort(y):
			both = x
		default:
			both = e.emit(opOr, tB64, r64, x, y)
		}
		high := e.emit(opAnd, tB64, r64, both, e.constant(r64, -1<<32))
		b.term = terminator{cond: e.compare(cmpNE, tS64, high, e.constant(r64, 0))}
	}
	b.term.loc, b.insts = v.loc, e.out

	fast := f.newBlockAfter(b)
	e.b, e.out = fast, nil
	short := e.divideShort(v)
	fast.insts, fast.preds, fast.term = e.out, []*block{b}, terminator{to: []*block{rest}, loc: v.loc}

	result = f.newValue(opPhi, tB64, r64)
	result.loc, result.block, rest.phis = v.loc, rest, []*value{result}
	switch {
	case !least:
		long := f.newValue(v.op, v.typ, r64, x, y)
		long.loc = v.loc
		slow.append(long)
		slow.preds, slow.term = []*block{b}, fast.term
		b.term.to, rest.preds, result.args = []*block{slow, fast}, []*block{fast, slow}, []*value{short, long}
	case v.op == opDiv:
		b.term.to, rest.preds, result.args = []*block{rest, fast}, []*block{b, fast}, []*value{f.constant(r64, 0), short}
	default:
		b.term.to, rest.preds, result.args = []*block{rest, fast}, []*block{b, fast}, []*value{x, short}
	}
	return result, rest
}

func (e *editor) compare(c cmp, t typ, x, y *value) *value {
	v := e.newValue(opSetp, t, pred, x, y)
	v.cmp = c
	return e.put(v)
}

func (e *editor) convert(from, to typ, c class, x *value) *value {
	v := e.newValue(opCvt, to, c, x)
	v.from = from
	return e.put(v)
}
