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
	{"expand divisions", "ptxas does not know that divisors are constant, and divides twice for a quotient and its remainder", expandDivisions},
	{"share values", "the conversion takes words apart wherever they are used, so it computes some things twice", shareValues},
	{"cut sums", "elements of a row would each be counted for their lowest bits, of which few differ", cutSums},
	{"sweep", "what was taken apart is mostly not used", sweep},
	{"split products", "a tile's row after another one would multiply its number anew", splitProducts},
	{"join shifts", "a part of an address is shifted, joined with another, and shifted again", joinShifts},
	{"share phis", "tiles carry a number for each row or column, of which many are equal, and ptxas keeps each", sharePhis},
	{"hoist steps", "a step that is computed in the loop seems to change", hoistInvariants},
	{"join counters", "a thread counts each of its rows, and ptxas keeps all of them", joinCounters},
	{"divide counters", "a loop that steps by blocks divides its counter in each iteration, to find a scale", divideCounters},
	{"regroup products", "a number that a loop counts is multiplied twice, in each iteration", regroupProducts},
	{"regroup sums", "what a loop does not change is added to a number twice, in each iteration", regroupSums},
	{"count pointers", "an address that is a multiple of a counter waits for the product", countPointers},
	{"join inductions", "ptxas spills pointers that a loop carries, and cannot compute them anew", joinInductions},
	{"chain products", "rows of a tile would each multiply their number by the stride, in each iteration", chainProducts},
	{"fuse products", "ptxas fuses sums and differences, too, but no product that others need", fuseProducts},
	{"mark sums", "a number that a loop counts in large steps would be widened for each of its rows", markSums},
	{"fold addresses", "each of several accesses at a constant distance would compute its own address", foldAddresses},
	{"share values", "accesses have parts of their addresses in common now", shareValues},
	{"sweep", "and what had been computed for each is not used", sweep},
	{"reduce strides", "rows of a tile would each multiply their number by the stride", reduceStrides},
	{"add common terms", "rows of a tile would each add all that they have in common", addCommon},
	{"share values", "steps of equal length are one", shareValues},
	{"sweep", "products that sums replaced are not used", sweep},
	{"count multiples", "a product of a counter is computed in each iteration, and what is compared with it waits", countMultiples},
	{"hoist invariants", "the lowering moves few computations out of loops, ptxas none of 64 bits", hoistInvariants},
	{"advance addresses", "an address that moves on by one distance would be computed anew in each iteration, of a counter or a pointer", advanceAddresses},
	{"share across", "two loops after one another would each compute what both add", shareAcross},
	{"sink values", "what one way through a branch needs would be computed on all", sinkValues},
	{"add counters", "ptxas adds and shifts in one instruction, but not where bits of a counter are joined with others", addCounters},
	{"sink comparisons", "truth values would live from block to block, in a loop more than there are registers for", sinkComparisons},
	{"factor truths", "each row of a tile would join what all of them have in common", factorTruths},
	{"regroup truths", "rows of a tile would each join whether they are inside with whether their column is", regroupTruths},
	{"hoist comparisons", "a loop with few truth values would compare in each iteration what it does not change", hoistComparisons},
	{"split choices", "conjunctions that choices need take registers of truth values, and loads wait for them", splitChoices},
	{"choose parameters", "each of several parameters would be loaded where it is the one that is chosen, after its truth value is known", chooseParameters},
	{"bypass divisions", "ptxas calls a routine for a division of 64 bits, though most numbers have 32", bypassDivisions},
	{"narrow products", "ptxas multiplies 64 bits of a number that was shifted down to 32", narrowProducts},
	{"select instructions", "ptxas joins some instructions, but not over conversions and 64 bits, and each costs its time", selectInstructions},
	{"advance first", "a loop that loads by its pointers advances them in between, and copies the old ones before", advanceFirst},
	{"sink increments", "a loop that computes its next counter early keeps the old one in another register, and moves", sinkIncrements},
	{"order loads", "ptxas loads from shared memory in the order of PTX, and what is stored first would be loaded first", orderLoads},
	{"plain branches", "a branch by the opposite of a truth value has ptxas keep the value where llc's code has the opposite", plainBranches},
	{"share comparisons", "two branches by the opposite of a comparison would each make it", shareComparisons},
	{"place constants", "what instructions do not take as it is would be in registers from the beginning on, and the first loads come later", placeConstants},
	{"copy carried", "a loop keeps the old number in its register, and copies the next one for each who takes it", copyCarried},
	{"choose registers", "PTX has no phis: values that may share a register do, so that loops need no moves", chooseRegisters},
}
