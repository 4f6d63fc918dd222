package tt

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

var asm = &text.Dialect{
	ParseType: parseType,
	PrintType: printType,
	Constraints: map[string]ir.Constraint{
		"tt.ptr": ScalarPtr, "tt.ptrs": PtrLike, "tt.tensordesc": DescLike, "tt.value": AnyValue,
	},
	Ops: map[*ir.OpDef]text.OpAsm{Func: {Parse: parseFunc, Print: printFunc}},
}

// maxAddrSpace bounds the address space of a pointer.
const maxAddrSpace = 1 << 24

func parseType(p *text.Parser, name string) ir.Type {
	switch name {
	case "ptr":
		p.Expect("<")
		pointee, space := p.Type(), 1
		if p.Opt(",") {
			space = int(p.IntBelow(maxAddrSpace, "address space"))
		}
		p.Expect(">")
		return PtrIn(p.Context(), pointee, space)
	case "tensordesc":
		p.Expect("<")
		pos := p.Pos()
		block, ok := p.Type().(*ir.TensorType)
		if !ok {
			p.FailAt(pos, "a descriptor describes blocks: expected a tensor type")
		}
		p.Expect(">")
		return TensorDesc(p.Context(), block)
	}
	return nil
}

func printType(w *text.Printer, t ir.Type) {
	switch t := t.(type) {
	case *PtrType:
		w.Str("ptr<")
		w.Type(t.Pointee)
		if t.AddrSpace != 1 {
			w.Str(", ")
			w.Int(int64(t.AddrSpace))
		}
	case *TensorDescType:
		w.Str("tensordesc<")
		w.Type(t.Block)
	}
	w.Str(">")
}

func parseFunc(p *text.Parser, s *text.OpState) {
	c := p.Context()
	p.Function(s, func(in, out []ir.Type) ir.Type { return c.Func(in, out) })
}

func printFunc(w *text.Printer, op *ir.Operation) { w.Function(op, Signature(op)) }
