package arith

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

const (
	binaryAsm = "$lhs `,` $rhs attr-dict `:` type($result)"
	unaryAsm  = "$operand attr-dict `:` type($result)"
	castAsm   = "$in attr-dict `:` type($in) `to` type($out)"
)

func intBinary(name, doc string, traits ir.Trait, fold foldFunc) *ir.OpDef {
	return binary("arith."+name, doc, ir.IntLike, traits, fold)
}

func floatBinary(name, doc string, traits ir.Trait, fold foldFunc) *ir.OpDef {
	return binary("arith."+name, doc, ir.FloatLike, traits, fold)
}

func binary(name, doc string, c ir.Constraint, traits ir.Trait, fold foldFunc) *ir.OpDef {
	return &ir.OpDef{
		Name: name, Doc: doc,
		Operands: []ir.Operand{{Name: "lhs", Type: c}, {Name: "rhs", Type: c}},
		Results:  []ir.Result{{Name: "result", Type: c}},
		Traits:   ir.SameOperandsAndResultType | ir.Elementwise | traits,
		Asm:      binaryAsm, Infer: ir.InferSameAsFirst, Fold: fold,
	}
}

// division is an integer division: executing it speculatively could divide by zero.
func division(name, doc string, fold foldFunc) *ir.OpDef {
	d := intBinary(name, doc, 0, fold)
	d.Effects.NotSpeculatable = true
	return d
}

func cast(name, doc string, in, out ir.Constraint, verify func(in, out ir.Type) error, fold foldFunc) *ir.OpDef {
	return &ir.OpDef{
		Name: "arith." + name, Doc: doc,
		Operands: []ir.Operand{{Name: "in", Type: in}},
		Results:  []ir.Result{{Name: "out", Type: out}},
		Traits:   ir.SameShape | ir.SameEncoding | ir.Elementwise,
		Asm:      castAsm, Fold: fold,
		Verify: func(op *ir.Operation) error {
			return verify(ir.ElemOf(AsCast(op).In().Type()), ir.ElemOf(AsCast(op).Out().Type()))
		},
	}
}

func wider(in, out ir.Type) error {
	if ir.BitWidth(in) >= ir.BitWidth(out) {
		return fmt.Errorf("result type must be wider than operand type")
	}
	return nil
}

func narrower(in, out ir.Type) error {
	if ir.BitWidth(in) <= ir.BitWidth(out) {
		return fmt.Errorf("result type must be shorter than operand type")
	}
	return nil
}

func anyWidth(ir.Type, ir.Type) error { return nil }

func sameWidth(in, out ir.Type) error {
	if ir.BitWidth(in) != ir.BitWidth(out) {
		return fmt.Errorf("operand and result must have the same bit width")
	}
	return nil
}

// RoundingModeAttr is the discardable attribute of a conversion between floats that
// does not round to nearest even.
const RoundingModeAttr = "roundingmode"

// The operations.
var (
	AddI      = intBinary("addi", "sum, wrapping", ir.Commutative, foldAddI)
	SubI      = intBinary("subi", "difference, wrapping", 0, foldSubI)
	MulI      = intBinary("muli", "product, wrapping", ir.Commutative, foldMulI)
	DivSI     = division("divsi", "signed quotient, rounded toward zero", foldDivSI)
	DivUI     = division("divui", "unsigned quotient", foldDivUI)
	CeilDivSI = division("ceildivsi", "signed quotient, rounded up", foldCeilDivSI)
	CeilDivUI = division("ceildivui", "unsigned quotient, rounded up", nil)
	FloorDivI = division("floordivsi", "signed quotient, rounded down", foldFloorDivSI)
	RemSI     = division("remsi", "signed remainder with the sign of the dividend", foldRemSI)
	RemUI     = division("remui", "unsigned remainder", foldRemUI)
	AndI      = intBinary("andi", "bitwise and", ir.Commutative, foldAndI)
	OrI       = intBinary("ori", "bitwise or", ir.Commutative, foldOrI)
	XorI      = intBinary("xori", "bitwise exclusive or", ir.Commutative, foldXorI)
	ShLI      = intBinary("shli", "shift left", 0, foldShLI)
	ShRSI     = intBinary("shrsi", "arithmetic shift right", 0, foldShRSI)
	ShRUI     = intBinary("shrui", "logical shift right", 0, foldShRUI)
	MinSI     = intBinary("minsi", "signed minimum", ir.Commutative, foldMinSI)
	MinUI     = intBinary("minui", "unsigned minimum", ir.Commutative, foldMinUI)
	MaxSI     = intBinary("maxsi", "signed maximum", ir.Commutative, foldMaxSI)
	MaxUI     = intBinary("maxui", "unsigned maximum", ir.Commutative, foldMaxUI)

	AddF     = floatBinary("addf", "sum", ir.Commutative, foldAddF)
	SubF     = floatBinary("subf", "difference", 0, foldSubF)
	MulF     = floatBinary("mulf", "product", ir.Commutative, foldMulF)
	DivF     = floatBinary("divf", "quotient", 0, foldDivF)
	RemF     = floatBinary("remf", "remainder with the sign of the dividend", 0, foldRemF)
	MinimumF = floatBinary("minimumf", "minimum; NaN if either is NaN", ir.Commutative, foldMinimumF)
	MaximumF = floatBinary("maximumf", "maximum; NaN if either is NaN", ir.Commutative, foldMaximumF)
	MinNumF  = floatBinary("minnumf", "minimum; the other operand if one is NaN", ir.Commutative, foldMinNumF)
	MaxNumF  = floatBinary("maxnumf", "maximum; the other operand if one is NaN", ir.Commutative, foldMaxNumF)
	NegF     = &ir.OpDef{
		Name: "arith.negf", Doc: "negation",
		Operands: []ir.Operand{{Name: "operand", Type: ir.FloatLike}},
		Results:  []ir.Result{{Name: "result", Type: ir.FloatLike}},
		Traits:   ir.SameOperandsAndResultType | ir.Elementwise,
		Asm:      unaryAsm, Infer: ir.InferSameAsFirst, Fold: foldNegF,
	}

	ExtSI  = cast("extsi", "sign extension", ir.IntLike, ir.IntLike, wider, foldExtSI)
	ExtUI  = cast("extui", "zero extension", ir.IntLike, ir.IntLike, wider, foldExtUI)
	TruncI = cast("trunci", "low bits", ir.IntLike, ir.IntLike, narrower, foldTrunc)
	ExtF   = cast("extf", "to a wider float", ir.FloatLike, ir.FloatLike, wider, foldExtF)
	TruncF = cast("truncf", "to a narrower float, to nearest even", ir.FloatLike, ir.FloatLike, narrower, foldTruncF)
	SIToFP = cast("sitofp", "signed integer to float", ir.IntLike, ir.FloatLike, anyWidth, foldSIToFP)
	UIToFP = cast("uitofp", "unsigned integer to float", ir.IntLike, ir.FloatLike, anyWidth, foldUIToFP)
	FPToSI = cast("fptosi", "float to signed integer, toward zero", ir.FloatLike, ir.IntLike, anyWidth, foldFPToSI)
	FPToUI = cast("fptoui", "float to unsigned integer, toward zero", ir.FloatLike, ir.IntLike, anyWidth, foldFPToUI)
	// Bitcast and the index casts reinterpret or resize without arithmetic.
	Bitcast     = cast("bitcast", "same bits, other type", ir.NumberLike, ir.NumberLike, sameWidth, foldBitcast)
	IndexCast   = cast("index_cast", "between index and integer, signed", ir.IntLike, ir.IntLike, anyWidth, nil)
	IndexCastUI = cast("index_castui", "between index and integer, unsigned", ir.IntLike, ir.IntLike, anyWidth, nil)

	CmpI = compare("cmpi", "integer comparison", ir.IntLike, CmpIPredicates, foldCmpI)
	CmpF = compare("cmpf", "floating point comparison", ir.FloatLike, CmpFPredicates, foldCmpF)

	// Select has two forms of text: with a scalar condition the type of the
	// values alone, else the condition's type before it.
	Select = &ir.OpDef{
		Name: "arith.select", Doc: "one of two values by a condition",
		Operands: []ir.Operand{
			{Name: "condition", Type: ir.BoolLike},
			{Name: "true_value", Type: ir.AnyType},
			{Name: "false_value", Type: ir.AnyType},
		},
		Results: []ir.Result{{Name: "result", Type: ir.AnyType}},
		Traits:  ir.Elementwise,
		Infer:   func(s *ir.State) ([]ir.Type, error) { return []ir.Type{s.Operands[1].Type()}, nil },
		Verify:  verifySelect, Fold: foldSelect,
	}

	// Constant has the attribute "value", whose type is the result's.
	Constant = &ir.OpDef{
		Name: "arith.constant", Doc: "an integer, float or dense tensor constant",
		Results: []ir.Result{{Name: "result", Type: ir.AnyType}},
		Attrs:   []ir.AttrDef{{Name: "value", Kind: ir.AttrTyped}},
		Asm:     "attr-dict $value",
		Traits:  ir.ConstantLike,
		Infer: func(s *ir.State) ([]ir.Type, error) {
			if t := TypeOf(s.Attr("value")); t != nil {
				return []ir.Type{t}, nil
			}
			return nil, fmt.Errorf("value must be an integer, float or elements attribute")
		},
		Verify: func(op *ir.Operation) error {
			if k := AsConstant(op); TypeOf(k.Value()) != k.Result().Type() {
				return fmt.Errorf("value's type and the result type must be the same")
			}
			return nil
		},
		ResultName: constantName,
	}

	AddUIExtended = extended("addui_extended", "sum and carry", true)
	MulSIExtended = extended("mulsi_extended", "low and high half of the signed product", false)
	MulUIExtended = extended("mului_extended", "low and high half of the unsigned product", false)
)

// CmpIPredicates are the predicates of CmpI.
var CmpIPredicates = []ir.EnumCase{
	{Keyword: "eq", Value: EQ},
	{Keyword: "ne", Value: NE},
	{Keyword: "slt", Value: SLT},
	{Keyword: "sle", Value: SLE},
	{Keyword: "sgt", Value: SGT},
	{Keyword: "sge", Value: SGE},
	{Keyword: "ult", Value: ULT},
	{Keyword: "ule", Value: ULE},
	{Keyword: "ugt", Value: UGT},
	{Keyword: "uge", Value: UGE},
}

// Integer predicates; s is signed, u unsigned.
const (
	EQ int64 = iota
	NE
	SLT
	SLE
	SGT
	SGE
	ULT
	ULE
	UGT
	UGE
)

// CmpFPredicates are the predicates of CmpF.
var CmpFPredicates = []ir.EnumCase{
	{Keyword: "false", Value: False},
	{Keyword: "oeq", Value: OEQ},
	{Keyword: "ogt", Value: OGT},
	{Keyword: "oge", Value: OGE},
	{Keyword: "olt", Value: OLT},
	{Keyword: "ole", Value: OLE},
	{Keyword: "one", Value: ONE},
	{Keyword: "ord", Value: ORD},
	{Keyword: "ueq", Value: UEQ},
	{Keyword: "ugt", Value: FUGT},
	{Keyword: "uge", Value: FUGE},
	{Keyword: "ult", Value: FULT},
	{Keyword: "ule", Value: FULE},
	{Keyword: "une", Value: UNE},
	{Keyword: "uno", Value: UNO},
	{Keyword: "true", Value: True},
}

// Float predicates; o is false and u true when an operand is NaN.
const (
	False int64 = iota
	OEQ
	OGT
	OGE
	OLT
	OLE
	ONE
	ORD
	UEQ
	FUGT
	FUGE
	FULT
	FULE
	UNE
	UNO
	True
)

func compare(name, doc string, c ir.Constraint, cases []ir.EnumCase, fold foldFunc) *ir.OpDef {
	return &ir.OpDef{
		Name: "arith." + name, Doc: doc,
		Operands: []ir.Operand{{Name: "lhs", Type: c}, {Name: "rhs", Type: c}},
		Results:  []ir.Result{{Name: "result", Type: ir.BoolLike}},
		Attrs:    []ir.AttrDef{{Name: "predicate", Kind: ir.AttrEnum, Enum: cases, Width: 64}},
		Traits:   ir.SameOperandsType | ir.SameShape | ir.SameEncoding | ir.Elementwise,
		Asm:      "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)", Fold: fold,
		Infer: func(s *ir.State) ([]ir.Type, error) {
			return []ir.Type{s.Ctx.WithElem(s.Operands[0].Type(), s.Ctx.I1())}, nil
		},
	}
}

func extended(name, doc string, carry bool) *ir.OpDef {
	second := ir.Result{Name: "high", Type: ir.IntLike}
	if carry {
		second = ir.Result{Name: "overflow", Type: ir.BoolLike}
	}
	return &ir.OpDef{
		Name: "arith." + name, Doc: doc,
		Operands: []ir.Operand{{Name: "lhs", Type: ir.IntLike}, {Name: "rhs", Type: ir.IntLike}},
		Results:  []ir.Result{{Name: "low", Type: ir.IntLike}, second},
		Traits:   ir.SameOperandsType | ir.SameShape | ir.SameEncoding | ir.Elementwise | ir.Commutative,
		Asm:      map[bool]string{true: "$lhs `,` $rhs attr-dict `:` type($low) `,` type($overflow)", false: "$lhs `,` $rhs attr-dict `:` type($low)"}[carry],
		Infer: func(s *ir.State) ([]ir.Type, error) {
			t := s.Operands[0].Type()
			if carry {
				return []ir.Type{t, s.Ctx.WithElem(t, s.Ctx.I1())}, nil
			}
			return []ir.Type{t, t}, nil
		},
	}
}

func verifySelect(op *ir.Operation) error {
	v := AsSelect(op)
	cond, t := v.Condition().Type(), v.TrueValue().Type()
	if v.FalseValue().Type() != t || v.Result().Type() != t {
		return fmt.Errorf("requires the same type for both values and the result")
	}
	if ct, ok := cond.(*ir.TensorType); ok {
		tt, ok := t.(*ir.TensorType)
		if !ok || ir.KeyOf(tt.Shape) != ir.KeyOf(ct.Shape) || tt.Encoding != ct.Encoding {
			return fmt.Errorf("expected condition type to have the same shape and encoding as the result type")
		}
	}
	return nil
}

func constantName(op *ir.Operation, _ int) string {
	a, ok := AsConstant(op).Value().(*ir.IntegerAttr)
	if !ok {
		return "cst"
	}
	switch t := a.Type.(type) {
	case *ir.IntegerType:
		if t.Width == 1 {
			if a.Value != 0 {
				return "true"
			}
			return "false"
		}
		if t.Sign == ir.Unsigned {
			return fmt.Sprintf("c%d_ui%d", uint64(a.Value), t.Width)
		}
		return fmt.Sprintf("c%d_i%d", a.Value, t.Width)
	case *ir.IndexType:
		return fmt.Sprintf("c%d", a.Value)
	}
	return "cst"
}

// Dialect is the arith dialect.
var Dialect = &ir.Dialect{
	Name: "arith", Doc: "arithmetic on scalars and tensors", Asm: asm,
	Ops: []*ir.OpDef{
		AddI, SubI, MulI, DivSI, DivUI, CeilDivSI, CeilDivUI, FloorDivI, RemSI, RemUI,
		AndI, OrI, XorI, ShLI, ShRSI, ShRUI, MinSI, MinUI, MaxSI, MaxUI,
		AddF, SubF, MulF, DivF, RemF, MinimumF, MaximumF, MinNumF, MaxNumF, NegF,
		ExtSI, ExtUI, TruncI, ExtF, TruncF, SIToFP, UIToFP, FPToSI, FPToUI, Bitcast, IndexCast, IndexCastUI,
		CmpI, CmpF, Select, Constant, AddUIExtended, MulSIExtended, MulUIExtended,
	},
	Families: []ir.Family{
		{Name: "Binary", Doc: "an operation on two operands", Like: AddI},
		{Name: "Cast", Doc: "a conversion", Like: ExtSI},
		{Name: "Compare", Doc: "a comparison", Like: CmpI},
	},
}
