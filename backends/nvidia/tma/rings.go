package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// placesForCopies is how many places the descriptors that loop makes need since it copies
// through them into a ring of buffers:
//
//	%d = make_tensor_descriptor …
//	ttng.wait_barrier %empty[%i]
//	ttng.async_tma_copy_global_to_local %have … %buffers[%i], %full[%i]
//
// With n buffers, the copy of n iterations ago is over after the wait, and it may have gone
// through a descriptor that was made an iteration earlier. A descriptor made before the wait
// needs a place more; placesForCopies moves what makes it after the wait if nothing needs it
// before. It returns 0 where loop has no such copies, or one whose buffer is not waited for.
func placesForCopies(loop *ir.Operation) int {
	var made []*ir.Operation // of the loop's body, and what makes descriptors in it
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(tt.MakeTensorDesc):
			made = append(made, forloop.AncestorIn(loop.Body(), op))
		case op != loop && op.Is(scf.For):
			return ir.Skip
		}
		return ir.Advance
	})
	if len(made) == 0 {
		return 0
	}
	buffers, wait := 0, (*ir.Operation)(nil)
	for op := range loop.Body().Ops() {
		var desc, into *ir.Value
		switch op.Def() {
		case ttng.Def("async_tma_copy_global_to_local"):
			v := ttng.AsAsyncTmaCopyGlobalToLocal(op)
			desc, into = v.Desc(), v.Result()
		case ttng.Def("async_tma_gather"):
			v := ttng.AsAsyncTmaGather(op)
			desc, into = v.Desc(), v.Result()
		default:
			continue
		}
		if !forloop.DefinedInside(desc, loop) {
			continue
		}
		w, n := waitForEntry(op, into)
		if w == nil {
			return 0
		}
		if buffers = max(buffers, n); wait == nil || wait.IsBeforeInBlock(w) {
			wait = w
		}
	}
	if wait == nil {
		return 0
	}
	places := buffers + 1
	for _, op := range made {
		if op.IsBeforeInBlock(wait) && !delay(op, wait) {
			places = buffers + 2
		}
	}
	return places
}

// waitForEntry is the wait before op, in its block, for the entry of a ring that buffer is, and
// how many entries there are; nil if there is none, or one that is not always executed.
func waitForEntry(op *ir.Operation, buffer *ir.Value) (*ir.Operation, int) {
	if !buffer.DefIs(ttg.MemDescIndex) {
		return nil, 0
	}
	entry := ttg.AsMemDescIndex(buffer.Def())
	for w := op.Prev(); w != nil; w = w.Prev() {
		if !ttng.Is(w, "wait_barrier") {
			continue
		}
		v := ttng.AsWaitBarrier(w)
		if !v.Alloc().DefIs(ttg.MemDescIndex) || ttg.AsMemDescIndex(v.Alloc().Def()).Index() != entry.Index() {
			continue
		}
		if p := v.Pred(); p != nil {
			if n, ok := arith.ConstantInt(p); !ok || n&1 == 0 {
				return nil, 0
			}
		}
		return w, int(entry.Src().Type().(*ttg.MemDescType).Shape[0])
	}
	return nil, 0
}

// delay moves op, which makes descriptors and has no other effect, after wait; false if it
// has one, or is needed before.
func delay(op, wait *ir.Operation) bool {
	if ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if !o.Is(tt.MakeTensorDesc) && o.NumRegions() == 0 && !o.IsTerminator() && !ir.IsPure(o) {
			return ir.Stop
		}
		return ir.Advance
	}) {
		return false
	}
	for _, r := range op.Results() {
		for u := range r.Users() {
			if top := forloop.AncestorIn(op.Block(), u); top == wait || top.IsBeforeInBlock(wait) {
				return false
			}
		}
	}
	op.MoveAfter(wait)
	return true
}
