// Package index is the table of MLIR's index dialect: arithmetic on numbers of the width
// of an address. tritonc reads, verifies and prints it, and makes none of it.
package index

//go:generate go run github.com/tritonc/tritonc/internal/opviews index

import (
	"fmt"
	"strconv"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Index is the constraint of the dialect's operands.
var Index = ir.Constraint{Name: "index", Test: func(t ir.Type) bool {
	_, ok := t.(*ir.IndexType)
	return ok
}}

func one(name string, c ir.Constraint) []ir.Operand { return []ir.Operand{{Name: name, Type: c}} }
func result(c ir.Constraint) []ir.Result            { return []ir.Result{{Name: "result", Type: c}} }

func isIndex(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Ctx.Index()}, nil }
func isBool(s *ir.State) ([]ir.Type, error)  { return []ir.Type{s.Ctx.I1()}, nil }

func binary(name, doc string, traits ir.Trait) *ir.OpDef {
	return &ir.OpDef{
		Name: "index." + name, Doc: doc,
		Operands: []ir.Operand{{Name: "lhs", Type: Index}, {Name: "rhs", Type: Index}}, Results: result(Index),
		Traits: traits, Infer: isIndex,
		Asm: "$lhs `,` $rhs attr-dict",
	}
}

// cast converts between index and an integer: one of the two types is index.
func cast(name, doc string) *ir.OpDef {
	return &ir.OpDef{
		Name: "index." + name, Doc: doc, Operands: one("input", ir.Index), Results: []ir.Result{{Name: "output", Type: ir.Index}},
		Asm: "$input attr-dict `:` type($input) `to` type($output)",
		Verify: func(op *ir.Operation) error {
			in, out := op.OneOperand().Type(), op.OneResult().Type()
			if Index.Test(in) == Index.Test(out) {
				return fmt.Errorf("operand type '%s' and result type '%s' are cast incompatible", text.TypeString(op.Context(), in), text.TypeString(op.Context(), out))
			}
			return nil
		},
	}
}

// The operations.
var (
	Add       = binary("add", "sum, wrapping", ir.Commutative)
	Sub       = binary("sub", "difference, wrapping", 0)
	Mul       = binary("mul", "product, wrapping", ir.Commutative)
	DivS      = binary("divs", "signed quotient, rounded toward zero", 0)
	DivU      = binary("divu", "unsigned quotient", 0)
	CeilDivS  = binary("ceildivs", "signed quotient, rounded up", 0)
	CeilDivU  = binary("ceildivu", "unsigned quotient, rounded up", 0)
	FloorDivS = binary("floordivs", "signed quotient, rounded down", 0)
	RemS      = binary("rems", "remainder with the sign of the dividend", 0)
	RemU      = binary("remu", "unsigned remainder", 0)
	MaxS      = binary("maxs", "signed maximum", ir.Commutative)
	MaxU      = binary("maxu", "unsigned maximum", ir.Commutative)
	MinS      = binary("mins", "signed minimum", ir.Commutative)
	MinU      = binary("minu", "unsigned minimum", ir.Commutative)
	ShL       = binary("shl", "shift left", 0)
	ShRS      = binary("shrs", "arithmetic shift right", 0)
	ShRU      = binary("shru", "logical shift right", 0)
	And       = binary("and", "bitwise and", ir.Commutative)
	Or        = binary("or", "bitwise or", ir.Commutative)
	Xor       = binary("xor", "bitwise exclusive or", ir.Commutative)

	CastS = cast("casts", "between index and integer, signed")
	CastU = cast("castu", "between index and integer, unsigned")

	// Cmp has its predicate as an attribute of the dialect, kept as text.
	Cmp = &ir.OpDef{
		Name: "index.cmp", Doc: "comparison",
		Operands: []ir.Operand{{Name: "lhs", Type: Index}, {Name: "rhs", Type: Index}}, Results: result(ir.Bool),
		Attrs: []ir.AttrDef{{Name: "pred", Kind: ir.AttrAny}},
		Infer: isBool, Verify: verifyCmp,
	}
	SizeOf = &ir.OpDef{
		Name: "index.sizeof", Doc: "the width of index in bits", Results: result(Index), Infer: isIndex, Asm: "attr-dict",
	}
	// Constant has a number of type index, which goes unsaid.
	Constant = &ir.OpDef{
		Name: "index.constant", Doc: "a number", Results: result(Index),
		Attrs: []ir.AttrDef{{Name: "value", Kind: ir.AttrAny}}, Traits: ir.ConstantLike,
		Infer: isIndex, Verify: verifyConstant,
		ResultName: func(op *ir.Operation, _ int) string {
			if n, ok := AsConstant(op).Value().(*ir.IntegerAttr); ok {
				return fmt.Sprintf("idx%d", n.Value)
			}
			return ""
		},
	}
	BoolConstant = &ir.OpDef{
		Name: "index.bool.constant", Doc: "true or false", Results: result(ir.Bool),
		Attrs: []ir.AttrDef{{Name: "value", Kind: ir.AttrBool}}, Traits: ir.ConstantLike,
		Infer: isBool, Asm: "attr-dict $value",
		ResultName: func(op *ir.Operation, _ int) string {
			return strconv.FormatBool(AsBoolConstant(op).Value())
		},
	}
)

// Dialect is the index dialect.
var Dialect = &ir.Dialect{
	Name: "index", Doc: "arithmetic on numbers of the width of an address", Asm: asm,
	Ops: []*ir.OpDef{
		Add, Sub, Mul, DivS, DivU, CeilDivS, CeilDivU, FloorDivS, RemS, RemU, MaxS, MaxU, MinS, MinU,
		ShL, ShRS, ShRU, And, Or, Xor, CastS, CastU, Cmp, SizeOf, Constant, BoolConstant,
	},
}

func verifyConstant(op *ir.Operation) error {
	if n, ok := AsConstant(op).Value().(*ir.IntegerAttr); !ok || !Index.Test(n.Type) {
		return fmt.Errorf("attribute 'value' failed to satisfy constraint: index attribute")
	}
	return nil
}

func verifyCmp(op *ir.Operation) error {
	if predicateOf(op) == "" {
		return fmt.Errorf("attribute 'pred' failed to satisfy constraint: index comparison predicate kind")
	}
	return nil
}
