package ir

// Constraints over scalar types or tensors of them, shared by the dialects'
// tables. The names are in the verifier's messages.
var (
	AnyType = Constraint{Name: "any type"}

	IntLike = Constraint{Name: "signless-integer-like", Test: func(t Type) bool {
		switch e := ElemOf(t).(type) {
		case *IntegerType:
			return e.Sign == Signless
		case *IndexType:
			return true
		}
		return false
	}}
	FloatLike = Constraint{Name: "floating-point-like", Test: func(t Type) bool { return IsFloat(ElemOf(t)) }}
	BoolLike  = Constraint{Name: "bool-like", Test: func(t Type) bool { return IsInt(ElemOf(t), 1) }}
	Bool      = Constraint{Name: "1-bit signless integer", Test: func(t Type) bool { return IsInt(t, 1) }}
	I32Scalar = Constraint{Name: "32-bit signless integer", Test: func(t Type) bool { return IsInt(t, 32) }}
	I64Scalar = Constraint{Name: "64-bit signless integer", Test: func(t Type) bool { return IsInt(t, 64) }}
	// Index is the type of loop bounds.
	Index = Constraint{Name: "signless integer or index", Test: func(t Type) bool {
		_, tensor := t.(*TensorType)
		return !tensor && IntLike.Test(t)
	}}
	AnyTensor = Constraint{Name: "ranked tensor of any type values", Test: func(t Type) bool {
		_, ok := t.(*TensorType)
		return ok
	}}
	NumberLike = Constraint{Name: "integer, index or floating-point, or a tensor of them", Test: func(t Type) bool {
		return IntLike.Test(t) || FloatLike.Test(t)
	}}
)

// InferSameAsFirst is the result-type rule of operations whose one result has
// the type of operand 0.
func InferSameAsFirst(s *State) ([]Type, error) { return []Type{s.Operands[0].Type()}, nil }
