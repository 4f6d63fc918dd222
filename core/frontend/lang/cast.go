package lang

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Cast converts x to a scalar type (of a block, each element), narrowing floats
// to nearest even.
func (e *Emitter) Cast(x *Tensor, to Type) *Tensor { return e.cast(x, to, "") }

// cast is Cast with a rounding of narrowing float conversions: "" (the
// default), "rtne" or "rtz".
func (e *Emitter) cast(x *Tensor, to Type, rounding string) *Tensor {
	to = ScalarOf(to)
	if x.Scalar().Equal(to) {
		return x
	}
	src, dst := dtypeOf(x.T), dtypeOf(to)
	narrowing := src != nil && dst != nil && src.IsFloat() && dst.IsFloat() && dst.bits < src.bits
	if rounding != "" && !narrowing {
		eval.Fail(errRounding, x.Scalar(), to)
	}
	t := withElem(x.T, to)
	if src == nil || dst == nil {
		return e.castPointer(x, t)
	}
	for _, d := range []*DType{src, dst} {
		if d.IsFP8() {
			e.checkFP8(d)
		}
	}
	switch {
	case src.IsFloat() && dst.IsFloat():
		return e.castFloat(x, t, src, dst, rounding)
	case src.IsInt() && dst.IsInt():
		return e.castInt(x, t, src, dst)
	case src == FP8E4B15:
		return e.Cast(e.fromE4B15(x), to)
	case src.IsFP8() || dst.IsFP8():
		eval.FailHelp("convert to tl.float32 on the way", errCannotCast, x.T, dst)
	case src.IsFloat():
		if src == Float16 || src == BF16 {
			x = e.Cast(x, Float32)
		}
		switch {
		case dst.IsBool():
			return e.notZero(x)
		case dst.IsSigned():
			return e.convert(arith.FPToSI, x, t)
		}
		return e.convert(arith.FPToUI, x, t)
	case src.IsBool() || src.IsUnsigned():
		return e.convert(arith.UIToFP, x, t)
	}
	return e.convert(arith.SIToFP, x, t)
}

func (e *Emitter) convert(def *ir.OpDef, x *Tensor, t Type) *Tensor {
	return e.tensor(arith.Cast(e.B, def, x.V, t.IR(e.C)), t)
}

func (e *Emitter) checkFP8(d *DType) {
	if e.Facts.FP8 != nil && !slices.Contains(e.Facts.FP8, d.name) {
		eval.FailHelp("choose one of these, or a newer target", errFP8Unsupported, d, pyStrings(e.Facts.FP8))
	}
}

// pyStrings lists strings as Python prints a tuple of them.
func pyStrings(list []string) string {
	t := &eval.Tuple{}
	for _, s := range list {
		t.Elems = append(t.Elems, s)
	}
	return eval.Repr(t)
}

func (e *Emitter) castFloat(x *Tensor, t Type, src, dst *DType, rounding string) *Tensor {
	narrowing := dst.bits < src.bits
	switch {
	case src == FP8E4B15 && dst == Float64:
		eval.FailHelp("convert to tl.float16 first", errCannotCast, x.T, dst)
	case src == FP8E4B15:
		return e.Cast(e.fromE4B15(x), dst)
	case dst == FP8E4B15 && src == Float16:
		return e.toE4B15(x)
	case dst == FP8E4B15 && src != Float32:
		eval.FailHelp("convert to tl.float16 first", errCannotCast, x.T, dst)
	case dst == FP8E4B15:
		return e.Cast(e.cast(e.Cast(x, Float32), Float16, "rtz"), dst)
	}
	if src.IsFP8() || dst.IsFP8() || narrowing && rounding == "rtz" {
		s := ir.State{Operands: []*ir.Value{x.V}, Types: []ir.Type{t.IR(e.C)}}
		if narrowing {
			mode := tt.RoundNearestEven
			if rounding == "rtz" {
				mode = tt.RoundTowardZero
			}
			s.Attrs = []ir.NamedAttr{{Name: "rounding", Attr: e.C.I32Attr(mode)}}
		}
		return e.tensor(e.B.Create(tt.FpToFp, s).OneResult(), t)
	}
	if (src == Float16 || src == BF16) && dst != Float32 {
		return e.Cast(e.Cast(x, Float32), dst)
	}
	if narrowing {
		return e.convert(arith.TruncF, x, t)
	}
	return e.convert(arith.ExtF, x, t)
}

func (e *Emitter) castInt(x *Tensor, t Type, src, dst *DType) *Tensor {
	switch {
	case dst.IsBool():
		return e.notZero(x)
	case dst.bits == src.bits:
		return e.tensor(x.V, t)
	case dst.bits < src.bits:
		return e.convert(arith.TruncI, x, t)
	case src.IsSigned() && !src.IsBool():
		return e.convert(arith.ExtSI, x, t)
	}
	return e.convert(arith.ExtUI, x, t)
}

// notZero is x != 0.
func (e *Emitter) notZero(x *Tensor) *Tensor {
	return e.Compare(syntax.NotEq, x, e.Constant(int64(0), x.T))
}

func (e *Emitter) castPointer(x *Tensor, t Type) *Tensor {
	from, to := pointerOf(x.T), pointerOf(t)
	d := dtypeOf(t)
	src := dtypeOf(x.T)
	switch {
	case from != nil && to != nil:
		return e.tensor(tt.Unary(e.B, tt.Bitcast, x.V, t.IR(e.C)), t)
	case from != nil && d != nil && d.IsInt() && d.bits == 64:
		return e.tensor(tt.Unary(e.B, tt.PtrToInt, x.V, t.IR(e.C)), t)
	case from != nil && d == Int1:
		return e.notZero(e.Cast(x, Int64))
	case to != nil && src != nil && src.IsInt() && src.bits != 64:
		eval.FailHelp("convert to tl.int64 first", errCannotCast, x.T, ScalarOf(t))
	case to != nil && src != nil && src.IsInt():
		return e.tensor(tt.Unary(e.B, tt.IntToPtr, x.V, t.IR(e.C)), t)
	}
	eval.Fail(errCannotCast, x.T, ScalarOf(t))
	return nil
}

// Bitcast reinterprets x's bits as another scalar type of the same width.
func (e *Emitter) Bitcast(x *Tensor, to Type) *Tensor {
	to = ScalarOf(to)
	if x.Scalar().Equal(to) {
		return x
	}
	t := withElem(x.T, to)
	src, dst := dtypeOf(x.T), dtypeOf(to)
	if src == nil || dst == nil {
		return e.castPointer(x, t)
	}
	if src.bits != dst.bits {
		eval.Fail(errBitcastSize, src.bits, dst.bits)
	}
	return e.tensor(tt.Unary(e.B, tt.Bitcast, x.V, t.IR(e.C)), t)
}
