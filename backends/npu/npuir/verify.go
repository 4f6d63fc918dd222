package npuir

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

func verifyDMA(op *ir.Operation) error {
	var spaces [2]Space
	for i, v := range op.Operands() {
		s, ok := SpaceOf(op.Context(), v.Type())
		if !ok {
			return fmt.Errorf("operand %d must be memory", i)
		}
		spaces[i] = s
	}
	if _, ok := transfers[spaces]; !ok {
		return fmt.Errorf("no pipe copies from %s to %s", spaces[0].name(), spaces[1].name())
	}
	v := AsDMA(op)
	if v.Atomic() != "" {
		if spaces[1] != Global {
			return fmt.Errorf("only transfers to global memory are atomic")
		}
		if !slices.Contains(atomics, v.Atomic()) {
			return fmt.Errorf("no atomic transfer computes %s", v.Atomic())
		}
	}
	from, to := elem(op.Context(), v.Source()), elem(op.Context(), v.Target())
	if from != to && !(spaces[0] == L0C && ir.IsFloat(from) && ir.IsFloat(to)) {
		return fmt.Errorf("only transfers from l0c convert elements")
	}
	return nil
}

// atomics are the operations of atomic transfers.
var atomics = []string{
	"arith.addf", "arith.addi", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.maxsi", "arith.minsi",
}

// elem is the type of the elements of a memref.
func elem(c *ir.Context, v *ir.Value) ir.Type { return linalg.MemRefOf(c, v.Type()).Elem }

// name is the space's name in messages.
func (s Space) name() string {
	if s == Global {
		return "global memory"
	}
	return string(s)
}

// inUB verifies that what a vector instruction accesses is a scalar or in ub.
func inUB(op *ir.Operation) error {
	last := op.NumOperands() - 1
	for i, v := range op.Operands() {
		s, memory := SpaceOf(op.Context(), v.Type())
		if memory && s != UB {
			return fmt.Errorf("operand %d must be in ub, not in %s", i, s.name())
		}
		if !memory && i == last {
			return fmt.Errorf("the target must be a buffer")
		}
	}
	return nil
}

// verifyFill verifies that a buffer is filled.
func verifyFill(op *ir.Operation) error {
	if s, memory := SpaceOf(op.Context(), AsFill(op).Target().Type()); !memory || s == Global {
		return fmt.Errorf("the target must be a buffer")
	}
	return nil
}

// verifyGather verifies that what is gathered, and where from, is in ub, from there or
// from global memory.
func verifyGather(op *ir.Operation) error { return indexed(op, 0) }

func verifyScatter(op *ir.Operation) error { return indexed(op, 1) }

// indexed verifies an operation whose operand i is accessed at indices.
func indexed(op *ir.Operation, i int) error {
	for k, v := range op.Operands() {
		s, memory := SpaceOf(op.Context(), v.Type())
		if !memory || s != UB && (k != i || s != Global) {
			return fmt.Errorf("operand %d must be in ub", k)
		}
		if m := linalg.MemRefOf(op.Context(), v.Type()); k == i && len(m.Shape) != 1 {
			return fmt.Errorf("operand %d must have one dimension", k)
		}
	}
	return nil
}

func verifyMMAD(op *ir.Operation) error {
	want := []Space{L0A, L0B, L0C}
	for i, v := range op.Operands() {
		if s, ok := SpaceOf(op.Context(), v.Type()); !ok || s != want[i] {
			return fmt.Errorf("operand %d must be in %s", i, want[i])
		}
	}
	return nil
}
