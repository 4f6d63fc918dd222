package gpu

import (
	"errors"
	"strconv"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

var (
	semNames   = map[int64]string{tt.SemRelaxed: "relaxed", tt.SemAcquire: "acquire", tt.SemRelease: "release", tt.SemAcqRel: "acq_rel"}
	scopeNames = map[int64]string{tt.ScopeGPU: "gpu", tt.ScopeCTA: "cta", tt.ScopeSystem: "sys"}
)

// atomicClass is the operand letter and the type of an element of an atomic.
func atomicClass(t llir.Type) (class string, typ llir.Type, bits int) {
	bits = bitsOf(t)
	class, typ = operandClass(t, bits)
	return class, typ, bits
}

// AtomicRMW is atom.global; where nobody reads the old value too, so that the
// order stays what was asked for.
func (t *Target) AtomicRMW(b *llir.Builder, a *lower.Atomic) (llir.Value, error) {
	class, typ, bits := atomicClass(a.Elem)
	if a.Elem == llir.BF16 && t.CC < 90 {
		return t.atomicFAddLLVM(b, a)
	}
	op, err := rmwName(a.Op, a.Elem, bits)
	if err != nil {
		return nil, err
	}
	var s assembly
	s.out(class)
	v := s.in(class, toOperand(b, a.Value, typ))
	s.str("mov." + moveType(bits) + " $0, 0x0;\n\t")
	s.predicate(a.Mask)
	s.str("atom.global." + scopeNames[a.Scope] + "." + semNames[a.Sem] + "." + op + " $0, ")
	s.address("l", a.Ptr, a.Offset)
	s.str(", ")
	s.ref(v)
	s.str(";")
	return fromOperand(b, s.emit(b, typ)[0], a.Elem), nil
}

// AtomicCAS is atom.global.cas.
func (t *Target) AtomicCAS(b *llir.Builder, a *lower.Atomic) (llir.Value, error) {
	class, typ, bits := atomicClass(a.Elem)
	if bits < 16 {
		return nil, errors.New("the hardware has no atomic access to 8-bit elements")
	}
	var s assembly
	s.out(class)
	cmp, v := s.in(class, toOperand(b, a.Compare, typ)), s.in(class, toOperand(b, a.Value, typ))
	s.str("mov." + moveType(bits) + " $0, 0x0;\n\t")
	s.predicate(a.Mask)
	s.str("atom.global." + semNames[a.Sem] + "." + scopeNames[a.Scope] + ".cas.b" + strconv.Itoa(bits) + " $0, ")
	s.address("l", a.Ptr, a.Offset)
	s.str(", ")
	s.ref(cmp)
	s.str(", ")
	s.ref(v)
	s.str(";")
	return fromOperand(b, s.emit(b, typ)[0], a.Elem), nil
}

// toOperand and fromOperand convert 16-bit elements to and from the integer
// that inline assembly takes.
func toOperand(b *llir.Builder, v llir.Value, typ llir.Type) llir.Value {
	if typ == llir.I16 {
		return b.BitCast(v, llir.I16)
	}
	return v
}

func fromOperand(b *llir.Builder, v llir.Value, elem llir.Type) llir.Value {
	if v.Type() == llir.I16 {
		return b.BitCast(v, elem)
	}
	return v
}

// rmwName is the operation and its type, such as "add.f32".
func rmwName(op int64, t llir.Type, bits int) (string, error) {
	if bits < 32 && op != tt.RMWFAdd {
		return "", errors.New("the hardware has no such atomic operation on elements of " + strconv.Itoa(bits) + " bits")
	}
	w := strconv.Itoa(bits)
	switch op {
	case tt.RMWAnd:
		return "and.b" + w, nil
	case tt.RMWOr:
		return "or.b" + w, nil
	case tt.RMWXor:
		return "xor.b" + w, nil
	case tt.RMWAdd:
		return "add.u" + w, nil
	case tt.RMWMax:
		return "max.s" + w, nil
	case tt.RMWMin:
		return "min.s" + w, nil
	case tt.RMWUMax:
		return "max.u" + w, nil
	case tt.RMWUMin:
		return "min.u" + w, nil
	case tt.RMWExch:
		return "exch.b" + w, nil
	case tt.RMWFAdd:
		switch t {
		case llir.Half:
			return "add.noftz.f16", nil
		case llir.BF16:
			return "add.noftz.bf16", nil
		}
		return "add.f" + w, nil
	}
	return "", errors.New("unknown atomic operation")
}

// atomicFAddLLVM adds bf16 where the hardware cannot: LLVM makes a loop of
// compare-and-swap. A masked one stands behind a branch.
func (t *Target) atomicFAddLLVM(b *llir.Builder, a *lower.Atomic) (llir.Value, error) {
	if a.Op != tt.RMWFAdd {
		return nil, errors.New("the hardware has no such atomic operation on bf16")
	}
	before := b.Block()
	join := before
	if a.Mask != nil {
		do := b.F.NewBlock(before)
		join = b.F.NewBlock(before)
		b.CondBr(a.Mask, do, join)
		b.SetBlock(do)
	}
	v := b.AtomicRMW(enum.AtomicOpFAdd, b.PtrAdd(a.Ptr, a.Offset), a.Value, enum.AtomicOrderingMonotonic, "device")
	if a.Mask == nil {
		return v, nil
	}
	do := b.Block()
	b.Br(join)
	b.SetBlock(join)
	p := b.Phi(a.Elem)
	llir.AddIncoming(p, v, do)
	llir.AddIncoming(p, b.M.Zero(a.Elem), before)
	return p, nil
}
