package pipeline

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// AsyncDots is how a target pipelines dots that run beside the program's threads, and tell
// a barrier when they are done.
type AsyncDots interface {
	// Fills reports whether op, other than a dot, fills an accumulator: the loads that it
	// depends on start early, as those of dots do.
	Fills(op *ir.Operation) bool
	// SetLatencies sets the latencies of the dots of loop: of each that can run on after
	// its iteration, tt.self_latency, and where what uses its result can come a stage
	// later, tt.latency. The loads in isEarly start early.
	SetLatencies(loop *ir.Operation, isEarly map[*ir.Operation]bool)
}

// AsyncUnit is a dots.MatrixUnit with dots that run beside the program's threads and tell
// a barrier when they are done: the pipeliner has it put waits where the schedule of a loop
// lets dots run on.
type AsyncUnit interface {
	dots.MatrixUnit
	// RunsOn reports whether tritongpu-schedule-loops let a dot of loop run on.
	RunsOn(loop *ir.Operation) bool
	// LowerDots makes the dots of a scheduled loop that can run on do so, and places waits
	// for them. Where isAhead holds of a ttg.local_alloc, a copy fills the buffer that it
	// makes iterations before, and each iteration has another. New operations get their
	// place as attributes. It returns the loop, which may be made again.
	LowerDots(b *ir.Builder, loop *ir.Operation, isAhead func(alloc *ir.Operation) bool) *ir.Operation
	// Awaits reports whether op waits for a dot. It names the buffers that the dot reads
	// until then.
	Awaits(op *ir.Operation) bool
	// CanPredicate reports whether Predicate knows how to switch op off, or op does no harm.
	CanPredicate(op *ir.Operation) bool
	// Predicate lets op do nothing where pred is false; false if op is none of its own.
	Predicate(b *ir.Builder, op *ir.Operation, pred *ir.Value) bool
}

// lowerDots has dots of scheduled loops run on.
func lowerDots(b *ir.Builder, unit dots.MatrixUnit, module *ir.Operation, scheduled []*schedule, blocks BlockCopies) {
	async, ok := unit.(AsyncUnit)
	if !ok {
		return
	}
	var loops []*schedule
	for _, s := range scheduled {
		if async.RunsOn(s.loop) {
			loops = append(loops, s)
		}
	}
	elems := accessesOf(module, loops)
	for _, s := range loops {
		l := &loadLowering{b: b, s: s, elems: elems, unit: unit, blocks: blocks}
		for op := range s.loop.Body().Ops() {
			if isLoad(op) {
				l.consider(op)
			}
		}
		ahead := make(map[*ir.Operation]bool)
		for _, a := range l.loads {
			if a.enc == nil {
				continue
			}
			stage := s.slots[l.firstUse(a.op)].stage
			for u := range a.op.OneResult().Users() {
				ahead[u] = l.isBuffer(u, a.enc, stage)
			}
		}
		async.LowerDots(b, s.loop, func(alloc *ir.Operation) bool { return ahead[alloc] })
	}
}

// awaitsDot reports whether op waits for a dot that unit has run on.
func awaitsDot(unit dots.MatrixUnit, op *ir.Operation) bool {
	u, ok := unit.(AsyncUnit)
	return ok && u.Awaits(op)
}
