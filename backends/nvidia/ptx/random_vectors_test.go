package ptx

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// lanes computes with vectors of integers, and with the conditions that they give.
func (g *generator) lanes() {
	b := g.b
	t := []*types.IntType{llir.I8, llir.I16, llir.I32, llir.I64}[g.r.IntN(4)]
	n := []int{2, 4, 8}[g.r.IntN(3)]
	vector := func() llir.Value {
		elems := make([]llir.Value, n)
		for i := range elems {
			elems[i] = g.as(t)
		}
		return b.Vector(elems...)
	}
	x, y := vector(), vector()
	if x == y { // which the builder folds as scalars
		return
	}
	switch g.r.IntN(5) {
	case 0:
		x = b.Binary([]llir.Op{llir.Add, llir.Sub, llir.Mul, llir.And, llir.OrOp, llir.Xor}[g.r.IntN(6)], x, y, 0)
	case 1:
		name := []string{"umin", "umax", "smin", "smax"}[g.r.IntN(4)]
		x = b.Call(b.M.Declare(fmt.Sprintf("llvm.%s.v%di%d", name, n, t.BitSize), llir.Pure, x.Type(), x.Type(), x.Type()), x, y)
	case 2:
		x = b.Binary([]llir.Op{llir.Shl, llir.LShr, llir.AShr}[g.r.IntN(3)], x, g.splat(t, n, g.r.IntN(int(t.BitSize))), 0)
	}
	cond := b.ICmp(compared[g.r.IntN(len(compared))], x, y)
	if _, ok := cond.Type().(*types.VectorType); !ok {
		return
	}
	if g.r.IntN(2) == 0 {
		other := b.ICmp(compared[g.r.IntN(len(compared))], y, x)
		cond = b.Binary([]llir.Op{llir.And, llir.OrOp, llir.Xor}[g.r.IntN(3)], cond, other, 0)
	}
	switch g.r.IntN(3) {
	case 0:
		g.values = append(g.values, b.ExtractElement(cond, g.r.IntN(n)))
	case 1:
		x = b.Select(cond, x, y)
	default:
		wide := b.Cast([]llir.Op{llir.ZExtOp, llir.SExtOp}[g.r.IntN(2)], cond, b.M.Vec(n, t), 0)
		g.values = append(g.values, b.ExtractElement(wide, g.r.IntN(n)))
	}
	g.values = append(g.values, b.ExtractElement(x, g.r.IntN(n)), b.ExtractElement(x, g.r.IntN(n)))
}

func (g *generator) splat(t *types.IntType, n, v int) llir.Value {
	elems := make([]llir.Value, n)
	for i := range elems {
		elems[i] = g.b.M.Int(t, int64(v))
	}
	return g.b.Vector(elems...)
}

// floatLanes computes with vectors of floats, which PTX has of two halves.
func (g *generator) floatLanes() {
	b := g.b
	t := []llir.Type{llir.Half, llir.BF16, llir.F32, llir.Half, llir.BF16}[g.r.IntN(5)]
	n := []int{2, 4, 8}[g.r.IntN(3)]
	vector := func() llir.Value {
		elems := make([]llir.Value, n)
		for i := range elems {
			elems[i] = g.number(t)
		}
		return b.Vector(elems...)
	}
	x, y := vector(), vector()
	vt := x.Type()
	name := fmt.Sprintf(".v%d%s", n, suffix(t))
	switch g.r.IntN(8) {
	case 0, 1:
		x = b.Binary([]llir.Op{llir.FAdd, llir.FSub, llir.FMul}[g.r.IntN(3)], x, y, 0)
	case 2:
		x = b.Call(b.M.Declare("llvm.fma"+name, llir.Pure, vt, vt, vt, vt), x, y, vector())
	case 3:
		x = b.Call(b.M.Declare("llvm."+[]string{"maxnum", "minnum", "maximum", "minimum"}[g.r.IntN(4)]+name, llir.Pure, vt, vt, vt), x, y)
	case 4:
		x = b.Call(b.M.Declare("llvm.fabs"+name, llir.Pure, vt, vt), x)
	case 5:
		x = b.FNeg(x)
	case 6:
		x = b.Select(b.FCmp(ordered[g.r.IntN(len(ordered))], x, y), x, y)
	default:
		if t == llir.F32 {
			t = []llir.Type{llir.Half, llir.BF16}[g.r.IntN(2)]
			x = b.Cast(llir.FPTrunc, x, b.M.Vec(n, t), 0)
		} else {
			t = llir.F32
			x = b.Cast(llir.FPExt, x, b.M.Vec(n, t), 0)
		}
	}
	g.values = append(g.values, b.ExtractElement(x, g.r.IntN(n)), b.ExtractElement(x, g.r.IntN(n)))
}

// chain is what nested conditions of a kernel become: one of several values.
func (g *generator) chain() llir.Value {
	b := g.b
	if g.r.IntN(2) == 0 {
		t := floatTypes[g.r.IntN(len(floatTypes))]
		v := g.number(t)
		for range 2 + g.r.IntN(4) {
			v = b.Select(g.cond(), g.number(t), v)
		}
		return v
	}
	t := intTypes[g.r.IntN(len(intTypes))]
	x := g.as(llir.I32)
	v := g.as(t)
	for range 2 + g.r.IntN(4) {
		c := b.ICmp(compared[g.r.IntN(len(compared))], x, b.M.I32(g.r.IntN(5)))
		if g.r.IntN(3) == 0 {
			c = b.Binary([]llir.Op{llir.And, llir.OrOp, llir.Xor}[g.r.IntN(3)], c, g.cond(), 0)
		}
		if g.r.IntN(4) == 0 {
			c = b.Not(c)
		}
		v = b.Select(c, g.as(t), v)
	}
	return v
}

// guarded shifts by any amount, where a condition says what is left of too wide a shift.
func (g *generator) guarded() llir.Value {
	b := g.b
	t := []*types.IntType{llir.I8, llir.I16, llir.I32, llir.I64}[g.r.IntN(4)]
	x, by := g.as(t), g.as(t)
	if g.r.IntN(2) == 0 {
		by = b.And(by, b.M.Int(t, 2*int64(t.BitSize)-1))
	}
	shifted := b.Binary([]llir.Op{llir.Shl, llir.LShr, llir.AShr}[g.r.IntN(3)], x, by, 0)
	w := b.M.Int(t, int64(t.BitSize))
	if g.r.IntN(2) == 0 {
		return b.Select(b.ICmp(enum.IPredULT, by, w), shifted, g.as(t))
	}
	return b.Select(b.ICmp(enum.IPredUGE, by, w), b.M.Int(t, -int64(g.r.IntN(2))), shifted)
}

// nibbles packs two numbers of 4 bits, as kernels that quantize do, and takes one out.
func (g *generator) nibbles() llir.Value {
	b := g.b
	four, low := b.M.Int(llir.I8, 4), b.M.Int(llir.I8, 15)
	number := func() llir.Value {
		if g.r.IntN(2) == 0 {
			return g.as(llir.I8)
		}
		return b.Cast(llir.FPToUI, g.number(floatTypes[g.r.IntN(len(floatTypes))]), llir.I8, 0)
	}
	x, y := number(), number()
	q := b.Add(x, b.Mul(y, b.M.Int(llir.I8, 16)))
	if g.r.IntN(2) == 0 {
		q = b.Or(b.And(x, low), b.Binary(llir.Shl, y, four, 0))
	}
	var v llir.Value
	switch g.r.IntN(3) {
	case 0:
		v = b.And(q, low)
	case 1:
		v = b.Binary(llir.LShr, q, four, 0)
	default: // with its sign
		v = b.Binary(llir.AShr, b.Binary(llir.Shl, q, four, 0), four, 0)
	}
	v = b.Sub(v, g.as(llir.I8))
	switch g.r.IntN(3) {
	case 0:
		return v
	case 1: // the exponent of a float
		return b.Binary(llir.Shl, b.ZExt(v, llir.I32), b.M.I32(23), 0)
	}
	return b.Cast([]llir.Op{llir.SIToFP, llir.UIToFP}[g.r.IntN(2)], v, floatTypes[g.r.IntN(len(floatTypes))], 0)
}

// mathematics is a function that has one result on all devices.
func (g *generator) mathematics() llir.Value {
	b := g.b
	t := floatTypes[g.r.IntN(len(floatTypes))]
	x := g.number(t)
	name := []string{
		"fma", "fabs", "copysign", "sqrt", "floor", "ceil", "trunc", "rint", "roundeven", "round",
		"minnum", "maxnum", "minimum", "maximum",
	}[g.r.IntN(14)]
	args := []llir.Value{x}
	switch name {
	case "fma":
		args = append(args, g.number(t), g.number(t))
	case "copysign": // of a number, as the sign of a NaN is not
		args = append(args, b.Cast(llir.SIToFP, g.as(llir.I16), t, 0))
	case "minnum", "maxnum", "minimum", "maximum":
		args = append(args, g.number(t))
	}
	ts := make([]llir.Type, len(args))
	for i := range ts {
		ts[i] = t
	}
	return b.Call(b.M.Declare("llvm."+name+"."+suffix(t), llir.Pure, t, ts...), args...)
}
