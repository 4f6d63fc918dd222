package nvidia

// Optimization is what LLVM's optimizer may do between the lowering and llc.
type Optimization struct {
	Name string
	// Passes in the grammar of opt -passes; "" is to run none.
	Passes string
	Why    string
}

// Optimizations are the choices that docs/performance.md measures.
var Optimizations = []Optimization{
	{Name: "none", Why: "the lowering folds and shares as it builds, and llc and ptxas do the rest"},
	{Name: "short", Passes: "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)", Why: "what moves out of loops and folds across them"},
	{Name: "O3", Passes: "default<O3>", Why: "all that LLVM has"},
}

// Optimizer is the choice of the backend. It has no passes, so that makePTX hands
// what the lowering made to llc at once.
var Optimizer = Optimizations[0]
