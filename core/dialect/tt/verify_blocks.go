package tt

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

// pointee is the block that a block pointer or a descriptor stands for, or nil.
func pointee(t ir.Type) *ir.TensorType {
	switch t := t.(type) {
	case *PtrType:
		block, _ := t.Pointee.(*ir.TensorType)
		return block
	case *TensorDescType:
		return t.Block
	}
	return nil
}

// verifyMakeTensorPtr checks that a block pointer is told as much of each
// dimension.
func verifyMakeTensorPtr(op *ir.Operation) error {
	rank := len(pointee(op.Result(0).Type()).Shape)
	for i, what := range []string{"shape", "strides", "offsets"} {
		if n := len(op.Group(1 + i)); n != rank {
			return fmt.Errorf("%s must have one value a dimension of the block, %d, not %d", what, rank, n)
		}
	}
	order, _ := op.Attr("order").(*ir.DenseArrayAttr)
	if order == nil || len(order.Values) != rank {
		return fmt.Errorf("order must have one value a dimension of the block, %d", rank)
	}
	seen := make([]bool, rank)
	for _, d := range order.Values {
		if d < 0 || int(d) >= rank || seen[d] {
			return fmt.Errorf("order must be a permutation of 0 to %d", rank-1)
		}
		seen[d] = true
	}
	return nil
}

func verifyAdvance(op *ir.Operation) error {
	if rank, n := len(pointee(op.Operand(0).Type()).Shape), op.NumOperands()-1; n != rank {
		return fmt.Errorf("offsets must be one a dimension of the block, %d, not %d", rank, n)
	}
	return nil
}

// verifyBoundaryCheck checks the dimensions that an access through a block
// pointer looks after.
func verifyBoundaryCheck(op *ir.Operation, ptr *ir.Value) error {
	a, _ := op.Attr("boundaryCheck").(*ir.DenseArrayAttr)
	if a == nil {
		return nil
	}
	rank := len(pointee(ptr.Type()).Shape)
	for _, d := range a.Values {
		if d < 0 || int(d) >= rank {
			return fmt.Errorf("boundaryCheck %d is no dimension of a block of %d", d, rank)
		}
	}
	return nil
}

func verifyMakeTensorDesc(op *ir.Operation) error {
	rank := len(pointee(op.Result(0).Type()).Shape)
	if len(op.Group(1)) != rank || len(op.Group(2)) != rank {
		return fmt.Errorf("shape and strides must have one value a dimension of the block, %d, not %d and %d", rank, len(op.Group(1)), len(op.Group(2)))
	}
	return nil
}

// verifyDescriptorAccess checks a load, store or reduction of a block: the tensor
// may lack dimensions of size 1.
func verifyDescriptorAccess(op *ir.Operation, value *ir.Value, indices int) error {
	block := pointee(op.Operand(0).Type())
	if indices != len(block.Shape) {
		return fmt.Errorf("there must be one index a dimension of the block, %d, not %d", len(block.Shape), indices)
	}
	t := value.Type().(*ir.TensorType)
	if t.NumElements() != block.NumElements() || ir.BitWidth(t.Elem) != ir.BitWidth(block.Elem) {
		return fmt.Errorf("tensor descriptor block and tensor types must match")
	}
	return nil
}

func verifyDescriptorLoad(op *ir.Operation) error {
	return verifyDescriptorAccess(op, op.Result(0), op.NumOperands()-1)
}

func verifyDescriptorStore(op *ir.Operation) error {
	return verifyDescriptorAccess(op, op.Operand(1), op.NumOperands()-2)
}
