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
// The names and what each pass guarantees are Triton's. A pass knows layouts
// through core/layout and axis information through core/analysis/axisinfo only;
// the number of warps and lanes stands on the module. No pass asks which vendor
// it compiles for: where hardware differs, the caller gives options.
//
// Two questions about an operation are asked by all of them and answered in
// transfer.go: which encoding do its results have when its operands have this
// one, and which must its operands have for its results to have that one.
//
// The pieces of remove-layout-conversions: propagate.go spreads layouts forward,
// slice.go finds what would have to be computed again for a conversion to go,
// remat.go weighs the cost, rebuild.go does it, hoist.go and hoistdot.go move
// what must stay, foldconvert.go tidies up.
package ttgir
