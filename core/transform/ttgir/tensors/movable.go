package tensors

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// ComputesInThread reports whether threads compute op alone, each from its own values.
func ComputesInThread(op *ir.Operation) bool {
	switch op.Def() {
	case ttg.ConvertLayout, ttg.LocalAlloc, tt.Gather, tt.Histogram, tt.Dot, tt.DotScaled:
		return false
	}
	return ir.IsPure(op) && op.NumRegions() == 0
}

// MovableBefore lists op and what it uses of its block from first on, in order; false
// if some of that cannot be moved.
func MovableBefore(first, op *ir.Operation) ([]*ir.Operation, bool) {
	var slice []*ir.Operation
	seen := make(map[*ir.Operation]bool)
	var add func(o *ir.Operation) bool
	add = func(o *ir.Operation) bool {
		if o == nil || seen[o] || o.Block() != op.Block() || o.IsBeforeInBlock(first) {
			return true
		}
		if o != op && !ComputesInThread(o) {
			return false
		}
		seen[o] = true
		for _, v := range o.Operands() {
			if !add(v.Def()) {
				return false
			}
		}
		slice = append(slice, o)
		return true
	}
	return slice, add(op)
}

// Words is how many registers of 32 bits a load's result takes of each thread.
func Words(load *ir.Operation) int {
	t := Type(load.OneResult())
	if t == nil {
		return 1
	}
	return (Registers(t.Shape, encoding.AttrOf(t))*max(ir.BitWidth(t.Elem), 1) + 31) / 32
}
