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
			return fmt.Errorf("%s must have one value per dimension of the block, %d, not %d", what, rank, n)
		}
	}
	order, _ := op.Attr("order").(*ir.DenseArrayAttr)
	if order == nil || len(order.Values) != rank {
		return fmt.Errorf("order must have one value per dimension of the block, %d", rank)
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
		return fmt.Errorf("there must be one offset per dimension of the block, %d, not %d", rank, n)
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
			return fmt.Errorf("boundaryCheck %d is not a dimension of a block of %d", d, rank)
		}
	}
	return nil
}

func verifyMakeTensorDesc(op *ir.Operation) error {
	rank := len(pointee(op.Result(0).Type()).Shape)
	if len(op.Group(1)) != rank || len(op.Group(2)) != rank {
		return fmt.Errorf("shape and strides must have one value per dimension of the block, %d, not %d and %d", rank, len(op.Group(1)), len(op.Group(2)))
	}
	return nil
}

// verifyDescriptorAccess checks a load, store or reduction of a block: the tensor
// may lack dimensions of size 1.
func verifyDescriptorAccess(op *ir.Operation, value *ir.Value, indices int) error {
	block := pointee(op.Operand(0).Type())
	if indices != len(block.Shape) {
		return fmt.Errorf("there must be one index per dimension of the block, %d, not %d", len(block.Shape), indices)
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

func verifyDescriptorGather(op *ir.Operation) error {
	t := op.Result(0).Type().(*ir.TensorType)
	return checkBlockRows(op, t)
}

func verifyDescriptorScatter(op *ir.Operation) error {
	return checkBlockRows(op, op.Operand(3).Type().(*ir.TensorType))
}

func checkBlockRows(op *ir.Operation, t *ir.TensorType) error {
	return CheckRows(op.Operand(0).Type().(*TensorDescType), op.Operand(1).Type().(*ir.TensorType), t.Shape, t.Elem)
}

// CheckRows checks a gather or scatter of single rows through a descriptor:
// offsets are those of the rows, shape and elem of what holds them.
func CheckRows(desc *TensorDescType, offsets *ir.TensorType, shape []int64, elem ir.Type) error {
	block := desc.Block
	switch {
	case len(block.Shape) != 2:
		return fmt.Errorf("block must be a 2D tensor, but has %d dimensions", len(block.Shape))
	case block.Shape[0] != 1:
		return fmt.Errorf("block must have exactly 1 row, but has %d", block.Shape[0])
	case len(offsets.Shape) != 1:
		return fmt.Errorf("x offsets must be a 1D tensor, but have %d dimensions", len(offsets.Shape))
	case len(shape) != 2:
		return fmt.Errorf("rows must be a 2D tensor, but have %d dimensions", len(shape))
	case shape[0] < 8:
		return fmt.Errorf("there must be at least 8 rows, but there are %d", shape[0])
	}
	width := ir.BitWidth(elem)
	if width > 32 {
		return fmt.Errorf("elements must not be wider than 32 bits, but have %d", width)
	}
	switch least := int64(32 / max(width, 1) * 8); {
	case shape[1] < least:
		return fmt.Errorf("rows of %d-bit elements must have at least %d columns, but have %d", width, least, shape[1])
	case shape[0] != offsets.Shape[0]:
		return fmt.Errorf("there must be as many rows as offsets, %d, not %d", offsets.Shape[0], shape[0])
	case shape[1] != block.Shape[1]:
		return fmt.Errorf("rows must have as many columns as the block, %d, not %d", block.Shape[1], shape[1])
	case width != ir.BitWidth(block.Elem):
		return fmt.Errorf("rows must have the block's element type")
	}
	return nil
}
