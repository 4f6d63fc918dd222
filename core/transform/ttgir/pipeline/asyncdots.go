package pipeline

import (
	"slices"

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
	// RunsOn reports whether op is a dot that LowerDots has run on.
	RunsOn(op *ir.Operation) bool
	// LowerDots makes the dots of a scheduled loop that can run on do so, and places waits
	// for them. filled says how the buffer is filled that a ttg.local_alloc makes. New
	// operations get their place as attributes. It returns the loop, which may be made again.
	LowerDots(b *ir.Builder, loop *ir.Operation, filled func(alloc *ir.Operation) Filling) *ir.Operation
	// Awaits reports whether op waits for a dot. It names the buffers that the dot reads
	// until then.
	Awaits(op *ir.Operation) bool
	// KeepsOrder reports whether a scheduled loop does to barriers, and to memory that they
	// guard, what it has to in order. precedes tells whether x of an iteration comes before y
	// of the one so many iterations later.
	KeepsOrder(loop *ir.Operation, precedes func(x, y *ir.Operation, iterations int) bool) bool
	// CanPredicate reports whether Predicate knows how to switch op off, or op does no harm.
	CanPredicate(op *ir.Operation) bool
	// Predicate lets op do nothing where pred is false; false if op is none of its own.
	Predicate(b *ir.Builder, op *ir.Operation, pred *ir.Value) bool
}

// Filling is how a buffer of a dot's operand is filled.
type Filling int

const (
	// ByThreads is a buffer that the program's threads write.
	ByThreads Filling = iota
	// ByCopy is a buffer that a copy fills, in the iteration that reads it, once a wait in
	// the next one names it.
	ByCopy
	// Ahead is a buffer that a copy fills iterations before. Each iteration has another.
	Ahead
)

// lowerDots has dots of scheduled loops run on.
func lowerDots(b *ir.Builder, unit dots.MatrixUnit, module *ir.Operation, scheduled []*schedule, blocks BlockCopies) {
	async, ok := unit.(AsyncUnit)
	if !ok {
		return
	}
	var loops []*schedule
	for _, s := range scheduled {
		if slices.ContainsFunc(s.body(), async.RunsOn) {
			loops = append(loops, s)
		}
	}
	elems := accessesOf(module, loops)
	for _, s := range loops {
		l := &loadLowering{loopLowering: loopLowering{b: b, elems: elems, unit: unit, blocks: blocks}, s: s}
		filled := make(map[*ir.Operation]Filling)
		for op := range s.loop.Body().Ops() {
			if isLoad(op) {
				l.noteFilled(op, filled)
			}
		}
		async.LowerDots(b, s.loop, func(alloc *ir.Operation) Filling { return filled[alloc] })
	}
}

// noteFilled notes how the buffers are filled that hold what op loads.
func (l *loadLowering) noteFilled(op *ir.Operation, filled map[*ir.Operation]Filling) {
	a, ok := l.copyOf(op)
	if !ok || a.enc == nil {
		return
	}
	how := ByCopy
	if l.useStage(op) > l.s.slots[op].stage {
		how = Ahead
	}
	stage := l.s.slots[l.firstUse(op)].stage
	for u := range op.OneResult().Users() {
		if l.isBuffer(u, a.enc, stage) {
			filled[u] = how
		}
	}
}

// holdsBuffers reports whether the buffers that op reads stay as they are until a wait: op
// is a dot that unit has run on, or that wait.
func holdsBuffers(unit dots.MatrixUnit, op *ir.Operation) bool {
	u, ok := unit.(AsyncUnit)
	return ok && (u.RunsOn(op) || u.Awaits(op))
}

// awaitsDot reports whether op waits for a dot that unit has run on.
func awaitsDot(unit dots.MatrixUnit, op *ir.Operation) bool {
	u, ok := unit.(AsyncUnit)
	return ok && u.Awaits(op)
}
