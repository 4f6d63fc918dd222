// Package cf is the table of the cf dialect: branches between blocks.
package cf

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

var (
	// Br has the arguments of its one successor as operands.
	Br = &ir.OpDef{
		Name: "cf.br", Doc: "branch",
		Operands:   []ir.Operand{{Name: "destOperands", Arity: ir.Variadic}},
		Successors: 1, Traits: ir.Terminator, Verify: verifyBranch,
	}
	// CondBr has the condition, then each successor's arguments.
	CondBr = &ir.OpDef{
		Name: "cf.cond_br", Doc: "branch on a condition",
		Operands: []ir.Operand{
			{Name: "condition", Type: ir.Bool},
			{Name: "trueDestOperands", Arity: ir.Variadic},
			{Name: "falseDestOperands", Arity: ir.Variadic},
		},
		Successors: 2, Traits: ir.Terminator | ir.SegmentedOperands, Verify: verifyBranch,
	}
)

// Dialect is the cf dialect.
var Dialect = &ir.Dialect{Name: "cf", Doc: "control flow between blocks", Ops: []*ir.OpDef{Br, CondBr}}

// NewBr branches to dest with args.
func NewBr(b *ir.Builder, dest *ir.Block, args ...*ir.Value) *ir.Operation {
	return b.Create(Br, ir.State{Operands: args, Successors: []*ir.Block{dest}})
}

// NewCondBr branches to yes or no.
func NewCondBr(b *ir.Builder, cond *ir.Value, yes *ir.Block, yesArgs []*ir.Value, no *ir.Block, noArgs []*ir.Value) *ir.Operation {
	operands := append(append([]*ir.Value{cond}, yesArgs...), noArgs...)
	return b.Create(CondBr, ir.State{
		Operands: operands, Successors: []*ir.Block{yes, no},
		Segments: []int32{1, int32(len(yesArgs)), int32(len(noArgs))},
	})
}

// Args are the values that a branch passes to its i-th successor, and the index
// of the first of them among its operands.
func Args(op *ir.Operation, i int) (first int, args []*ir.Value) {
	if op.Is(Br) {
		return 0, op.Group(0)
	}
	first = 1
	if i == 1 {
		first += int(op.Segments()[1])
	}
	return first, op.Group(1 + i)
}

// verifyBranch cannot mention Br itself (its table row would depend on itself);
// it tells the two branches apart by their segments.
func verifyBranch(op *ir.Operation) error {
	for i, s := range op.Successors() {
		var args []*ir.Value
		if op.Segments() == nil {
			args = op.Group(0)
		} else {
			args = op.Group(1 + i)
		}
		if len(args) != s.NumArgs() {
			return fmt.Errorf("branch passes %d values to a block with %d arguments", len(args), s.NumArgs())
		}
		for k, v := range args {
			if v.Type() != s.Arg(k).Type() {
				return fmt.Errorf("type of branch operand #%d differs from that of the block's argument", k)
			}
		}
	}
	return nil
}
