package buffers

import (
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// narrower makes integers of 32 bits of others, modulo 2^32. Sums and products are
// computed in 32 bits from the start, where those of 64 were.
type narrower struct {
	b    *ir.Builder
	done map[*ir.Value]*ir.Value
}

func newNarrower(b *ir.Builder) narrower { return narrower{b, map[*ir.Value]*ir.Value{}} }

// value is v in 32 bits. It leaves the builder anywhere.
func (n narrower) value(v *ir.Value) *ir.Value {
	if ir.BitWidth(ir.ElemOf(v.Type())) == 32 {
		return v
	}
	if x := n.done[v]; x != nil {
		return x
	}
	x := n.made(v)
	n.done[v] = x
	return x
}

func (n narrower) made(v *ir.Value) *ir.Value {
	t := withElem(n.b.Context(), v.Type(), n.b.Context().I32())
	op := v.Def()
	if op == nil {
		n.b.SetAfterValue(v)
		n.b.Loc = v.Loc()
		return n.cast(v, t, arith.ExtSI)
	}
	var operands []*ir.Value
	switch op.Def() {
	case arith.ExtSI, arith.ExtUI:
		from := arith.AsCast(op).In()
		if ir.BitWidth(ir.ElemOf(from.Type())) == 32 {
			return from
		}
		n.b.After(op)
		return n.cast(from, t, op.Def())
	case arith.Constant:
		if c, ok := arith.ConstantInt(v); ok {
			n.b.After(op)
			return arith.Int(n.b, t, int64(int32(c)))
		}
	case arith.AddI, arith.SubI, arith.MulI:
		two := arith.AsBinary(op)
		operands = []*ir.Value{n.value(two.Lhs()), n.value(two.Rhs())}
	case tt.Splat, tt.Broadcast, tt.ExpandDims, ttg.ConvertLayout:
		operands = []*ir.Value{n.value(tt.AsUnary(op).Src())}
	}
	n.b.After(op)
	if operands == nil {
		return n.cast(v, t, arith.ExtSI)
	}
	return n.b.Create(op.Def(), ir.State{Operands: operands, Types: []ir.Type{t}, Attrs: kept(op)}).OneResult()
}

// cast converts v, which may be wider or narrower.
func (n narrower) cast(v *ir.Value, t ir.Type, extend *ir.OpDef) *ir.Value {
	if ir.BitWidth(ir.ElemOf(v.Type())) > 32 {
		return arith.Cast(n.b, arith.TruncI, v, t)
	}
	return arith.Cast(n.b, extend, v, t)
}

// kept are the attributes of op that hold modulo 2^32, too: what an operation's own say,
// and hints, which are of powers of two; not that a sum does not wrap around.
func kept(op *ir.Operation) []ir.NamedAttr {
	if !op.Is(arith.AddI) && !op.Is(arith.SubI) && !op.Is(arith.MulI) {
		return op.Attrs()
	}
	var list []ir.NamedAttr
	for _, a := range op.Attrs() {
		if strings.HasPrefix(a.Name, "tt.") {
			list = append(list, a)
		}
	}
	return list
}
