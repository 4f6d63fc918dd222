package lang

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// mathematics: elementwise functions.
var mathematics = []*Builtin{
	floatFn("exp", math.Exp), floatFn("exp2", math.Exp2), floatFn("log", math.Log), floatFn("log2", math.Log2),
	floatFn("sin", math.Sin), floatFn("cos", math.Cos), floatFn("sqrt", math.Sqrt), floatFn("rsqrt", math.Rsqrt),
	floatFn("erf", math.Erf), floatFn("floor", math.Floor), floatFn("ceil", math.Ceil),
	{Name: "sqrt_rn", Params: "x", Member: true, Fn: func(e *Emitter, a *Args) any {
		x := a.ofType(0, errMathDtype, Float32)
		return e.tensor(e.B.Op(tt.PreciseSqrt, []*ir.Value{x.V}).OneResult(), x.T)
	}},
	{Name: "div_rn", Params: "x y", Member: true, Fn: func(e *Emitter, a *Args) any {
		x, y := e.operands(a.number(0), a.number(1), pair{})
		if dtypeOf(x.T) != Float32 {
			eval.FailHelp("convert with .to(tl.float32) first; / is exact on tl.float64", errDivRnDtype, x.Scalar())
		}
		return e.tensor(e.B.Op(tt.PreciseDivf, []*ir.Value{x.V, y.V}).OneResult(), x.T)
	}},
	{Name: "fdiv", Params: "x y ieee_rounding=False", Fn: func(e *Emitter, a *Args) any {
		x, y := a.tensor(0), a.tensor(1)
		for _, v := range []*Tensor{x, y} {
			if d := dtypeOf(v.T); d == nil || !d.IsFloat() {
				eval.FailHelp("convert with .to(tl.float32) first; x / y does so itself", "both operands of fdiv must have floating scalar type")
			}
		}
		if x.Scalar() != y.Scalar() || dtypeOf(x.T) == FP8E4B15 {
			eval.FailHelp("convert one of them; x / y does so itself", "fdiv needs operands of one type, got %s and %s", x.Scalar(), y.Scalar())
		}
		x, y = e.Broadcast(x, y)
		return e.op(arith.DivF, x, y)
	}},
	{Name: "fma", Params: "x y z", Fn: func(e *Emitter, a *Args) any {
		x, y := e.operands(a.number(0), a.number(1), pair{})
		z, x := e.operands(a.number(2), x, pair{})
		z, y = e.operands(z, y, pair{})
		x, y = e.Broadcast(x, y)
		if !dtypeOf(x.T).IsFloat() {
			eval.Fail(errUnexpectedType, x.Scalar())
		}
		return e.tensor(math.NewFMA(e.B, x.V, y.V, z.V), x.T)
	}},
	{Name: "umulhi", Params: "x y", Fn: func(e *Emitter, a *Args) any {
		x, y := a.tensor(0), a.tensor(1)
		for _, v := range []*Tensor{x, y} {
			if d := dtypeOf(v.T); d == nil || !d.IsInt() || d.bits < 32 {
				eval.FailHelp("convert with .to(tl.int32) first", errMulhiDtype, v.Scalar())
			}
		}
		x, y = e.operands(x, y, pair{})
		return e.tensor(e.B.Op(tt.Mulhiui, []*ir.Value{x.V, y.V}).OneResult(), x.T)
	}},
	{Name: "abs", Params: "x", Member: true, Fn: abs},
	{Name: "minimum", Params: "x y propagate_nan=none", Fn: minMax(arith.MinNumF, arith.MinimumF, arith.MinSI, arith.MinUI)},
	{Name: "maximum", Params: "x y propagate_nan=none", Fn: minMax(arith.MaxNumF, arith.MaximumF, arith.MaxSI, arith.MaxUI)},
	{Name: "clamp", Params: "x min max propagate_nan=none", Fn: clamp},
	{Name: "where", Params: "condition x y", Fn: where},
	{Name: "add", Params: "x y sanitize_overflow=True", Fn: func(e *Emitter, a *Args) any { return e.Add(a.number(0), a.number(1), a.bool(2)) }},
	{Name: "sub", Params: "x y sanitize_overflow=True", Fn: func(e *Emitter, a *Args) any { return e.Sub(a.number(0), a.number(1), a.bool(2)) }},
	{Name: "mul", Params: "x y sanitize_overflow=True", Fn: func(e *Emitter, a *Args) any { return e.Mul(a.number(0), a.number(1), a.bool(2)) }},
}

// number is argument i as a tensor, or as the Python number it is.
func (a *Args) number(i int) any {
	v := a.val(i)
	if IsScalarNumber(v) {
		return v
	}
	return a.tensor(i)
}

// ofType is argument i as a tensor whose elements are of one of the types.
func (a *Args) ofType(i int, text string, types ...*DType) *Tensor {
	x := a.tensor(i)
	list := &eval.List{}
	for _, t := range types {
		if dtypeOf(x.T) == t {
			return x
		}
		list.Elems = append(list.Elems, t.name)
	}
	eval.FailHelp("convert with .to("+"tl."+exportName(types[0])+") first", text, eval.Repr(list), x.Scalar())
	return nil
}

// exportName is a dtype's name in triton.language.
func exportName(d *DType) string {
	for name, t := range dtypes {
		if t == d {
			return name
		}
	}
	panic("BUG: lang: a type without a name")
}

func floatFn(name string, def *ir.OpDef) *Builtin {
	return &Builtin{Name: name, Params: "x", Member: true, Fn: func(e *Emitter, a *Args) any {
		if t := a.tensor(0); e.Facts.HalfMath && (dtypeOf(t.T) == Float16 || dtypeOf(t.T) == BF16) {
			x := e.Cast(t, Float32)
			return e.Cast(e.tensor(math.Unary(e.B, def, x.V), x.T), dtypeOf(t.T))
		}
		x := a.ofType(0, errMathDtype, Float32, Float64)
		return e.tensor(math.Unary(e.B, def, x.V), x.T)
	}}
}

func abs(e *Emitter, a *Args) any {
	if v := a.val(0); IsScalarNumber(v) {
		b, _ := eval.Builtin("abs")
		return e.Session.Apply(b, []any{v}, nil)
	}
	x := a.tensor(0)
	switch d := dtypeOf(x.T); {
	case d == nil:
		eval.Fail(errUnexpectedType, x.T)
	case d == FP8E4B15:
		mask := e.Constant(int64(0x7f), withElem(x.T, Int8))
		bits := e.Bitcast(x, Int8)
		return e.Bitcast(e.bitwise(arith.AndI, bits, mask), d)
	case d.IsFloat():
		return e.tensor(math.Unary(e.B, math.AbsF, x.V), x.T)
	case d.IsSigned():
		return e.tensor(math.Unary(e.B, math.AbsI, x.V), x.T)
	}
	return x
}

// PropagateNaN is the class tl.PropagateNan.
var PropagateNaN = &eval.Package{Name: "PropagateNan", Parts: map[string]any{
	"NONE": &nanMode{"NONE", tt.PropagateNone}, "ALL": &nanMode{"ALL", tt.PropagateAll},
}}

type nanMode struct {
	name  string
	value int64
}

func (n *nanMode) Repr() string     { return "PropagateNan." + n.name }
func (n *nanMode) TypeName() string { return "PropagateNan" }

func (a *Args) nanMode(i int) int64 {
	switch v := a.constant(i).(type) {
	case *nanMode:
		return v.value
	case string:
		return tt.PropagateNone
	default:
		eval.Fail("%s(): propagate_nan must be tl.PropagateNan.NONE or tl.PropagateNan.ALL, not %s", a.b.Name, eval.Repr(v))
	}
	return 0
}

// widenBF16 is what functions without a bf16 form do with it.
func (e *Emitter) widenBF16(x *Tensor) *Tensor {
	if dtypeOf(x.T) == BF16 {
		return e.Cast(x, Float32)
	}
	return x
}

func minMax(num, nan, signed, unsigned *ir.OpDef) func(*Emitter, *Args) any {
	return func(e *Emitter, a *Args) any {
		x, y := a.tensor(0), a.tensor(1)
		mode := a.nanMode(2)
		x, y = e.widenBF16(x), e.widenBF16(y)
		x, y = e.operands(x, y, pair{})
		switch d := dtypeOf(x.T); {
		case d.IsFloat() && mode == tt.PropagateAll:
			return e.op(nan, x, y)
		case d.IsFloat():
			return e.op(num, x, y)
		case d.IsSigned():
			return e.op(signed, x, y)
		}
		return e.op(unsigned, x, y)
	}
}

// MinMax is Python's min and max on run-time values, two at a time.
func (e *Emitter) MinMax(name string, x, y any) any {
	fn := "minimum"
	if name == "max" {
		fn = "maximum"
	}
	return e.Invoke(table()[fn], []any{x, y}, nil)
}

func clamp(e *Emitter, a *Args) any {
	x, lo, hi := e.widenBF16(a.tensor(0)), e.widenBF16(a.tensor(1)), e.widenBF16(a.tensor(2))
	mode := a.nanMode(3)
	lo, hi = e.operands(lo, hi, pair{})
	x, lo = e.operands(x, lo, pair{})
	x, hi = e.operands(x, hi, pair{})
	if d := dtypeOf(x.T); !d.IsFloat() {
		eval.Fail(errClampDtype, d)
	}
	op := e.B.Create(tt.Clampf, ir.State{
		Operands: []*ir.Value{x.V, lo.V, hi.V},
		Attrs:    []ir.NamedAttr{{Name: "propagateNan", Attr: e.C.I32Attr(mode)}},
	})
	return e.tensor(op.OneResult(), x.T)
}

func where(e *Emitter, a *Args) any {
	cond := a.tensor(0)
	if dtypeOf(cond.T) != Int1 {
		e.Gen.Warn(warnWhereCondition, cond.Scalar())
		cond = e.Cast(cond, Int1)
	}
	x, y := e.operands(a.number(1), a.number(2), pair{lhsPtr: true, rhsPtr: true, moves: true})
	if !x.Scalar().Equal(y.Scalar()) {
		eval.FailHelp("both values must be of one type", errInvalidOperands, x.Scalar(), y.Scalar())
	}
	if cond.IsBlock() {
		cond, x = e.Broadcast(cond, x)
		x, y = e.Broadcast(x, y)
	} else {
		cond, _ = e.Broadcast(cond, x)
	}
	return e.Select(cond, x, y)
}

// Select emits cond ? x : y for values of one type.
func (e *Emitter) Select(cond, x, y *Tensor) *Tensor {
	return e.tensor(arith.NewSelect(e.B, cond.V, x.V, y.V), x.T)
}

// signBit is whether x is negative, by its sign bit.
func (e *Emitter) signBit(x *Tensor) *Tensor {
	d := dtypeOf(x.T)
	ix := e.Bitcast(x, unsignedOf(d.bits))
	return e.Cast(e.Binary(syntax.RShift, ix, int64(d.bits-1)), Int1)
}

func unsignedOf(bits int) *DType {
	switch bits {
	case 8:
		return UInt8
	case 16:
		return UInt16
	case 32:
		return UInt32
	}
	return UInt64
}
