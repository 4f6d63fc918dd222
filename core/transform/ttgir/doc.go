// Package ttgir has the passes that give tensors layouts and improve them;
// Passes lists them all. The first ones make every module what the others
// expect:
//
//	convert-triton-to-tritongpu       every tensor gets a default layout
//	tritongpu-coalesce                loads and stores get the layout that reads and
//	                                  writes memory in wide, neighbouring pieces
//	tritongpu-remove-layout-conversions
//	                                  the others follow them, so that values change
//	                                  layout as seldom as possible
//
// Where a program is a cluster of CTAs, tritongpu-plan-cta shares dots and
// reductions among them before layouts spread.
//
// Then come dots: tritongpu-F32DotTC and tritongpu-accelerate-matmul give them
// the layouts of matrix instructions, tritongpu-optimize-dot-operands and
// tritongpu-reduce-data-duplication bring their operands through shared memory.
// Then loops: tritongpu-fuse-nested-loops, triton-licm, triton-loop-aware-cse and
// tritongpu-combine-tensor-select-and-if simplify them, and three passes pipeline
// them: tritongpu-assign-latencies says how many iterations ahead of its use an
// operation starts, tritongpu-schedule-loops gives each operation a stage and a
// place in the iteration, and tritongpu-pipeline makes asynchronous copies and runs
// the stages in different iterations. tritongpu-prefetch reads the first part of a
// dot's operands an iteration ahead; tritongpu-coalesce-async-copy and
// tritongpu-reorder-instructions tidy up. tritongpu-reduce-early lets most
// iterations skip masks and scales.
//
// The names and what each pass guarantees are Triton's. A pass knows layouts
// through core/layout and axis information through core/analysis/axisinfo only;
// the number of warps and lanes is on the module. No pass asks which vendor
// it compiles for: where hardware differs, the caller gives options.
//
// Two questions about an operation are asked by all of them and answered in
// transfer.go: which encoding do its results have when its operands have this
// one, and which must its operands have for its results to have that one.
//
// The pieces of remove-layout-conversions: propagate.go spreads layouts forward,
// slice.go finds what would have to be computed again for a conversion to go,
// remat.go weighs the cost, rebuild.go does it, hoist.go and hoistdot.go move
// what must stay, foldconvert.go tidies up. Those of the pipeliner: schedule.go
// is the schedule as data, lowerloads.go makes copies of loads, blockcopies.go asks
// the target for those through descriptors, expandloop.go runs stages in different
// iterations, predicate.go switches off what works for iterations that do not exist;
// carrybuffers.go rotates a pipelined loop for prefetch.go.
package ttgir
