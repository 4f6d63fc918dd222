package matrix

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// TF32Rounding is how a target rounds f32 to the 19 bits of tf32: one
// instruction as inline assembly, $0 the result and $1 the operand. The zero
// value says that it has none.
type TF32Rounding struct{ Asm, Constraints string }

// NewF32DotTC makes the pass that splits dots of f32 with a precision above
// tf32's and below full into sums of dots on narrower parts, for which there are
// matrix instructions:
//
//	tf32x3   x = big + small, both tf32:    big·big + (small·big + big·small)
//	bf16x3   x = hi + mid, both bf16:       hi·hi + (mid·hi + hi·mid)
//	bf16x6   x = hi + mid + lo:             … + (mid·mid + lo·hi + hi·lo) too
//
// Smaller products are added first. Where a part overflows, their sum is not a
// number and counts as zero, so that the largest product alone decides between
// an infinity and no number. Without a rounding, tf32x3 stays as it is.
func NewF32DotTC(round TF32Rounding) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-F32DotTC",
		Doc:      "split f32 dots into dots of narrower types, as their precision asks",
		Example:  f32DotTCExample,
		ByTarget: true,
		Options: []pass.Option{
			{Name: "emu-tf32", Doc: "split dots of precision tf32x3, too, where the target rounds to tf32", Default: true},
		},
		Before: []*pass.Fact{facts.NoMatrixLayouts},
		Run: func(r *pass.Run) error {
			s := splitter{b: ir.NewBuilder(r.Module.Context())}
			if r.Bool("emu-tf32") {
				s.round = round
			}
			ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
				if op.Is(tt.Dot) && s.split(tt.AsDot(op)) {
					r.Count("split", 1)
					return ir.Skip
				}
				return ir.Advance
			})
			return nil
		},
	}
}

type splitter struct {
	b     *ir.Builder
	round TF32Rounding
}

func (s *splitter) split(dot tt.DotOp) bool {
	f32 := func(v *ir.Value) bool { return ir.ElemOf(v.Type()) == ir.Type(s.b.Context().F32()) }
	if !f32(dot.A()) || !f32(dot.B()) {
		return false
	}
	s.b.At(dot.Op)
	precision := dot.InputPrecision()
	var as, bs []*ir.Value // the parts, greatest first
	switch {
	case precision == tt.PrecisionTF32x3 && s.round.Asm != "":
		as, bs = s.tf32Parts(dot.A()), s.tf32Parts(dot.B())
	case precision == tt.PrecisionBF16x3:
		as, bs = s.bf16Parts(dot.A(), 2), s.bf16Parts(dot.B(), 2)
	case precision == tt.PrecisionBF16x6:
		as, bs = s.bf16Parts(dot.A(), 3), s.bf16Parts(dot.B(), 3)
	default:
		return false
	}
	attrs := slices.Clone(dot.Op.Attrs())
	inputs := tt.PrecisionTF32
	if precision != tt.PrecisionTF32x3 {
		inputs = tt.PrecisionIEEE // exact for bf16
	}
	attrs = slices.DeleteFunc(attrs, func(a ir.NamedAttr) bool { return a.Name == "inputPrecision" })
	if inputs != tt.PrecisionIEEE {
		attrs = append(attrs, ir.NamedAttr{Name: "inputPrecision", Attr: s.b.Context().I32Attr(inputs)})
	}
	t := dot.Result().Type()
	zero := arith.Float(s.b, t, 0)
	sum := zero
	product := func(i, j int) {
		sum = s.b.Create(tt.Dot, ir.State{Operands: []*ir.Value{as[i], bs[j], sum}, Types: []ir.Type{t}, Attrs: attrs}).OneResult()
	}
	if len(as) == 3 {
		product(1, 1)
		product(2, 0)
		product(0, 2)
	}
	product(1, 0)
	product(0, 1)
	isNaN := arith.Compare(s.b, arith.CmpF, arith.UNO, sum, sum)
	sum = arith.NewSelect(s.b, isNaN, zero, sum)
	product(0, 0)
	sum = arith.Binary(s.b, arith.AddF, sum, dot.C())
	dot.Op.ReplaceAllUsesWith(sum)
	dot.Op.Erase()
	return true
}

// tf32Parts are x rounded to tf32 and what is left.
func (s *splitter) tf32Parts(x *ir.Value) []*ir.Value {
	c := s.b.Context()
	big := s.b.Create(tt.InlineAsm, ir.State{
		Operands: []*ir.Value{x}, Types: []ir.Type{x.Type()},
		Attrs: []ir.NamedAttr{
			{Name: "asm_string", Attr: c.StringAttr(s.round.Asm)},
			{Name: "constraints", Attr: c.StringAttr(s.round.Constraints)},
			{Name: "packed_element", Attr: c.I32Attr(1)},
			{Name: "pure", Attr: c.BoolAttr(true)},
		},
	}).OneResult()
	return []*ir.Value{big, arith.Binary(s.b, arith.SubF, x, big)}
}

// bf16Parts are n numbers of bf16 that add up to x as nearly as they can.
func (s *splitter) bf16Parts(x *ir.Value, n int) []*ir.Value {
	c := s.b.Context()
	narrow := c.WithElem(x.Type(), c.BF16())
	parts := make([]*ir.Value, n)
	for i := range parts {
		parts[i] = arith.Cast(s.b, arith.TruncF, x, narrow)
		if i < n-1 {
			x = arith.Binary(s.b, arith.SubF, x, arith.Cast(s.b, arith.ExtF, parts[i], x.Type()))
		}
	}
	return parts
}
