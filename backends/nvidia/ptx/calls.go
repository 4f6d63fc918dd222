package ptx

import (
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// callee is a function that is called.
type callee struct {
	name string
	args []class
	rets []class
}

func (c *conv) call(i *ir.InstCall) {
	switch f := i.Callee.(type) {
	case *ir.InlineAsm:
		c.inline(i, f)
	case *ir.Func:
		switch {
		case strings.HasPrefix(f.GlobalName, "llvm.nvvm."):
			c.device(i, strings.TrimPrefix(f.GlobalName, "llvm.nvvm."))
		case strings.HasPrefix(f.GlobalName, "llvm."):
			c.intrinsic(i, strings.TrimPrefix(f.GlobalName, "llvm."))
		default:
			c.function(i, f)
		}
	default:
		refuse("a call of %T", i.Callee)
	}
}

// function calls a function of the module, or one that the driver has.
func (c *conv) function(i *ir.InstCall, f *ir.Func) {
	to := &callee{name: mangle(f.GlobalName)}
	var args []*value
	for _, x := range i.Args {
		for _, v := range c.get(x) {
			if v.class == pred {
				v = c.bit(v, r32)
			}
			to.args = append(to.args, v.class)
			args = append(args, v)
		}
	}
	v := c.newValue(opCall, tNone, none, args...)
	v.aux, v.loc = to, c.loc
	c.b.append(v)
	if i.Typ == llir.Void {
		return
	}
	to.rets = c.mod.layout(i.Typ)
	parts := make([]*value, len(to.rets))
	for k, cl := range to.rets {
		if cl == pred {
			parts[k] = c.nonZero(c.proj(v, k, r32))
			continue
		}
		parts[k] = c.proj(v, k, cl)
	}
	c.set(i, parts...)
}

// one calls an instruction by name with the operands of a call, and gives its results.
func (c *conv) direct(i *ir.InstCall, text string, args ...*value) {
	if i.Typ == llir.Void {
		c.effect(text, none, args...)
		return
	}
	l := c.mod.layout(i.Typ)
	if len(l) == 1 {
		c.set(i, c.effect(text, l[0], args...))
		return
	}
	v := c.effect(text, none, args...)
	parts := make([]*value, len(l))
	for k, cl := range l {
		parts[k] = c.proj(v, k, cl)
	}
	c.set(i, parts...)
}

// simple are intrinsics of NVVM that are one instruction with the same operands.
var simple = map[string]string{
	"cp.async.commit.group":           "cp.async.commit_group",
	"cp.async.wait.group":             "cp.async.wait_group",
	"cp.async.bulk.commit.group":      "cp.async.bulk.commit_group",
	"cp.async.bulk.wait.group":        "cp.async.bulk.wait_group",
	"cp.async.bulk.wait.group.read":   "cp.async.bulk.wait_group.read",
	"wgmma.commit_group.sync.aligned": "wgmma.commit_group.sync.aligned",
	"barrier.cta.sync.aligned.all":    "bar.sync",
	"barrier.cta.sync.aligned.count":  "bar.sync",
	"bar.warp.sync":                   "bar.warp.sync",
	"barrier.cluster.arrive.aligned":  "barrier.cluster.arrive.aligned",
	"barrier.cluster.wait.aligned":    "barrier.cluster.wait.aligned",
	"setmaxnreg.inc.sync.aligned.u32": "setmaxnreg.inc.sync.aligned.u32",
	"setmaxnreg.dec.sync.aligned.u32": "setmaxnreg.dec.sync.aligned.u32",
	"elect.sync":                      "elect.sync",
	"redux.sync.add":                  "redux.sync.add.s32",
	"redux.sync.min":                  "redux.sync.min.s32",
	"redux.sync.max":                  "redux.sync.max.s32",
	"redux.sync.umin":                 "redux.sync.min.u32",
	"redux.sync.umax":                 "redux.sync.max.u32",
	"redux.sync.and":                  "redux.sync.and.b32",
	"redux.sync.or":                   "redux.sync.or.b32",
	"redux.sync.xor":                  "redux.sync.xor.b32",
}

// device converts an intrinsic of NVVM.
func (c *conv) device(i *ir.InstCall, name string) {
	var x []*value
	for _, a := range i.Args {
		x = append(x, c.get(a)...)
	}
	if text, ok := simple[name]; ok {
		c.direct(i, text, x...)
		return
	}
	if sreg, ok := strings.CutPrefix(name, "read.ptx.sreg."); ok {
		v := c.named("mov.u32", r32)
		v.aux = "%" + strings.Replace(sreg, "cluster.", "cluster_", 1)
		c.set(i, v)
		return
	}
	if rest, ok := strings.CutPrefix(name, "shfl.sync."); ok {
		mode, _, _ := strings.Cut(rest, ".")
		c.direct(i, "shfl.sync."+mode+".b32", x[1], x[2], x[3], x[0])
		return
	}
	if rest, ok := strings.CutPrefix(name, "ldmatrix.sync.aligned.m8n8."); ok {
		form, _, _ := strings.Cut(rest, ".b16")
		base, off := splitAddress(x[0])
		l := c.mod.layout(i.Typ)
		v := c.newValue(opInst, tNone, none, base)
		v.text, v.loc, v.imm = "ldmatrix.sync.aligned.m8n8."+form+".shared.b16", c.loc, off
		v.aux = addressed{}
		c.b.append(v)
		parts := make([]*value, len(l))
		for k, cl := range l {
			parts[k] = c.proj(v, k, cl)
		}
		c.set(i, parts...)
		return
	}
	switch name {
	case "vote.any.sync":
		c.direct(i, "vote.sync.any.pred", x[1], x[0])
	case "prmt":
		c.set(i, c.emit(opPrmt, tB32, r32, x...))
	case "saturate.f":
		c.set(i, c.named("cvt.sat.f32.f32", r32, x...))
	default:
		cl := c.mod.layout(i.Typ)
		if text := floatInst(name); text != "" && len(cl) == 1 {
			c.set(i, c.named(text, cl[0], x...))
			return
		}
		refuse("the intrinsic llvm.nvvm.%s", name)
	}
}

// addressed says that an instruction's operand is an address, to which imm is added.
type addressed struct{}

// floats are the letters that NVVM has for types.
var floats = map[string]typ{"f": tF32, "d": tF64, "i": tS32, "ui": tU32, "ll": tS64, "ull": tU64}

// floatInst is the instruction of an intrinsic on floating-point numbers, or "":
// ex2.approx.ftz.f, f2i.rn.ftz, div.full.
func floatInst(name string) string {
	base, mode, _ := strings.Cut(name, ".")
	if from, to, ok := strings.Cut(base, "2"); ok && floats[from] != tNone && floats[to] != tNone {
		f, t := floats[from], floats[to]
		if !t.isFloat() {
			mode = mode[:2] + "i" + mode[2:] // rounding to a whole number
		}
		return "cvt." + mode + "." + t.String() + "." + f.String()
	}
	switch {
	case name == "div.full", name == "div.full.ftz":
		return name + ".f32"
	case strings.HasSuffix(name, ".f"):
		return strings.TrimSuffix(name, ".f") + ".f32"
	case strings.HasSuffix(name, ".d"):
		return strings.TrimSuffix(name, ".d") + ".f64"
	}
	return ""
}

// intrinsic converts one of LLVM's own.
func (c *conv) intrinsic(i *ir.InstCall, full string) {
	name, _, _ := strings.Cut(full, ".")
	switch name {
	case "assume":
		return
	case "trap":
		c.effect("trap", none)
		return
	}
	t := i.Typ
	elem := t
	if v, ok := t.(*types.VectorType); ok {
		elem = v.ElemType
		if ft := floatType(elem); (ft == tF16 || ft == tBF16) && v.Len%2 == 0 && packedForm[name] {
			parts := make([]*value, v.Len/2)
			for k := range parts {
				args := make([]*value, len(i.Args))
				for n, x := range i.Args {
					args[n] = c.get(x)[k]
				}
				parts[k] = c.math(name, ft+2, args)
			}
			c.set(i, parts...)
			return
		}
	}
	one := func(args []*value) *value {
		if llir.IsFloat(elem) {
			return c.math(name, floatType(elem), args)
		}
		return c.bits(name, llir.Width(elem), args)
	}
	c.elementwise(i, t, one, i.Args...)
}

// packedForm are the functions that one instruction computes of two halves.
var packedForm = map[string]bool{"fma": true, "maxnum": true, "minnum": true, "maximum": true, "minimum": true, "fabs": true}

// roundings are the functions that round to a whole number.
var roundings = map[string]string{
	"floor": "rmi", "ceil": "rpi", "trunc": "rzi", "rint": "rni", "nearbyint": "rni", "roundeven": "rni",
}

// math is a function of floating-point numbers.
func (c *conv) math(name string, t typ, x []*value) *value {
	cl := x[0].class
	half := t == tF16 || t == tBF16 || t == tF16x2 || t == tBF16x2
	switch name {
	case "fma", "fmuladd":
		return c.emit(opFma, t, cl, x...)
	case "maxnum":
		return c.emit(opMax, t, cl, x...)
	case "minnum":
		return c.emit(opMin, t, cl, x...)
	case "maximum", "minimum":
		if t == tF64 {
			return c.extreme(name, t, x)
		}
		v := c.named(name[:3]+".NaN."+t.String(), cl, x...)
		v.typ = t
		return v
	case "fabs":
		if half {
			mask := int64(0x7FFF)
			if cl == r32 {
				mask = 0x7FFF7FFF
			}
			return c.and(x[0], c.constant(cl, mask))
		}
		return c.emit(opAbs, t, cl, x...)
	case "copysign":
		if t == tF32 || t == tF64 {
			return c.named("copysign."+t.String(), cl, x[1], x[0])
		}
		return c.or(c.and(x[0], c.constant(cl, 0x7FFF)), c.and(x[1], c.constant(cl, signF16)))
	}
	if half { // the rest goes by numbers of 32 bits
		wide := make([]*value, len(x))
		for k, v := range x {
			wide[k] = c.widenTo32(t, v)
		}
		return c.narrow(c.math(name, tF32, wide), t)
	}
	if mode := roundings[name]; mode != "" {
		return c.named("cvt."+mode+"."+t.String()+"."+t.String(), cl, x...)
	}
	switch name {
	case "sqrt":
		return c.named("sqrt.rn."+t.String(), cl, x...)
	case "round":
		return c.round(t, x[0])
	case "exp2", "log2", "sin", "cos":
		if t == tF32 {
			return c.named(map[string]string{"exp2": "ex2", "log2": "lg2", "sin": "sin", "cos": "cos"}[name]+".approx.f32", cl, x...)
		}
	}
	refuse("the intrinsic llvm.%s of %s", name, t)
	return nil
}

// extreme is the greater or lesser of two doubles, or a NaN.
func (c *conv) extreme(name string, t typ, x []*value) *value {
	o := opMax
	if name == "minimum" {
		o = opMin
	}
	m := c.emit(o, t, r64, x...)
	nan := c.setp(cmpNaN, t, x[0], x[1])
	return c.choose(nan, c.constant(r64, 0x7FF8000000000000), m)
}

// round rounds to a whole number, halves away from zero.
func (c *conv) round(t typ, x *value) *value {
	name, limit := "."+t.String()+"."+t.String(), float64(1<<23)
	if t == tF64 {
		limit = 1 << 52
	}
	half := c.named("copysign."+t.String(), x.class, x, c.number(t, 0.5))
	near := c.named("cvt.rzi"+name, x.class, c.emit(opAdd, t, x.class, x, half))
	abs := c.emit(opAbs, t, x.class, x)
	near = c.choose(c.setp(cmpLT, t, abs, c.number(t, 0.5)), c.named("cvt.rzi"+name, x.class, x), near)
	return c.choose(c.setp(cmpGT, t, abs, c.number(t, limit)), x, near)
}

// bits is a function of integers of w bits.
func (c *conv) bits(name string, w int, x []*value) *value {
	cl := x[0].class
	if cl == pred {
		switch name {
		case "smax", "umin":
			return c.and(x[0], x[1])
		case "smin", "umax":
			return c.or(x[0], x[1])
		case "ctpop", "bitreverse", "abs":
			return x[0]
		}
		refuse("the intrinsic llvm.%s of i1", name)
	}
	if w > 64 {
		refuse("the intrinsic llvm.%s of i%d", name, w)
	}
	switch name {
	case "smin", "smax":
		o := map[string]op{"smin": opMin, "smax": opMax}[name]
		return c.emit(o, signedOf(cl), cl, c.sx(x[0], w), c.sx(x[1], w))
	case "umin", "umax":
		o := map[string]op{"umin": opMin, "umax": opMax}[name]
		return c.emit(o, unsignedOf(cl), cl, c.zx(x[0], w), c.zx(x[1], w))
	case "abs":
		return c.emit(opAbs, signedOf(cl), cl, c.sx(x[0], w))
	case "fshl", "fshr":
		return c.funnel(name, w, x)
	}
	// The others are there for 32 and 64 bits; their result has 32 bits.
	wide := r32
	if cl == r64 {
		wide = r64
	}
	n := wide.bits()
	v := c.integerTo(c.zx(x[0], w), cl.bits(), n, false)[0]
	suffix := ".b" + itoa(n)
	back := func(v *value) *value { return c.integerTo(v, v.class.bits(), cl.bits(), false)[0] }
	switch name {
	case "ctpop":
		return back(c.named("popc"+suffix, r32, v))
	case "ctlz":
		zeros := c.named("clz"+suffix, r32, v)
		return back(c.add(zeros, c.constant(r32, int64(w-n))))
	case "cttz":
		if w < n {
			v = c.or(v, c.constant(wide, 1<<w))
		}
		return back(c.named("clz"+suffix, r32, c.named("brev"+suffix, wide, v)))
	case "bitreverse":
		v = c.named("brev"+suffix, wide, v)
		return back(c.emit(opShr, unsignedOf(wide), wide, v, c.constant(r32, int64(n-w))))
	case "bswap":
		if w == 32 {
			return c.emit(opPrmt, tB32, r32, v, c.constant(r32, 0), c.constant(r32, 0x0123))
		}
		if w == 16 {
			return back(c.emit(opPrmt, tB32, r32, v, c.constant(r32, 0), c.constant(r32, 0x4401)))
		}
	}
	refuse("the intrinsic llvm.%s of i%d", name, w)
	return nil
}

// funnel shifts two integers as one.
func (c *conv) funnel(name string, w int, x []*value) *value {
	hi, lo := x[0], x[1]
	n := c.amount(x[2], w)
	switch {
	case w == 32 && name == "fshl":
		return c.emit(opShf, tB32, r32, lo, hi, n)
	case w == 32:
		return c.named("shf.r.wrap.b32", r32, lo, hi, n)
	case w&(w-1) != 0:
		refuse("the intrinsic llvm.%s of i%d", name, w)
	}
	cl := hi.class
	n = c.and(n, c.constant(r32, int64(w-1)))
	rest := c.xor(n, c.constant(r32, int64(w-1)))
	one := c.constant(r32, 1)
	shl := func(v, by *value) *value { return c.emit(opShl, bitsOf(cl), cl, v, by) }
	shr := func(v, by *value) *value { return c.emit(opShr, unsignedOf(cl), cl, v, by) }
	lo = c.zx(lo, w)
	if name == "fshl" {
		return c.or(shl(hi, n), shr(shr(lo, one), rest))
	}
	return c.or(shl(shl(hi, one), rest), shr(lo, n))
}
