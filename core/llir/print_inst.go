package llir

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// instString is the text of one instruction, for the library's own interfaces.
func instString(inst any) string {
	var p printer
	p.inst(inst)
	return string(p.b)
}

// inst writes an instruction or terminator without indentation and newline.
func (p *printer) inst(inst any) {
	switch i := inst.(type) {
	case *ir.InstAdd:
		p.binary(i, "add", overflowWords(i.OverflowFlags), i.X, i.Y, i.Metadata)
	case *ir.InstSub:
		p.binary(i, "sub", overflowWords(i.OverflowFlags), i.X, i.Y, i.Metadata)
	case *ir.InstMul:
		p.binary(i, "mul", overflowWords(i.OverflowFlags), i.X, i.Y, i.Metadata)
	case *ir.InstShl:
		p.binary(i, "shl", overflowWords(i.OverflowFlags), i.X, i.Y, i.Metadata)
	case *ir.InstUDiv:
		p.binary(i, "udiv", word(i.Exact, " exact"), i.X, i.Y, i.Metadata)
	case *ir.InstSDiv:
		p.binary(i, "sdiv", word(i.Exact, " exact"), i.X, i.Y, i.Metadata)
	case *ir.InstURem:
		p.binary(i, "urem", "", i.X, i.Y, i.Metadata)
	case *ir.InstSRem:
		p.binary(i, "srem", "", i.X, i.Y, i.Metadata)
	case *ir.InstLShr:
		p.binary(i, "lshr", word(i.Exact, " exact"), i.X, i.Y, i.Metadata)
	case *ir.InstAShr:
		p.binary(i, "ashr", word(i.Exact, " exact"), i.X, i.Y, i.Metadata)
	case *ir.InstAnd:
		p.binary(i, "and", "", i.X, i.Y, i.Metadata)
	case *Or:
		p.binary(i, "or", word(i.Disjoint, " disjoint"), i.X, i.Y, i.Metadata)
	case *ir.InstXor:
		p.binary(i, "xor", "", i.X, i.Y, i.Metadata)
	case *ir.InstFAdd:
		p.float(i, "fadd", i.FastMathFlags, i.X, i.Y, i.Metadata)
	case *ir.InstFSub:
		p.float(i, "fsub", i.FastMathFlags, i.X, i.Y, i.Metadata)
	case *ir.InstFMul:
		p.float(i, "fmul", i.FastMathFlags, i.X, i.Y, i.Metadata)
	case *ir.InstFDiv:
		p.float(i, "fdiv", i.FastMathFlags, i.X, i.Y, i.Metadata)
	case *ir.InstFRem:
		p.float(i, "frem", i.FastMathFlags, i.X, i.Y, i.Metadata)
	case *ir.InstFNeg:
		p.result(i, "fneg ")
		p.typed(i.X)
		p.attachments(i.Metadata, ", ")
	case *ir.InstICmp:
		p.result(i, "icmp ")
		p.compare(i.Pred.String(), i.X, i.Y, i.Metadata)
	case *ir.InstFCmp:
		p.result(i, "fcmp ")
		p.compare(i.Pred.String(), i.X, i.Y, i.Metadata)
	case *ir.InstSelect:
		p.result(i, "select ")
		p.typed(i.Cond)
		p.str(", ")
		p.typed(i.ValueTrue)
		p.str(", ")
		p.typed(i.ValueFalse)
		p.attachments(i.Metadata, ", ")
	case *ir.InstFreeze:
		p.result(i, "freeze ")
		p.typed(i.X)
		p.attachments(i.Metadata, ", ")
	case *ir.InstPhi:
		p.phi(i)
	case *ir.InstCall:
		p.call(i)
	case *ir.InstGetElementPtr:
		p.result(i, "getelementptr ")
		p.typ(i.ElemType)
		p.str(", ")
		p.typed(i.Src)
		for _, x := range i.Indices {
			p.str(", ")
			p.typed(x)
		}
		p.attachments(i.Metadata, ", ")
	case *ir.InstExtractValue:
		p.result(i, "extractvalue ")
		p.typed(i.X)
		p.indices(i.Indices, i.Metadata)
	case *ir.InstInsertValue:
		p.result(i, "insertvalue ")
		p.typed(i.X)
		p.str(", ")
		p.typed(i.Elem)
		p.indices(i.Indices, i.Metadata)
	case *ir.InstExtractElement:
		p.result(i, "extractelement ")
		p.typed(i.X)
		p.str(", ")
		p.typed(i.Index)
		p.attachments(i.Metadata, ", ")
	case *ir.InstInsertElement:
		p.result(i, "insertelement ")
		p.typed(i.X)
		p.str(", ")
		p.typed(i.Elem)
		p.str(", ")
		p.typed(i.Index)
		p.attachments(i.Metadata, ", ")
	default:
		if !p.cast(inst) && !p.memory(inst) && !p.terminator(inst) {
			panic("BUG: llir: no text for this instruction")
		}
	}
}

func (p *printer) cast(inst any) bool {
	switch i := inst.(type) {
	case *Trunc:
		p.convert(i, "trunc", overflowWords(i.Wrap), i.From, i.To, i.Metadata)
	case *ZExt:
		p.convert(i, "zext", word(i.NNeg, " nneg"), i.From, i.To, i.Metadata)
	case *ir.InstSExt:
		p.convert(i, "sext", "", i.From, i.To, i.Metadata)
	case *ir.InstFPTrunc:
		p.convert(i, "fptrunc", "", i.From, i.To, i.Metadata)
	case *ir.InstFPExt:
		p.convert(i, "fpext", "", i.From, i.To, i.Metadata)
	case *ir.InstFPToUI:
		p.convert(i, "fptoui", "", i.From, i.To, i.Metadata)
	case *ir.InstFPToSI:
		p.convert(i, "fptosi", "", i.From, i.To, i.Metadata)
	case *UIToFPInst:
		p.convert(i, "uitofp", word(i.NNeg, " nneg"), i.From, i.To, i.Metadata)
	case *ir.InstSIToFP:
		p.convert(i, "sitofp", "", i.From, i.To, i.Metadata)
	case *ir.InstPtrToInt:
		p.convert(i, "ptrtoint", "", i.From, i.To, i.Metadata)
	case *ir.InstIntToPtr:
		p.convert(i, "inttoptr", "", i.From, i.To, i.Metadata)
	case *ir.InstBitCast:
		p.convert(i, "bitcast", "", i.From, i.To, i.Metadata)
	case *ir.InstAddrSpaceCast:
		p.convert(i, "addrspacecast", "", i.From, i.To, i.Metadata)
	default:
		return false
	}
	return true
}

func (p *printer) memory(inst any) bool {
	switch i := inst.(type) {
	case *ir.InstLoad:
		p.result(i, "load ")
		p.str(word(i.Volatile, "volatile "))
		p.typ(i.ElemType)
		p.str(", ")
		p.typed(i.Src)
		p.align(i.Align)
		p.attachments(i.Metadata, ", ")
	case *ir.InstStore:
		p.str("store ")
		p.str(word(i.Volatile, "volatile "))
		p.typed(i.Src)
		p.str(", ")
		p.typed(i.Dst)
		p.align(i.Align)
		p.attachments(i.Metadata, ", ")
	case *allocaInst:
		p.result(i, "alloca ")
		p.typ(i.ElemType)
		p.align(i.Align)
		p.attachments(i.Metadata, ", ")
	case *ir.InstAtomicRMW:
		p.result(i, "atomicrmw ")
		p.str(atomicName(i.Op))
		p.str(" ")
		p.typed(i.Dst)
		p.str(", ")
		p.typed(i.X)
		p.syncScope(i.SyncScope)
		p.str(" ")
		p.str(i.Ordering.String())
		p.attachments(i.Metadata, ", ")
	case *ir.InstCmpXchg:
		p.result(i, "cmpxchg ")
		p.typed(i.Ptr)
		p.str(", ")
		p.typed(i.Cmp)
		p.str(", ")
		p.typed(i.New)
		p.syncScope(i.SyncScope)
		p.str(" ")
		p.str(i.SuccessOrdering.String())
		p.str(" ")
		p.str(i.FailureOrdering.String())
		p.attachments(i.Metadata, ", ")
	case *ir.InstFence:
		p.str("fence")
		p.syncScope(i.SyncScope)
		p.str(" ")
		p.str(i.Ordering.String())
		p.attachments(i.Metadata, ", ")
	default:
		return false
	}
	return true
}

func (p *printer) terminator(inst any) bool {
	switch i := inst.(type) {
	case *ir.TermRet:
		if i.X == nil {
			p.str("ret void")
		} else {
			p.str("ret ")
			p.typed(i.X)
		}
		p.attachments(i.Metadata, ", ")
	case *ir.TermBr:
		p.str("br ")
		p.label(i.Target)
		p.attachments(i.Metadata, ", ")
	case *ir.TermCondBr:
		p.str("br ")
		p.typed(i.Cond)
		p.str(", ")
		p.label(i.TargetTrue)
		p.str(", ")
		p.label(i.TargetFalse)
		p.attachments(i.Metadata, ", ")
	case *ir.TermSwitch:
		p.str("switch ")
		p.typed(i.X)
		p.str(", ")
		p.label(i.TargetDefault)
		p.str(" [")
		for _, c := range i.Cases {
			p.str(" ")
			p.typed(c.X)
			p.str(", ")
			p.label(c.Target)
		}
		p.str(" ]")
		p.attachments(i.Metadata, ", ")
	case *ir.TermUnreachable:
		p.str("unreachable")
		p.attachments(i.Metadata, ", ")
	default:
		return false
	}
	return true
}

func (p *printer) label(v Value) {
	p.str("label %")
	p.num(v.(*ir.Block).LocalID)
}

// result writes "%n = opcode ".
func (p *printer) result(i localID, opcode string) {
	p.str("%")
	p.num(i.ID())
	p.str(" = ")
	p.str(opcode)
}

func word(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

func overflowWords(l []enum.OverflowFlag) string {
	switch overflowFlags(l) {
	case NSW:
		return " nsw"
	case NUW:
		return " nuw"
	case NSW | NUW:
		return " nuw nsw"
	}
	return ""
}

func (p *printer) binary(i localID, opcode, flags string, x, y Value, md ir.Metadata) {
	p.result(i, opcode)
	p.str(flags)
	p.str(" ")
	p.typed(x)
	p.str(", ")
	p.value(y)
	p.attachments(md, ", ")
}

func (p *printer) float(i localID, opcode string, flags []enum.FastMathFlag, x, y Value, md ir.Metadata) {
	p.result(i, opcode)
	for _, f := range flags {
		p.str(" ")
		p.str(f.String())
	}
	p.str(" ")
	p.typed(x)
	p.str(", ")
	p.value(y)
	p.attachments(md, ", ")
}

func (p *printer) compare(pred string, x, y Value, md ir.Metadata) {
	p.str(pred)
	p.str(" ")
	p.typed(x)
	p.str(", ")
	p.value(y)
	p.attachments(md, ", ")
}

func (p *printer) convert(i localID, opcode, flags string, from Value, to Type, md ir.Metadata) {
	p.result(i, opcode)
	p.str(flags)
	p.str(" ")
	p.typed(from)
	p.str(" to ")
	p.typ(to)
	p.attachments(md, ", ")
}

func (p *printer) indices(idx []uint64, md ir.Metadata) {
	for _, x := range idx {
		p.str(", ")
		p.num(int64(x))
	}
	p.attachments(md, ", ")
}

func (p *printer) align(a ir.Align) {
	if a != 0 {
		p.str(", align ")
		p.num(int64(a))
	}
}

func (p *printer) syncScope(s string) {
	if s != "" {
		p.str(" syncscope(")
		p.quoted(s)
		p.str(")")
	}
}

func (p *printer) phi(i *ir.InstPhi) {
	p.result(i, "phi ")
	p.typ(i.Typ)
	for n, in := range i.Incs {
		if n > 0 {
			p.str(",")
		}
		p.str(" [ ")
		p.value(in.X)
		p.str(", %")
		p.num(in.Pred.(*ir.Block).LocalID)
		p.str(" ]")
	}
	p.attachments(i.Metadata, ", ")
}

func (p *printer) call(i *ir.InstCall) {
	if i.Typ != Void {
		p.result(i, "")
	}
	p.str("call")
	p.callingConv(i.CallingConv)
	p.str(" ")
	switch c := i.Callee.(type) {
	case *ir.InlineAsm:
		p.typ(i.Typ)
		p.str(" asm ")
		p.str(word(c.SideEffect, "sideeffect "))
		p.quoted(c.Asm)
		p.str(", ")
		p.quoted(c.Constraint)
	case *ir.Func:
		p.typ(i.Typ)
		p.str(" ")
		p.ident(c.GlobalName)
	default:
		p.typed(i.Callee)
	}
	p.str("(")
	for n, a := range i.Args {
		if n > 0 {
			p.str(", ")
		}
		p.typed(a)
	}
	p.str(")")
	for _, a := range i.FuncAttrs {
		p.str(" ")
		p.str(a.String())
	}
	p.attachments(i.Metadata, ", ")
}
