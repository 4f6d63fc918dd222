package gpu

import (
	"errors"
	"strconv"
	"strings"

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

// AtomicWidth: sums of f32 and of 16-bit floats, up to 16 bytes, from compute
// capability 9.0 on; pairs of f16 before.
func (t *Target) AtomicWidth(op int64, elem llir.Type) int {
	switch {
	case op != tt.RMWFAdd:
		return 1
	case t.CC < 90 && elem == llir.Half:
		return 2
	case t.CC >= 90 && (elem == llir.F32 || elem == llir.Half || elem == llir.BF16):
		return 128 / llir.Width(elem)
	}
	return 1
}

// AtomicRMW is atom.global; where nobody reads the old value too, so that the
// order stays what was asked for (ptxas drops the result).
func (t *Target) AtomicRMW(b *llir.Builder, a *lower.Atomic) ([]llir.Value, error) {
	loop, err := t.atomicLoop(a)
	switch {
	case err != nil:
		return nil, err
	case loop:
		return loops.AtomicRMW(b, a)
	}
	ws := wordsOf(b.M, &lower.Access{Elem: a.Elem, Count: len(a.Values)})
	op, err := rmwName(a.Op, a.Elem, bitsOf(a.Elem))
	if err != nil {
		return nil, err
	}
	if ws.elems == 2 {
		op += "x2"
	}
	if ws.count > 1 { // the vector's size comes before the type
		dot := strings.LastIndexByte(op, '.')
		op = op[:dot] + ".v" + strconv.Itoa(ws.count) + op[dot:]
	}
	var s assembly
	for range ws.count {
		s.out(ws.constraint)
	}
	first := s.next
	for _, w := range ws.pack(b, a.Values) {
		s.in(ws.constraint, w)
	}
	for i := range ws.count {
		s.str("mov." + moveType(ws.bits) + " ")
		s.ref(i)
		s.str(", 0x0;\n\t")
	}
	s.predicate(a.Mask)
	s.str("atom.global." + scopeNames[a.Scope] + "." + semNames[a.Sem] + "." + op + " ")
	s.list(0, ws.count, ws.count > 1)
	s.str(", ")
	s.address("l", a.Ptr, a.Offset)
	s.str(", ")
	s.list(first, ws.count, ws.count > 1)
	s.str(";")
	return ws.unpack(b, a.Elem, s.emit(b, ws.typ)), nil
}

// AtomicCAS is atom.global.cas.
func (t *Target) AtomicCAS(b *llir.Builder, a *lower.Atomic) (llir.Value, error) {
	class, typ, bits := atomicClass(a.Elem)
	if bits < 16 {
		return nil, errors.New("the hardware has no atomic access to 8-bit elements")
	}
	var s assembly
	s.out(class)
	cmp, v := s.in(class, toOperand(b, a.Compare, typ)), s.in(class, toOperand(b, a.Values[0], typ))
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
		case llir.F32, llir.F64:
			return "add.f" + w, nil
		}
		return "", errors.New("the hardware has no atomic sums of this type")
	}
	return "", errors.New("unknown atomic operation")
}

// loops leaves operations to LLVM, as Triton does.
var loops = lower.LLVMAtomics{GPU: "device", CTA: "block"}

// atomicLoop reports whether the hardware has to try until an operation on
// floats succeeds: sums of bf16 before compute capability 9.0, and minima and
// maxima of 16 bits from there on, which a descriptor may ask for (and whose unit
// for copies has them).
func (t *Target) atomicLoop(a *lower.Atomic) (bool, error) {
	if !llir.IsFloat(a.Elem) {
		return false, nil
	}
	switch a.Op {
	case tt.RMWFAdd:
		return a.Elem == llir.BF16 && t.CC < 90, nil
	case tt.RMWExch:
		return false, nil
	case tt.RMWMin, tt.RMWMax:
		if bitsOf(a.Elem) != 16 || t.CC < 90 {
			return false, errors.New("atomic minima and maxima of floats are those of descriptors of 16-bit floats, from compute capability 9.0 on")
		}
		return true, nil
	}
	return false, errors.New("there is no such atomic operation on floats")
}
