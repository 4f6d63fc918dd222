// Package cf is the table of the cf dialect: branches between the blocks of a
// region.
package cf

//go:generate go run github.com/tritonc/tritonc/internal/opviews cf

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

func variadic(name string) ir.Operand {
	return ir.Operand{Name: name, Type: ir.AnyType, Arity: ir.Variadic}
}

// The operations.
var (
	Br = &ir.OpDef{
		Name: "cf.br", Doc: "go to a block",
		Operands:   []ir.Operand{variadic("destOperands")},
		Successors: 1, Traits: ir.Terminator,
		Asm:    "$succ0 (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict",
		Verify: verifyBr,
	}
	CondBr = &ir.OpDef{
		Name: "cf.cond_br", Doc: "go to one of two blocks by a condition",
		Operands:   []ir.Operand{{Name: "condition", Type: ir.Bool}, variadic("trueDestOperands"), variadic("falseDestOperands")},
		Attrs:      []ir.AttrDef{{Name: "branch_weights", Kind: ir.AttrDenseI32, Optional: true}},
		Successors: 2, Traits: ir.Terminator | ir.SegmentedOperands,
		Asm: "$condition (`weights` `(` $branch_weights^ `)`)? `,` " +
			"$succ0 (`(` $trueDestOperands^ `:` type($trueDestOperands) `)`)? `,` " +
			"$succ1 (`(` $falseDestOperands^ `:` type($falseDestOperands) `)`)? attr-dict",
		Verify: verifyCondBr,
	}
	Assert = &ir.OpDef{
		Name: "cf.assert", Doc: "stop the program where the condition is false",
		Operands: []ir.Operand{{Name: "arg", Type: ir.Bool}},
		Attrs:    []ir.AttrDef{{Name: "msg", Kind: ir.AttrString}},
		Effects:  ir.Effects{Write: true},
		Asm:      "$arg `,` $msg attr-dict",
	}
)

// Dialect is the cf dialect.
var Dialect = &ir.Dialect{Name: "cf", Doc: "branches between blocks", Ops: []*ir.OpDef{Br, CondBr, Assert}}

// NewBr makes a branch to dest.
func NewBr(b *ir.Builder, dest *ir.Block, args ...*ir.Value) *ir.Operation {
	return b.Create(Br, ir.State{Operands: args, Successors: []*ir.Block{dest}})
}

// NewCondBr makes a branch to yes if cond is true, else to no.
func NewCondBr(b *ir.Builder, cond *ir.Value, yes *ir.Block, yesArgs []*ir.Value, no *ir.Block, noArgs []*ir.Value) *ir.Operation {
	operands := append(append([]*ir.Value{cond}, yesArgs...), noArgs...)
	return b.Create(CondBr, ir.State{
		Operands: operands, Successors: []*ir.Block{yes, no},
		Segments: []int32{1, int32(len(yesArgs)), int32(len(noArgs))},
	})
}

// SuccessorArgs are the values that a branch gives to the arguments of its i-th
// successor. It knows Br by name, since the tables of both refer to it.
func SuccessorArgs(op *ir.Operation, i int) []*ir.Value {
	switch {
	case op.Name() == "cf.br":
		return AsBr(op).DestOperands()
	case i == 0:
		return AsCondBr(op).TrueDestOperands()
	}
	return AsCondBr(op).FalseDestOperands()
}

// AppendSuccessorArgs gives more values to a branch's i-th successor.
func AppendSuccessorArgs(op *ir.Operation, i int, args []*ir.Value) {
	if len(args) == 0 {
		return
	}
	all := append(SuccessorArgs(op, i), args...)
	switch {
	case op.Is(Br):
		AsBr(op).SetDestOperands(all)
	case i == 0:
		AsCondBr(op).SetTrueDestOperands(all)
	default:
		AsCondBr(op).SetFalseDestOperands(all)
	}
}

// EraseSuccessorArg takes the k-th value from what a branch gives to its i-th
// successor.
func EraseSuccessorArg(op *ir.Operation, i, k int) {
	switch {
	case op.Is(Br):
		AsBr(op).EraseDestOperandsAt(k)
	case i == 0:
		AsCondBr(op).EraseTrueDestOperandsAt(k)
	default:
		AsCondBr(op).EraseFalseDestOperandsAt(k)
	}
}

func verifyBr(op *ir.Operation) error { return verifyArgs(op, 0) }

func verifyCondBr(op *ir.Operation) error {
	for i := range 2 {
		if err := verifyArgs(op, i); err != nil {
			return err
		}
	}
	weights := AsCondBr(op).BranchWeights()
	if len(weights) == 0 {
		return nil
	}
	if n := len(weights); n != 2 {
		return fmt.Errorf("expects number of branch weights to match number of successors: %d vs 2", n)
	}
	if weights[0] == 0 && weights[1] == 0 {
		return fmt.Errorf("branch weights cannot all be zero")
	}
	return nil
}

func verifyArgs(op *ir.Operation, i int) error {
	dest, args := op.Successor(i), SuccessorArgs(op, i)
	if len(args) != dest.NumArgs() {
		return fmt.Errorf("branch has %s for successor #%d, but target block has %d", diag.Count(len(args), "operand"), i, dest.NumArgs())
	}
	for k, v := range args {
		if v.Type() != dest.Arg(k).Type() {
			return fmt.Errorf("type mismatch for bb argument #%d of successor #%d", k, i)
		}
	}
	return nil
}
