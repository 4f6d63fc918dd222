package ptx

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// arithmetic converts the binary operations.
func (c *conv) arithmetic(inst ir.Instruction) bool {
	switch i := inst.(type) {
	case *ir.InstAdd:
		c.binary(i, i.Metadata, opAdd, 0, i.X, i.Y)
		c.wraps(i, i.OverflowFlags)
	case *ir.InstSub:
		c.binary(i, i.Metadata, opSub, 0, i.X, i.Y)
		c.wraps(i, i.OverflowFlags)
	case *ir.InstMul:
		c.binary(i, i.Metadata, opMul, 0, i.X, i.Y)
		c.wraps(i, i.OverflowFlags)
	case *ir.InstShl:
		c.binary(i, i.Metadata, opShl, 0, i.X, i.Y)
		c.wraps(i, i.OverflowFlags)
	case *ir.InstUDiv:
		c.binary(i, i.Metadata, opDiv, 'u', i.X, i.Y)
	case *ir.InstSDiv:
		c.binary(i, i.Metadata, opDiv, 's', i.X, i.Y)
	case *ir.InstURem:
		c.binary(i, i.Metadata, opRem, 'u', i.X, i.Y)
	case *ir.InstSRem:
		c.binary(i, i.Metadata, opRem, 's', i.X, i.Y)
	case *ir.InstLShr:
		c.binary(i, i.Metadata, opShr, 'u', i.X, i.Y)
	case *ir.InstAShr:
		c.binary(i, i.Metadata, opShr, 's', i.X, i.Y)
	case *ir.InstAnd:
		c.binary(i, i.Metadata, opAnd, 0, i.X, i.Y)
	case *llir.Or:
		c.binary(i, i.Metadata, opOr, 0, i.X, i.Y)
		if i.Disjoint && c.byID[i.ID()] != nil {
			c.markDisjoint(c.byID[i.ID()], c.get(i.X), c.get(i.Y))
		}
	case *ir.InstXor:
		c.binary(i, i.Metadata, opXor, 0, i.X, i.Y)
	case *ir.InstFAdd:
		c.float(i, i.Metadata, opAdd, i.X, i.Y)
	case *ir.InstFSub:
		c.float(i, i.Metadata, opSub, i.X, i.Y)
	case *ir.InstFMul:
		c.float(i, i.Metadata, opMul, i.X, i.Y)
	case *ir.InstFDiv:
		c.float(i, i.Metadata, opDiv, i.X, i.Y)
	case *ir.InstFRem:
		c.float(i, i.Metadata, opRem, i.X, i.Y)
	case *ir.InstFNeg:
		c.float(i, i.Metadata, opNeg, i.X)
	default:
		return false
	}
	return true
}

// markDisjoint notes that ors have operands without a common bit, where they are ors
// of these operands still.
func (c *conv) markDisjoint(ors, x, y []*value) {
	for k, v := range ors {
		if v.op == opOr && (v.args[0] == x[k] && v.args[1] == y[k] || v.args[0] == y[k] && v.args[1] == x[k]) {
			v.flags |= disjoint
		}
	}
}

// wraps notes that arithmetic does not overflow.
func (c *conv) wraps(i localID, _ any) {}

// binary converts an operation on integers; sign is 's', 'u', or 0 where it does
// not matter.
func (c *conv) binary(i localID, md ir.Metadata, o op, sign byte, x, y llir.Value) {
	c.setLoc(md)
	t := x.Type()
	if vt, ok := t.(*types.VectorType); ok {
		w := elemWidth(vt)
		if o == opAnd || o == opOr || o == opXor {
			a, b := c.get(x), c.get(y)
			parts := make([]*value, len(a))
			for k := range parts {
				parts[k] = c.logic(o, a[k], b[k])
			}
			c.set(i, parts...)
			return
		}
		c.elementwise(i, t, func(a []*value) *value { return c.integer(o, sign, w, a[0], a[1]) }, x, y)
		return
	}
	w := llir.Width(t)
	if w > 64 {
		c.set(i, c.wide(o, sign, w, c.get(x), c.get(y), y)...)
		return
	}
	c.set(i, c.integer(o, sign, w, c.get1(x), c.get1(y)))
}

// integer is an operation on integers of w bits, up to 64.
func (c *conv) integer(o op, sign byte, w int, x, y *value) *value {
	if x.class == pred {
		return c.truth(o, x, y)
	}
	cl := x.class
	t := unsignedOf(cl)
	if sign == 's' {
		t = signedOf(cl)
	}
	switch o {
	case opAnd, opOr, opXor:
		return c.logic(o, x, y)
	case opAdd, opSub, opMul:
		t = signedOf(cl)
	case opShl:
		return c.emit(opShl, bitsOf(cl), cl, x, c.amount(y, w))
	case opShr:
		if sign == 's' {
			x = c.sx(x, w)
		} else {
			x = c.zx(x, w)
		}
		return c.emit(opShr, t, cl, x, c.amount(y, w))
	case opDiv, opRem:
		if sign == 's' {
			x, y = c.sx(x, w), c.sx(y, w)
		} else {
			x, y = c.zx(x, w), c.zx(y, w)
		}
	}
	return c.emit(o, t, cl, x, y)
}

// amount is by how many bits to shift, which instructions want in 32 bits.
func (c *conv) amount(y *value, w int) *value {
	y = c.zx(y, w)
	switch y.class {
	case r16:
		return c.cvt(y, tU16, tU32)
	case r64:
		return c.cvt(y, tU64, tU32)
	}
	return y
}

// truth is an operation on integers of one bit.
func (c *conv) truth(o op, x, y *value) *value {
	switch o {
	case opAdd, opSub, opXor:
		return c.xor(x, y)
	case opMul, opAnd:
		return c.and(x, y)
	case opOr:
		return c.or(x, y)
	case opRem:
		return c.constant(pred, 0)
	}
	return x // a division by one, a shift by nothing
}

func (c *conv) logic(o op, x, y *value) *value { return c.emit(o, bitsOf(x.class), x.class, x, y) }

func (c *conv) and(x, y *value) *value { return c.logic(opAnd, x, y) }
func (c *conv) or(x, y *value) *value  { return c.logic(opOr, x, y) }
func (c *conv) xor(x, y *value) *value { return c.logic(opXor, x, y) }
func (c *conv) not(x *value) *value    { return c.emit(opNot, bitsOf(x.class), x.class, x) }

func (c *conv) add(x, y *value) *value { return c.emit(opAdd, signedOf(x.class), x.class, x, y) }

// zx is v with what is above its w bits made zero.
func (c *conv) zx(v *value, w int) *value {
	n := v.class.bits()
	if w >= n || zeroAbove(v, w, 4) {
		return v
	}
	return c.and(v, c.constant(v.class, 1<<w-1))
}

// sx is v with what is above its w bits made equal to its sign.
func (c *conv) sx(v *value, w int) *value {
	n := v.class.bits()
	switch {
	case w >= n:
		return v
	case v.isConst():
		return c.constant(v.class, signExtend(v.imm, w))
	case w == 8 && v.class == r16:
		return c.cvt(v, tS8, tS16)
	}
	by := c.constant(r32, int64(n-w))
	return c.emit(opShr, signedOf(v.class), v.class, c.emit(opShl, bitsOf(v.class), v.class, v, by), by)
}

// zxWide and sxWide are for integers of 65 to 128 bits.
func (c *conv) zxWide(v []*value, w int, signed bool) []*value {
	if signed {
		return []*value{v[0], c.sx(v[1], w-64)}
	}
	return []*value{v[0], c.zx(v[1], w-64)}
}

// wide is an operation on integers of 65 to 128 bits.
func (c *conv) wide(o op, sign byte, w int, x, y []*value, amount llir.Value) []*value {
	switch o {
	case opAnd, opOr, opXor:
		return []*value{c.logic(o, x[0], y[0]), c.logic(o, x[1], y[1])}
	case opAdd:
		lo := c.add(x[0], y[0])
		carry := c.bit(c.setp(cmpLT, tU64, lo, x[0]), r64)
		return []*value{lo, c.add(c.add(x[1], y[1]), carry)}
	case opSub:
		borrow := c.bit(c.setp(cmpLT, tU64, x[0], y[0]), r64)
		hi := c.emit(opSub, tS64, r64, x[1], y[1])
		return []*value{c.emit(opSub, tS64, r64, x[0], y[0]), c.emit(opSub, tS64, r64, hi, borrow)}
	case opMul:
		lo, hi := c.emit(opMul, tS64, r64, x[0], y[0]), c.emit(opMulHi, tU64, r64, x[0], y[0])
		hi = c.add(hi, c.emit(opMul, tS64, r64, x[0], y[1]))
		return []*value{lo, c.add(hi, c.emit(opMul, tS64, r64, x[1], y[0]))}
	}
	n, ok := amount.(*llir.Int)
	if !ok || o != opShl && o != opShr {
		refuse("this operation on i%d", w)
	}
	return c.shiftWide(o, sign, w, x, int(n.Bits))
}

func (c *conv) shiftWide(o op, sign byte, w int, x []*value, n int) []*value {
	if n == 0 {
		return x
	}
	shift := func(o op, t typ, v *value, n int) *value { return c.emit(o, t, r64, v, c.constant(r32, int64(n))) }
	if o == opShl {
		if n >= 64 {
			return []*value{c.constant(r64, 0), shift(opShl, tB64, x[0], n-64)}
		}
		return []*value{shift(opShl, tB64, x[0], n), c.or(shift(opShl, tB64, x[1], n), shift(opShr, tU64, x[0], 64-n))}
	}
	t := tU64
	if sign == 's' {
		t = tS64
	}
	x = c.zxWide(x, w, sign == 's')
	top := c.constant(r64, 0)
	if sign == 's' {
		top = shift(opShr, tS64, x[1], 63)
	}
	if n >= 64 {
		return []*value{shift(opShr, t, x[1], n-64), top}
	}
	return []*value{c.or(shift(opShr, tU64, x[0], n), shift(opShl, tB64, x[1], 64-n)), shift(opShr, t, x[1], n)}
}

// bit is a truth value as a number.
func (c *conv) bit(p *value, cl class) *value {
	return c.emit(opSelp, bitsOf(cl), cl, c.constant(cl, 1), c.constant(cl, 0), p)
}

// float converts an operation on floating-point numbers.
func (c *conv) float(i localID, md ir.Metadata, o op, operands ...llir.Value) {
	c.setLoc(md)
	t := operands[0].Type()
	vt, ok := t.(*types.VectorType)
	if !ok {
		args := make([]*value, len(operands))
		for k, x := range operands {
			args[k] = c.get1(x)
		}
		c.set(i, c.floating(o, floatType(t), args...))
		return
	}
	ft := floatType(vt.ElemType)
	if (ft == tF16 || ft == tBF16) && vt.Len%2 == 0 && o != opDiv && o != opRem {
		parts := make([]*value, vt.Len/2)
		for k := range parts {
			args := make([]*value, len(operands))
			for n, x := range operands {
				args[n] = c.get(x)[k]
			}
			parts[k] = c.floating(o, ft+2, args...)
		}
		c.set(i, parts...)
		return
	}
	c.elementwise(i, t, func(a []*value) *value { return c.floating(o, ft, a...) }, operands...)
}

// Bits of numbers.
const (
	signF16     = 0x8000
	oneBF16     = 0x3F80
	minusBF16   = 0xBF80 // -1
	minusZero16 = 0x8000
)

// floating is an operation on numbers of type t, packed ones too.
func (c *conv) floating(o op, t typ, x ...*value) *value {
	cl := x[0].class
	twice := func(bits int64) *value {
		if cl == r32 {
			bits |= bits << 16
		}
		return c.constant(cl, bits)
	}
	half := t == tF16 || t == tBF16 || t == tF16x2 || t == tBF16x2
	if o == opNeg && half {
		return c.xor(x[0], twice(signF16))
	}
	if o == opNeg {
		return c.emit(opNeg, t, cl, x[0])
	}
	if (t == tF16 || t == tBF16) && (o == opDiv || o == opRem) {
		return c.narrow(c.floating(o, tF32, c.widenTo32(t, x[0]), c.widenTo32(t, x[1])), t)
	}
	if o == opRem {
		return c.remainder(t, x[0], x[1])
	}
	if (t == tBF16 || t == tBF16x2) && c.mod.opts.CC < 90 {
		// Only a fused multiplication and addition is there.
		switch o {
		case opAdd:
			return c.emit(opFma, t, cl, x[0], twice(oneBF16), x[1])
		case opSub:
			return c.emit(opFma, t, cl, x[1], twice(minusBF16), x[0])
		case opMul:
			return c.emit(opFma, t, cl, x[0], x[1], twice(minusZero16))
		}
	}
	return c.emit(o, t, cl, x...)
}

// remainder is x - trunc(x/y)*y, or x where y is infinite, as LLVM has it on these
// devices.
func (c *conv) remainder(t typ, x, y *value) *value {
	name := t.String()
	q := c.emit(opDiv, t, x.class, x, y)
	n := c.named("cvt.rzi."+name+"."+name, x.class, q)
	r := c.emit(opFma, t, x.class, c.emit(opNeg, t, x.class, n), y, x)
	inf := int64(0x7F800000)
	if t == tF64 {
		inf = 0x7FF0000000000000
	}
	abs := c.emit(opAbs, t, y.class, y)
	return c.choose(c.setp(cmpEQ, t, abs, c.constant(y.class, inf)), x, r)
}

// widenTo32 is a half as a number of 32 bits.
func (c *conv) widenTo32(t typ, x *value) *value {
	if t == tBF16 {
		return c.widen(x)
	}
	return c.named("cvt.f32.f16", r32, x)
}

// widen is a bfloat as a number of 32 bits: its bits are the upper ones.
func (c *conv) widen(x *value) *value { return c.pair(c.constant(r16, 0), x) }

// narrow rounds a number of 32 bits.
func (c *conv) narrow(x *value, t typ) *value { return c.named("cvt.rn."+t.String()+".f32", r16, x) }
