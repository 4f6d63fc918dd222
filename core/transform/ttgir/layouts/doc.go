// Package layouts has the passes that decide which thread holds which element:
//
//	convert-triton-to-tritongpu           every tensor gets a default layout
//	tritongpu-coalesce                    loads and stores get the layout that reads and
//	                                      writes memory in wide, neighbouring pieces
//	tritongpu-plan-cta                    the CTAs of a cluster share dots and reductions
//	tritongpu-remove-layout-conversions   other values follow, so that few change layout
//	tritongpu-optimize-thread-locality    reductions and gathers exchange less between threads
//	tritongpu-spread-replicas             lanes with one and the same result of a reduction
//	                                      divide what is computed of it
//
// Two questions about an operation are answered in transfer.go: which encoding do
// its results have when its operands have this one, and which must its operands
// have for its results to have that one.
//
// The parts of remove-layout-conversions: propagate.go spreads layouts forward,
// slice.go finds what would have to be computed again for a conversion to go,
// remat.go weighs the cost, rebuild.go does it, hoist.go and hoistdot.go move
// what must stay, foldconvert.go and deadcarried.go tidy up.
//
// The package uses machine, tensors and forloop of those beside it, and no other
// package of passes.
package layouts
