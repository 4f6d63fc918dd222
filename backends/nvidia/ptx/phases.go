package ptx

// Phase is a step of a function's way from LLVM IR to PTX, after its conversion to
// instructions.
type Phase struct {
	Name string
	// Why says what the code would be like without the phase.
	Why string
	run func(*fn)
}

// Phases run in this order.
var Phases = []Phase{
	{"merge blocks", "blocks that always follow one another hide from each other what they compute", mergeBlocks},
	{"share values", "the conversion takes words apart wherever they are used, so it computes some things twice", shareValues},
	{"sweep", "what was taken apart is mostly not used", sweep},
	{"sink increments", "a loop that computes its next counter early keeps the old one in another register, and moves", sinkIncrements},
	{"choose registers", "PTX has no phis: values that may share a register do, so that loops need no moves", chooseRegisters},
}
