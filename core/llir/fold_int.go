package llir

import (
	"math/bits"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
)

// foldIntBinary simplifies x op y on scalar integers, or returns nil. Every rule
// gives a value equal to, or refining, the instruction's.
func (b *Builder) foldIntBinary(op Op, x, y Value, f Flags) Value {
	t := x.Type().(*types.IntType)
	if t.BitSize > 64 {
		return nil
	}
	cx, xc := x.(*Int)
	cy, yc := y.(*Int)
	if xc && yc {
		if r, ok := evalInt(op, cx.Bits, cy.Bits, int(t.BitSize)); ok {
			return b.M.uint(t, r)
		}
		return nil
	}
	if xc && commutes(op) {
		x, y, cy, xc, yc = y, x, cx, false, true
	}
	switch op {
	case Add:
		return b.foldAdd(x, y, cy)
	case Sub:
		return b.foldSub(x, y, cy)
	case Mul:
		return b.foldMul(x, y, cy, f)
	case UDiv, SDiv, URem, SRem:
		return b.foldDivRem(op, x, y, cx, cy)
	case Shl, LShr, AShr:
		return b.foldShift(op, x, cx, cy, f)
	case And:
		return b.foldAnd(x, y, cy)
	case OrOp:
		return b.foldOr(x, y, cy, f)
	case Xor:
		return b.foldXor(x, y, cy)
	}
	return nil
}

func commutes(op Op) bool {
	return op == Add || op == Mul || op == And || op == OrOp || op == Xor
}

// evalInt computes x op y on integers of a width, or reports that LLVM leaves
// the result undefined (division by zero, overlong shift).
func evalInt(op Op, x, y uint64, width int) (uint64, bool) {
	m := maskOf(width)
	sx, sy := signExtend(x, width), signExtend(y, width)
	var r uint64
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		r = x * y
	case And:
		r = x & y
	case OrOp:
		r = x | y
	case Xor:
		r = x ^ y
	case Shl, LShr, AShr:
		if y >= uint64(width) {
			return 0, false
		}
		switch op {
		case Shl:
			r = x << y
		case LShr:
			r = x >> y
		default:
			r = uint64(sx >> y)
		}
	default:
		if y == 0 || (sy == -1 && sx == -sx && sx != 0 && (op == SDiv || op == SRem)) {
			return 0, false // by zero, or the least number by -1
		}
		switch op {
		case UDiv:
			r = x / y
		case URem:
			r = x % y
		case SDiv:
			r = uint64(sx / sy)
		case SRem:
			r = uint64(sx % sy)
		default:
			return 0, false
		}
	}
	return r & m, true
}

// splitConst takes a constant off a sum: v equals rest + c. Disjoint says that
// rest and c have no bit in common.
func splitConst(v Value) (rest Value, c *Int, disjoint bool) {
	switch i := v.(type) {
	case *ir.InstAdd:
		if k, ok := i.Y.(*Int); ok {
			return i.X, k, false
		}
	case *Or:
		if k, ok := i.Y.(*Int); ok && i.Disjoint {
			return i.X, k, true
		}
	}
	return v, nil, false
}

// SplitInt takes the constant off an integer: v equals base + off, modulo its
// width.
func SplitInt(v Value) (base Value, off int64) {
	rest, c, _ := splitConst(v)
	if c == nil {
		return v, 0
	}
	return rest, c.Signed()
}

func (b *Builder) foldAdd(x, y Value, cy *Int) Value {
	t := x.Type().(*types.IntType)
	if cy != nil {
		if cy.Bits == 0 {
			return x
		}
		if r, c, _ := splitConst(x); c != nil {
			return b.addConst(r, c.Bits+cy.Bits, t)
		}
		if t.BitSize == 1 {
			return b.Xor(x, y)
		}
		if n, ok := x.(*ir.InstSub); ok && cy.Signed() == -1 && n.X == b.M.Int(t, 0) {
			return b.Not(n.Y)
		}
		if b.zeroBits(x)&cy.Bits == cy.Bits {
			return b.rawBinary(OrOp, x, y, Disjoint)
		}
		return nil
	}
	// Constants move outward: (p + c) + y = (p + y) + c, so that p + y, which
	// other elements share, is computed once.
	if r, c, _ := splitConst(x); c != nil {
		return b.addConst(b.Add(r, y), c.Bits, t)
	}
	if r, c, _ := splitConst(y); c != nil {
		return b.addConst(b.Add(x, r), c.Bits, t)
	}
	if t.BitSize > 1 && b.disjoint(x, y) {
		return b.rawBinary(OrOp, x, y, Disjoint)
	}
	return nil
}

func (b *Builder) addConst(x Value, c uint64, t *types.IntType) Value {
	return b.Binary(Add, x, b.M.uint(t, c), 0)
}

func (b *Builder) foldSub(x, y Value, cy *Int) Value {
	t := x.Type().(*types.IntType)
	if x == y {
		return b.M.uint(t, 0)
	}
	if cy != nil {
		return b.addConst(x, -cy.Bits, t)
	}
	if r, c, _ := splitConst(x); c != nil {
		return b.addConst(b.Sub(r, y), c.Bits, t)
	}
	if r, c, _ := splitConst(y); c != nil {
		return b.addConst(b.Sub(x, r), -c.Bits, t)
	}
	return nil
}

func (b *Builder) foldMul(x, y Value, cy *Int, f Flags) Value {
	if cy == nil {
		return nil
	}
	t := cy.Typ
	switch {
	case cy.Bits == 0:
		return cy
	case cy.Bits == 1:
		return x
	case t.BitSize == 1:
		return nil
	case bits.OnesCount64(cy.Bits) == 1:
		k := bits.TrailingZeros64(cy.Bits)
		if k == int(t.BitSize)-1 {
			f &^= NSW // 2^(w-1) is negative as a factor, positive as a shift
		}
		return b.Binary(Shl, x, b.M.uint(t, uint64(k)), f)
	}
	if r, c, _ := splitConst(x); c != nil {
		return b.addConst(b.Mul(r, y), c.Bits*cy.Bits, t)
	}
	if i, ok := x.(*ir.InstMul); ok {
		if c, ok := i.Y.(*Int); ok {
			return b.Mul(i.X, b.M.uint(t, c.Bits*cy.Bits))
		}
	}
	return nil
}

func (b *Builder) foldDivRem(op Op, x, y Value, cx, cy *Int) Value {
	t := x.Type().(*types.IntType)
	if cx != nil && cx.Bits == 0 {
		return cx // 0/y and 0%y are 0, or undefined where y is 0
	}
	rem := op == URem || op == SRem
	if signed := op == SDiv || op == SRem; signed && b.nonNegative(x) && b.nonNegative(y) {
		if rem {
			return b.Binary(URem, x, y, 0)
		}
		return b.Binary(UDiv, x, y, 0)
	}
	if cy != nil && cy.Bits == 0 {
		return nil
	}
	if cy != nil && cy.Bits == 1 && t.BitSize > 1 {
		if rem {
			return b.M.uint(t, 0)
		}
		return x
	}
	if op == SDiv || op == SRem {
		// A division of 64 bits takes several times the instructions of one of 32.
		if t.BitSize == 64 && b.divisible32(x, y) {
			return b.SExt(b.Binary(op, b.Trunc(x, I32), b.Trunc(y, I32), 0), t)
		}
		return nil
	}
	if n := b.log2(y); n != nil {
		if rem {
			return b.And(x, b.Add(y, b.M.uint(t, maskOf(int(t.BitSize)))))
		}
		return b.Binary(LShr, x, n, 0)
	}
	if t.BitSize == 64 && (b.zeroBits(x)&b.zeroBits(y))>>32 == maskOf(32) {
		return b.ZExt(b.Binary(op, b.Trunc(x, I32), b.Trunc(y, I32), 0), t)
	}
	return nil
}

// log2 returns the logarithm of a divisor v, which is not zero, as a number of
// v's type where v is certainly a power of two, else nil.
func (b *Builder) log2(v Value) Value {
	t := v.Type().(*types.IntType)
	switch i := v.(type) {
	case *Int:
		if bits.OnesCount64(i.Bits) == 1 {
			return b.M.uint(t, uint64(bits.TrailingZeros64(i.Bits)))
		}
	case *ir.InstAnd: // a single bit
		if c, ok := i.Y.(*Int); ok {
			return b.log2(c)
		}
	case *ir.InstSelect:
		if x, y := b.log2(i.ValueTrue), b.log2(i.ValueFalse); x != nil && y != nil {
			return b.Select(i.Cond, x, y)
		}
	}
	return nil
}

func (b *Builder) foldShift(op Op, x Value, cx, cy *Int, f Flags) Value {
	t := x.Type().(*types.IntType)
	if cx != nil && cx.Bits == 0 {
		return cx
	}
	if cy == nil || cy.Bits >= t.BitSize {
		return nil
	}
	n := cy.Bits
	if n == 0 {
		return x
	}
	// Shifts distribute over a disjoint or, in either direction: the constant
	// stays outermost.
	if r, c, disjoint := splitConst(x); c != nil && (disjoint || op == Shl) {
		if op == Shl {
			return b.addConst(b.Binary(Shl, r, cy, 0), c.Bits<<n, t)
		}
		k, _ := evalInt(op, c.Bits, n, int(t.BitSize))
		return b.Or(b.Binary(op, r, cy, 0), b.M.uint(t, k))
	}
	if op == AShr && b.nonNegative(x) {
		return b.Binary(LShr, x, cy, f)
	}
	switch i := x.(type) {
	case *ir.InstShl:
		c, ok := i.Y.(*Int)
		if !ok {
			break
		}
		m := c.Bits
		switch {
		case op == Shl && m+n < t.BitSize:
			return b.Binary(Shl, i.X, b.M.uint(t, m+n), 0)
		case op == Shl:
			return b.M.uint(t, 0)
		case op == LShr && m == n:
			return b.And(i.X, b.M.uint(t, maskOf(int(t.BitSize))>>n))
		}
	case *ir.InstLShr:
		c, ok := i.Y.(*Int)
		if !ok {
			break
		}
		m := c.Bits
		switch {
		case op == LShr && m+n < t.BitSize:
			return b.Binary(LShr, i.X, b.M.uint(t, m+n), 0)
		case op == LShr:
			return b.M.uint(t, 0)
		case op == Shl && m == n:
			return b.And(i.X, b.M.uint(t, ^uint64(0)<<n))
		}
	}
	if op == LShr && b.zeroBits(x)|maskOf(int(n)) == ^uint64(0) {
		return b.M.uint(t, 0)
	}
	return nil
}

func (b *Builder) foldAnd(x, y Value, cy *Int) Value {
	if x == y {
		return x
	}
	if cy == nil {
		return b.foldComparisons(And, x, y)
	}
	t := cy.Typ
	m := maskOf(int(t.BitSize))
	zero := b.zeroBits(x)
	switch live := ^zero & m; {
	case cy.Bits&live == 0:
		return b.M.uint(t, 0)
	case cy.Bits&live == live:
		return x // the mask keeps every bit that can be set
	}
	if r, c, disjoint := splitConst(x); c != nil && disjoint {
		return b.Or(b.And(r, y), b.M.uint(t, c.Bits&cy.Bits))
	}
	if i, ok := x.(*ir.InstAnd); ok {
		if c, ok := i.Y.(*Int); ok {
			return b.And(i.X, b.M.uint(t, c.Bits&cy.Bits))
		}
	}
	return nil
}

func (b *Builder) foldOr(x, y Value, cy *Int, f Flags) Value {
	if x == y {
		return x
	}
	if cy != nil {
		t := cy.Typ
		switch {
		case cy.Bits == 0:
			return x
		case cy.Bits == maskOf(int(t.BitSize)):
			return cy
		case t.BitSize == 1:
			return nil
		}
		if i, ok := x.(*Or); ok {
			if c, ok := i.Y.(*Int); ok {
				return b.Or(i.X, b.M.uint(t, c.Bits|cy.Bits))
			}
		}
		if f&Disjoint == 0 && b.zeroBits(x)&cy.Bits == cy.Bits {
			return b.rawBinary(OrOp, x, y, Disjoint)
		}
		return nil
	}
	if x.Type() == I1 {
		return b.foldComparisons(OrOp, x, y)
	}
	if f&Disjoint == 0 && !b.disjoint(x, y) {
		return nil
	}
	if r, c, d := splitConst(x); d {
		return b.Or(b.Or(r, y), c)
	}
	if r, c, d := splitConst(y); d {
		return b.Or(b.Or(x, r), c)
	}
	return b.rawBinary(OrOp, x, y, Disjoint)
}

func (b *Builder) foldXor(x, y Value, cy *Int) Value {
	t := x.Type().(*types.IntType)
	if x == y {
		return b.M.uint(t, 0)
	}
	if cy != nil {
		if cy.Bits == 0 {
			return x
		}
		if i, ok := x.(*ir.InstXor); ok {
			if c, ok := i.Y.(*Int); ok {
				return b.Xor(i.X, b.M.uint(t, c.Bits^cy.Bits))
			}
		}
		if t.BitSize == 1 {
			return b.foldNot(x)
		}
		if b.zeroBits(x)&cy.Bits == cy.Bits {
			return b.Binary(OrOp, x, y, 0) // no bit to flip back: the same as or
		}
		return nil
	}
	if v := without(x, y); v != nil {
		return v
	}
	if v := without(y, x); v != nil {
		return v
	}
	if t.BitSize > 1 && b.disjoint(x, y) {
		return b.Binary(OrOp, x, y, 0)
	}
	if i, ok := x.(*ir.InstXor); ok {
		if c, ok := i.Y.(*Int); ok {
			return b.Xor(b.Xor(i.X, y), c)
		}
	}
	if i, ok := y.(*ir.InstXor); ok {
		if c, ok := i.Y.(*Int); ok {
			return b.Xor(b.Xor(x, i.X), c)
		}
	}
	return nil
}

// without is v where x is the XOR of v and y, else nil. A sort writes the other of two
// elements so.
func without(x, y Value) Value {
	if i, ok := x.(*ir.InstXor); ok {
		switch y {
		case i.X:
			return i.Y
		case i.Y:
			return i.X
		}
	}
	return nil
}
