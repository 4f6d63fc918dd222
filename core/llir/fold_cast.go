package llir

import (
	"math"
	"math/big"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
)

// foldCast simplifies a conversion between different types, or returns nil.
func (b *Builder) foldCast(op Op, x Value, to Type) Value {
	switch c := x.(type) {
	case *Int:
		if v := b.castInt(op, c, to); v != nil {
			return v
		}
	case *Float:
		if v := b.castFloat(op, c, to); v != nil {
			return v
		}
	}
	switch op {
	case TruncOp:
		return b.foldTrunc(x, to)
	case ZExtOp:
		return b.foldZExt(x, to)
	case SExtOp:
		return b.foldSExt(x, to)
	case BitCast:
		return b.foldBitCast(x, to)
	case FPTrunc:
		// Narrowing what was widened from the same type gives it back.
		if i, ok := x.(*ir.InstFPExt); ok && i.From.Type() == to {
			return i.From
		}
	case SIToFP:
		if IsInt(x.Type()) && Width(x.Type()) <= 64 && b.nonNegative(x) {
			return b.rawCast(UIToFP, x, to, NNeg)
		}
	}
	return nil
}

func (b *Builder) castInt(op Op, c *Int, to Type) Value {
	switch op {
	case TruncOp, ZExtOp:
		if t, ok := to.(*types.IntType); ok && t.BitSize <= 64 {
			return b.M.uint(t, c.Bits)
		}
	case SExtOp:
		if t, ok := to.(*types.IntType); ok && t.BitSize <= 64 {
			return b.M.Int(t, c.Signed())
		}
	case SIToFP:
		if IsFloat(to) {
			return b.M.FloatBits(to, intToFloat(to, big.NewInt(c.Signed())))
		}
	case UIToFP:
		if IsFloat(to) {
			return b.M.FloatBits(to, intToFloat(to, new(big.Int).SetUint64(c.Bits)))
		}
	case BitCast:
		if IsFloat(to) && Width(to) == int(c.Typ.BitSize) {
			return b.M.FloatBits(to, c.Bits)
		}
	}
	return nil
}

// intToFloat rounds an integer once, to nearest even, in the format t. Going
// through a double would round twice.
func intToFloat(t Type, v *big.Int) uint64 {
	f := formatOf(t)
	r := new(big.Float).SetPrec(uint(f.man + 1)).SetMode(big.ToNearestEven).SetInt(v)
	d, _ := r.Float64() // exact: at most 53 bits
	return floatBits(t, d)
}

func (b *Builder) castFloat(op Op, c *Float, to Type) Value {
	v := c.Value()
	switch op {
	case BitCast:
		if t, ok := to.(*types.IntType); ok && int(t.BitSize) == Width(c.Typ) {
			return b.M.uint(t, c.Bits)
		}
	case FPTrunc, FPExt:
		if IsFloat(to) && !math.IsNaN(v) {
			return b.M.FloatBits(to, floatBits(to, v))
		}
	case FPToSI, FPToUI:
		t, ok := to.(*types.IntType)
		if !ok || t.BitSize > 64 || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		i, _ := new(big.Float).SetFloat64(math.Trunc(v)).Int(nil)
		w := uint(t.BitSize)
		if op == FPToUI {
			if i.Sign() < 0 || i.BitLen() > int(w) {
				return nil // poison
			}
			return b.M.uint(t, i.Uint64())
		}
		limit := new(big.Int).Lsh(big.NewInt(1), w-1)
		if i.Cmp(limit) >= 0 || i.Cmp(new(big.Int).Neg(limit)) < 0 {
			return nil // poison
		}
		return b.M.Int(t, i.Int64())
	}
	return nil
}

func (b *Builder) foldTrunc(x Value, to Type) Value {
	var from Value
	op := ZExtOp
	switch i := x.(type) {
	case *ZExt:
		from = i.From
	case *ir.InstSExt:
		from, op = i.From, SExtOp
	case *Trunc:
		return b.Trunc(i.From, to)
	default:
		return nil
	}
	switch wf, wt := Width(from.Type()), Width(to); {
	case wf == wt:
		return from
	case wf > wt:
		return b.Trunc(from, to)
	default:
		return b.Cast(op, from, to, 0)
	}
}

// foldZExt: zext(zext x) is one zext. An extension of a sum with a disjoint
// constant keeps the constant outermost, so that addresses share the rest.
func (b *Builder) foldZExt(x Value, to Type) Value {
	if Width(to) > 64 {
		return nil
	}
	switch i := x.(type) {
	case *ZExt:
		return b.ZExt(i.From, to)
	case *Or:
		if c, ok := i.Y.(*Int); ok && i.Disjoint {
			return b.Or(b.ZExt(i.X, to), b.M.uint(to.(*types.IntType), c.Bits))
		}
	}
	if IsInt(x.Type()) && x.Type() != I1 && b.nonNegative(x) {
		return b.rawCast(ZExtOp, x, to, NNeg)
	}
	return nil
}

func (b *Builder) foldSExt(x Value, to Type) Value {
	if Width(to) > 64 || !IsInt(x.Type()) {
		return nil
	}
	switch i := x.(type) {
	case *ir.InstSExt:
		return b.SExt(i.From, to)
	case *ZExt:
		return b.ZExt(i.From, to)
	case *Or:
		if c, ok := i.Y.(*Int); ok && i.Disjoint {
			return b.Or(b.SExt(i.X, to), b.M.Int(to.(*types.IntType), c.Signed()))
		}
	}
	if x.Type() != I1 && b.nonNegative(x) {
		return b.ZExt(x, to)
	}
	return nil
}

func (b *Builder) foldBitCast(x Value, to Type) Value {
	switch i := x.(type) {
	case *ir.InstBitCast:
		return b.BitCast(i.From, to)
	case *Literal:
		if i.Text == "poison" {
			return b.M.Poison(to)
		}
		if i.Text == "zeroinitializer" {
			return b.M.Zero(to)
		}
	case *ir.InstInsertElement:
		return b.foldPacked(i, to)
	}
	return nil
}

// foldPacked turns a vector of constants, bit-cast to an integer, into the
// integer (element 0 in the lowest bits), and undoes a bit-cast's unpacking, of
// all elements or of an aligned part of them: two bytes of a word are half of it.
func (b *Builder) foldPacked(v *ir.InstInsertElement, to Type) Value {
	n := int(v.Typ.Len)
	w := Width(v.Typ.ElemType)
	if w == 0 || n > 16 {
		return nil
	}
	var elems [16]Value
	if !vectorElems(v, elems[:n]) {
		return nil
	}
	if src := wholeVector(elems[:n]); src != nil {
		return b.BitCast(src, to)
	}
	if part := b.partOfVector(elems[:n], w*n); part != nil {
		return b.BitCast(part, to)
	}
	t, ok := to.(*types.IntType)
	if !ok || t.BitSize > 64 {
		return nil
	}
	var bits uint64
	for i, e := range elems[:n] {
		switch c := e.(type) {
		case *Int:
			bits |= c.Bits << (i * w)
		case *Float:
			bits |= c.Bits << (i * w)
		default:
			return nil
		}
	}
	return b.M.uint(t, bits)
}

// vectorElems reads the elements of a chain of insertions that sets them all.
func vectorElems(v Value, elems []Value) bool {
	left := len(elems)
	for left > 0 {
		i, ok := v.(*ir.InstInsertElement)
		if !ok {
			return false
		}
		c, ok := i.Index.(*Int)
		if !ok {
			return false
		}
		if elems[c.Bits] == nil {
			elems[c.Bits] = i.Elem
			left--
		}
		v = i.X
	}
	return true
}

// wholeVector returns the vector whose elements, in order and complete, are
// the given ones, or nil.
func wholeVector(elems []Value) Value {
	src, first := neighbours(elems)
	if src == nil || first != 0 || int(src.Type().(*types.VectorType).Len) != len(elems) {
		return nil
	}
	return src
}

// partOfVector returns elements as an integer of the given width where they are
// a part of one vector, in its order, that such integers divide it into; else nil.
func (b *Builder) partOfVector(elems []Value, width int) Value {
	part := map[int]Type{16: I16, 32: I32, 64: I64}[width]
	src, first := neighbours(elems)
	if src == nil || part == nil {
		return nil
	}
	n, all := len(elems), int(src.Type().(*types.VectorType).Len)
	if first%n != 0 || all%n != 0 {
		return nil
	}
	return b.ExtractElement(b.BitCast(src, b.M.Vec(all/n, part)), first/n)
}

// neighbours returns the vector that all elements were taken from, one after the
// other, and the place of the first; nil where there is no such vector.
func neighbours(elems []Value) (src Value, first int) {
	for i, e := range elems {
		x, ok := e.(*ir.InstExtractElement)
		if !ok {
			return nil, 0
		}
		c, ok := x.Index.(*Int)
		switch {
		case !ok:
			return nil, 0
		case i == 0:
			src, first = x.X, int(c.Bits)
		case x.X != src || int(c.Bits) != first+i:
			return nil, 0
		}
	}
	return src, first
}
