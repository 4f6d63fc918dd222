package pipeline

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/masks"
)

// A pipelined loop executes early stages for iterations that the original loop may
// not have. What such an operation does to memory is then switched off by a
// predicate; what it only computes is thrown away.

// canPredicate reports whether predicate knows how to switch op off.
func canPredicate(op *ir.Operation, blocks BlockCopies, unit dots.MatrixUnit) bool {
	if u, ok := unit.(AsyncUnit); ok && u.CanPredicate(op) {
		return true
	}
	if makesDescriptor(op) {
		return blocks != nil && op.Is(tt.MakeTensorDesc) && op.ParentOf(ttg.WarpSpecialize) == nil
	}
	if ir.IsPure(op) || op.Def().Unregistered { // the latter only tests of passes have
		return true
	}
	switch op.Def() {
	case tt.Load, tt.Store:
		return !tt.IsBlockPtr(tt.Address(op).Type())
	case tt.DescriptorLoad, tt.DescriptorGather, tt.AtomicRMW, ttg.AsyncCopy,
		ttg.AsyncCommitGroup, ttg.AsyncWait, ttg.LocalLoad, ttg.LocalStore, ttg.LocalAlloc:
		return true
	case scf.If:
		// With a false condition the second region is executed.
		for b := range scf.AsIf(op).ElseRegion().Blocks() {
			for inner := range b.Ops() {
				if !inner.IsTerminator() && !ir.IsPure(inner) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// makesDescriptor reports whether op makes a descriptor, or holds what does. That of an
// iteration that does not exist has a place of its own (see placeDescriptors), but for one
// made under a condition, and in a partition, where copies go on for longer than stages say.
func makesDescriptor(op *ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if o.Is(tt.MakeTensorDesc) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// predicate lets op do something to global memory only where pred is true. What
// touches this program's own buffers, or orders copies, stays: it does no harm,
// and neither does a load through a descriptor, which reads inside of its tensor
// only. What blocks and unit made they switch off themselves.
func predicate(b *ir.Builder, op *ir.Operation, pred *ir.Value, blocks BlockCopies, unit dots.MatrixUnit) {
	if isTrue(pred) || ir.IsPure(op) {
		return
	}
	if u, ok := unit.(AsyncUnit); ok && u.Predicate(b, op, pred) {
		return
	}
	switch {
	case masks.Taken(op):
		masks.Restrict(b, op, pred)
	case op.Is(scf.If):
		b.SetBefore(op)
		cond := scf.AsIf(op)
		cond.SetCondition(arith.Binary(b, arith.AndI, pred, cond.Condition()))
	case blocks != nil:
		blocks.Predicate(op, pred)
	}
}
