package llir

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
)

func (b *Builder) foldSelect(cond, x, y Value) Value {
	if x == y {
		return x
	}
	if c, ok := cond.(*Int); ok {
		if c.Bits != 0 {
			return x
		}
		return y
	}
	if x.Type() != I1 || cond.Type() != I1 {
		if v := b.foldSignSelect(cond, x, y); v != nil {
			return v
		}
		return b.foldExchange(cond, x, y)
	}
	// Two different i1 constants: the condition or its complement.
	cx, ok := x.(*Int)
	if !ok || !IsConst(y) || isPoison(y) {
		return nil
	}
	if cx.Bits != 0 {
		return cond
	}
	return b.Not(cond)
}

// foldSignSelect: a number, or its complement if it is negative, is the number with its
// sign exclusively or'ed into every bit, which needs no truth value.
func (b *Builder) foldSignSelect(cond, x, y Value) Value {
	i, ok := cond.(*ir.InstICmp)
	t, isInt := x.Type().(*types.IntType)
	if !ok || !isInt || t.BitSize > 64 {
		return nil
	}
	c, ok := i.Y.(*Int)
	switch {
	case !ok:
		return nil
	case i.Pred == enum.IPredSLT && c.Signed() == 0: // negative
	case i.Pred == enum.IPredSGT && c.Signed() == -1:
		x, y = y, x
	default:
		return nil
	}
	// Constants move outward, also that of a complement into another's.
	rx, cx := splitXor(x)
	ry, cy := splitXor(y)
	if y != i.X || rx != ry || cx^cy != maskOf(int(t.BitSize)) {
		return nil
	}
	return b.Xor(y, b.Binary(AShr, y, b.M.Int(t, int64(t.BitSize)-1), 0))
}

// splitXor takes the constant off that v is exclusively or'ed with: v equals rest ^ c.
func splitXor(v Value) (rest Value, c uint64) {
	if i, ok := v.(*ir.InstXor); ok {
		if c, ok := i.Y.(*Int); ok {
			return i.X, c.Bits
		}
	}
	return v, 0
}

// foldExchange: which of two integers is chosen does not matter where they are equal, so
// the comparison of y with x does for that of x with y. Two registers that a sort
// exchanges are compared once.
func (b *Builder) foldExchange(cond, x, y Value) Value {
	switch i := cond.(type) {
	case *ir.InstICmp:
		if less := b.comparedBefore(cond, x, y); less != nil {
			return b.Select(less, y, x)
		}
		// A truth value beside a number that is 0 or 1.
		if p := truth(i.X); p != nil && b.isTruth(i.Y) && (i.Pred == enum.IPredEQ || i.Pred == enum.IPredNE) {
			if less := b.comparedBefore(p, x, y); less != nil {
				return b.Select(b.ICmp(inverseIPred(i.Pred), b.ZExt(less, i.X.Type()), i.Y), x, y)
			}
		}
	case *ir.InstXor:
		if less := b.comparedBefore(i.X, x, y); less != nil {
			return b.Select(b.Xor(less, b.Not(i.Y)), x, y)
		}
	}
	return nil
}

// comparedBefore is the comparison that v is, of x and y in either order, with its
// operands exchanged, if that was made before it; else nil.
func (b *Builder) comparedBefore(v, x, y Value) Value {
	i, ok := v.(*ir.InstICmp)
	if !ok || i.Pred == enum.IPredEQ || i.Pred == enum.IPredNE || !(i.X == x && i.Y == y || i.X == y && i.Y == x) {
		return nil
	}
	w, ok := b.lookup(vnKey{op: opICmp, pred: uint8(i.Pred), a: b.id(i.Y), b: b.id(i.X)})
	if !ok || b.id(w) > b.id(v) {
		return nil
	}
	return w
}

// foldGEP: constants stay outermost and in bytes, so that the variable part of
// an address is shared and a memory access can carry the constant itself.
func (b *Builder) foldGEP(elem Type, p, idx Value) Value {
	size := sizeOf(elem)
	if size == 0 {
		return nil
	}
	if c, ok := idx.(*Int); ok {
		off := c.Signed() * size
		if off == 0 {
			return p
		}
		if elem == I8 {
			if base, k := SplitPtr(p); k != 0 {
				return b.PtrAdd(base, k+off)
			}
			if c.Typ != I64 {
				return b.PtrAdd(p, off)
			}
			return nil
		}
		return b.PtrAdd(p, off)
	}
	if base, k := SplitPtr(p); k != 0 {
		return b.PtrAdd(b.GEP(elem, base, idx), k)
	}
	// Arithmetic in an index as wide as the pointer is modulo the pointer's own
	// modulus, so the constant may leave; a narrower index would wrap earlier.
	if Width(idx.Type()) >= b.M.ptrBits(p.Type()) {
		if r, c, _ := splitConst(idx); c != nil {
			return b.PtrAdd(b.GEP(elem, p, r), c.Signed()*size)
		}
	}
	return nil
}

// SplitPtr takes the constant byte offset off a pointer: p equals base + off.
func SplitPtr(p Value) (base Value, off int64) {
	if i, ok := p.(*ir.InstGetElementPtr); ok && i.ElemType == I8 && len(i.Indices) == 1 {
		if c, ok := i.Indices[0].(*Int); ok {
			return i.Src, c.Signed()
		}
	}
	return p, 0
}

func (b *Builder) foldExtractValue(x Value, i int) Value {
	for {
		switch v := x.(type) {
		case *ir.InstInsertValue:
			if v.Indices[0] == uint64(i) {
				return v.Elem
			}
			x = v.X
			continue
		case *Literal:
			t := fieldType(v.Typ, i)
			if v.Text == "zeroinitializer" {
				return b.M.Zero(t)
			}
			return b.M.literal(t, v.Text)
		}
		return nil
	}
}

func (b *Builder) foldExtractElement(x Value, i int) Value {
	for {
		switch v := x.(type) {
		case *ir.InstInsertElement:
			c, ok := v.Index.(*Int)
			if !ok {
				return nil
			}
			if c.Bits == uint64(i) {
				return v.Elem
			}
			x = v.X
			continue
		case *Literal:
			t := v.Typ.(*types.VectorType).ElemType
			if v.Text == "zeroinitializer" {
				return b.M.Zero(t)
			}
			return b.M.literal(t, v.Text)
		}
		return nil
	}
}

// foldVector finds the vector that the elements were taken from.
func (b *Builder) foldVector(elems []Value) Value { return wholeVector(elems) }
