package lang

import (
	"math"
	"math/big"
	"strconv"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// Generator is what builtins ask of the code generator.
type Generator interface {
	// CallJIT compiles fn for the arguments, emits the call and returns its
	// value.
	CallJIT(fn *eval.Function, args []any, kwargs []eval.Keyword) any
	// Warn tells the user something at the place being compiled.
	Warn(format string, args ...any)
}

// Emitter emits operations on values of the language as ttir at its
// builder's insertion point. It belongs to one compile.
type Emitter struct {
	B       *ir.Builder
	C       *ir.Context
	Gen     Generator
	Session *eval.Session
	Lib     *Lib
	Facts   *Facts
	Opts    *Options
	// ArgHints are what tl.multiple_of and the like say of block arguments,
	// for the loop that owns them to take.
	ArgHints []ArgHint
}

// ArgHint is a hint on a block argument.
type ArgHint struct {
	Arg  *ir.Value
	Hint ir.NamedAttr
}

func (e *Emitter) tensor(v *ir.Value, t Type) *Tensor { return &Tensor{v, t} }

// NumberType is the type that a Python number takes by itself; nil for what is
// not a number.
func NumberType(v any) *DType {
	switch v := v.(type) {
	case bool:
		return Int1
	case int64:
		switch {
		case v >= math.MinInt32 && v <= math.MaxInt32:
			return Int32
		case v >= 0 && v <= math.MaxUint32:
			return UInt32
		}
		return Int64
	case *big.Int:
		if v.Sign() > 0 && v.BitLen() <= 64 {
			return UInt64
		}
		eval.Fail(errNonrepresentable, v)
	case float64:
		a := math.Abs(v)
		if a == 0 || math.IsInf(a, 0) || math.IsNaN(a) || a >= minNormal32 && a <= math.MaxFloat32 {
			return Float32
		}
		return Float64
	}
	return nil
}

const minNormal32 = 0x1p-126

// Constant makes the number v as a value of a type; a splat for a block. Zero
// is a value of every type; other numbers are not of the 8-bit floats, nor are
// floats of the integers.
func (e *Emitter) Constant(v any, t Type) *Tensor {
	d := dtypeOf(t)
	irt := t.IR(e.C)
	f, isFloat := v.(float64)
	if d.IsFP8() {
		e.checkFP8(d)
	}
	switch {
	case d.IsFP8() && eval.Truth(v):
		eval.FailHelp("make it of type tl.float16 and convert it with .to("+"tl."+exportName(d)+")",
			"%s cannot be a constant of type %s: only 0 can", eval.Str(v), d)
	case d.IsFloat() && d != FP8E4B15:
		f, _ = eval.AsFloat(v)
		if f == 0 {
			f = 0 // Triton's zeros have no sign
		}
		return e.tensor(arith.Float(e.B, irt, roundTo(d, f)), t)
	case d == Int1:
		v = eval.Truth(v)
	case isFloat && f != 0:
		eval.FailHelp("write int(…) around it, or choose a type of floats", "%s cannot be a constant of type %s", eval.Str(v), d)
	}
	return e.tensor(arith.Int(e.B, irt, intBits(v)), t)
}

// roundTo does what Triton does to a Python float on its way into a constant:
// those of 16 bits pass through fp32, those of bf16 in decimals, of which six
// come after the point. A NaN is the one that Python writes, not Go's.
func roundTo(d *DType, f float64) float64 {
	switch {
	case math.IsNaN(f):
		return math.Float64frombits(math.Float64bits(f)>>63<<63 | 0x7ff8<<48)
	case d == BF16:
		f, _ = strconv.ParseFloat(strconv.FormatFloat(float64(float32(f)), 'f', 6, 64), 64)
	case d == Float16:
		f = float64(float32(f))
	}
	return f
}

// intBits is the number v as the bits of an integer of up to 64 bits.
func intBits(v any) int64 {
	switch v := v.(type) {
	case *big.Int:
		return int64(new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	case float64:
		return int64(v)
	}
	i, _ := eval.AsInt(v)
	return i
}

// ToTensor makes a run-time value of a number; tensors stay.
func (e *Emitter) ToTensor(v any) *Tensor {
	switch v := v.(type) {
	case *Tensor:
		return v
	case *eval.Missing:
		v.Fail()
	}
	t := NumberType(v)
	if t == nil {
		eval.Fail(errCannotConvert, eval.Str(v), eval.TypeName(v))
	}
	return e.Constant(v, t)
}

// IsScalarNumber reports whether v is a Python number.
func IsScalarNumber(v any) bool { return eval.IsNumber(v) }

// Splat makes a block of one scalar.
func (e *Emitter) Splat(x *Tensor, shape []int64) *Tensor {
	if len(shape) == 0 {
		return x
	}
	t := &Block{x.T, shape}
	irt := t.IR(e.C)
	if a := arith.ConstantValue(x.V); a != nil {
		return e.tensor(arith.NewConstant(e.B, splatAttr(e.C, a, irt)), t)
	}
	return e.tensor(tt.Unary(e.B, tt.Splat, x.V, irt), t)
}

func splatAttr(c *ir.Context, a ir.Attribute, t ir.Type) ir.Attribute {
	switch a := a.(type) {
	case *ir.IntegerAttr:
		return arith.IntValue(c, t, a.Value)
	case *ir.FloatAttr:
		return c.DenseSplat(t, a.Bits)
	}
	panic("BUG: lang: splat of a constant that is not a scalar")
}

// broadcastTo repeats x's dimensions of size 1 to a shape of its rank.
func (e *Emitter) broadcastTo(x *Tensor, shape []int64) *Tensor {
	if sameShape(x.Shape(), shape) {
		return x
	}
	e.Facts.CheckShape(shape)
	t := &Block{x.Scalar(), shape}
	if a, ok := arith.ConstantValue(x.V).(*ir.DenseElementsAttr); ok && a.IsSplat() {
		return e.tensor(arith.NewConstant(e.B, e.C.DenseSplat(t.IR(e.C), a.Values[0])), t)
	}
	return e.tensor(tt.Unary(e.B, tt.Broadcast, x.V, t.IR(e.C)), t)
}

// Broadcast brings two values to one shape, by NumPy's rule.
func (e *Emitter) Broadcast(a, b *Tensor) (*Tensor, *Tensor) {
	x, y := a.Shape(), b.Shape()
	switch {
	case sameShape(x, y):
		return a, b
	case len(y) == 0:
		return a, e.Splat(b, x)
	case len(x) == 0:
		return e.Splat(a, y), b
	}
	for len(a.Shape()) < len(y) {
		a = e.ExpandDims(a, 0)
	}
	for len(b.Shape()) < len(x) {
		b = e.ExpandDims(b, 0)
	}
	x, y = a.Shape(), b.Shape()
	out := make([]int64, len(x))
	for i := range x {
		switch {
		case x[i] == 1:
			out[i] = y[i]
		case y[i] == 1 || x[i] == y[i]:
			out[i] = x[i]
		default:
			eval.FailHelp("dimensions must be equal, or 1 in one of the two; the shapes are "+shapeString(x)+" and "+shapeString(y),
				errIncompatibleDims, i, x[i], y[i])
		}
	}
	return e.broadcastTo(a, out), e.broadcastTo(b, out)
}

func shapeString(shape []int64) string { return eval.Repr(&eval.List{Elems: shapeTuple(shape).Elems}) }

// BroadcastShape brings x to a shape.
func (e *Emitter) BroadcastShape(x *Tensor, shape []int64) *Tensor {
	src := x.Shape()
	if len(src) == 0 {
		return e.Splat(x, shape)
	}
	if len(src) != len(shape) {
		eval.Fail(errRankMismatch, shapeString(src), shapeString(shape))
	}
	for i := range src {
		if src[i] != shape[i] && src[i] != 1 {
			eval.Fail(errExpandedSize, shape[i], src[i], i, shapeString(src), shapeString(shape))
		}
	}
	return e.broadcastTo(x, shape)
}

// ExpandDims inserts a dimension of size 1 at axis; a scalar becomes a block of
// one element.
func (e *Emitter) ExpandDims(x *Tensor, axis int) *Tensor {
	src := x.Shape()
	if len(src) == 0 {
		return e.Splat(x, []int64{1})
	}
	shape := make([]int64, 0, len(src)+1)
	shape = append(append(append(shape, src[:axis]...), 1), src[axis:]...)
	return e.tensor(tt.NewExpandDims(e.B, x.V, axis), &Block{x.Scalar(), shape})
}
