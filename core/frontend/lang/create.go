package lang

import (
	"math/big"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// creation: places of programs, and tensors out of nothing.
var creation = []*Builtin{
	{Name: "program_id", Params: "axis", Fn: func(e *Emitter, a *Args) any {
		return e.tensor(tt.NewProgramID(e.B, a.axis(0)), Int32)
	}},
	{Name: "num_programs", Params: "axis", Fn: func(e *Emitter, a *Args) any {
		return e.tensor(tt.NewNumPrograms(e.B, a.axis(0)), Int32)
	}},
	{Name: "arange", Params: "start end", Fn: arange},
	{Name: "full", Params: "shape value dtype", Fn: full},
	{Name: "cast", Params: "input dtype fp_downcast_rounding=None bitcast=False", Member: true, Fn: castTo},
	{Name: "to", Params: "input dtype fp_downcast_rounding=None bitcast=False", Member: true, Fn: castTo},
	{Name: "to_tensor", Params: "x", Fn: func(_ *Emitter, a *Args) any { return a.tensor(0) }},
	{Name: "cat", Params: "input other can_reorder=False", Fn: cat},
}

func (a *Args) axis(i int) int64 {
	n, ok := eval.AsInt(a.constant(i))
	if !ok || n < 0 || n > 2 {
		eval.Fail(errAxis, a.b.Name, eval.Str(a.vals[i]))
	}
	return n
}

func arange(e *Emitter, a *Args) any {
	bounds := [2]int64{}
	for i := range bounds {
		if _, ok := a.val(i).(Value); ok {
			eval.FailHelp("make it a parameter annotated as tl.constexpr", errArangeConst)
		}
		bounds[i] = a.int(i)
	}
	start, end := bounds[0], bounds[1]
	switch n := end - start; {
	case start != int64(int32(start)) || end != int64(int32(end)) || start < 0 || end < 0: // Triton asks for no bits above 32
		eval.FailHelp("start from 0 and add", errArange32)
	case n <= 0:
		eval.Fail(errArangeOrder)
	case !e.Facts.blockSize(n):
		eval.FailHelp(powerHelp(n), errArangePow2)
	}
	t := &Block{Int32, []int64{end - start}}
	e.Facts.CheckShape(t.Shape)
	return e.tensor(tt.NewMakeRange(e.B, t.IR(e.C), start, end), t)
}

// Full makes a block of one value.
func (e *Emitter) Full(shape []int64, value any, t Type) *Tensor {
	if v, ok := value.(*Tensor); ok {
		if v.IsBlock() {
			if numElements(v.Shape()) != 1 {
				eval.Fail("only accepts size-1 tensor")
			}
			eval.FailHelp("take the element first: value.item()", "Cannot splat a block tensor")
		}
		if t != nil {
			v = e.Cast(v, t)
		}
		return e.Splat(v, shape)
	}
	if t == nil {
		eval.Fail(errFullDtype)
	}
	if pointerOf(t) != nil {
		eval.FailHelp("add offsets to a pointer, or convert integers with .to("+t.String()+")", "a constant cannot have type %s", t)
	}
	if d := dtypeOf(t); d.IsUnsigned() && d != Int1 && eval.Truth(eval.Compare(syntax.Lt, value, int64(0))) {
		eval.FailHelp("make it of a signed type and convert it", "%s cannot be a constant of type %s", eval.Str(value), d)
	}
	if n, ok := value.(*big.Int); ok && dtypeOf(t).IsInt() && dtypeOf(t) != Int1 && (!dtypeOf(t).IsUnsigned() || n.BitLen() > 64) {
		eval.FailHelp("use tl.uint64, or a smaller number", "%s cannot be a constant of type %s", n, t)
	}
	return e.Constant(value, WithShape(ScalarOf(t), shape))
}

func full(e *Emitter, a *Args) any {
	v := a.val(1)
	if _, ok := v.(*Tensor); !ok && !IsScalarNumber(v) {
		v = a.tensor(1)
	}
	if _, ok := eval.AsInt(a.val(0)); ok {
		eval.FailHelp("a shape of one dimension is a tuple: (N,)", errNotIterable)
	}
	return e.Full(a.shape(0), v, a.dtype(2))
}

func castTo(e *Emitter, a *Args) any {
	x, t := a.tensor(0), a.dtype(1)
	if t == nil {
		eval.Fail("%s() needs a dtype", a.b.Name)
	}
	rounding := a.str(2)
	if rounding != "" && rounding != "rtne" && rounding != "rtz" {
		eval.FailHelp(eval.DidYouMean(rounding, []string{"rtne", "rtz"}, ""), "fp_downcast_rounding must be one of 'rtne', 'rtz'. Got %s", rounding)
	}
	if a.bool(3) {
		return e.Bitcast(x, t)
	}
	return e.cast(x, t, rounding)
}

func (e *Emitter) unsplat(x *Tensor) *Tensor {
	return e.tensor(e.B.Op(tt.Unsplat, []*ir.Value{x.V}).OneResult(), x.Scalar())
}

func cat(e *Emitter, a *Args) any {
	if !a.bool(2) {
		eval.FailHelp("pass can_reorder=True", errCatReorder)
	}
	x, y := a.tensor(0), a.tensor(1)
	if len(x.Shape()) != 1 || !x.T.Equal(y.T) {
		eval.Fail("cat needs two one-dimensional tensors of one type; got %s and %s", x.T, y.T)
	}
	t := &Block{x.Scalar(), []int64{2 * x.Shape()[0]}}
	e.Facts.CheckShape(t.Shape)
	return e.tensor(e.B.Op(tt.Cat, []*ir.Value{x.V, y.V}, t.IR(e.C)).OneResult(), t)
}
