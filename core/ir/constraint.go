package ir

// Constraints over scalar types or tensors of them, shared by the dialects'
// tables. The names stand in the verifier's messages.
var (
	AnyType = Constraint{Name: "any type"}

	IntLike = Constraint{"signless-integer-like", func(t Type) bool {
		switch e := ElemOf(t).(type) {
		case *IntegerType:
			return e.Sign == Signless
		case *IndexType:
			return true
		}
		return false
	}}
	FloatLike = Constraint{"floating-point-like", func(t Type) bool { return IsFloat(ElemOf(t)) }}
	BoolLike  = Constraint{"bool-like", func(t Type) bool { return IsInt(ElemOf(t), 1) }}
	Bool      = Constraint{"1-bit signless integer", func(t Type) bool { return IsInt(t, 1) }}
	I32Scalar = Constraint{"32-bit signless integer", func(t Type) bool { return IsInt(t, 32) }}
	I64Scalar = Constraint{"64-bit signless integer", func(t Type) bool { return IsInt(t, 64) }}
	AnyTensor = Constraint{"ranked tensor of any type values", func(t Type) bool {
		_, ok := t.(*TensorType)
		return ok
	}}
	NumberLike = Constraint{"integer, index or floating-point, or a tensor of them", func(t Type) bool {
		return IntLike.Test(t) || FloatLike.Test(t)
	}}
)

// InferSameAsFirst is the result-type rule of operations whose one result has
// the type of operand 0.
func InferSameAsFirst(s *State) ([]Type, error) { return []Type{s.Operands[0].Type()}, nil }
