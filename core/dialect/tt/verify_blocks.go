package tt

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
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
	v := AsMakeTensorPtr(op)
	rank := len(pointee(v.Result().Type()).Shape)
	for _, list := range []struct {
		what   string
		values []*ir.Value
	}{{"shape", v.Shape()}, {"strides", v.Strides()}, {"offsets", v.Offsets()}} {
		if n := len(list.values); n != rank {
			return fmt.Errorf("%s must have one value per dimension of the block, %d, not %d", list.what, rank, n)
		}
	}
	order := v.Order()
	if len(order) != rank {
		return fmt.Errorf("order must have one value per dimension of the block, %d", rank)
	}
	seen := make([]bool, rank)
	for _, d := range order {
		if d < 0 || int(d) >= rank || seen[d] {
			return fmt.Errorf("order must be a permutation of 0 to %d", rank-1)
		}
		seen[d] = true
	}
	return nil
}

func verifyAdvance(op *ir.Operation) error {
	v := AsAdvance(op)
	if v.Ptr().Type() != v.Result().Type() {
		return fmt.Errorf("expects different type than prior uses: the pointer must have the type of the result")
	}
	if rank, n := len(pointee(v.Ptr().Type()).Shape), len(v.Offsets()); n != rank {
		return fmt.Errorf("there must be one offset per dimension of the block, %d, not %d", rank, n)
	}
	return nil
}

// verifyBoundaryCheck checks the dimensions that an access through a block
// pointer looks after.
func verifyBoundaryCheck(dims []int64, ptr *ir.Value) error {
	rank := len(pointee(ptr.Type()).Shape)
	for _, d := range dims {
		if d < 0 || int(d) >= rank {
			return fmt.Errorf("boundaryCheck %d is not a dimension of a block of %d", d, rank)
		}
	}
	return nil
}

func verifyMakeTensorDesc(op *ir.Operation) error {
	v := AsMakeTensorDesc(op)
	rank, shape, strides := len(pointee(v.Result().Type()).Shape), len(v.Shape()), len(v.Strides())
	if shape != rank || strides != rank {
		return fmt.Errorf("shape and strides must have one value per dimension of the block, %d, not %d and %d", rank, shape, strides)
	}
	return nil
}

// verifyDescriptorAccess checks a load, store or reduction of a block: the tensor
// may lack dimensions of size 1. The number of indices is for the passes to check.
func verifyDescriptorAccess(desc, value *ir.Value) error {
	block := pointee(desc.Type())
	t := value.Type().(*ir.TensorType)
	if len(t.Shape) < len(block.Shape) && t.NumElements() != block.NumElements() {
		return message(msgReducedLoad)
	}
	if t.NumElements() != block.NumElements() || ir.BitWidth(t.Elem) != ir.BitWidth(block.Elem) {
		return fmt.Errorf("tensor descriptor block and tensor types must match")
	}
	return nil
}

func verifyDescriptorLoad(op *ir.Operation) error {
	v := AsDescriptorLoad(op)
	return verifyDescriptorAccess(v.Desc(), v.Result())
}

func verifyDescriptorStore(op *ir.Operation) error {
	v := AsDescriptorStore(op)
	return verifyDescriptorAccess(v.Desc(), v.Src())
}

func verifyDescriptorReduce(op *ir.Operation) error {
	v := AsDescriptorReduce(op)
	return verifyDescriptorAccess(v.Desc(), v.Src())
}

func verifyDescriptorGather(op *ir.Operation) error {
	v := AsDescriptorGather(op)
	return checkBlockRows(v.Desc(), v.XOffsets(), tensorOf(v.Result()))
}

func verifyDescriptorScatter(op *ir.Operation) error {
	v := AsDescriptorScatter(op)
	return checkBlockRows(v.Desc(), v.XOffsets(), tensorOf(v.Src()))
}

// checkBlockRows checks a gather or scatter of the rows of t through a descriptor.
func checkBlockRows(desc, offsets *ir.Value, t *ir.TensorType) error {
	block := desc.Type().(*TensorDescType).Block
	switch {
	case len(block.Shape) != 2:
		return fmt.Errorf("block must be a 2D tensor, but has %s", diag.Count(len(block.Shape), "dimension"))
	case block.Shape[0] != 1:
		return fmt.Errorf("block must have exactly 1 row, but has %d", block.Shape[0])
	}
	if err := CheckRows(tensorOf(offsets), t.Shape, t.Elem); err != nil {
		return err
	}
	switch {
	case t.Shape[1] != block.Shape[1]:
		return message(msgRowsColumns, block.Shape[1])
	case ir.BitWidth(t.Elem) != ir.BitWidth(block.Elem):
		return message(msgRowsElements, elemName(block.Elem))
	}
	return nil
}

// elemName is the type of an element as it is written.
func elemName(t ir.Type) string {
	switch t := t.(type) {
	case *ir.IntegerType:
		return fmt.Sprintf("i%d", t.Width)
	case *ir.FloatType:
		return t.Kind.String()
	}
	return "another"
}

// CheckRows checks what a gather or scatter of single rows copies: offsets are those of
// the rows, shape and elem of what holds them.
func CheckRows(offsets *ir.TensorType, shape []int64, elem ir.Type) error {
	switch {
	case len(offsets.Shape) != 1:
		return fmt.Errorf("x offsets must be a 1D tensor, but have %s", diag.Count(len(offsets.Shape), "dimension"))
	case len(shape) != 2:
		return message(msgRows2D)
	case shape[0] < 8:
		return fmt.Errorf("there must be at least 8 rows, but there are %d", shape[0])
	}
	width := ir.BitWidth(elem)
	if width > 32 {
		return fmt.Errorf("elements must not be wider than 32 bits, but have %d", width)
	}
	switch least := int64(32 / max(width, 1) * 8); {
	case shape[1] < least:
		return fmt.Errorf("rows of %d-bit elements must have at least %s, but have %d", width, diag.Count(least, "column"), shape[1])
	case shape[0] != offsets.Shape[0]:
		return message(msgRowsIndices, offsets.Shape[0])
	}
	return nil
}
