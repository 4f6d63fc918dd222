package lang

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/ir"
)

// promoteInts is the type of an operation on two integers: the wider of equal
// signedness; else the unsigned one if it is at least as wide, else the signed.
func promoteInts(a, b *DType) *DType {
	switch {
	case a.signed == b.signed:
		if a.bits > b.bits {
			return a
		}
		return b
	case !a.signed:
		if a.bits >= b.bits {
			return a
		}
		return b
	case b.bits >= a.bits:
		return b
	}
	return a
}

// computationType is the type in which an operation on a and b is computed. A
// Python number (aNum, bNum) gives way to a tensor of its kind or a higher one.
func computationType(a *DType, aNum bool, b *DType, bNum, divOrMod bool) *DType {
	half := func(d *DType) *DType {
		if divOrMod {
			return Float32
		}
		return d
	}
	if aNum != bNum {
		num, ten := a, b
		if bNum {
			num, ten = b, a
		}
		if num.kind <= ten.kind {
			if ten == Float16 || ten == BF16 {
				return half(ten)
			}
			return ten
		}
	}
	switch {
	case a == Float64 || b == Float64:
		return Float64
	case a == Float32 || b == Float32:
		return Float32
	case a == Float16 || b == Float16:
		return half(Float16)
	case a == BF16 && b == BF16:
		return half(BF16)
	case a == BF16 || b == BF16:
		return Float32
	case a.IsFP8() && b.IsFP8():
		if a == b {
			return a
		}
		return Float16
	case !a.IsInt() || !b.IsInt():
		eval.Fail(errUnexpectedTypes, a, b)
	case divOrMod && a.signed != b.signed:
		eval.Fail(errDivSignedness, "/, #, or %", a, b)
	}
	return promoteInts(a, b)
}

// pair is what an operation allows of its operands.
type pair struct {
	lhsPtr, rhsPtr bool // pointers
	divOrMod       bool
	// moves: the values are passed on, not computed with.
	moves bool
}

// operands brings two operands to the type and shape of their operation.
func (e *Emitter) operands(lhs, rhs any, p pair) (*Tensor, *Tensor) {
	lnum, rnum := IsScalarNumber(lhs), IsScalarNumber(rhs)
	lt, rt := e.typeOf(lhs), e.typeOf(rhs)
	lp, rp := pointerOf(lt), pointerOf(rt)
	if lp != nil || rp != nil {
		e.checkPointer(lt, rt, p.lhsPtr)
		e.checkPointer(rt, lt, p.rhsPtr)
		return e.Broadcast(e.ToTensor(lhs), e.ToTensor(rhs))
	}
	t := computationType(dtypeOf(lt), lnum, dtypeOf(rt), rnum, p.divOrMod)
	if t == FP8E4B15 && !p.moves {
		eval.FailHelp("values are only stored in it: convert with .to(tl.float16) first", errInvalidOperands, ScalarOf(lt), ScalarOf(rt))
	}
	a := e.operand(lhs, lnum, t)
	b := e.operand(rhs, rnum, t)
	return e.Broadcast(a, b)
}

// typeOf is the type that v has or would have as a tensor.
func (e *Emitter) typeOf(v any) Type {
	if t, ok := v.(*Tensor); ok {
		return t.T
	}
	if m, ok := v.(*eval.Missing); ok {
		m.Fail()
	}
	t := NumberType(v)
	if t == nil {
		eval.Fail(errCannotConvert, eval.Str(v), eval.TypeName(v))
	}
	return t
}

func (e *Emitter) checkPointer(a, b Type, allowed bool) {
	pa, pb := pointerOf(a), pointerOf(b)
	if pa == nil {
		return
	}
	d := dtypeOf(b)
	if !allowed || pb != nil && !pa.Equal(pb) || d != nil && d.IsFloat() {
		if pb != nil && allowed {
			return // the caller says what is wrong with two pointers
		}
		eval.Fail(errInvalidOperands, a, b)
	}
}

func (e *Emitter) operand(v any, num bool, t *DType) *Tensor {
	if !num {
		return e.Cast(e.ToTensor(v), t)
	}
	if t.IsInt() {
		if t.IsUnsigned() && eval.Truth(eval.Compare(syntax.Lt, v, int64(0))) {
			eval.Fail(errNegativeScalar)
		}
		if _, isFloat := v.(float64); !isFloat && !t.holds(v) {
			eval.Fail(errScalarRange, eval.Str(v), t)
		}
	}
	return e.Constant(v, t)
}

func (e *Emitter) op(def *ir.OpDef, a, b *Tensor) *Tensor {
	return e.tensor(arith.Binary(e.B, def, a.V, b.V), a.T)
}

// Binary emits lhs op rhs where at least one side is a tensor.
func (e *Emitter) Binary(op syntax.Operator, lhs, rhs any) *Tensor {
	switch op {
	case syntax.Add:
		return e.Add(lhs, rhs, true)
	case syntax.Sub:
		return e.Sub(lhs, rhs, true)
	case syntax.Mult:
		return e.Mul(lhs, rhs, true)
	case syntax.Div:
		return e.TrueDiv(lhs, rhs)
	case syntax.FloorDiv:
		return e.FloorDiv(lhs, rhs)
	case syntax.Mod:
		return e.Mod(lhs, rhs)
	case syntax.BitAnd:
		return e.bitwise(arith.AndI, lhs, rhs)
	case syntax.BitOr:
		return e.bitwise(arith.OrI, lhs, rhs)
	case syntax.BitXor:
		return e.bitwise(arith.XorI, lhs, rhs)
	case syntax.LShift:
		return e.bitwise(arith.ShLI, lhs, rhs)
	case syntax.RShift:
		def := arith.ShRUI
		from := lhs // whose sign is shifted in: the tensor's, on either side
		if _, ok := lhs.(*Tensor); !ok {
			from = rhs
		}
		if d := dtypeOf(e.typeOf(from)); d != nil && d.IsSigned() {
			def = arith.ShRSI
		}
		return e.bitwise(def, lhs, rhs)
	}
	eval.Fail("AST binary operator '%s' is not (currently) implemented.", op)
	return nil
}

// Add emits a + b; one of the two may be a pointer.
func (e *Emitter) Add(lhs, rhs any, sanitize bool) *Tensor {
	if pointerOf(e.typeOf(lhs)) != nil && pointerOf(e.typeOf(rhs)) != nil {
		eval.Fail(errAddPointers)
	}
	a, b := e.operands(lhs, rhs, pair{lhsPtr: true, rhsPtr: true})
	if pointerOf(b.T) != nil {
		a, b = b, a
	}
	if pointerOf(a.T) != nil {
		return e.addPtr(a, b)
	}
	if dtypeOf(a.T).IsFloat() {
		return e.op(arith.AddF, a, b)
	}
	e.sanitize(arith.AddI, "add", a, b, sanitize)
	return e.op(arith.AddI, a, b)
}

// addPtr emits ptr + offset; an unsigned offset below 64 bits is widened, since
// tt.addptr reads it as signed.
func (e *Emitter) addPtr(p, off *Tensor) *Tensor {
	if isBlockPointer(p) != nil {
		eval.FailHelp("use tl.advance", errInvalidOperands, p.T, off.T)
	}
	d := dtypeOf(off.T)
	if d.IsUnsigned() && d.bits < 64 {
		t := withElem(off.T, Int64)
		off = e.tensor(arith.Cast(e.B, arith.ExtUI, off.V, t.IR(e.C)), t)
	}
	return e.tensor(tt.NewAddPtr(e.B, p.V, off.V), p.T)
}

// Sub emits a - b; a may be a pointer.
func (e *Emitter) Sub(lhs, rhs any, sanitize bool) *Tensor {
	a, b := e.operands(lhs, rhs, pair{lhsPtr: true})
	if pointerOf(a.T) != nil {
		return e.addPtr(a, e.Neg(b))
	}
	if dtypeOf(a.T).IsFloat() {
		return e.op(arith.SubF, a, b)
	}
	e.sanitize(arith.SubI, "sub", a, b, sanitize)
	return e.op(arith.SubI, a, b)
}

// Mul emits a * b.
func (e *Emitter) Mul(lhs, rhs any, sanitize bool) *Tensor {
	a, b := e.operands(lhs, rhs, pair{})
	if dtypeOf(a.T).IsFloat() {
		return e.op(arith.MulF, a, b)
	}
	e.sanitize(arith.MulI, "mul", a, b, sanitize)
	return e.op(arith.MulI, a, b)
}

// sanitize asserts that an integer operation does not overflow. Without debug
// Triton emits the computation and no assertion, which is dead code; nothing is
// emitted then.
func (e *Emitter) sanitize(def *ir.OpDef, name string, a, b *Tensor, on bool) {
	d := dtypeOf(a.T)
	if !on || !e.Opts.Debug || !e.Opts.SanitizeOverflow || d.bits >= 64 {
		return
	}
	wide := e.Cast(a, Int64)
	r := e.op(def, wide, e.Cast(b, Int64))
	limits := func(bits int, signed bool) (lo, hi int64) {
		if signed {
			return -1 << (bits - 1), 1<<(bits-1) - 1
		}
		return 0, 1<<bits - 1
	}
	lo, hi := limits(d.bits, d.signed)
	top := e.Constant(hi, Int64)
	bottom := e.Constant(lo, Int64)
	below := e.Compare(syntax.LtE, r, top)
	above := e.Compare(syntax.GtE, r, bottom)
	ok := e.bitwise(arith.AndI, below, above)
	e.assert(ok, sprintf(errOverflowDetected, d.bits, name))
}

// TrueDiv emits a / b, which is always a float.
func (e *Emitter) TrueDiv(lhs, rhs any) *Tensor {
	a, b := e.operands(lhs, rhs, pair{divOrMod: true})
	if x, y := dtypeOf(a.T), dtypeOf(b.T); x.IsInt() && y.IsInt() {
		a, b = e.Cast(a, Float32), e.Cast(b, Float32)
	}
	return e.op(arith.DivF, a, b)
}

// FloorDiv emits a // b on integers, rounded toward zero.
func (e *Emitter) FloorDiv(lhs, rhs any) *Tensor {
	a, b := e.operands(lhs, rhs, pair{divOrMod: true})
	switch d := dtypeOf(a.T); {
	case !d.IsInt():
		eval.Fail(errUnexpectedType, d)
	case d.IsSigned():
		return e.op(arith.DivSI, a, b)
	}
	return e.op(arith.DivUI, a, b)
}

// Mod emits a % b, with the sign of a.
func (e *Emitter) Mod(lhs, rhs any) *Tensor {
	a, b := e.operands(lhs, rhs, pair{divOrMod: true})
	switch d := dtypeOf(a.T); {
	case d.IsFloat():
		return e.op(arith.RemF, a, b)
	case d.IsSigned():
		return e.op(arith.RemSI, a, b)
	}
	return e.op(arith.RemUI, a, b)
}

func (e *Emitter) bitwise(def *ir.OpDef, lhs, rhs any) *Tensor {
	for _, v := range []any{lhs, rhs} {
		if d := dtypeOf(e.typeOf(v)); d == nil || !d.IsInt() {
			eval.Fail(errInvalidOperands, ScalarOf(e.typeOf(lhs)), ScalarOf(e.typeOf(rhs)))
		}
	}
	a, b := e.operands(lhs, rhs, pair{})
	return e.op(def, a, b)
}

// Neg emits -x, as 0 - x.
func (e *Emitter) Neg(x *Tensor) *Tensor {
	if pointerOf(x.T) != nil {
		eval.Fail(errUnary, "minus", x.T)
	}
	zero := e.Constant(int64(0), x.T)
	return e.Sub(zero, x, true)
}

// Invert emits ~x.
func (e *Emitter) Invert(x *Tensor) *Tensor {
	if d := dtypeOf(x.T); d == nil || !d.IsInt() {
		eval.Fail(errUnary, "invert", x.T)
	}
	return e.bitwise(arith.XorI, x, e.Constant(int64(-1), x.T))
}

// Not emits "not x" on each element.
func (e *Emitter) Not(x *Tensor) *Tensor {
	return e.Invert(e.truth(x))
}

// Logical emits "a and b" or "a or b" on each element.
func (e *Emitter) Logical(op syntax.BoolOperator, lhs, rhs any) *Tensor {
	a, b := e.truth(e.ToTensor(lhs)), e.truth(e.ToTensor(rhs))
	if op == syntax.And {
		return e.bitwise(arith.AndI, a, b)
	}
	return e.bitwise(arith.OrI, a, b)
}

// truth is an operand of a logical operator, which takes int1 alone.
func (e *Emitter) truth(x *Tensor) *Tensor {
	if d := dtypeOf(x.T); d != nil && d.bits != 1 {
		eval.FailHelp("compare it with something: x != 0", errBitcastSize, d.bits, 1)
	}
	return e.Bitcast(x, Int1)
}

// comparison holds the predicates of one operator.
type comparison struct{ float, signed, unsigned int64 }

var comparisons = map[syntax.CmpOperator]comparison{
	syntax.Eq:    {arith.OEQ, arith.EQ, arith.EQ},
	syntax.NotEq: {arith.UNE, arith.NE, arith.NE},
	syntax.Lt:    {arith.OLT, arith.SLT, arith.ULT},
	syntax.LtE:   {arith.OLE, arith.SLE, arith.ULE},
	syntax.Gt:    {arith.OGT, arith.SGT, arith.UGT},
	syntax.GtE:   {arith.OGE, arith.SGE, arith.UGE},
}

// Compare emits a comparison; the result is int1.
func (e *Emitter) Compare(op syntax.CmpOperator, lhs, rhs any) *Tensor {
	c := comparisons[op]
	if lt, rt := e.typeOf(lhs), e.typeOf(rhs); pointerOf(lt) != nil || pointerOf(rt) != nil {
		eval.FailHelp("compare addresses: p.to(tl.int64); `p is None` is known at compile time", errInvalidOperands, ScalarOf(lt), ScalarOf(rt))
	}
	// A number is compared as the tensor that it makes by itself.
	a, b := e.operands(e.ToTensor(lhs), e.ToTensor(rhs), pair{})
	t := withElem(a.T, Int1)
	switch d := dtypeOf(a.T); {
	case d.IsFloat():
		return e.tensor(arith.Compare(e.B, arith.CmpF, c.float, a.V, b.V), t)
	case d.IsSigned():
		return e.tensor(arith.Compare(e.B, arith.CmpI, c.signed, a.V, b.V), t)
	}
	return e.tensor(arith.Compare(e.B, arith.CmpI, c.unsigned, a.V, b.V), t)
}
