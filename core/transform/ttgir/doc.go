// Package ttgir lists the passes that give tensors layouts and improve them;
// Passes has them in the order in which a pipeline runs them. They live in five
// packages, one file for each, named as the pass:
//
//	layouts   which thread holds which element, and fewer conversions
//	matrix    dots on matrix units, their operands through shared memory
//	loops     simpler loops, and the order of what is in them
//	pipeline  loads that start iterations before their use
//	memory    places in shared and global memory, as attributes
//
// None of the five imports another: a pass leaves what the next one needs in the
// IR. What several of them ask is in packages below:
//
//	machine    how many warps, lanes and CTAs run a program
//	tensors    types, encodings and registers of tensors
//	sharedmem  buffers in shared memory: types, layouts, views
//	dots       dots, and what a target's matrix unit says of them
//	forloop    counted loops and the values that they carry
//	masks      masks of loads, stores and atomics
//
// so that imports point down:
//
//	tensors ← sharedmem
//	machine, tensors ← dots
//	machine, tensors, forloop ← layouts
//	machine, tensors, sharedmem, dots ← matrix
//	tensors, sharedmem, forloop, masks ← loops
//	machine, tensors, sharedmem, dots, forloop, masks ← pipeline
//	layouts, matrix, loops, pipeline, memory ← ttgir
//
// Where a program is a cluster of CTAs, tritongpu-plan-cta shares dots and
// reductions among them before layouts spread. tritongpu-reduce-early comes late:
// it lets most iterations skip masks and scales.
//
// The names and what each pass guarantees are Triton's. A pass knows layouts
// through core/layout and axis information through core/analysis/axisinfo only;
// the number of warps and lanes is an attribute of the module. No pass asks which
// vendor it compiles for: where hardware differs, the caller gives options, or
// implements dots.MatrixUnit and pipeline.BlockCopies.
package ttgir
