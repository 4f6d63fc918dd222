package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// ForwardCopies has instructions write where their results are copied to.
var ForwardCopies = &pass.Pass{
	Name:    "npuir-forward-copies",
	Doc:     "write results to the buffers that they are copied to, and drop the copies",
	Example: forwardCopiesExample,
	Run: func(r *pass.Run) error {
		var copies []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(DMA) && PipeOf(op) == PipeV {
				copies = append(copies, op)
			}
			return ir.Advance
		})
		for _, op := range slices.Backward(copies) {
			forward(op)
		}
		return nil
	},
}

// forward drops a copy of a whole buffer to another by putting the second in place of the
// first. That is right if the first has no other use after the copy, and the second is not
// accessed from where the first is written on: the operation that begins to write it may
// read the second element by element, or copy it there.
func forward(dma *ir.Operation) {
	v := AsDMA(dma)
	from, to := v.Source(), v.Target()
	if from == to || !from.DefIs(linalg.Alloc) || !to.DefIs(linalg.Alloc) || from.Type() != to.Type() || from.Block() != dma.Block() {
		return
	}
	var first *ir.Operation
	for _, user := range accesses(from) {
		for user.Block() != dma.Block() {
			user = user.Parent()
		}
		if user != dma && !user.IsBeforeInBlock(dma) {
			return
		}
		if first == nil || user.IsBeforeInBlock(first) {
			first = user
		}
	}
	if first == dma || !alone(from, to, first, dma) {
		return
	}
	if to.Block() == from.Block() && from.Def().IsBeforeInBlock(to.Def()) {
		to.Def().MoveBefore(from.Def())
	}
	from.ReplaceAllUsesWith(to)
	from.Def().Erase()
	dma.Erase()
	if first.Is(DMA) && AsDMA(first).Source() == AsDMA(first).Target() {
		first.Erase()
	}
}

// alone reports whether nothing between two operations of a block accesses the target of
// a copy, of which last is the copy and first writes the source.
func alone(from, to *ir.Value, first, last *ir.Operation) bool {
	for _, user := range accesses(to) {
		for user.Block() != last.Block() {
			if user = user.Parent(); user == nil {
				break
			}
		}
		switch {
		case user == nil, user == last, user.IsBeforeInBlock(first), last.IsBeforeInBlock(user):
		case user == first && sameElements(first, from, to):
		default:
			return false
		}
	}
	return true
}

// sameElements reports whether an instruction reads a buffer as a whole, and writes of
// another, too, each element from the one at the same place.
func sameElements(op *ir.Operation, written, read *ir.Value) bool {
	switch op.Def() {
	case Vector:
		v := AsVector(op)
		return v.Target() == written && !slices.ContainsFunc(v.Inputs(), func(in *ir.Value) bool { return in != read && origin(in) == read })
	case DMA:
		v := AsDMA(op)
		return v.Target() == written && v.Source() == read
	}
	return false
}
