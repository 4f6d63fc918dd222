package pipeline

import "github.com/tritonc/tritonc/core/ir"

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
