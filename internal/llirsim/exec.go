package llirsim

import (
	"math"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// get is the value of an operand.
func (t *Thread) get(v llir.Value) value {
	switch c := v.(type) {
	case *llir.Int:
		x := value{lo: c.Bits}
		if c.Typ.BitSize > 64 && int64(c.Bits) < 0 {
			x.hi = math.MaxUint64
		}
		return x
	case *llir.Float:
		return value{lo: c.Bits}
	case *llir.Address:
		return value{} // that of shared memory begins at 0
	case *llir.Literal:
		switch c.Text {
		case "null", "zeroinitializer":
			return zero(c.Typ)
		}
		return poison(c.Typ)
	case interface{ ID() int64 }:
		f := t.top()
		if !f.set[c.ID()] {
			fail("%s is used before it is computed", v.Ident())
		}
		return f.regs[c.ID()]
	}
	fail("no value for %T %s", v, v)
	return value{}
}

func zero(typ llir.Type) value { return filled(typ, value{}) }

func poison(typ llir.Type) value { return filled(typ, value{poison: true}) }

func filled(typ llir.Type, v value) value {
	var parts []llir.Type
	switch typ := typ.(type) {
	case *types.VectorType:
		for range typ.Len {
			parts = append(parts, typ.ElemType)
		}
	case *types.StructType:
		parts = typ.Fields
	default:
		return v
	}
	var out value
	for _, p := range parts {
		out.elems = append(out.elems, filled(p, v))
	}
	return out
}

// defined is a value that decides what happens, which poison must not.
func (t *Thread) defined(v llir.Value) uint64 {
	x := t.get(v)
	if x.poison {
		fail("what happens depends on %s, which is undefined", v)
	}
	return x.lo
}

// mapped applies f to scalars, or to the elements of vectors. What poison goes
// into is poison.
func mapped(typ llir.Type, f func(elem llir.Type, x []value) value, x ...value) value {
	vec, ok := typ.(*types.VectorType)
	if !ok {
		for _, v := range x {
			if v.poison {
				return value{poison: true}
			}
		}
		return f(typ, x)
	}
	out := value{elems: make([]value, vec.Len)}
	args := make([]value, len(x))
	for i := range out.elems {
		for k, v := range x {
			args[k] = v.elems[i]
		}
		out.elems[i] = mapped(vec.ElemType, f, args...)
	}
	return out
}

func (t *Thread) binary(op string, x, y llir.Value) value {
	return mapped(x.Type(), func(elem llir.Type, v []value) value {
		if llir.IsFloat(elem) {
			return float(op, elem, v[0], v[1])
		}
		return integer(op, v[0], v[1], llir.Width(elem))
	}, t.get(x), t.get(y))
}

// step executes one instruction, or begins to wait.
func (t *Thread) step() {
	limit := t.p.k.MaxSteps
	if limit == 0 {
		limit = 50e6
	}
	if t.p.steps++; t.p.steps > limit {
		fail("the program has executed %d instructions", limit)
	}
	if t.p.steps%(1<<16) == 0 && t.p.ctx.Err() != nil {
		fail("%w", t.p.ctx.Err())
	}
	f := t.top()
	if f.next == len(f.block.Insts) {
		t.terminate(f.block.Term)
		return
	}
	inst := f.block.Insts[f.next]
	f.next++
	if c, ok := inst.(*ir.InstCall); ok {
		t.call(c)
		return
	}
	if t.effect(inst) {
		return
	}
	t.define(inst.(interface{ ID() int64 }), t.compute(inst))
}

// effect executes what has no result.
func (t *Thread) effect(inst ir.Instruction) bool {
	switch i := inst.(type) {
	case *ir.InstStore:
		v := t.get(i.Src)
		if v.poison {
			fail("an undefined value is stored: %s", i.LLString())
		}
		b := flatten(nil, i.Src.Type(), v)
		copy(t.bytesAt(space(i.Dst), t.defined(i.Dst), len(b), true, false), b)
		t.aligned(i.Dst, int(i.Align))
	case *ir.InstFence: // threads run one after the other
	default:
		return false
	}
	return true
}

// aligned checks the alignment that an access promises.
func (t *Thread) aligned(ptr llir.Value, align int) {
	if at := t.get(ptr).lo; align > 1 && at%uint64(align) != 0 {
		fail("address %#x is not aligned to %d bytes", at, align)
	}
}

func space(ptr llir.Value) int { return ptr.Type().(*llir.Ptr).AddrSpace }

// compute is the result of an instruction.
func (t *Thread) compute(inst ir.Instruction) value {
	switch i := inst.(type) {
	case *ir.InstAdd:
		return t.binary("add", i.X, i.Y)
	case *ir.InstSub:
		return t.binary("sub", i.X, i.Y)
	case *ir.InstMul:
		return t.binary("mul", i.X, i.Y)
	case *ir.InstUDiv:
		return t.binary("udiv", i.X, i.Y)
	case *ir.InstSDiv:
		return t.binary("sdiv", i.X, i.Y)
	case *ir.InstURem:
		return t.binary("urem", i.X, i.Y)
	case *ir.InstSRem:
		return t.binary("srem", i.X, i.Y)
	case *ir.InstShl:
		return t.binary("shl", i.X, i.Y)
	case *ir.InstLShr:
		return t.binary("lshr", i.X, i.Y)
	case *ir.InstAShr:
		return t.binary("ashr", i.X, i.Y)
	case *ir.InstAnd:
		return t.binary("and", i.X, i.Y)
	case *llir.Or:
		return t.binary("or", i.X, i.Y)
	case *ir.InstXor:
		return t.binary("xor", i.X, i.Y)
	case *ir.InstFAdd:
		return t.binary("fadd", i.X, i.Y)
	case *ir.InstFSub:
		return t.binary("fsub", i.X, i.Y)
	case *ir.InstFMul:
		return t.binary("fmul", i.X, i.Y)
	case *ir.InstFDiv:
		return t.binary("fdiv", i.X, i.Y)
	case *ir.InstFRem:
		return t.binary("frem", i.X, i.Y)
	case *ir.InstFNeg:
		return mapped(i.X.Type(), func(elem llir.Type, v []value) value {
			return value{lo: v[0].lo ^ 1<<(llir.Width(elem)-1)}
		}, t.get(i.X))
	case *ir.InstICmp:
		return mapped(i.X.Type(), func(elem llir.Type, v []value) value {
			return flag(compareInts(i.Pred, v[0], v[1], width(elem)))
		}, t.get(i.X), t.get(i.Y))
	case *ir.InstFCmp:
		return mapped(i.X.Type(), func(elem llir.Type, v []value) value {
			return flag(compareFloats(i.Pred, asFloat(elem, v[0]), asFloat(elem, v[1])))
		}, t.get(i.X), t.get(i.Y))
	case *ir.InstSelect:
		cond := t.get(i.Cond)
		switch {
		case cond.elems != nil:
			return chosen(cond, t.get(i.ValueTrue), t.get(i.ValueFalse))
		case cond.poison:
			return poison(i.ValueTrue.Type())
		case cond.lo != 0:
			return t.get(i.ValueTrue)
		}
		return t.get(i.ValueFalse)
	case *ir.InstFreeze:
		v := t.get(i.X)
		v.poison = false
		return v
	case *ir.InstGetElementPtr:
		p, x := t.get(i.Src), t.get(i.Indices[0])
		if p.poison || x.poison {
			return value{poison: true}
		}
		by := signed(x, llir.Width(i.Indices[0].Type())) * int64(size(i.ElemType))
		return cut(value{lo: p.lo + uint64(by)}, 8*size(i.Src.Type()))
	case *ir.InstExtractValue:
		return t.get(i.X).elems[i.Indices[0]]
	case *ir.InstExtractElement:
		return t.get(i.X).elems[t.defined(i.Index)]
	case *ir.InstInsertValue:
		return replaced(t.get(i.X), int(i.Indices[0]), t.get(i.Elem))
	case *ir.InstInsertElement:
		return replaced(t.get(i.X), int(t.defined(i.Index)), t.get(i.Elem))
	case *ir.InstLoad:
		t.aligned(i.Src, int(i.Align))
		return unflatten(t.bytesAt(space(i.Src), t.defined(i.Src), size(i.ElemType), false, false), i.ElemType)
	case *ir.InstAtomicRMW:
		b := t.bytesAt(space(i.Dst), t.defined(i.Dst), size(i.Typ), true, true)
		old := unflatten(b, i.Typ)
		copy(b, flatten(nil, i.Typ, atomic(i.Op, i.Typ, old, t.get(i.X))))
		return old
	case *ir.InstCmpXchg:
		typ := i.New.Type()
		b := t.bytesAt(space(i.Ptr), t.defined(i.Ptr), size(typ), true, true)
		old := unflatten(b, typ)
		equal := old.lo == t.get(i.Cmp).lo
		if equal {
			copy(b, flatten(nil, typ, t.get(i.New)))
		}
		return value{elems: []value{old, flag(equal)}}
	default:
		if v, ok := t.cast(inst); ok {
			return v
		}
	}
	fail("cannot execute %s", inst.LLString())
	return value{}
}

// chosen takes each element of x or of y by that of cond.
func chosen(cond, x, y value) value {
	out := value{elems: make([]value, len(cond.elems))}
	for i, c := range cond.elems {
		switch {
		case c.poison:
			out.elems[i] = value{poison: true}
		case c.lo != 0:
			out.elems[i] = x.elems[i]
		default:
			out.elems[i] = y.elems[i]
		}
	}
	return out
}

func replaced(v value, at int, elem value) value {
	v.elems = append([]value(nil), v.elems...)
	v.elems[at] = elem
	return v
}

func (t *Thread) cast(inst ir.Instruction) (value, bool) {
	var from llir.Value
	var to llir.Type
	var f func(x value, from, to llir.Type) value
	switch i := inst.(type) {
	case *llir.Trunc:
		from, to, f = i.From, i.To, func(x value, _, to llir.Type) value { return cut(x, llir.Width(to)) }
	case *llir.ZExt:
		from, to, f = i.From, i.To, func(x value, _, _ llir.Type) value { return x }
	case *ir.InstSExt:
		from, to, f = i.From, i.To, func(x value, from, to llir.Type) value {
			n := signed(x, llir.Width(from))
			return cut(value{lo: uint64(n), hi: uint64(n >> 63)}, llir.Width(to))
		}
	case *ir.InstFPTrunc:
		from, to, f = i.From, i.To, func(x value, from, to llir.Type) value { return ofFloat(to, asFloat(from, x)) }
	case *ir.InstFPExt:
		from, to, f = i.From, i.To, func(x value, from, to llir.Type) value { return ofFloat(to, asFloat(from, x)) }
	case *ir.InstFPToUI:
		from, to, f = i.From, i.To, func(x value, from, to llir.Type) value { return t.toInteger(asFloat(from, x), from, to, false) }
	case *ir.InstFPToSI:
		from, to, f = i.From, i.To, func(x value, from, to llir.Type) value { return t.toInteger(asFloat(from, x), from, to, true) }
	case *llir.UIToFPInst:
		from, to, f = i.From, i.To, func(x value, _, to llir.Type) value { return ofInteger(to, x.lo, false) }
	case *ir.InstSIToFP:
		from, to, f = i.From, i.To, func(x value, from, to llir.Type) value {
			n := signed(x, llir.Width(from))
			if n < 0 {
				return ofInteger(to, -uint64(n), true)
			}
			return ofInteger(to, uint64(n), false)
		}
	case *ir.InstPtrToInt:
		from, to, f = i.From, i.To, func(x value, _, to llir.Type) value { return cut(x, llir.Width(to)) }
	case *ir.InstIntToPtr:
		from, to, f = i.From, i.To, func(x value, _, _ llir.Type) value { return x }
	case *ir.InstAddrSpaceCast: // global memory alone has the same addresses
		if x := space(i.From); x != globalSpace && x != 0 || space(i) != globalSpace && space(i) != 0 {
			fail("cannot execute %s", inst.LLString())
		}
		return t.get(i.From), true
	case *ir.InstBitCast:
		x := t.get(i.From)
		if anyPoison(x) {
			return poison(i.To), true
		}
		return unflatten(flatten(nil, i.From.Type(), x), i.To), true
	default:
		return value{}, false
	}
	toElem := to
	if vec, ok := to.(*types.VectorType); ok {
		toElem = vec.ElemType
	}
	return mapped(from.Type(), func(elem llir.Type, x []value) value { return f(x[0], elem, toElem) }, t.get(from)), true
}

func anyPoison(v value) bool {
	for _, e := range v.elems {
		if anyPoison(e) {
			return true
		}
	}
	return v.poison
}

// toInteger cuts a float off; what does not fit is what the target says, or poison.
func (t *Thread) toInteger(x float64, from, to llir.Type, isSigned bool) value {
	x = math.Trunc(x)
	w := llir.Width(to)
	low, high := 0.0, math.Ldexp(1, w)
	if isSigned {
		low, high = -math.Ldexp(1, w-1), math.Ldexp(1, w-1)
	}
	switch beyond := t.p.k.Target.Integer; {
	case !(x >= low && x < high) && beyond == nil:
		return value{poison: true}
	case !(x >= low && x < high):
		return cut(value{lo: beyond(x, from, w, isSigned)}, w)
	case isSigned:
		return cut(value{lo: uint64(int64(x))}, w)
	}
	return value{lo: uint64(x)}
}

// ofInteger rounds once: by way of f64 with what it loses in the last bit, where
// the result is narrower.
func ofInteger(to llir.Type, n uint64, negative bool) value {
	x := float64(n)
	if to != llir.F64 && n>>53 != 0 {
		x = float64(n>>11<<11 | 1<<11)
		if n&(1<<11-1) == 0 {
			x = float64(n)
		}
	}
	if negative {
		x = -x
	}
	return ofFloat(to, x)
}

func compareInts(p enum.IPred, x, y value, w int) bool {
	a, b := signed(x, w), signed(y, w)
	switch p {
	case enum.IPredEQ:
		return x.lo == y.lo
	case enum.IPredNE:
		return x.lo != y.lo
	case enum.IPredSLT:
		return a < b
	case enum.IPredSLE:
		return a <= b
	case enum.IPredSGT:
		return a > b
	case enum.IPredSGE:
		return a >= b
	case enum.IPredULT:
		return x.lo < y.lo
	case enum.IPredULE:
		return x.lo <= y.lo
	case enum.IPredUGT:
		return x.lo > y.lo
	}
	return x.lo >= y.lo
}

func compareFloats(p enum.FPred, x, y float64) bool {
	unordered := math.IsNaN(x) || math.IsNaN(y)
	switch p {
	case enum.FPredFalse:
		return false
	case enum.FPredTrue:
		return true
	case enum.FPredOEQ:
		return x == y
	case enum.FPredOGT:
		return x > y
	case enum.FPredOGE:
		return x >= y
	case enum.FPredOLT:
		return x < y
	case enum.FPredOLE:
		return x <= y
	case enum.FPredONE:
		return !unordered && x != y
	case enum.FPredORD:
		return !unordered
	case enum.FPredUEQ:
		return unordered || x == y
	case enum.FPredUGT:
		return unordered || x > y
	case enum.FPredUGE:
		return unordered || x >= y
	case enum.FPredULT:
		return unordered || x < y
	case enum.FPredULE:
		return unordered || x <= y
	case enum.FPredUNE:
		return unordered || x != y
	}
	return unordered
}

// atomic is what an atomic operation leaves in memory.
func atomic(op enum.AtomicOp, typ llir.Type, old, x value) value {
	names := map[enum.AtomicOp]string{
		enum.AtomicOpAdd: "add", enum.AtomicOpSub: "sub", enum.AtomicOpAnd: "and", enum.AtomicOpOr: "or", enum.AtomicOpXor: "xor",
		enum.AtomicOpMax: "smax", enum.AtomicOpMin: "smin", enum.AtomicOpUMax: "umax", enum.AtomicOpUMin: "umin",
	}
	switch op {
	case enum.AtomicOpXChg:
		return x
	case enum.AtomicOpFAdd:
		return float("fadd", typ, old, x)
	case llir.AtomicOpFMin:
		return ofFloat(typ, minNum(asFloat(typ, old), asFloat(typ, x)))
	case llir.AtomicOpFMax:
		return ofFloat(typ, -minNum(-asFloat(typ, old), -asFloat(typ, x)))
	}
	return integer(names[op], old, x, llir.Width(typ))
}

// terminate goes on at the end of a block.
func (t *Thread) terminate(term ir.Terminator) {
	switch i := term.(type) {
	case *ir.TermBr:
		t.jump(i.Target.(*ir.Block))
	case *ir.TermCondBr:
		if t.defined(i.Cond) != 0 {
			t.jump(i.TargetTrue.(*ir.Block))
		} else {
			t.jump(i.TargetFalse.(*ir.Block))
		}
	case *ir.TermSwitch:
		x, to := t.defined(i.X), i.TargetDefault
		for _, c := range i.Cases {
			if t.get(c.X).lo == x {
				to = c.Target
			}
		}
		t.jump(to.(*ir.Block))
	case *ir.TermRet:
		t.leave(i)
	default:
		fail("an end of a block that cannot be executed: %s", term.LLString())
	}
}

func (t *Thread) leave(i *ir.TermRet) {
	var v value
	if i.X != nil {
		v = t.get(i.X)
	}
	f := t.top()
	t.frames = t.frames[:len(t.frames)-1]
	switch {
	case len(t.frames) == 0:
		t.done = true
	case i.X != nil:
		t.define(f.call, v)
	}
}
