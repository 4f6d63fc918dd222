package llir

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// Flags are the optional keywords of an instruction. Poison-generating flags
// are promises of the caller.
type Flags uint16

// The flags; each is legal on the instructions that LLVM allows it on.
const (
	NSW      Flags = 1 << iota // no signed wrap: add, sub, mul, shl, trunc
	NUW                        // no unsigned wrap: add, sub, mul, shl, trunc
	Exact                      // no remainder: udiv, sdiv, lshr, ashr
	Disjoint                   // no common bit: or
	NNeg                       // operand not negative: zext, uitofp
	Contract                   // may fuse: floating point
	Reassoc                    // may reassociate: floating point
	AFn                        // approximate functions: floating point
	NNan                       // no NaN in or out: floating point
	NSZ                        // sign of zero does not matter: floating point
	ARcp                       // may use a reciprocal: floating point
)

// Op names an operation of the Builder.
type Op uint8

// The binary operations, then the conversions, then the rest.
const (
	Add Op = iota + 1
	Sub
	Mul
	UDiv
	SDiv
	URem
	SRem
	Shl
	LShr
	AShr
	And
	OrOp
	Xor
	FAdd
	FSub
	FMul
	FDiv
	FRem

	TruncOp
	ZExtOp
	SExtOp
	FPTrunc
	FPExt
	FPToUI
	FPToSI
	UIToFP
	SIToFP
	PtrToInt
	IntToPtr
	BitCast
	AddrSpaceCast

	opICmp
	opFCmp
	opSelect
	opFNeg
	opFreeze
	opGEP
	opExtractValue
	opInsertValue
	opExtractElement
	opInsertElement
	opCall
	opAsm
)

// Or is an or instruction with LLVM's disjoint flag.
type Or struct {
	ir.InstOr
	Disjoint bool
}

// LLString returns the instruction's text.
func (i *Or) LLString() string { return instString(i) }

// ZExt is a zext instruction with LLVM's nneg flag.
type ZExt struct {
	ir.InstZExt
	NNeg bool
}

// LLString returns the instruction's text.
func (i *ZExt) LLString() string { return instString(i) }

// UIToFPInst is a uitofp instruction with LLVM's nneg flag.
type UIToFPInst struct {
	ir.InstUIToFP
	NNeg bool
}

// LLString returns the instruction's text.
func (i *UIToFPInst) LLString() string { return instString(i) }

// Trunc is a trunc instruction with LLVM's nuw and nsw flags.
type Trunc struct {
	ir.InstTrunc
	Wrap []enum.OverflowFlag
}

// LLString returns the instruction's text.
func (i *Trunc) LLString() string { return instString(i) }

// Shared flag lists: an instruction's list is never written to.
var (
	nswList    = []enum.OverflowFlag{enum.OverflowFlagNSW}
	nuwList    = []enum.OverflowFlag{enum.OverflowFlagNUW}
	nuwNswList = []enum.OverflowFlag{enum.OverflowFlagNUW, enum.OverflowFlagNSW}
)

func overflowList(f Flags) []enum.OverflowFlag {
	switch f & (NSW | NUW) {
	case NSW:
		return nswList
	case NUW:
		return nuwList
	case NSW | NUW:
		return nuwNswList
	}
	return nil
}

func overflowFlags(l []enum.OverflowFlag) Flags {
	var f Flags
	for _, o := range l {
		if o == enum.OverflowFlagNSW {
			f |= NSW
		} else {
			f |= NUW
		}
	}
	return f
}

var fastNames = [...]struct {
	flag Flags
	enum enum.FastMathFlag
}{
	{Reassoc, enum.FastMathFlagReassoc},
	{NNan, enum.FastMathFlagNNaN},
	{NSZ, enum.FastMathFlagNSZ},
	{ARcp, enum.FastMathFlagARcp},
	{Contract, enum.FastMathFlagContract},
	{AFn, enum.FastMathFlagAFn},
}

func fastList(f Flags) []enum.FastMathFlag {
	if f&(Contract|Reassoc|AFn|NNan|NSZ|ARcp) == 0 {
		return nil
	}
	var l []enum.FastMathFlag
	for _, n := range fastNames {
		if f&n.flag != 0 {
			l = append(l, n.enum)
		}
	}
	return l
}

// newBinary makes the library's struct for a binary operation.
func newBinary(op Op, x, y Value, f Flags, md ir.Metadata) ir.Instruction {
	t := x.Type()
	switch op {
	case Add:
		return &ir.InstAdd{X: x, Y: y, Typ: t, OverflowFlags: overflowList(f), Metadata: md}
	case Sub:
		return &ir.InstSub{X: x, Y: y, Typ: t, OverflowFlags: overflowList(f), Metadata: md}
	case Mul:
		return &ir.InstMul{X: x, Y: y, Typ: t, OverflowFlags: overflowList(f), Metadata: md}
	case Shl:
		return &ir.InstShl{X: x, Y: y, Typ: t, OverflowFlags: overflowList(f), Metadata: md}
	case UDiv:
		return &ir.InstUDiv{X: x, Y: y, Typ: t, Exact: f&Exact != 0, Metadata: md}
	case SDiv:
		return &ir.InstSDiv{X: x, Y: y, Typ: t, Exact: f&Exact != 0, Metadata: md}
	case URem:
		return &ir.InstURem{X: x, Y: y, Typ: t, Metadata: md}
	case SRem:
		return &ir.InstSRem{X: x, Y: y, Typ: t, Metadata: md}
	case LShr:
		return &ir.InstLShr{X: x, Y: y, Typ: t, Exact: f&Exact != 0, Metadata: md}
	case AShr:
		return &ir.InstAShr{X: x, Y: y, Typ: t, Exact: f&Exact != 0, Metadata: md}
	case And:
		return &ir.InstAnd{X: x, Y: y, Typ: t, Metadata: md}
	case OrOp:
		return &Or{InstOr: ir.InstOr{X: x, Y: y, Typ: t, Metadata: md}, Disjoint: f&Disjoint != 0}
	case Xor:
		return &ir.InstXor{X: x, Y: y, Typ: t, Metadata: md}
	case FAdd:
		return &ir.InstFAdd{X: x, Y: y, Typ: t, FastMathFlags: fastList(f), Metadata: md}
	case FSub:
		return &ir.InstFSub{X: x, Y: y, Typ: t, FastMathFlags: fastList(f), Metadata: md}
	case FMul:
		return &ir.InstFMul{X: x, Y: y, Typ: t, FastMathFlags: fastList(f), Metadata: md}
	case FDiv:
		return &ir.InstFDiv{X: x, Y: y, Typ: t, FastMathFlags: fastList(f), Metadata: md}
	case FRem:
		return &ir.InstFRem{X: x, Y: y, Typ: t, FastMathFlags: fastList(f), Metadata: md}
	}
	panic("BUG: llir: not a binary operation")
}

// newCast makes the library's struct for a conversion.
func newCast(op Op, x Value, to Type, f Flags, md ir.Metadata) ir.Instruction {
	switch op {
	case TruncOp:
		return &Trunc{InstTrunc: ir.InstTrunc{From: x, To: to, Metadata: md}, Wrap: overflowList(f)}
	case ZExtOp:
		return &ZExt{InstZExt: ir.InstZExt{From: x, To: to, Metadata: md}, NNeg: f&NNeg != 0}
	case SExtOp:
		return &ir.InstSExt{From: x, To: to, Metadata: md}
	case FPTrunc:
		return &ir.InstFPTrunc{From: x, To: to, Metadata: md}
	case FPExt:
		return &ir.InstFPExt{From: x, To: to, Metadata: md}
	case FPToUI:
		return &ir.InstFPToUI{From: x, To: to, Metadata: md}
	case FPToSI:
		return &ir.InstFPToSI{From: x, To: to, Metadata: md}
	case UIToFP:
		return &UIToFPInst{InstUIToFP: ir.InstUIToFP{From: x, To: to, Metadata: md}, NNeg: f&NNeg != 0}
	case SIToFP:
		return &ir.InstSIToFP{From: x, To: to, Metadata: md}
	case PtrToInt:
		return &ir.InstPtrToInt{From: x, To: to, Metadata: md}
	case IntToPtr:
		return &ir.InstIntToPtr{From: x, To: to, Metadata: md}
	case BitCast:
		return &ir.InstBitCast{From: x, To: to, Metadata: md}
	case AddrSpaceCast:
		return &ir.InstAddrSpaceCast{From: x, To: to, Metadata: md}
	}
	panic("BUG: llir: not a conversion")
}

// operands calls f for every operand of an instruction that the Builder makes,
// except blocks and callees.
func operands(inst any, f func(Value)) {
	switch i := inst.(type) {
	case *ir.InstAdd:
		f(i.X)
		f(i.Y)
	case *ir.InstSub:
		f(i.X)
		f(i.Y)
	case *ir.InstMul:
		f(i.X)
		f(i.Y)
	case *ir.InstShl:
		f(i.X)
		f(i.Y)
	case *ir.InstLShr:
		f(i.X)
		f(i.Y)
	case *ir.InstAnd:
		f(i.X)
		f(i.Y)
	case *Or:
		f(i.X)
		f(i.Y)
	case *ir.InstXor:
		f(i.X)
		f(i.Y)
	case *ir.InstFAdd:
		f(i.X)
		f(i.Y)
	case *ir.InstFSub:
		f(i.X)
		f(i.Y)
	case *ir.InstFMul:
		f(i.X)
		f(i.Y)
	case *ir.InstICmp:
		f(i.X)
		f(i.Y)
	case *ir.InstFCmp:
		f(i.X)
		f(i.Y)
	case *ir.InstSelect:
		f(i.Cond)
		f(i.ValueTrue)
		f(i.ValueFalse)
	case *ir.InstGetElementPtr:
		f(i.Src)
		for _, x := range i.Indices {
			f(x)
		}
	case *ir.InstExtractValue:
		f(i.X)
	case *ir.InstInsertValue:
		f(i.X)
		f(i.Elem)
	case *ir.InstExtractElement:
		f(i.X)
		f(i.Index)
	case *ir.InstInsertElement:
		f(i.X)
		f(i.Elem)
		f(i.Index)
	case *ir.InstBitCast:
		f(i.From)
	case *Trunc:
		f(i.From)
	case *ZExt:
		f(i.From)
	case *ir.InstSExt:
		f(i.From)
	case *UIToFPInst:
		f(i.From)
	case *ir.InstCall:
		for _, x := range i.Args {
			f(x)
		}
	case *ir.InstPhi:
		for _, in := range i.Incs {
			f(in.X)
		}
	case *ir.TermRet:
		if i.X != nil {
			f(i.X)
		}
	case *ir.TermCondBr:
		f(i.Cond)
	case *ir.TermSwitch:
		f(i.X)
	case interface{ Operands() []*Value }:
		for _, p := range i.Operands() {
			f(*p)
		}
	}
}

// IsAnd reports whether v is the conjunction of two values.
func IsAnd(v Value) bool {
	_, ok := v.(*ir.InstAnd)
	return ok
}

// ElementOf gives the vector and the index that v is an element of, if it was taken from
// one.
func ElementOf(v Value) (vector Value, index int, ok bool) {
	e, ok := v.(*ir.InstExtractElement)
	if !ok {
		return nil, 0, false
	}
	i, ok := e.Index.(*Int)
	if !ok {
		return nil, 0, false
	}
	return e.X, int(i.Bits), true
}
