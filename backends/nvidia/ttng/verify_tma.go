package ttng

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// verifyCopy checks what all copies of a block through a descriptor have in
// common: coordinates, and a buffer of as many elements of the same width. The lowering
// checks that the descriptor has as many dimensions.
func verifyCopy(desc *ir.Value, coord []*ir.Value, m *ttg.MemDescType) error {
	if n := len(coord); n < 1 || n > 5 {
		return fmt.Errorf("TMA copies must have between 1 and 5 coordinates, not %d", n)
	}
	if !inShared(m) {
		return fmt.Errorf("TMA copies from and to shared memory alone")
	}
	block := desc.Type().(*tt.TensorDescType).Block
	n := int64(1)
	for _, d := range m.Shape {
		n *= d
	}
	if n != block.NumElements() || bits(m.Elem) != bits(block.Elem) {
		return fmt.Errorf("tensor descriptor block and buffer must have the same number of elements, of the same width")
	}
	return nil
}

func verifyCopyToLocal(op *ir.Operation) error {
	v := AsAsyncTmaCopyGlobalToLocal(op)
	if err := verifyBarrier(v.Barrier()); err != nil {
		return err
	}
	if !buffer(v.Result()).Mutable {
		return fmt.Errorf("cannot store into immutable memory")
	}
	return VerifyFill(v.Desc(), v.Coord(), v.Result())
}

// VerifyFill checks that a copy by TMA can fill a buffer with the block of a descriptor.
func VerifyFill(desc *ir.Value, coord []*ir.Value, result *ir.Value) error {
	m := buffer(result)
	if err := verifyCopy(desc, coord, m); err != nil {
		return err
	}
	if _, ok := sharedLayout(m).(*layout.NVMMAShared); !ok {
		return fmt.Errorf("TMA result must have NVMMA shared layout")
	}
	return nil
}

func verifyCopyToGlobal(op *ir.Operation) error {
	v := AsAsyncTmaCopyLocalToGlobal(op)
	return verifyCopy(v.Desc(), v.Coord(), buffer(v.Src()))
}

func verifyReduce(op *ir.Operation) error {
	v := AsAsyncTmaReduce(op)
	return verifyCopy(v.Desc(), v.Coord(), buffer(v.Src()))
}

func verifyGather(op *ir.Operation) error {
	v := AsAsyncTmaGather(op)
	if err := verifyBarrier(v.Barrier()); err != nil {
		return err
	}
	m := buffer(v.Result())
	if !m.Mutable {
		return fmt.Errorf("cannot store into immutable memory")
	}
	return verifyRows(v.XOffsets(), m)
}

func verifyScatter(op *ir.Operation) error {
	v := AsAsyncTmaScatter(op)
	return verifyRows(v.XOffsets(), buffer(v.Src()))
}

// verifyRows checks a copy of single rows. Which descriptors have these is for tt's
// operations to check.
func verifyRows(offsets *ir.Value, m *ttg.MemDescType) error {
	if !inShared(m) {
		return fmt.Errorf("TMA copies from and to shared memory alone")
	}
	return tt.CheckRows(offsets.Type().(*ir.TensorType), m.Shape, m.Elem)
}

func verifyTensormapCreate(op *ir.Operation) error {
	v := AsTensormapCreate(op)
	rank := len(v.BoxDim())
	for _, c := range []struct {
		what       string
		have, want int
	}{
		{"global dim", len(v.GlobalDim()), rank},
		{"global stride", len(v.GlobalStride()), rank - 1},
		{"element stride", len(v.ElementStride()), rank},
	} {
		if c.have != c.want {
			return fmt.Errorf("rank mismatch for %s: got %d but expected %d", c.what, c.have, c.want)
		}
	}
	if rank < 1 || rank > 5 {
		return fmt.Errorf("a descriptor has between 1 and 5 dimensions, not %d", rank)
	}
	for _, c := range []struct {
		attr string
		n    int64
		most int64
	}{
		{"elem_type", v.ElemType(), 15},
		{"interleave_layout", v.InterleaveLayout(), 2},
		{"swizzle_mode", v.SwizzleMode(), 3},
		{"fill_mode", v.FillMode(), 1},
	} {
		if c.n < 0 || c.n > c.most {
			return fmt.Errorf("%s must be from 0 to %d, not %d", c.attr, c.most, c.n)
		}
	}
	return nil
}
