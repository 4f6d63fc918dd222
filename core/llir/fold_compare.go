package llir

import (
	"math/bits"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
)

// foldNot negates a comparison by its predicate.
func (b *Builder) foldNot(x Value) Value {
	switch i := x.(type) {
	case *ir.InstICmp:
		return b.ICmp(inverseIPred(i.Pred), i.X, i.Y)
	case *ir.InstFCmp:
		return b.FCmp(inverseFPred(i.Pred), i.X, i.Y)
	}
	return nil
}

func (b *Builder) foldICmp(pred enum.IPred, x, y Value) Value {
	if x == y {
		switch pred {
		case enum.IPredEQ, enum.IPredSGE, enum.IPredSLE, enum.IPredUGE, enum.IPredULE:
			return b.M.Bool(true)
		}
		return b.M.Bool(false)
	}
	t, ok := x.Type().(*types.IntType)
	if !ok || t.BitSize > 64 {
		return nil
	}
	if pred == enum.IPredEQ || pred == enum.IPredNE {
		if v := b.foldTruths(pred, x, y); v != nil {
			return v
		}
	}
	cx, xc := x.(*Int)
	cy, yc := y.(*Int)
	switch {
	case xc && yc:
		return b.M.Bool(evalICmp(pred, cx, cy))
	case xc:
		return b.foldICmpConst(swapIPred(pred), y, cx)
	case yc:
		return b.foldICmpConst(pred, x, cy)
	}
	// Two places at constant distances from one base, as the coordinates of the
	// registers of one thread are.
	baseX, offX := splitDisjoint(x)
	baseY, offY := splitDisjoint(y)
	if baseX != baseY || (offX|offY)>>(t.BitSize-1)&1 != 0 {
		return b.foldICmpSpan(pred, x, y)
	}
	return b.M.Bool(evalICmp(pred, b.M.Int(t, int64(offX)), b.M.Int(t, int64(offY))))
}

// foldICmpSpan decides x pred y where one is less than the other whatever they are, as the
// index that a reduction has found so far is less than those to come.
func (b *Builder) foldICmpSpan(pred enum.IPred, x, y Value) Value {
	sx, sy := b.F.span(x), b.F.span(y)
	if signed(pred) && (sx.most|sy.most)>>(Width(x.Type())-1) != 0 {
		return nil
	}
	below, above := sx.most < sy.least, sx.least > sy.most
	switch pred {
	case enum.IPredEQ, enum.IPredNE:
		if below || above {
			return b.M.Bool(pred == enum.IPredNE)
		}
		return nil
	case enum.IPredSLT, enum.IPredULT, enum.IPredSGE, enum.IPredUGE:
		above = sx.least >= sy.most
	default:
		below = sx.most <= sy.least
	}
	if !below && !above {
		return nil
	}
	switch pred {
	case enum.IPredSLT, enum.IPredULT, enum.IPredSLE, enum.IPredULE:
		return b.M.Bool(below)
	}
	return b.M.Bool(above)
}

// foldTruths compares a truth value that was made wider with a number that is 0 or
// 1 as the truth values that they are. Where one number meets many values, as the
// direction of a sort does, it is made one once.
func (b *Builder) foldTruths(pred enum.IPred, x, y Value) Value {
	if truth(x) == nil {
		x, y = y, x
	}
	p := truth(x)
	if p == nil || !b.isTruth(y) {
		return nil
	}
	q := truth(y)
	if q == nil {
		if !IsConst(y) && !b.keepsTruth(y) {
			return nil
		}
		q = b.ICmp(enum.IPredNE, y, b.M.Int(y.Type().(*types.IntType), 0))
	}
	v := b.Xor(p, q)
	if pred == enum.IPredEQ {
		v = b.Not(v)
	}
	return v
}

// keepsTruth reports whether a truth value is made of y, a number that is 0 or 1: if
// none was made before the last load, or if it is one of the mostKept that stay.
func (b *Builder) keepsTruth(y Value) bool {
	t, made := b.truths[y]
	switch {
	case !made:
		t.loads = b.loads
	case t.loads == b.loads || t.kept:
		return true
	case b.kept == mostKept:
		return false
	default:
		t.kept = true
		b.kept++
	}
	b.truths[y] = t
	return true
}

// isTruth reports whether x is a number that is 0 or 1.
func (b *Builder) isTruth(x Value) bool { return b.zeroBits(x)|1 == ^uint64(0) }

// truth is the truth value that x was made of; nil if x was made otherwise.
func truth(x Value) Value {
	if z, ok := x.(*ZExt); ok && z.From.Type() == I1 {
		return z.From
	}
	return nil
}

// splitDisjoint takes x as base + off, where off is a constant whose bits are zero
// in base; off is zero where x is nothing of the kind.
func splitDisjoint(x Value) (base Value, off uint64) {
	if or, ok := x.(*Or); ok && or.Disjoint {
		if c, ok := or.Y.(*Int); ok {
			return or.X, c.Bits
		}
	}
	return x, 0
}

// foldICmpConst decides x pred c where the bits known of x suffice.
func (b *Builder) foldICmpConst(pred enum.IPred, x Value, c *Int) Value {
	w := int(c.Typ.BitSize)
	if w == 1 {
		switch {
		case pred == enum.IPredEQ && c.Bits == 1, pred == enum.IPredNE && c.Bits == 0:
			return x
		case pred == enum.IPredEQ && c.Bits == 0, pred == enum.IPredNE && c.Bits == 1:
			return b.Not(x)
		}
		return nil
	}
	zero, one := b.zeroBits(x), b.oneBits(x)
	top := ^zero & maskOf(w) // the greatest value of x; one is the least
	if signed(pred) {
		if top>>(w-1) != 0 { // x may be negative
			if v := b.foldICmpRange(pred, x, c); v != nil {
				return v
			}
			return b.foldICmpPlace(pred, x, c)
		}
		if c.Signed() < 0 { // below every x
			return b.M.Bool(pred == enum.IPredSGT || pred == enum.IPredSGE)
		}
	}
	var yes, no bool // what holds for every x
	switch pred {
	case enum.IPredSLT, enum.IPredULT:
		yes, no = top < c.Bits, one >= c.Bits
	case enum.IPredSLE, enum.IPredULE:
		yes, no = top <= c.Bits, one > c.Bits
	case enum.IPredSGT, enum.IPredUGT:
		yes, no = one > c.Bits, top <= c.Bits
	case enum.IPredSGE, enum.IPredUGE:
		yes, no = one >= c.Bits, top < c.Bits
	case enum.IPredEQ:
		no = c.Bits&zero != 0 || one&^c.Bits != 0
	case enum.IPredNE:
		yes = c.Bits&zero != 0 || one&^c.Bits != 0
	}
	if yes || no {
		return b.M.Bool(yes)
	}
	return b.foldICmpPlace(pred, x, c)
}

// foldICmpPlace compares a place, base + off with a constant off, with a constant
// as its base alone, so that the places of a thread's registers, which have one
// base, share few comparisons: of 16 columns below a constant, one remains.
//
// Let n be a number of low bits that hold all of off. Then base + off < c exactly
// when the rest of base is less than the rest of c, or equal to it and the low bits
// of base, at most low, are less than what those of c leave beyond off.
func (b *Builder) foldICmpPlace(pred enum.IPred, x Value, c *Int) Value {
	base, off := splitDisjoint(x)
	if off>>(c.Typ.BitSize-1)&1 != 0 {
		return nil
	}
	switch pred {
	case enum.IPredSLT, enum.IPredULT, enum.IPredSGE, enum.IPredUGE:
	default: // x <= c is x < c + 1; constants have the other form nearly always
		return nil
	}
	zero := b.zeroBits(base)
	n := bits.Len64(off)
	n += bits.TrailingZeros64(^(zero >> n)) // as many as base has zeros above off
	n = min(n, int(c.Typ.BitSize)-1)
	low := ^zero & lowMask(n)
	rest := c.Bits & lowMask(n)
	more := uint64(0)
	if rest > off {
		more = min(rest-off, low+1)
	}
	bound := c.Bits - rest + more
	if off == 0 && bound == c.Bits {
		return nil
	}
	return b.ICmp(pred, base, b.M.uint(c.Typ, bound))
}

// signed reports whether a predicate compares its operands as signed numbers.
func signed(pred enum.IPred) bool {
	switch pred {
	case enum.IPredSLT, enum.IPredSLE, enum.IPredSGT, enum.IPredSGE:
		return true
	}
	return false
}

// foldICmpRange decides x pred c for signed predicates where c is outside of what
// x can be, given how many of its bits repeat its sign.
func (b *Builder) foldICmpRange(pred enum.IPred, x Value, c *Int) Value {
	w := int(c.Typ.BitSize)
	most := int64(1)<<(w-b.signBits(x)) - 1
	switch s := c.Signed(); {
	case s > most, s == most && (pred == enum.IPredSLE || pred == enum.IPredSGT):
		return b.M.Bool(pred == enum.IPredSLT || pred == enum.IPredSLE)
	case s < -most-1, s == -most-1 && (pred == enum.IPredSGE || pred == enum.IPredSLT):
		return b.M.Bool(pred == enum.IPredSGT || pred == enum.IPredSGE)
	}
	return nil
}

func evalICmp(pred enum.IPred, x, y *Int) bool {
	sx, sy := x.Signed(), y.Signed()
	switch pred {
	case enum.IPredEQ:
		return x.Bits == y.Bits
	case enum.IPredNE:
		return x.Bits != y.Bits
	case enum.IPredSLT:
		return sx < sy
	case enum.IPredSLE:
		return sx <= sy
	case enum.IPredSGT:
		return sx > sy
	case enum.IPredSGE:
		return sx >= sy
	case enum.IPredULT:
		return x.Bits < y.Bits
	case enum.IPredULE:
		return x.Bits <= y.Bits
	case enum.IPredUGT:
		return x.Bits > y.Bits
	case enum.IPredUGE:
		return x.Bits >= y.Bits
	}
	panic("BUG: llir: unknown integer predicate")
}

// swapIPred returns the predicate q with (x p y) == (y q x).
func swapIPred(p enum.IPred) enum.IPred {
	switch p {
	case enum.IPredSLT:
		return enum.IPredSGT
	case enum.IPredSLE:
		return enum.IPredSGE
	case enum.IPredSGT:
		return enum.IPredSLT
	case enum.IPredSGE:
		return enum.IPredSLE
	case enum.IPredULT:
		return enum.IPredUGT
	case enum.IPredULE:
		return enum.IPredUGE
	case enum.IPredUGT:
		return enum.IPredULT
	case enum.IPredUGE:
		return enum.IPredULE
	}
	return p
}

// inverseIPred returns the predicate that holds where p does not.
func inverseIPred(p enum.IPred) enum.IPred {
	switch p {
	case enum.IPredEQ:
		return enum.IPredNE
	case enum.IPredNE:
		return enum.IPredEQ
	case enum.IPredSLT:
		return enum.IPredSGE
	case enum.IPredSLE:
		return enum.IPredSGT
	case enum.IPredSGT:
		return enum.IPredSLE
	case enum.IPredSGE:
		return enum.IPredSLT
	case enum.IPredULT:
		return enum.IPredUGE
	case enum.IPredULE:
		return enum.IPredUGT
	case enum.IPredUGT:
		return enum.IPredULE
	default:
		return enum.IPredULT
	}
}
