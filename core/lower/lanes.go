package lower

import (
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// compilerOnly is the scope of a fence that orders accesses for LLVM, without an instruction.
const compilerOnly = "singlethread"

// seenByLanes has LLVM load anew what it has loaded, after store, whose pointers or offsets
// several lanes of a warp hold: one of them has stored, and LLVM, which follows a single
// thread, sees that the others may keep what they loaded. The accesses of a warp are in
// order, and its lanes share a cache, so no instruction is needed. A target with accesses of
// its own has volatile ones.
func (e *emitter) seenByLanes(store *ir.Operation, where *ir.Value) {
	if _, plain := e.m.caps.Memory.(plainMemory); !plain {
		return
	}
	l := e.m.scalarLayout()
	if tensor, ok := where.Type().(*ir.TensorType); ok {
		var err error
		if l, err = e.m.layoutOf(tensor); err != nil {
			return // told where it was stored
		}
	}
	if l.freeThreads&uint64(e.m.lanes-1) != 0 && e.readsAfter(store) {
		e.b.Fence(enum.AtomicOrderingAcquireRelease, compilerOnly)
	}
}

// readers are the operations of a function that read memory: the number of the last one in
// program order, and the loops that have any.
type readers struct {
	number map[*ir.Operation]int
	last   int
	loops  map[*ir.Operation]bool
}

// readsAfter reports whether memory may be read once op was executed.
func (e *emitter) readsAfter(op *ir.Operation) bool {
	region := tt.AsFunc(e.fn.op).Body()
	if !e.fn.kernel || region.First() != region.Last() {
		return true // by its caller, or in any order
	}
	if e.reads == nil {
		e.reads = readersIn(e.fn.op)
	}
	for p := op; p != e.fn.op; p = p.Parent() {
		if e.reads.loops[p] {
			return true
		}
	}
	return e.reads.number[op] < e.reads.last
}

func readersIn(f *ir.Operation) *readers {
	r := &readers{number: map[*ir.Operation]int{}, loops: map[*ir.Operation]bool{}}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		n := len(r.number)
		r.number[op] = n
		if does := ir.OwnEffects(op); !does.Read && !does.Unknown || op.Is(ttg.LocalLoad) {
			return ir.Advance
		}
		r.last = n
		for p := op.Parent(); p != f && p != nil; p = p.Parent() {
			if p.Is(scf.For) || p.Is(scf.While) {
				r.loops[p] = true
			}
		}
		return ir.Advance
	})
	return r
}
