package scf

import "github.com/tritonc/tritonc/core/ir"

// LowerBound, UpperBound and Step of a For.
func LowerBound(op *ir.Operation) *ir.Value { return AsFor(op).LowerBound() }
func UpperBound(op *ir.Operation) *ir.Value { return AsFor(op).UpperBound() }
func Step(op *ir.Operation) *ir.Value       { return AsFor(op).Step() }

// Inits are the first values of what a For carries.
func Inits(op *ir.Operation) []*ir.Value { return AsFor(op).InitArgs() }

// InductionVar of a For.
func InductionVar(op *ir.Operation) *ir.Value { return op.Body().Arg(0) }

// IterArgs are the arguments of a For's body apart from the induction variable.
func IterArgs(op *ir.Operation) []*ir.Value { return op.Body().Args()[1:] }

// IterArg is the argument of a For's body for carried value i, which has the same
// number among the initial values, the results and what is yielded.
func IterArg(op *ir.Operation, i int) *ir.Value { return op.Body().Arg(1 + i) }

// CarriedIndex is the number of the carried value that v, an argument of a For's
// body, stands for; -1 for the induction variable.
func CarriedIndex(v *ir.Value) int { return v.Index() - 1 }

// NewFor makes a loop whose body block has its arguments but no operation yet.
func NewFor(b *ir.Builder, lower, upper, step *ir.Value, inits ...*ir.Value) *ir.Operation {
	types := make([]ir.Type, len(inits))
	for i, v := range inits {
		types[i] = v.Type()
	}
	op := b.Create(For, ir.State{Operands: append([]*ir.Value{lower, upper, step}, inits...), Types: types, Regions: 1})
	body := AsFor(op).Region().AddBlock()
	body.AddArg(lower.Type(), op.Loc())
	for i, v := range inits {
		body.AddArg(types[i], v.Loc())
	}
	return op
}

// NewIf makes a conditional of which the first region, and the second if
// withElse, has a block without operations.
func NewIf(b *ir.Builder, cond *ir.Value, withElse bool, types ...ir.Type) *ir.Operation {
	op := b.Create(If, ir.State{Operands: []*ir.Value{cond}, Types: types, Regions: 2})
	made := AsIf(op)
	made.ThenRegion().AddBlock()
	if withElse {
		made.ElseRegion().AddBlock()
	}
	return op
}

// NewWhile makes a loop whose first block has an argument for each init and
// whose second one for each type.
func NewWhile(b *ir.Builder, inits []*ir.Value, types ...ir.Type) *ir.Operation {
	op := b.Create(While, ir.State{Operands: inits, Types: types, Regions: 2})
	before, after := AsWhile(op).Before().AddBlock(), AsWhile(op).After().AddBlock()
	for _, v := range inits {
		before.AddArg(v.Type(), v.Loc())
	}
	for _, t := range types {
		after.AddArg(t, op.Loc())
	}
	return op
}

// NewYield ends a region of For, If or While.
func NewYield(b *ir.Builder, values ...*ir.Value) *ir.Operation { return b.Op(Yield, values) }

// NewCondition ends the first region of a While.
func NewCondition(b *ir.Builder, cond *ir.Value, values ...*ir.Value) *ir.Operation {
	return b.Op(Condition, append([]*ir.Value{cond}, values...))
}
