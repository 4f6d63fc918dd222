package lower

import "github.com/tritonc/tritonc/core/ir"

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
