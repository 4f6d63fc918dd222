package npu

import (
	"fmt"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// warnOfSlices tells of slices of tensors, of the kernel's own, that do not begin where an
// instruction can: the scalar unit copies what begins elsewhere.
func warnOfSlices(k *backend.Compilation) {
	told := map[string]bool{}
	ir.Walk(k.Module, func(op *ir.Operation) ir.WalkResult {
		var whole *ir.Value
		name := "extract_slice"
		switch {
		case op.Is(linalg.ExtractSlice):
			whole = linalg.AsExtractSlice(op).Source()
		case op.Is(linalg.InsertSlice):
			whole, name = linalg.AsInsertSlice(op).Dest(), "insert_slice"
		default:
			return ir.Advance
		}
		at, size := beginsAt(op, whole)
		if at%chip.AlignUB == 0 {
			return ir.Advance
		}
		d := sdk.Diagnostic{
			Severity: sdk.Warning,
			Message:  fmt.Sprintf("%s: the part begins at byte %d of the tensor; instructions of an NPU begin at multiples of %d, so that the scalar unit copies it element by element", name, at, chip.AlignUB),
			Help:     fmt.Sprintf("offsets along the last dimension that are multiples of %d need no copy", max(chip.AlignUB/size, 1)),
		}
		place(&d, op)
		if !told[d.Error()] {
			told[d.Error()] = true
			k.Warn(d)
		}
		return ir.Advance
	})
}

// place gives a warning the place of an operation.
func place(d *sdk.Diagnostic, op *ir.Operation) {
	if l := ir.FileLocOf(op.Loc()); l != nil {
		d.File, d.Line, d.Column = l.File, l.Line, l.Col+1
	}
}

// beginsAt is the byte of a dense tensor at which a slice with known offsets begins, and the
// bytes of an element. Offsets that are not known count as 0.
func beginsAt(op *ir.Operation, whole *ir.Value) (at, size int64) {
	shape, pitch := ir.ShapeOf(whole.Type()), int64(1)
	offsets := linalg.Ints(op, "static_offsets")
	for d := len(shape) - 1; d >= 0; d-- {
		if d < len(offsets) && offsets[d] != linalg.Dynamic {
			at += offsets[d] * pitch
		}
		pitch *= shape[d]
	}
	size = int64(max(ir.BitWidth(ir.ElemOf(whole.Type()))/8, 1))
	return at * size, size
}
