package ptx

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// conversion converts the conversions, and what computes addresses.
func (c *conv) conversion(inst ir.Instruction) bool {
	switch i := inst.(type) {
	case *llir.Trunc:
		c.resize(i, i.Metadata, i.From, i.To, false)
	case *llir.ZExt:
		c.resize(i, i.Metadata, i.From, i.To, false)
	case *ir.InstSExt:
		c.resize(i, i.Metadata, i.From, i.To, true)
	case *ir.InstFPTrunc:
		c.eachOf(i, i.Metadata, i.From, i.To, c.floatToFloat)
	case *ir.InstFPExt:
		c.eachOf(i, i.Metadata, i.From, i.To, c.floatToFloat)
	case *ir.InstFPToUI:
		c.eachOf(i, i.Metadata, i.From, i.To, c.floatToInt(false))
	case *ir.InstFPToSI:
		c.eachOf(i, i.Metadata, i.From, i.To, c.floatToInt(true))
	case *llir.UIToFPInst:
		c.eachOf(i, i.Metadata, i.From, i.To, c.intToFloat(false))
	case *ir.InstSIToFP:
		c.eachOf(i, i.Metadata, i.From, i.To, c.intToFloat(true))
	case *ir.InstPtrToInt:
		c.setLoc(i.Metadata)
		x := c.get1(i.From)
		c.set(i, c.integerTo(x, x.class.bits(), llir.Width(i.To), false)...)
	case *ir.InstIntToPtr:
		c.setLoc(i.Metadata)
		c.set(i, c.integerTo(c.get1(i.From), llir.Width(i.From.Type()), ptrClass(i.To.(*llir.Ptr)).bits(), false)...)
	case *ir.InstBitCast:
		c.setLoc(i.Metadata)
		c.bitcast(i)
	case *ir.InstAddrSpaceCast:
		c.setLoc(i.Metadata)
		c.set(i, c.spaceCast(c.get1(i.From), i.From.Type().(*llir.Ptr).AddrSpace, i.To.(*llir.Ptr).AddrSpace))
	case *ir.InstGetElementPtr:
		c.setLoc(i.Metadata)
		c.set(i, c.gep(i))
	default:
		return false
	}
	return true
}

// eachOf converts each element of a vector, or a scalar.
func (c *conv) eachOf(i localID, md ir.Metadata, x llir.Value, to llir.Type, one func(x *value, from, to llir.Type) *value) {
	c.setLoc(md)
	from, vt := x.Type(), to
	if v, ok := from.(*types.VectorType); ok {
		from, to = v.ElemType, to.(*types.VectorType).ElemType
	}
	c.elementwise(i, vt, func(a []*value) *value { return one(a[0], from, to) }, x)
}

// resize changes the width of integers.
func (c *conv) resize(i localID, md ir.Metadata, x llir.Value, to llir.Type, signed bool) {
	c.setLoc(md)
	if v, ok := x.Type().(*types.VectorType); ok {
		from, w := elemWidth(v), elemWidth(to.(*types.VectorType))
		c.elementwise(i, to, func(a []*value) *value { return c.integerTo(a[0], from, w, signed)[0] }, x)
		return
	}
	from, w := llir.Width(x.Type()), llir.Width(to)
	if from > 64 {
		v := c.get(x)
		if w > 64 {
			if w > from {
				v = c.zxWide(v, from, signed)
			}
			c.set(i, v...)
			return
		}
		c.set(i, c.integerTo(v[0], 64, w, false)...)
		return
	}
	c.set(i, c.integerTo(c.get1(x), from, w, signed)...)
}

// integerTo makes an integer of w bits of one of from bits.
func (c *conv) integerTo(x *value, from, w int, signed bool) []*value {
	if w > 64 {
		lo := c.integerTo(x, from, 64, signed)[0]
		hi := c.constant(r64, 0)
		if signed {
			hi = c.emit(opShr, tS64, r64, lo, c.constant(r32, 63))
		}
		return []*value{lo, hi}
	}
	to := classOf(w)
	switch {
	case from == w:
		return []*value{x}
	case to == pred:
		return []*value{c.nonZero(c.and(x, c.constant(x.class, 1)))}
	case x.class == pred:
		one := int64(1)
		if signed {
			one = -1
		}
		return []*value{c.emit(opSelp, bitsOf(to), to, c.constant(to, one), c.constant(to, 0), x)}
	case w < from:
		return []*value{c.cvt(x, unsignedOf(x.class), unsignedOf(to))}
	case !signed:
		if from == 8 && to == r32 && !zeroAbove(x, 8, 4) { // the wider and is what bytes of words meet
			return []*value{c.and(c.cvt(x, tU16, tU32), c.constant(r32, 0xFF))}
		}
		return []*value{c.cvt(c.zx(x, from), unsignedOf(x.class), unsignedOf(to))}
	case from == 8:
		return []*value{c.cvt(x, tS8, signedOf(to))}
	}
	return []*value{c.cvt(c.sx(x, from), signedOf(x.class), signedOf(to))}
}

// cvt converts an integer of a type to another.
func (c *conv) cvt(x *value, from, to typ) *value {
	cl := r16
	switch to {
	case tS32, tU32:
		cl = r32
	case tS64, tU64:
		cl = r64
	}
	v := c.newValue(opCvt, to, cl, x)
	v.from = from
	return c.put(v)
}

// bitcast gives the same bits another type.
func (c *conv) bitcast(i *ir.InstBitCast) {
	from, to := c.mod.layout(i.From.Type()), c.mod.layout(i.To)
	if v, ok := i.From.Type().(*types.VectorType); ok && elemWidth(v) == 1 {
		refuse("a cast of type %s to %s", v, i.To)
	}
	if v, ok := i.To.(*types.VectorType); ok && elemWidth(v) == 1 {
		refuse("a cast of type %s to %s", i.From.Type(), v)
	}
	parts := append([]*value(nil), c.get(i.From)...)
	for n := len(from); n < len(to); n *= 2 { // in two each
		var halves []*value
		for _, p := range parts {
			halves = append(halves, c.half(p, 0), c.half(p, 1))
		}
		parts = halves
	}
	for len(parts) > len(to) {
		var pairs []*value
		for k := 0; k < len(parts); k += 2 {
			pairs = append(pairs, c.pair(parts[k], parts[k+1]))
		}
		parts = pairs
	}
	for k, p := range parts {
		if p.class != to[k] {
			refuse("a cast of type %s to %s", i.From.Type(), i.To)
		}
	}
	c.set(i, parts...)
}

// spaceCast converts addresses between memories.
func (c *conv) spaceCast(x *value, from, to int) *value {
	if from == to {
		return x
	}
	if to == spaceGeneric {
		if x.class == r32 {
			x = c.cvt(x, tU32, tU64)
		}
		return c.named("cvta."+spaceNames[from]+".u64", r64, x)
	}
	if from != spaceGeneric {
		refuse("a cast of addresses from memory %d to %d", from, to)
	}
	v := c.named("cvta.to."+spaceNames[to]+".u64", r64, x)
	if to >= spaceShared {
		return c.cvt(v, tU64, tU32)
	}
	return v
}

// gep is base + index elements.
func (c *conv) gep(i *ir.InstGetElementPtr) *value {
	if len(i.Indices) != 1 {
		refuse("an address by several indices")
	}
	base := c.get1(i.Src)
	size := sizeOf(i.ElemType)
	if n, ok := i.Indices[0].(*llir.Int); ok {
		return c.add(base, c.constant(base.class, n.Signed()*size))
	}
	w := llir.Width(i.Indices[0].Type())
	index := c.integerTo(c.get1(i.Indices[0]), w, base.class.bits(), true)[0]
	if size != 1 {
		if size&(size-1) == 0 {
			index = c.emit(opShl, bitsOf(base.class), base.class, index, c.constant(r32, int64(log2(size))))
		} else {
			index = c.emit(opMul, signedOf(base.class), base.class, index, c.constant(base.class, size))
		}
	}
	return c.add(base, index)
}

func log2(n int64) int {
	k := 0
	for ; n > 1; n >>= 1 {
		k++
	}
	return k
}

// sizeOf is how many bytes a type takes in memory.
func sizeOf(t llir.Type) int64 {
	switch t := t.(type) {
	case *llir.Ptr:
		return 8
	case *types.ArrayType:
		return int64(t.Len) * sizeOf(t.ElemType)
	case *types.VectorType:
		return (int64(t.Len)*int64(elemWidth(t)) + 7) / 8
	case *types.StructType:
		at, most := int64(0), int64(1)
		for _, f := range t.Fields {
			n := sizeOf(f)
			a := min(n, 16)
			at, most = (at+a-1)/a*a+n, max(most, a)
		}
		return (at + most - 1) / most * most
	}
	w := llir.Width(t)
	if w == 0 {
		refuse("the size of type %s", t)
	}
	n := int64(1)
	for 8*n < int64(w) {
		n *= 2
	}
	return n
}

func (c *conv) floatToFloat(x *value, from, to llir.Type) *value {
	f, t := floatType(from), floatType(to)
	cl := classOf(llir.Width(to))
	bfloat := c.mod.opts.CC >= 90
	switch {
	case f == t:
		return x
	case f == tBF16 && t == tF32:
		return c.widen(x)
	case f == tBF16:
		return c.floatToFloat(c.widen(x), llir.F32, to)
	case f == tF16 && t == tBF16:
		return c.narrow(c.widenTo32(f, x), t)
	case f == tF64 && t == tBF16 && !bfloat:
		return c.narrow(c.roundToOdd("f64", x), t)
	case f == tF16 || t == tF64: // exact
		return c.named("cvt."+t.String()+"."+f.String(), cl, x)
	}
	return c.named("cvt.rn."+t.String()+"."+f.String(), cl, x)
}

// roundToOdd rounds x, of a type that a float cannot hold, such that rounding the
// result again gives what rounding x once does: it has an odd last bit where it is
// not exact.
func (c *conv) roundToOdd(from string, x *value) *value {
	short := c.named("cvt.rz.f32."+from, r32, x)
	var exact *value
	if from == "f64" {
		exact = c.setp(cmpEQU, tF64, c.named("cvt.f64.f32", r64, short), x)
		// of a NaN any bit may be set
	} else {
		back := c.named("cvt.rzi."+from+".f32", x.class, short)
		exact = c.setp(cmpEQ, bitsOf(x.class), back, x)
	}
	return c.choose(exact, short, c.or(short, c.constant(r32, 1)))
}

func (c *conv) floatToInt(signed bool) func(*value, llir.Type, llir.Type) *value {
	return func(x *value, from, to llir.Type) *value {
		f, w := floatType(from), llir.Width(to)
		if w > 64 {
			refuse("a conversion to i%d", w)
		}
		if f == tBF16 {
			x, f = c.widen(x), tF32
		}
		cl := classOf(w)
		if w == 1 {
			v := c.named("cvt.rzi.s32."+f.String(), r32, x)
			return c.nonZero(c.and(v, c.constant(r32, 1)))
		}
		t := unsignedOf(cl)
		if signed {
			t = signedOf(cl)
		}
		return c.named("cvt.rzi."+t.String()+"."+f.String(), cl, x)
	}
}

func (c *conv) intToFloat(signed bool) func(*value, llir.Type, llir.Type) *value {
	return func(x *value, from, to llir.Type) *value {
		t, w := floatType(to), llir.Width(from)
		if w > 64 {
			refuse("a conversion from i%d", w)
		}
		cl := classOf(llir.Width(to))
		if x.class == pred {
			one := map[typ]float64{tF32: 1, tF64: 1, tF16: 1, tBF16: 1}[t]
			if signed {
				one = -one
			}
			return c.choose(x, c.number(t, one), c.constant(cl, 0))
		}
		it := unsignedOf(x.class)
		if signed {
			it, x = signedOf(x.class), c.sx(x, w)
		} else {
			x = c.zx(x, w)
		}
		if t == tBF16 && c.mod.opts.CC < 90 {
			if w <= 24 {
				return c.narrow(c.named("cvt.rn.f32."+it.String(), r32, x), t)
			}
			return c.narrow(c.roundToOdd(it.String(), x), t)
		}
		return c.named("cvt.rn."+t.String()+"."+it.String(), cl, x)
	}
}

// number is a constant of type t: 1, -1, 0.5 and the like, which all types hold.
func (c *conv) number(t typ, v float64) *value {
	switch t {
	case tF16:
		return c.constant(r16, int64(llir.FloatBits(llir.Half, v)))
	case tBF16:
		return c.constant(r16, int64(llir.FloatBits(llir.BF16, v)))
	case tF32:
		return c.constant(r32, int64(llir.FloatBits(llir.F32, v)))
	}
	return c.constant(r64, int64(llir.FloatBits(llir.F64, v)))
}
