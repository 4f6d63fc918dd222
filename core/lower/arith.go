package lower

import (
	"fmt"
	"strconv"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

const (
	ipredEQ  = enum.IPredEQ
	ipredULT = enum.IPredULT
	ipredNE  = enum.IPredNE
	ipredSLT = enum.IPredSLT
	ipredSGT = enum.IPredSGT
	fpredOGT = enum.FPredOGT
)

// scalarFunc computes one element of an elementwise operation; t is the
// result's type. The slice of arguments is only lent. Nil means that there is no
// such function for the type.
type scalarFunc func(e *emitter, op *ir.Operation, t llir.Type, x []llir.Value) llir.Value

// pointwise makes a handler that applies f to each register, unless the target
// has an instruction of its own.
func pointwise(f scalarFunc) handler {
	return func(e *emitter, op *ir.Operation) error {
		t, err := scalarType(op.OneResult().Type())
		if err != nil {
			return err
		}
		n, err := e.m.regsOf(op.OneResult().Type())
		if err != nil {
			return err
		}
		in := make([][]llir.Value, op.NumOperands())
		for i, v := range op.Operands() {
			in[i] = e.value(v)
			// A scalar beside tensors, such as a select's condition, is the
			// same for all elements.
			if len(in[i]) != n && len(in[i]) != 1 {
				return fmt.Errorf("operand %d has %s per thread, the result %d", i, diag.Count(len(in[i]), "element"), n)
			}
		}
		out := make([]llir.Value, n)
		equal := e.equalRegisters(op.OneResult())
		var args [4]llir.Value
		for _, r := range strided(n, e.stride(op)) {
			if first := r &^ equal; first != r {
				out[r] = out[first]
				continue
			}
			x := args[:len(in)]
			for i, regs := range in {
				x[i] = regs[min(r, len(regs)-1)]
			}
			if out[r] = e.m.caps.Math.Elementwise(e.b, op, t, x); out[r] == nil {
				out[r] = f(e, op, t, x)
			}
			if out[r] == nil {
				return fmt.Errorf("this operation has no form for elements of this type")
			}
		}
		e.set(op.OneResult(), out)
		return nil
	}
}

// together makes a handler that asks the target for all elements at once, and applies f
// to each where it has no form for them.
func together(f scalarFunc) handler {
	each := pointwise(f)
	return func(e *emitter, op *ir.Operation) error {
		out := e.m.caps.Math.Elements(e.b, op, [][]llir.Value{e.value(arith.AsTruncF(op).In())})
		if out == nil {
			return each(e, op)
		}
		e.set(op.OneResult(), out)
		return nil
	}
}

// equalRegisters marks the bits of the register index that do not change the
// value of v, though nothing in its computation says so: a mask x < n, for
// instance, where n is a multiple of 16, is one for 16 neighbours.
func (e *emitter) equalRegisters(v *ir.Value) int {
	t, ok := v.Type().(*ir.TensorType)
	if !ok || ir.IsFloat(t.Elem) {
		return 0
	}
	return e.alikeRegisters(t, v)
}

// alikeRegisters marks the bits of the register index of a tensor of type t that
// change none of values, which are tensors of its shape and layout, or scalars, or nil.
func (e *emitter) alikeRegisters(t *ir.TensorType, values ...*ir.Value) int {
	l, err := e.m.layoutOf(t)
	if err != nil || l.regs == 1 {
		return 0
	}
	alike := l.regs - 1
	for _, v := range values {
		if v == nil {
			continue
		}
		if _, tensor := v.Type().(*ir.TensorType); tensor {
			alike &= l.withinRuns(e.m.axis.EqualRuns(v))
		}
	}
	return alike
}

// withinRuns marks the bits of the register index that lead to elements of one run.
func (l *tensorLayout) withinRuns(runs []int64) int {
	bits := 0
	for bit, moves := range l.reg {
		within := true
		for d, by := range moves {
			within = within && int64(by) < runs[d] // runs start at multiples of their length
		}
		if within {
			bits |= 1 << bit
		}
	}
	return bits
}

// packable makes a handler that applies a function, which must also work on
// vectors, to pairs of registers where the target computes pairs of this type
// at once, and to each register otherwise.
func packable(f scalarFunc) handler {
	single := pointwise(f)
	return func(e *emitter, op *ir.Operation) error {
		t, err := scalarType(op.OneResult().Type())
		if err != nil {
			return err
		}
		n, err := e.m.regsOf(op.OneResult().Type())
		if err != nil {
			return err
		}
		if n%2 != 0 || !e.m.caps.Math.Packs(t) {
			return single(e, op)
		}
		pair := e.m.llvm.Vec(2, t)
		out := make([]llir.Value, n)
		var args [4]llir.Value
		for _, r := range strided(n, max(e.stride(op), 2)) {
			if r%2 != 0 {
				continue
			}
			x := args[:op.NumOperands()]
			for i, v := range op.Operands() {
				regs := e.value(v)
				x[i] = e.b.Vector(regs[r], regs[r+1])
			}
			y := f(e, op, pair, x)
			out[r], out[r+1] = e.b.ExtractElement(y, 0), e.b.ExtractElement(y, 1)
		}
		e.set(op.OneResult(), out)
		return nil
	}
}

// binary is a scalarFunc of one LLVM operation.
func binary(op llir.Op) scalarFunc {
	return func(e *emitter, _ *ir.Operation, _ llir.Type, x []llir.Value) llir.Value {
		return e.b.Binary(op, x[0], x[1], 0)
	}
}

// cast is a scalarFunc of one LLVM conversion.
func cast(op llir.Op) scalarFunc {
	return func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		return e.b.Cast(op, x[0], t, 0)
	}
}

// intrinsic is a scalarFunc of LLVM's overloaded intrinsic of that name, whose
// operands have the result's type.
func intrinsic(name string) scalarFunc {
	return func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		return e.intrinsic(name, t, x...)
	}
}

func (e *emitter) intrinsic(name string, t llir.Type, x ...llir.Value) llir.Value {
	params := make([]llir.Type, len(x))
	for i, v := range x {
		params[i] = v.Type()
	}
	f := e.m.llvm.Declare("llvm."+name+"."+typeSuffix(t), llir.Pure, t, params...)
	return e.b.Call(f, x...)
}

// typeSuffix is how LLVM names t in an overloaded intrinsic.
func typeSuffix(t llir.Type) string {
	switch t {
	case llir.Half:
		return "f16"
	case llir.BF16:
		return "bf16"
	case llir.F32:
		return "f32"
	case llir.F64:
		return "f64"
	}
	if v, ok := t.(*types.VectorType); ok {
		return "v" + strconv.Itoa(int(v.Len)) + typeSuffix(v.ElemType)
	}
	return t.String()
}

func arithHandlers(h map[*ir.OpDef]handler) {
	for def, op := range map[*ir.OpDef]llir.Op{
		arith.AddI: llir.Add, arith.SubI: llir.Sub, arith.MulI: llir.Mul,
		arith.DivSI: llir.SDiv, arith.DivUI: llir.UDiv, arith.RemSI: llir.SRem, arith.RemUI: llir.URem,
		arith.AndI: llir.And, arith.OrI: llir.OrOp, arith.XorI: llir.Xor,
		arith.ShLI: llir.Shl, arith.ShRSI: llir.AShr, arith.ShRUI: llir.LShr,
		arith.DivF: llir.FDiv, arith.RemF: llir.FRem,
	} {
		h[def] = pointwise(binary(op))
	}
	for def, op := range map[*ir.OpDef]llir.Op{
		arith.AddF: llir.FAdd, arith.SubF: llir.FSub, arith.MulF: llir.FMul,
	} {
		h[def] = packable(binary(op))
	}
	for def, op := range map[*ir.OpDef]llir.Op{
		arith.ExtSI: llir.SExtOp, arith.ExtUI: llir.ZExtOp, arith.TruncI: llir.TruncOp,
		arith.ExtF:   llir.FPExt,
		arith.SIToFP: llir.SIToFP, arith.UIToFP: llir.UIToFP,
		arith.FPToSI: llir.FPToSI, arith.FPToUI: llir.FPToUI, arith.Bitcast: llir.BitCast,
	} {
		h[def] = pointwise(cast(op))
	}
	h[arith.TruncF] = together(cast(llir.FPTrunc))
	for def, name := range map[*ir.OpDef]string{
		arith.MinSI: "smin", arith.MaxSI: "smax", arith.MinUI: "umin", arith.MaxUI: "umax",
	} {
		h[def] = pointwise(intrinsic(name))
	}
	for def, name := range map[*ir.OpDef]string{
		arith.MinNumF: "minnum", arith.MaxNumF: "maxnum", arith.MinimumF: "minimum", arith.MaximumF: "maximum",
	} {
		h[def] = packable(intrinsic(name))
	}
	h[arith.CeilDivSI] = pointwise(ceilDivSigned)
	h[arith.CeilDivUI] = pointwise(ceilDivUnsigned)
	h[arith.FloorDivI] = pointwise(floorDiv)
	h[arith.IndexCast] = pointwise(resize(true))
	h[arith.IndexCastUI] = pointwise(resize(false))
	h[arith.NegF] = pointwise(func(e *emitter, _ *ir.Operation, _ llir.Type, x []llir.Value) llir.Value {
		return e.b.FNeg(x[0])
	})
	h[arith.Select] = pointwise(selectElem)
	h[arith.CmpI] = pointwise(func(e *emitter, op *ir.Operation, _ llir.Type, x []llir.Value) llir.Value {
		return e.b.ICmp(intPredicates[arith.AsCmpI(op).Predicate()], x[0], x[1])
	})
	h[arith.CmpF] = pointwise(compareFloats)
	h[arith.Constant] = on(arith.AsConstant, (*emitter).constant)
	h[arith.MulUIExtended] = (*emitter).mulExtended
	h[arith.MulSIExtended] = (*emitter).mulExtended
	h[arith.AddUIExtended] = on(arith.AsAddUIExtended, (*emitter).addExtended)
}

var intPredicates = [...]enum.IPred{
	arith.EQ: enum.IPredEQ, arith.NE: enum.IPredNE,
	arith.SLT: enum.IPredSLT, arith.SLE: enum.IPredSLE, arith.SGT: enum.IPredSGT, arith.SGE: enum.IPredSGE,
	arith.ULT: enum.IPredULT, arith.ULE: enum.IPredULE, arith.UGT: enum.IPredUGT, arith.UGE: enum.IPredUGE,
}

var floatPredicates = [...]enum.FPred{
	arith.False: enum.FPredFalse, arith.True: enum.FPredTrue,
	arith.OEQ: enum.FPredOEQ, arith.OGT: enum.FPredOGT, arith.OGE: enum.FPredOGE,
	arith.OLT: enum.FPredOLT, arith.OLE: enum.FPredOLE, arith.ONE: enum.FPredONE, arith.ORD: enum.FPredORD,
	arith.UEQ: enum.FPredUEQ, arith.FUGT: enum.FPredUGT, arith.FUGE: enum.FPredUGE,
	arith.FULT: enum.FPredULT, arith.FULE: enum.FPredULE, arith.UNE: enum.FPredUNE, arith.UNO: enum.FPredUNO,
}

// resize converts between an integer and an index.
func resize(signed bool) scalarFunc {
	return func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		return e.b.Resize(x[0], llir.IntN(llir.Width(t)), signed)
	}
}

// ceilDivUnsigned is x/y, plus one where there is a remainder.
func ceilDivUnsigned(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
	b := e.b
	rem := b.ICmp(ipredNE, b.Binary(llir.URem, x[0], x[1], 0), e.m.llvm.Zero(t))
	return b.Add(b.Binary(llir.UDiv, x[0], x[1], 0), b.ZExt(rem, t))
}

// ceilDivSigned adds one where there is a remainder of the divisor's sign,
// floorDiv subtracts one where its sign is the other.
func ceilDivSigned(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
	b := e.b
	q, inexact, opposite := e.signedDivision(t, x)
	return b.Add(q, b.ZExt(b.And(inexact, b.Not(opposite)), t))
}

func floorDiv(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
	b := e.b
	q, inexact, opposite := e.signedDivision(t, x)
	return b.Add(q, b.SExt(b.And(inexact, opposite), t))
}

// signedDivision gives the truncated quotient, whether there is a remainder,
// and whether dividend and divisor have opposite signs.
func (e *emitter) signedDivision(t llir.Type, x []llir.Value) (q, inexact, opposite llir.Value) {
	b, zero := e.b, e.m.llvm.Zero(t)
	inexact = b.ICmp(ipredNE, b.Binary(llir.SRem, x[0], x[1], 0), zero)
	opposite = b.ICmp(ipredSLT, b.Xor(x[0], x[1]), zero)
	return b.Binary(llir.SDiv, x[0], x[1], 0), inexact, opposite
}

// mulExtended gives the low and the high half of a product.
func (e *emitter) mulExtended(op *ir.Operation) error {
	if op.Is(arith.MulSIExtended) {
		v := arith.AsMulSIExtended(op)
		return e.mulHalves(v.Lhs(), v.Rhs(), v.Low(), v.High(), true)
	}
	v := arith.AsMulUIExtended(op)
	return e.mulHalves(v.Lhs(), v.Rhs(), v.Low(), v.High(), false)
}

func (e *emitter) mulHalves(lhs, rhs, lowResult, highResult *ir.Value, signed bool) error {
	t, err := scalarType(lowResult.Type())
	if err != nil {
		return err
	}
	x, y := e.value(lhs), e.value(rhs)
	low, high := make([]llir.Value, len(x)), make([]llir.Value, len(x))
	for r := range x {
		low[r] = e.b.Mul(x[r], y[r])
		high[r] = e.mulHigh(t, x[r], y[r], signed)
	}
	e.set(lowResult, low)
	e.set(highResult, high)
	return nil
}

// mulHigh is the high half of a product.
func (e *emitter) mulHigh(t llir.Type, x, y llir.Value, signed bool) llir.Value {
	w := llir.Width(t)
	wide := llir.IntN(2 * w)
	p := e.b.Mul(e.b.Resize(x, wide, signed), e.b.Resize(y, wide, signed))
	return e.b.Trunc(e.b.LShr(p, w), t)
}

// addExtended gives the sum and its carry.
func (e *emitter) addExtended(op arith.AddUIExtendedOp) error {
	x, y := e.value(op.Lhs()), e.value(op.Rhs())
	sum, carry := make([]llir.Value, len(x)), make([]llir.Value, len(x))
	for r := range x {
		sum[r] = e.b.Add(x[r], y[r])
		carry[r] = e.b.ICmp(enum.IPredULT, sum[r], x[r])
	}
	e.set(op.Low(), sum)
	e.set(op.Overflow(), carry)
	return nil
}

// constant lowers arith.constant: every register of a splat is one value; the
// elements of any other tensor depend on where they are.
func (e *emitter) constant(op arith.ConstantOp) error {
	t, err := scalarType(op.Result().Type())
	if err != nil {
		return err
	}
	n, err := e.m.regsOf(op.Result().Type())
	if err != nil {
		return err
	}
	regs := make([]llir.Value, n)
	switch a := op.Value().(type) {
	case *ir.IntegerAttr:
		regs[0] = e.bitsConst(t, uint64(a.Value))
	case *ir.FloatAttr:
		regs[0] = e.bitsConst(t, a.Bits)
	case *ir.DenseElementsAttr:
		if a.IsSplat() {
			c := e.bitsConst(t, a.Values[0])
			for r := range regs {
				regs[r] = c
			}
			break
		}
		if err := e.denseConstant(op.Op, t, a, regs); err != nil {
			return err
		}
	case *ir.DenseResourceAttr:
		return fmt.Errorf("the elements of the constant are not in the module: resource %q has them", a.Name)
	default:
		return fmt.Errorf("unknown kind of constant")
	}
	e.set(op.Result(), regs)
	return nil
}

// bitsConst is the constant of a scalar type with the given bits.
func (e *emitter) bitsConst(t llir.Type, bits uint64) llir.Value {
	if llir.IsFloat(t) {
		return e.m.llvm.FloatBits(t, bits)
	}
	return e.m.llvm.Int(llir.IntN(llir.Width(t)), int64(bits))
}

// denseConstant chooses, by the element's index, among the values of a constant
// tensor.
func (e *emitter) denseConstant(op *ir.Operation, t llir.Type, a *ir.DenseElementsAttr, regs []llir.Value) error {
	l, err := e.layout(op.OneResult())
	if err != nil {
		return err
	}
	if len(a.Values) > 64 {
		return fmt.Errorf("a constant tensor of %s is too large", diag.Count(len(a.Values), "different element"))
	}
	index := e.linearIndex(l)
	for r := range regs {
		v := e.bitsConst(t, a.Values[0])
		for i, bits := range a.Values[1:] {
			is := e.b.ICmp(ipredEQ, index[r], e.m.llvm.I32(i+1))
			v = e.b.Select(is, e.bitsConst(t, bits), v)
		}
		regs[r] = v
	}
	return nil
}

// linearIndex is the row-major index of each register's element.
func (e *emitter) linearIndex(l *tensorLayout) []llir.Value {
	out := make([]llir.Value, l.regs)
	for r := range out {
		out[r] = e.m.llvm.I32(0)
	}
	for d, n := range l.shape {
		for r, c := range e.coords(l, d) {
			out[r] = e.b.Add(e.b.Mul(out[r], e.m.llvm.I32(int(n))), c)
		}
	}
	return out
}
