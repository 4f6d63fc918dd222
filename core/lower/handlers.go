package lower

import "github.com/tritonc/tritonc/core/ir"

// on makes a handler of a function that takes a view of the operation, such as
// tt.AsLoad's.
func on[V any](view func(*ir.Operation) V, lower func(*emitter, V) error) handler {
	return func(e *emitter, op *ir.Operation) error { return lower(e, view(op)) }
}

// handlers is the table of the operations that are lowered here.
func handlers() map[*ir.OpDef]handler {
	h := make(map[*ir.OpDef]handler, 128)
	arithHandlers(h)
	mathHandlers(h)
	shapeHandlers(h)
	memoryHandlers(h)
	localHandlers(h)
	dotHandlers(h)
	atomicHandlers(h)
	reduceHandlers(h)
	scanHandlers(h)
	gatherHandlers(h)
	controlHandlers(h)
	castHandlers(h)
	foreignHandlers(h)
	return h
}
